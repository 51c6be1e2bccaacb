// Writes the fields of a user's dictionary as a record, without a tree of coded values.
//
// The writer gives up for everything that a document may not hold, and for a few rare types. The tree of
// coded values (CodedValue+Any.swift, FieldCollector.swift) then encodes the fields or finds the error.

import DocumentStore
private import FirebaseCore
private import Foundation

/// Writes fields, and collects their sentinels separately.
struct DictionaryWriter {
  /// The fields must be encoded as a tree.
  struct GivesUp: Error {}

  private let firestore: Firestore?
  private var sentinels: [EncodedFields.Sentinel] = []
  /// The names of the open maps, from the outermost one.
  private var names: [String] = []
  /// The number of open arrays. Sentinels are not allowed inside arrays.
  private var arrayDepth = 0

  private init(_ firestore: Firestore?) { self.firestore = firestore }

  /// Encodes a dictionary. Nil if it must be encoded as a tree.
  static func fields(
    _ dictionary: [String: Any], with encoder: FieldsEncoder, in firestore: Firestore?
  ) -> EncodedFields? {
    var fields = DictionaryWriter(firestore)
    // Dictionaries of one kind mostly have the same number of fields.
    let stored = try? encoder.encode(kind: dictionary.count) { writer, map throws(GivesUp) in
      try fields.write(dictionary, into: map, to: &writer)
    }
    guard let stored else { return nil }
    return EncodedFields(fields: stored, sentinels: fields.sentinels.inNameOrder)
  }

  /// Encodes the values of an update, which are sorted by field. No field may be inside another. Nil if they
  /// must be encoded as a tree.
  static func fields(
    _ updates: [FieldUpdate], with encoder: FieldsEncoder, in firestore: Firestore?
  ) -> EncodedFields? {
    var fields = DictionaryWriter(firestore)
    let stored = try? encoder.encode(kind: updates.count) { writer, map throws(GivesUp) in
      try fields.write(updates[...], at: 0, into: map, to: &writer)
    }
    guard let stored else { return nil }
    return EncodedFields(fields: stored, sentinels: fields.sentinels.inNameOrder)
  }

  // MARK: Updates

  typealias FieldUpdate = (field: StoredFieldPath, value: Any)

  /// Writes updates whose first `depth` names lead to the map.
  private mutating func write(
    _ updates: ArraySlice<FieldUpdate>, at depth: Int, into map: RecordWriter.OpenMap,
    to writer: inout RecordWriter
  ) throws(GivesUp) {
    guard writer.isWithinLimits else { throw GivesUp() }
    var rest = updates
    while let first = rest.first {
      let name = first.field.names[depth]
      writer.field(name, in: map)
      guard first.field.names.count > depth + 1 else {
        rest.removeFirst()
        if try !write(first.value, name: name, to: &writer) {
          // An update replaces the field, also if the commit computes all parts of the new value.
          let empty = writer.beginMap()
          writer.end(empty)
        }
        continue
      }
      let group = rest.prefix { $0.field.names[depth].isSameUTF8(as: name) }
      rest = rest[group.endIndex...]
      let inner = writer.beginMap()
      names.append(name)
      try write(group, at: depth + 1, into: inner, to: &writer)
      names.removeLast()
      writer.end(inner)
    }
  }

  // MARK: Maps

  private mutating func write(
    _ dictionary: [String: Any], into map: RecordWriter.OpenMap, to writer: inout RecordWriter
  ) throws(GivesUp) {
    guard writer.isWithinLimits else { throw GivesUp() }
    for (name, value) in dictionary {
      writer.field(name, in: map)
      if try !write(value, name: name, to: &writer) { writer.dropField(in: map) }
    }
  }

  /// Writes a map as the value of a field or of an element, whose name is nil. Returns false if the map
  /// contains nothing but sentinels.
  private mutating func writeMap(
    _ dictionary: [String: Any], name: String?, to writer: inout RecordWriter
  ) throws(GivesUp) -> Bool {
    let map = writer.beginMap()
    if let name { names.append(name) }
    try write(dictionary, into: map, to: &writer)
    if name != nil { names.removeLast() }
    if !dictionary.isEmpty, writer.isEmpty(map) {
      try check(name)
      writer.cancel(map)
      return false
    }
    writer.end(map)
    return true
  }

