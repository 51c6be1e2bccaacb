// How many documents there are.
//
// What the store and the layers above it keep beside the documents of users has names too. All of it is in collections
// whose ids are reserved, which no user can write: nobody has to know which there are.

import ByteStore

extension DocumentStore {
  /// The number of documents, as of one commit. Reads pages of the names, and no document.
  package func documentCount() throws(DocumentStoreError) -> Int {
    while true {
      let (moment, names) = try momentWithNames()
      defer { withExtendedLifetime(moment) {} }
      do throws(DocumentStoreError) {
        return names.count - (try names.reservedCount())
      } catch {
        // A damaged page of the names is no loss: what it says, the documents say as well.
        guard case .corrupted = error, indexes.dropUnreadable() else { throw error }
      }
    }
  }
}

extension OrderedIndex {
  /// How many of these names are of documents that are not the users'.
  fileprivate func reservedCount() throws(DocumentStoreError) -> Int {
    // Without what ends the id. Ids of users may begin so as well, if they do not end so.
    let start = Array(NameKey.prefix(group: "__").dropLast(2))
    var cursor = try self.cursor(over: .prefix(start))
    var count = 0
    while try cursor.next() {
      let group = Self.group(of: cursor.key())
      // An id that is longer than keys is none of ours.
      guard group.count <= StoredKey.keptBytes, let behind = group.behindAllWithPrefix else { continue }
      let first = cursor.position - 1
      // Never back: somebody may have made up the keys.
      let end = max(try rank(of: behind.rawSpan), cursor.position)
      if Self.isReserved(group) { count += end - first }
      cursor.seek(toRank: end)
    }
    return count
  }

  /// What all names of a collection group begin with; all of the name if its id has no end.
  private static func group(of name: RawSpan) -> [UInt8] {
    [UInt8](copying: name.extracting(first: DocumentKey.segmentBytes(name) ?? name.byteCount))
  }

  /// `group` as of a name that begins like the reserved ones.
  private static func isReserved(_ group: [UInt8]) -> Bool {
    let id = String(decoding: group.dropFirst().dropLast(2), as: UTF8.self)
    return DocumentPath(unchecked: [id, id]).isReserved
  }
}
