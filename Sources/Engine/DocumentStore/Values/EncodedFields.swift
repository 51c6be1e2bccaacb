// The encoded form of a map's fields.

/// Fields that are encoded, and decoded when they are needed. The encoding is known to the records only,
/// which use the values.
protocol EncodedFields: AnyObject, Sendable {
  var count: Int { get }
  /// The decoded fields in name order.
  var entries: [StoredMap.Entry] { get }
  /// The decoded value of a field.
  func value(of name: String) -> StoredValue?
  /// The decoded value at a path; nil if the field is absent or a parent is not a map.
  func value(at path: StoredFieldPath) -> StoredValue?
  /// Whether both have equal fields. Nil if this cannot be decided without decoding.
  func isSame(as other: any EncodedFields) -> Bool?
}
