// What a write brings to a document.

package import DocumentStore

/// The fields of a document to be written, apart from those that the commit computes.
package struct EncodedFields {
  package typealias Sentinel = (path: [String], value: FieldValue)

  /// Maps that held nothing but sentinels are left out: computing those makes them again, and a merge
  /// must not take them for empty maps.
  package var fields: StoredMap
  /// In the order of the names; a path leads from the outermost map inwards.
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
