// Converts the user's dictionaries to stored values and back.

package import DocumentStore
private import FirebaseCore
private import Foundation

package enum UserData {
  // MARK: From the API's objects

  /// Returns the fields of a document to be written to `firestore`.
  package static func fields(
    from data: [String: Any], in firestore: Firestore?
  ) throws(UserDataError) -> EncodedFields {
    try coded(data).fields(in: firestore)
  }

  /// Converts one value that `updateData` writes to `field`. Returns nil if the commit computes the whole
  /// value.
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

  /// The context of a value that is not the value of a field.
  package enum Place: Sendable {
    /// A single value, such as an operand of a filter.
    case single
    /// An element of an array, such as an operand of an array union.
    case inArray
    /// An element of a list that may contain arrays: a list of operands, or the values of a cursor.
    case inList
  }

  /// Converts a value without sentinels.
  package static func stored(
    from any: Any, place: Place = .single, in firestore: Firestore?
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
    // Sentinels throw an error here, so a nil result can only mean an empty map.
    return try collector.value(value, at: []) ?? .map(StoredMap())
  }

  // MARK: To the API's objects

  static func dictionary(from fields: DocumentRecord.Fields, in firestore: Firestore) -> [String: Any] {
    switch fields {
    case .record(let map): map.dictionary { any(from: $0, in: firestore) }
    case .stored(let map): dictionary(from: map, in: firestore)
    }
  }

  package static func dictionary(from map: StoredMap, in firestore: Firestore) -> [String: Any] {
    var dictionary = [String: Any](minimumCapacity: map.count)
    for (name, value) in map.entries { dictionary[name] = any(from: value, in: firestore) }
    return dictionary
  }

  /// Returns the API's object for a value. References belong to `firestore`.
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

  /// Returns the API's object for a value that contains no other values.
  static func leaf(_ value: StoredValue) -> Any {
    switch value {
    case .null, .pendingTimestamp: NSNull()
    case .boolean(let boolean): boolean
    case .integer(let integer): SmallNumbers.number(integer)
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

/// The objects of small integers, which are frequent in documents. Creating such an object costs more than
/// all other work for a field.
private enum SmallNumbers {
  private static let range: Range<Int64> = 0..<1024
  private static let numbers = range.map { NSNumber(value: $0) }

  static func number(_ integer: Int64) -> NSNumber {
    range.contains(integer) ? numbers[Int(integer)] : NSNumber(value: integer)
  }
}