  // MARK: Arrays

  private mutating func writeArray(_ array: [Any], to writer: inout RecordWriter) throws(GivesUp) {
    let open = try beginArray(&writer)
    for value in array {
      guard writer.isWithinLimits else { throw GivesUp() }
      writer.element(in: open)
      guard try write(value, name: nil, to: &writer) else { throw GivesUp() }
    }
    endArray(open, to: &writer)
  }

  /// Writes an array of one type, for which `write` writes one element.
  private mutating func writeArray<Element>(
    _ array: [Element], to writer: inout RecordWriter, _ write: (inout RecordWriter, Element) -> Void
  ) throws(GivesUp) {
    let open = try beginArray(&writer)
    for value in array {
      guard writer.isWithinLimits else { throw GivesUp() }
      writer.element(in: open)
      write(&writer, value)
    }
    endArray(open, to: &writer)
  }

  private mutating func beginArray(
    _ writer: inout RecordWriter
  ) throws(GivesUp) -> RecordWriter.OpenArray {
    guard writer.isWithinLimits else { throw GivesUp() }
    arrayDepth += 1
    return writer.beginArray()
  }

  private mutating func endArray(_ array: RecordWriter.OpenArray, to writer: inout RecordWriter) {
    arrayDepth -= 1
    writer.end(array)
  }

  // MARK: Values

  /// Writes the value of a field or of an element, whose name is nil. Returns false for a sentinel, and for a
  /// map that contains nothing but sentinels.
  private mutating func write(
    _ any: Any, name: String?, to writer: inout RecordWriter
  ) throws(GivesUp) -> Bool {
    // Comparing types is cheaper than a dynamic cast. The most frequent types come first.
    let type = boxedType(any)
    if type == String.self {
      writer.string(exact(any))
    } else if type == Int.self {
      writer.integer(Int64(exact(any, as: Int.self)))
    } else if type == Double.self {
      writer.double(exact(any))
    } else if type == Bool.self {
      writer.boolean(exact(any))
    } else if type == [String: Any].self {
      return try writeMap(exact(any, as: [String: Any].self), name: name, to: &writer)
    } else if type == [Any].self {
      guard name != nil else { throw GivesUp() }
      try writeArray(exact(any, as: [Any].self), to: &writer)
    } else if type == Timestamp.self {
      writer.timestamp(exact(any, as: Timestamp.self).stored)
    } else if type == Date.self {
      try write(exact(any, as: Date.self), to: &writer)
    } else if type == Int64.self {
      writer.integer(exact(any))
    } else if type == Data.self {
      writer.bytes([UInt8](exact(any, as: Data.self)).rawSpan)
    } else {
      return try writeOther(any, Swift.type(of: any), name: name, to: &writer)
    }
    return true
  }

  private mutating func writeOther(
    _ any: Any, _ type: Any.Type, name: String?, to writer: inout RecordWriter
  ) throws(GivesUp) -> Bool {
    type is AnyObject.Type
      ? try writeObject(any, type, name: name, to: &writer)
      : try writeCollection(any, type, name: name, to: &writer)
  }

  private mutating func writeObject(
    _ any: Any, _ type: Any.Type, name: String?, to writer: inout RecordWriter
  ) throws(GivesUp) -> Bool {
    if type == GeoPoint.self {
      writer.geoPoint(exact(any, as: GeoPoint.self).stored)
    } else if type == DocumentReference.self {
      try write(exact(any, as: DocumentReference.self), to: &writer)
    } else if type == FieldValue.self {
      try add(exact(any, as: FieldValue.self), name)
      return false
    } else if type == VectorValue.self {
      writer.vector(exact(any, as: VectorValue.self).array)
    } else {
      return try writeCast(any, name: name, to: &writer)
    }
    return true
  }

