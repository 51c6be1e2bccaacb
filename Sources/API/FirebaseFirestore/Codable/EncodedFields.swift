// The fields of a write.

package import DocumentStore

/// The fields of a document to be written, separate from those that the commit computes.
package struct EncodedFields {
  package typealias Sentinel = (path: [String], value: FieldValue)

  /// The plain values. A map that contains only sentinels is omitted: computing them creates it again, and
  /// a merge must not treat it as an empty map.
  package var fields: StoredMap
  /// The computed values, sorted by name. A path starts at the outermost map.
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
