// The types of property values, with their stored and local forms.

public import FirebaseFirestore
import Foundation

/// A value of a property: its name, its stored form and its local form.
public enum DataType {
  /// An array.
  case array(String, [Any], [Any])
  /// A set.
  case set(String, [String: Bool], Set<String>)
  /// A Boolean.
  case bool(String, Bool, Bool)
  /// Bytes.
  case binary(String, Data, Data)
  /// A file.
  case file(String, [String: Any], File)
  /// Files.
  case files(String, [[String: Any]], [File])
  /// A URL.
  case url(String, String, URL)
  /// An integer.
  case int(String, Int, Int)
  /// A floating-point number.
  case float(String, Double, Double)
  /// A date.
  case date(String, Timestamp, Date)
  /// A timestamp.
  case timestamp(String, Timestamp, Timestamp)
  /// A geographical point.
  case geoPoint(String, GeoPoint, GeoPoint)
  /// A dictionary.
  case dictionary(String, [String: Any], [String: Any])
  /// A collection below the document.
  case collection(String, [String: Any], any AnySubCollection)
  /// A document reference of the database.
  case documentReference(String, DocumentReference?, DocumentReference)
  /// A reference to an object.
  case reference(String, DocumentReference?, any AnyReference)
  /// A relation to an object.
  case relation(String, String?, any AnyRelation)
  /// Text.
  case string(String, String, String)
  /// An object in a field.
  case document(String, [String: Any], Object?)
  /// A list of objects in a field.
  case list(String, [String: Any], any AnyList)
  /// A value of another type.
  case unknown

  /// Creates the case for the value of a property.
  public init(key: String, value: Any?) {
    guard let value = value.flatMap(Object.pringUnwrapped) else {
      self = .unknown
      return
    }
    switch value {
    case let bool as Bool where StoredNumber.isBoolean(value): self = .bool(key, bool, bool)
    case let string as String: self = .string(key, string, string)
    case let date as Date: self = .date(key, Timestamp(date: date), date)
    case let data as Data: self = .binary(key, data, data)
    case let url as URL: self = .url(key, url.absoluteString, url)
    case let timestamp as Timestamp: self = .timestamp(key, timestamp, timestamp)
    case let point as GeoPoint: self = .geoPoint(key, point, point)
    case let reference as DocumentReference: self = .documentReference(key, reference, reference)
    case let file as File: self = .file(key, file.value, file)
    case let files as [File] where !files.isEmpty:
      self = .files(key, files.filter { !$0.isDeleted }.map(\.value), files)
    case let set as Set<String>:
      self = .set(key, Dictionary(uniqueKeysWithValues: set.map { ($0, true) }), set)
    case let object as Object: self = .document(key, object.rawValue, object)
    case let list as any AnyList: self = .list(key, list.value, list)
    case let collection as any AnySubCollection: self = .collection(key, collection.references, collection)
    case let reference as any AnyReference: self = .reference(key, reference.value, reference)
    case let relation as any AnyRelation: self = .relation(key, relation.value, relation)
    default: self = Self.numberOrContainer(key, value)
    }
  }

  private static func numberOrContainer(_ key: String, _ value: Any) -> DataType {
    if value is Double || value is Float, let double = StoredNumber.double(value) {
      return .float(key, double, double)
    }
    if let integer: Int = StoredNumber.integer(value) { return .int(key, integer, integer) }
    if let double = StoredNumber.double(value) { return .float(key, double, double) }
    guard let stored = UntypedForm.stored(value) else { return .unknown }
    if let array = stored as? [Any] { return .array(key, array, value as? [Any] ?? array) }
    if let map = stored as? [String: Any] { return .dictionary(key, map, value as? [String: Any] ?? map) }
    return .unknown
  }

  /// Creates the case for the stored value in `data`. `value` is the present value of the property.
  public init(key: String, value: Any, data: [String: Any]) {
    self = data[key].flatMap { Self.local(key, Object.pringUnwrapped(value), stored: $0) } ?? .unknown
  }

  private static func local(_ key: String, _ value: Any?, stored: Any) -> DataType? {
    func read<Form: FieldForm>(_ current: Form) -> DataType? {
      Form.local(from: stored, current: current).map { DataType(key: key, value: $0) }
    }
    switch value {
    case nil: return DataType(key: key, value: stored)
    case let set as Set<String>: return read(set)
    case let file as File: return read(file)
    case let files as [File] where !files.isEmpty: return read(files)
    case let object as Object:
      guard let fields = stored as? [String: Any] else { return nil }
      object.pringTakeFields(fields)
      return .document(key, fields, object)
    case let container as any StoredContainer:
      container.decode(stored)
      return DataType(key: key, value: container)
    case let form as any FieldForm: return read(form)
    default: return DataType(key: key, value: stored)
    }
  }
}
