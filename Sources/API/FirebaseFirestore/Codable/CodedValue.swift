// What lies between Swift values and documents: a tree that holds everything either side knows.

import DocumentStore
import FirebaseCore
import Foundation

/// A value on its way into a document or out of one.
///
/// The objects that users put into dictionaries stay what they are: a `Timestamp` keeps its
/// nanoseconds, a `DocumentReference` its `Firestore`, a decimal its digits. Only storing rounds.
enum CodedValue {
  case stored(StoredValue)
  case timestamp(Timestamp)
  case reference(DocumentReference)
  case decimal(NSDecimalNumber)
  case sentinel(FieldValue)
  case array(CodedArray)
  case map(CodedMap)
  /// What no document can hold, in something that is read: whoever asks for just that gets it.
  case other(Any)
  /// On the way out of a document: below them, only what is asked for is decoded.
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
    // A time that is still to be set is none yet.
    case .stored(.null), .stored(.pendingTimestamp): true
    default: false
    }
  }

  /// How messages of errors call it.
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

/// Elements of an array. A class, because an encoder hands out containers that fill it bit by bit.
final class CodedArray {
  var elements: [CodedValue]

  init(_ elements: [CodedValue] = []) { self.elements = elements }
}

/// Fields by name. A class for the same reason as `CodedArray`.
///
/// In the order of arrival, with the last of several entries of one name counting, until `sort`.
final class CodedMap {
  typealias Entry = (name: String, value: CodedValue)

  private(set) var entries: [Entry]

  init(_ entries: [Entry] = []) { self.entries = entries }

  func append(_ name: String, _ value: CodedValue) { entries.append((name, value)) }

  /// Linear; for the rare containers that are visited twice.
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

  /// Brings the entries into the order of documents, one per name.
  func sort() {
    if isSorted { return }
    // The sort is stable, so of equal names the one that arrived last is last.
    entries.sort { $0.name.precedesInUTF8($1.name) }
    if isSorted { return }
    var unique: [Entry] = []
    for entry in entries {
      if let last = unique.last, last.name.isSameUTF8(as: entry.name) { unique.removeLast() }
      unique.append(entry)
    }
    entries = unique
  }

  /// Whether every name comes before the next, which also means that there are no two of one name.
  private var isSorted: Bool {
    for index in entries.indices.dropFirst()
    where !entries[index - 1].name.precedesInUTF8(entries[index].name) {
      return false
    }
    return true
  }
}

extension CodedValue {
  /// Brings all maps into the order in which decoders look things up.
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