  private mutating func writeCollection(
    _ any: Any, _ type: Any.Type, name: String?, to writer: inout RecordWriter
  ) throws(GivesUp) -> Bool {
    guard name != nil else { return try writeCast(any, name: name, to: &writer) }
    if type == [String].self {
      try writeArray(exact(any, as: [String].self), to: &writer) { $0.string($1) }
    } else if type == [Int].self {
      try writeArray(exact(any, as: [Int].self), to: &writer) { $0.integer(Int64($1)) }
    } else if type == [Double].self {
      try writeArray(exact(any, as: [Double].self), to: &writer) { $0.double($1) }
    } else if type == [[String: Any]].self {
      let open = try beginArray(&writer)
      for dictionary in exact(any, as: [[String: Any]].self) {
        writer.element(in: open)
        guard try writeMap(dictionary, name: nil, to: &writer) else { throw GivesUp() }
      }
      endArray(open, to: &writer)
    } else {
      return try writeCast(any, name: name, to: &writer)
    }
    return true
  }

  /// Writes a value of any other type, which is converted first.
  private mutating func writeCast(
    _ any: Any, name: String?, to writer: inout RecordWriter
  ) throws(GivesUp) -> Bool {
    let value: CodedValue
    do throws(UserDataError) { value = try UserData.coded(any) } catch { throw GivesUp() }
    return try write(value, name: name, to: &writer)
  }

  private func write(_ date: Date, to writer: inout RecordWriter) throws(GivesUp) {
    guard Timestamp.problem(date: date) == nil else { throw GivesUp() }
    writer.timestamp(Timestamp(date: date).stored)
  }

  private func write(_ reference: DocumentReference, to writer: inout RecordWriter) throws(GivesUp) {
    // Another instance may use the same database. This is decided where the tree is converted.
    if let firestore, reference.firestore !== firestore { throw GivesUp() }
    writer.reference(reference.stored)
  }

  /// Checks the name of a field that the commit computes. The writer checks only the names of fields that it
  /// writes.
  private func check(_ name: String?) throws(GivesUp) {
    if let name, !FieldCollector.isUserName(name) { throw GivesUp() }
  }

  private mutating func add(_ sentinel: FieldValue, _ name: String?) throws(GivesUp) {
    guard let name, arrayDepth == 0 else { throw GivesUp() }
    try check(name)
    sentinels.append((names + [name], sentinel))
  }

  // MARK: Coded values

  private mutating func write(
    _ value: CodedValue, name: String?, to writer: inout RecordWriter
  ) throws(GivesUp) -> Bool {
    switch value {
    case .stored(let stored): writer.value(stored)
    case .timestamp(let timestamp): writer.timestamp(timestamp.stored)
    case .decimal(let decimal): writer.double(decimal.doubleValue)
    case .reference(let reference): try write(reference, to: &writer)
    case .sentinel(let sentinel):
      try add(sentinel, name)
      return false
    case .array(let array):
      guard name != nil else { throw GivesUp() }
      let open = try beginArray(&writer)
      for element in array.elements {
        writer.element(in: open)
        guard try write(element, name: nil, to: &writer) else { throw GivesUp() }
      }
      endArray(open, to: &writer)
    case .map(let map): return try writeCodedMap(map, name: name, to: &writer)
    case .other, .recordMap, .recordArray: throw GivesUp()
    }
    return true
  }

  private mutating func writeCodedMap(
    _ fields: CodedMap, name: String?, to writer: inout RecordWriter
  ) throws(GivesUp) -> Bool {
    guard writer.isWithinLimits else { throw GivesUp() }
    let map = writer.beginMap()
    if let name { names.append(name) }
    for (name, value) in fields.entries {
      writer.field(name, in: map)
      if try !write(value, name: name, to: &writer) { writer.dropField(in: map) }
    }
    if name != nil { names.removeLast() }
    if !fields.entries.isEmpty, writer.isEmpty(map) {
      try check(name)
      writer.cancel(map)
      return false
    }
    writer.end(map)
    return true
  }
}

extension [EncodedFields.Sentinel] {
  /// The sentinels in the order in which a walk over sorted maps meets them.
  var inNameOrder: Self {
    guard count > 1 else { return self }
    return sorted { left, right in
      for (left, right) in zip(left.path, right.path) {
        let order = left.comparedInUTF8(to: right)
        if order != 0 { return order < 0 }
      }
      return left.path.count < right.path.count
    }
  }
}
