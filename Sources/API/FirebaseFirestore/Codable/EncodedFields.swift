// The fields of a write, and what its field values do when it is committed.

package import DocumentStore

/// The fields of a document that is about to be written. Plain values are separate from the values that the
/// commit computes.
package struct EncodedFields {
  package typealias Sentinel = (path: [String], value: FieldValue)

  /// The plain values. A map that contains only sentinels is omitted: the commit creates that map again when
  /// it computes the sentinels, and a merge must not treat it as an empty map.
  package var fields: StoredMap
  /// The values that the commit computes, sorted by name. Each path starts at the outermost map.
  package var sentinels: [Sentinel]

  package init(fields: StoredMap = StoredMap(), sentinels: [Sentinel] = []) {
    self.fields = fields
    self.sentinels = sentinels
  }
}

extension CodedMap {
  func fields(in firestore: Firestore?) throws(UserDataError) -> EncodedFields {
    var collector = FieldCollector(firestore: firestore)
    let fields = try collector.map(self, at: [])
    return EncodedFields(fields: fields, sentinels: collector.sentinels)
  }
}

extension FieldValue {
  /// Returns the operation that the commit performs for this field value; nil for a deletion.
  func operation(in firestore: Firestore?) throws(UserDataError) -> FieldTransform.Operation? {
    switch kind {
    case .delete: nil
    case .serverTimestamp: .serverTimestamp
    case .increment(let number): .increment(number)
    case .minimum(let number): .minimum(number)
    case .maximum(let number): .maximum(number)
    case .arrayUnion(let elements): .arrayUnion(try Self.stored(elements, in: firestore))
    case .arrayRemove(let elements): .arrayRemove(try Self.stored(elements, in: firestore))
    }
  }

  private static func stored(
    _ elements: [Any], in firestore: Firestore?
  ) throws(UserDataError) -> [StoredValue] {
    var stored: [StoredValue] = []
    for element in elements {
      stored.append(try UserData.stored(from: element, place: .inArray, in: firestore))
    }
    return stored
  }
}
