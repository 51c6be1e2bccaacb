// The tree of values between Swift types and documents. It can represent every value of a Swift type or a
// document.

import DocumentStore
import FirebaseCore
import Foundation

/// A value that is being encoded for a document or decoded from one.
///
/// Objects from the user's dictionaries are kept unchanged: a `Timestamp` keeps its nanoseconds, a
/// `DocumentReference` keeps its `Firestore`, and a decimal keeps its digits. Values are rounded only when
/// they are stored.
enum CodedValue {
  case stored(StoredValue)
  case timestamp(Timestamp)
  case reference(DocumentReference)
  case decimal(NSDecimalNumber)
  case sentinel(FieldValue)
  case array(CodedArray)
  case map(CodedMap)
  /// An object that no document can hold. Such objects are allowed only in values for reading, and can be
  /// decoded as their own type.
  case other(Any)
  /// Values of a document that is being decoded. Their contents are decoded on demand.
  case recordMap(RecordMap)
  case recordArray(RecordValue)
}

extension CodedValue {
  init(_ value: RecordValue) {
    if let map = value.map {
      self = .recordMap(map)
    } else if value.isArray {
      self = .recordArray(value)
    } else {
      self = .stored(value.stored)
    }
  }

  init(_ fields: DocumentRecord.Fields) {
    switch fields {
    case .record(let map): self = .recordMap(map)
    case .stored(let map): self = .stored(.map(map))
    }
  }

  static var null: CodedValue { .stored(.null) }

  var isNull: Bool {
    switch self {
    // A timestamp that the server has not set yet reads as null.
    case .stored(.null), .stored(.pendingTimestamp): true
    default: false
    }
  }

  /// The name of the value's type in error messages.
  var kind: String {
    switch self {
    case .stored(.null), .stored(.pendingTimestamp): "null"
    case .stored(.boolean): "a boolean"
    case .stored(.integer), .stored(.double), .decimal: "a number"
    case .stored(.timestamp), .timestamp: "a Timestamp"
    case .stored(.string): "a string"
    case .stored(.bytes): "bytes"
    case .stored(.reference), .reference: "a DocumentReference"
    case .stored(.geoPoint): "a GeoPoint"
    case .stored(.vector): "a VectorValue"
    case .stored(.array), .array, .recordArray: "an array"
    case .stored(.map), .map, .recordMap: "a dictionary"
    case .sentinel: "a FieldValue"
    case .other(let other): "\(type(of: other))"
    }
  }
}

/// The elements of an array. This is a class, because the containers of an encoder share the array and fill
/// it step by step.
final class CodedArray {
  var elements: [CodedValue]

  init(_ elements: [CodedValue] = []) { self.elements = elements }
}

/// Fields by name. This is a class, because the containers of an encoder share the map and fill it step by
/// step.
///
/// Until `sort` is called, the entries are in the order in which they were appended. The last entry with a
/// name counts.
final class CodedMap {
  typealias Entry = (name: String, value: CodedValue)

  private(set) var entries: [Entry]

  init(_ entries: [Entry] = []) { self.entries = entries }

  func append(_ name: String, _ value: CodedValue) { entries.append((name, value)) }

  /// The value with this name. The search is linear, and runs only in the rare case that a container is
  /// opened twice.
  subscript(name: String) -> CodedValue? {
    get { entries.last { $0.name.isSameUTF8(as: name) }?.value }
    set {
      let index = entries.lastIndex { $0.name.isSameUTF8(as: name) }
      switch (index, newValue) {
      case (let index?, let value?): entries[index].value = value
      case (let index?, nil): entries.remove(at: index)
      case (nil, let value?): append(name, value)
      case (nil, nil): break
      }
    }
  }

  /// Sorts the entries in the order of document fields, and keeps only the last entry with each name.
  func sort() {
    if isSorted { return }
    // The sort is stable, so among entries with the same name the last one stays last.
    entries.sort { $0.name.precedesInUTF8($1.name) }
    if isSorted { return }
    var unique: [Entry] = []
    for entry in entries {
      if let last = unique.last, last.name.isSameUTF8(as: entry.name) { unique.removeLast() }
      unique.append(entry)
    }
    entries = unique
  }

  /// Whether the names are strictly ascending, which excludes duplicates.
  private var isSorted: Bool {
    for index in entries.indices.dropFirst()
    where !entries[index - 1].name.precedesInUTF8(entries[index].name) {
      return false
    }
    return true
  }
}

extension CodedValue {
  /// Sorts all maps, because decoders use binary search.
  func sortMaps() {
    switch self {
    case .map(let map):
      map.sort()
      for entry in map.entries { entry.value.sortMaps() }
    case .array(let array):
      for element in array.elements { element.sortMaps() }
    case .stored, .timestamp, .reference, .decimal, .sentinel, .other, .recordMap, .recordArray: break
    }
  }
}
