// Counts documents.
//
// The store and higher layers keep their own documents in collections with reserved ids, which users cannot
// write. The reserved ids are recognizable, so these documents can be counted and subtracted without a list
// of them.

import ByteStore

extension DocumentStore {
  /// The number of user documents in one snapshot. Reads pages of the name index and no documents.
  package func documentCount() throws(DocumentStoreError) -> Int {
    while true {
      let (snapshot, names) = try snapshotWithNames()
      defer { withExtendedLifetime(snapshot) {} }
      do throws(DocumentStoreError) {
        return names.count - (try names.reservedCount())
      } catch {
        // A damaged page of the name index loses no data, because the index can be rebuilt from the
        // documents.
        guard case .corrupted = error, indexes.dropUnreadable() else { throw error }
      }
    }
  }
}

extension OrderedIndex {
  /// The number of names that belong to reserved documents.
  fileprivate func reservedCount() throws(DocumentStoreError) -> Int {
    // The prefix that all reserved ids share, without an end marker. User ids can also begin with this
    // prefix, if they do not end in `__`.
    let start = Array(NameKey.prefix(group: "__").dropLast(2))
    var cursor = try self.cursor(over: .prefix(start))
    var count = 0
    while try cursor.next() {
      let group = Self.group(of: cursor.key())
      // An id that is longer than a stored key is not reserved.
      guard group.count <= StoredKey.keptBytes, let behind = group.prefixSuccessor else { continue }
      let first = cursor.position - 1
      // Never seek backward, because the keys may be forged.
      let end = max(try rank(of: behind.rawSpan), cursor.position)
      if Self.isReserved(group) { count += end - first }
      cursor.seek(toRank: end)
    }
    return count
  }

  /// The prefix that all names of the collection group share, or the whole name if the id in it has no end
  /// marker.
  private static func group(of name: RawSpan) -> [UInt8] {
    [UInt8](copying: name.extracting(first: DocumentKey.segmentBytes(name) ?? name.byteCount))
  }

  /// `group` must begin with the prefix that all reserved ids share.
  private static func isReserved(_ group: [UInt8]) -> Bool {
    let id = String(decoding: group.dropFirst().dropLast(2), as: UTF8.self)
    return DocumentPath(unchecked: [id, id]).isReserved
  }
}
