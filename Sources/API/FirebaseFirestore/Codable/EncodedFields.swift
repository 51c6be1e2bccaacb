// The fields of a write.

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
