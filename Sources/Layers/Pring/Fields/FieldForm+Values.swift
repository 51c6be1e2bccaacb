// The field forms of text, numbers, times and other values that do not contain further values.

import FirebaseFirestore
import Foundation

// MARK: Text

extension String: PlainForm {
  /// Compares bytes, because canonically equivalent strings have different stored forms.
  static func areSame(_ left: String, _ right: String) -> Bool { left.utf8.elementsEqual(right.utf8) }

  static var samples: (String, String)? { ("a", "b") }
}

extension URL: FieldForm {
  var storedForm: Any? { absoluteString }

  static func local(from stored: Any, current: URL?) -> URL? {
    (stored as? String).flatMap { URL(string: $0) }
  }

  static var samples: (URL, URL)? { (URL(fileURLWithPath: "/a"), URL(fileURLWithPath: "/b")) }
}

// MARK: Booleans and numbers

extension Bool: FieldForm {
  var storedForm: Any? { self }

  static func local(from stored: Any, current: Bool?) -> Bool? {
    StoredNumber.isBoolean(stored) ? stored as? Bool : nil
  }

  static var samples: (Bool, Bool)? { (false, true) }
}

/// Checks ids that other programs have stored. A field can hold any text, but not every text is a valid
/// document id.
enum StoredID {
  static func isSound(_ id: String) -> Bool { !id.isEmpty && !id.utf8.contains(UInt8(ascii: "/")) }
}

/// Reads numbers of any type from untyped values. Booleans are not numbers.
enum StoredNumber {
  enum Kind { case boolean, integer, double }

  /// Returns the number type of the field that would store the value; nil if the value is not a number.
  static func kind(_ any: Any) -> Kind? {
    if isBoolean(any) { return .boolean }
    if type(of: any) == Double.self || type(of: any) == Float.self { return .double }
    if any is any BinaryInteger { return .integer }
    guard let number = any as? NSNumber else { return nil }
    return ["d", "f"].contains(unsafe String(cString: number.objCType)) ? .double : .integer
  }

  static func isBoolean(_ any: Any) -> Bool {
    if type(of: any) == Bool.self { return true }
    // A process has two Boolean `NSNumber` objects, and no other number is identical to one of them.
    guard let number = any as? NSNumber else { return false }
    return number === NSNumber(value: true) || number === NSNumber(value: false)
  }

  static func integer<Value: FixedWidthInteger>(_ any: Any) -> Value? {
    guard !isBoolean(any) else { return nil }
    switch any {
    case let integer as Int: return Value(exactly: integer)
    case let number as NSNumber:
      if let integer = Int64(exactly: number) { return Value(exactly: integer) }
      return Value(exactly: number.doubleValue)
    case let integer as any BinaryInteger: return Value(exactly: integer)
    case let double as Double: return Value(exactly: double)
    case let float as Float: return Value(exactly: float)
    default: return nil
    }
  }

  static func double(_ any: Any) -> Double? {
    guard !isBoolean(any) else { return nil }
    switch any {
    case let double as Double: return double
    case let number as NSNumber: return number.doubleValue
    case let float as Float: return Double(float)
    case let integer as any BinaryInteger: return Double(exactly: integer)
    default: return nil
    }
  }
}

protocol IntegerForm: FieldForm, FixedWidthInteger {}

extension IntegerForm {
  /// An integer that no field can hold is returned unchanged. The commit reports the error.
  var storedForm: Any? { Int(exactly: self) ?? self as Any }

  static func local(from stored: Any, current: Self?) -> Self? { StoredNumber.integer(stored) }

  static var samples: (Self, Self)? { (1, 2) }
}

extension Int: IntegerForm {}
extension Int8: IntegerForm {}
extension Int16: IntegerForm {}
extension Int32: IntegerForm {}
extension Int64: IntegerForm {}
extension UInt: IntegerForm {}
extension UInt8: IntegerForm {}
extension UInt16: IntegerForm {}
extension UInt32: IntegerForm {}
extension UInt64: IntegerForm {}

extension Double: FieldForm {
  var storedForm: Any? { self }

  static func local(from stored: Any, current: Double?) -> Double? { StoredNumber.double(stored) }

  /// Compares bits, so a NaN equals itself.
  static func areSame(_ left: Double, _ right: Double) -> Bool { left.bitPattern == right.bitPattern }

  static var samples: (Double, Double)? { (1, 2) }
}

extension Float: FieldForm {
  var storedForm: Any? { Double(self) }

  static func local(from stored: Any, current: Float?) -> Float? {
    StoredNumber.double(stored).map { Float($0) }
  }

  static func areSame(_ left: Float, _ right: Float) -> Bool { left.bitPattern == right.bitPattern }

  static var samples: (Float, Float)? { (1, 2) }
}

// MARK: Times

extension Timestamp: PlainForm {
  static var samples: (Timestamp, Timestamp)? {
    (Timestamp(seconds: 1, nanoseconds: 0), Timestamp(seconds: 2, nanoseconds: 0))
  }
}

extension Date: FieldForm {
  var storedForm: Any? { Timestamp(date: self) }

  static func local(from stored: Any, current: Date?) -> Date? {
    switch stored {
    case let timestamp as Timestamp: return timestamp.dateValue()
    case let date as Date: return date
    case let text as String: return parsed(text)
    default: return nil
    }
  }

  /// Parses the formats of other clients, with or without fractions of a second.
  private static func parsed(_ text: String) -> Date? {
    let formatter = ISO8601DateFormatter()
    formatter.formatOptions = [.withInternetDateTime]
    if let date = formatter.date(from: text) { return date }
    formatter.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
    return formatter.date(from: text)
  }

  static var samples: (Date, Date)? { (Date(timeIntervalSince1970: 1), Date(timeIntervalSince1970: 2)) }
}

// MARK: Bytes and locations

extension Data: PlainForm {
  static var samples: (Data, Data)? { (Data([1]), Data([2])) }
}

extension GeoPoint: PlainForm {
  static var samples: (GeoPoint, GeoPoint)? {
    (GeoPoint(latitude: 1, longitude: 1), GeoPoint(latitude: 2, longitude: 2))
  }
}

extension DocumentReference: FieldForm {
  var storedForm: Any? { self }

  static func local(from stored: Any, current: DocumentReference?) -> DocumentReference? {
    if let reference = stored as? DocumentReference { return reference }
    // Other clients export a reference as a map.
    guard let map = stored as? [String: Any], let path = map["_path"] as? [String: Any],
      let segments = path["segments"] as? [String], !segments.isEmpty, segments.count % 2 == 0,
      segments.allSatisfy(StoredID.isSound)
    else { return nil }
    return (current?.firestore ?? Firestore.firestore()).document(segments.joined(separator: "/"))
  }

  static func areSame(_ left: DocumentReference, _ right: DocumentReference) -> Bool { left.isEqual(right) }
}
