// The dictionaries of users, into values of documents and back.

package import DocumentStore
private import FirebaseCore
private import Foundation

package enum UserData {
  // MARK: In

  /// The fields of a document to be written to `firestore`.
  package static func fields(
    from data: [String: Any], in firestore: Firestore?
  ) throws(UserDataError) -> EncodedFields {
    try coded(data).fields(in: firestore)
  }

  /// One value to be written at `field`, as `updateData` has them. Nil if the commit computes all of it.
  package static func value(
    from any: Any, at field: [String], in firestore: Firestore?
  ) throws(UserDataError) -> (value: StoredValue?, sentinels: [EncodedFields.Sentinel]) {
    let value: CodedValue
    do throws(UserDataError) {
      value = try coded(any)
    } catch {
      throw field.reversed().reduce(error) { $0.inside($1) }
    }
    var collector = FieldCollector(firestore: firestore)
    let stored = try collector.value(value, at: field)
    return (stored, collector.sentinels)
  }

  /// Where a value that is not written to a field of its own is going to be.
  package enum Place: Sendable {
    /// On its own, such as an operand of a filter.
    case alone
    /// Among the elements of an array, such as an operand of an array union.
    case inArray
    /// Where arrays may hold arrays: a list of operands, a value of a cursor.
    case inList
  }

  /// A value without sentinels.
  package static func stored(
    from any: Any, place: Place = .alone, in firestore: Firestore?
  ) throws(UserDataError) -> StoredValue {
    let value: CodedValue
    do throws(UserDataError) {
      value = try coded(any)
    } catch {
      throw place == .inArray ? error.insideArray() : error
    }
    return try stored(from: value, place: place, in: firestore)
  }

  static func stored(
    from value: CodedValue, place: Place, in firestore: Firestore?
  ) throws(UserDataError) -> StoredValue {
    var collector = FieldCollector(firestore: firestore, nestsArrays: place == .inList, isWrite: false)
    guard place != .inArray else { return try collector.element(value) }
    // Sentinels throw, so nothing can be left out.
    return try collector.value(value, at: []) ?? .map(StoredMap())
  }

  // MARK: Out

  static func dictionary(from fields: DocumentRecord.Fields, in firestore: Firestore) -> [String: Any] {
    switch fields {
    case .record(let map): dictionary(from: map, in: firestore)
    case .stored(let map): dictionary(from: map, in: firestore)
    }
  }

  /// Straight from what is stored.
  private static func dictionary(from map: RecordMap, in firestore: Firestore) -> [String: Any] {
    map.dictionary { any(from: $0, in: firestore) }
  }

  private static func any(from value: RecordValue, in firestore: Firestore) -> Any {
    if let string = value.string { return string }
    if let integer = value.integer { return NSNumber(value: integer) }
    if let double = value.double { return NSNumber(value: double) }
    if let boolean = value.boolean { return boolean }
    if let map = value.map { return dictionary(from: map, in: firestore) }
    if let elements = value.elements({ any(from: $0, in: firestore) }) { return elements }
    return any(from: value.stored, in: firestore)
  }

  package static func dictionary(from map: StoredMap, in firestore: Firestore) -> [String: Any] {
    var dictionary = [String: Any](minimumCapacity: map.count)
    for (name, value) in map.entries { dictionary[name] = any(from: value, in: firestore) }
    return dictionary
  }

  /// The object that stands for a value; references belong to `firestore`.
  package static func any(from value: StoredValue, in firestore: Firestore) -> Any {
    switch value {
    case .reference(let reference): DocumentReference(firestore, reference.path.segments)
    case .array(let elements): elements.map { any(from: $0, in: firestore) }
    case .map(let map): dictionary(from: map, in: firestore)
    case .null, .boolean, .integer, .double, .timestamp, .pendingTimestamp, .string, .bytes, .geoPoint,
      .vector:
      leaf(value)
    }
  }

  /// The object that stands for a value which holds no others.
  static func leaf(_ value: StoredValue) -> Any {
    switch value {
    case .null, .pendingTimestamp: NSNull()
    case .boolean(let boolean): boolean
    case .integer(let integer): NSNumber(value: integer)
    case .double(let double): NSNumber(value: double)
    case .timestamp(let timestamp): Timestamp(timestamp)
    case .string(let string): string
    case .bytes(let bytes): Data(bytes)
    case .geoPoint(let point): GeoPoint(point)
    case .vector(let elements): VectorValue(elements)
    case .reference, .array, .map: preconditionFailure("not a leaf")
    }
  }
}
