// The tree between Swift values and documents. It represents everything that either side can hold.

import DocumentStore
import FirebaseCore
import Foundation

/// A value on its way into a document or out of one.
///
/// Objects from users' dictionaries are kept unchanged: a `Timestamp` keeps its nanoseconds, a
/// `DocumentReference` its `Firestore`, a decimal its digits. Values are rounded only when they are stored.
enum CodedValue {
  case stored(StoredValue)
  case timestamp(Timestamp)
  case reference(DocumentReference)
  case decimal(NSDecimalNumber)
  case sentinel(FieldValue)
  case array(CodedArray)
  case map(CodedMap)
  /// An object that no document can hold, in a value that is only read. It can be decoded as its own type.
  case other(Any)
  /// Values of a document that is being decoded. Their contents are decoded on demand.
  case recordMap(RecordMap)
  case recordArray([RecordValue])
}

extension CodedValue {
  init(_ value: RecordValue) {
    if let map = value.map {
      self = .recordMap(map)
    } else if let elements = value.elements {
      self = .recordArray(elements)
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
    // A timestamp that is not set yet reads as null.
    case .stored(.null), .stored(.pendingTimestamp): true
    default: false
    }
  }

  /// The name of the type in error messages.
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

/// The elements of an array. A class, because the containers of an encoder share it and fill it step by
/// step.
final class CodedArray {
  var elements: [CodedValue]

  init(_ elements: [CodedValue] = []) { self.elements = elements }
}

/// Fields by name. A class, because the containers of an encoder share it and fill it step by step.
///
/// Until `sort`, the entries are in order of arrival, and the last entry of each name counts.
final class CodedMap {
  typealias Entry = (name: String, value: CodedValue)

  private(set) var entries: [Entry]

  init(_ entries: [Entry] = []) { self.entries = entries }

  func append(_ name: String, _ value: CodedValue) { entries.append((name, value)) }

  /// The value with this name. Linear, used only for the rare containers that are opened twice.
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

  /// Sorts the entries as in documents, and keeps one entry per name.
  func sort() {
    if isSorted { return }
    // The sort is stable, so the latest of several entries with one name stays last.
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
