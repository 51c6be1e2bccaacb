// Finds the objects whose contents are damaged, for a check that found damage only in contents.

import ByteStore
package import DocumentStore

extension DocumentStore {
  /// The objects with unreadable contents, as `bucket/name`. Reads each content once.
  package func damagedObjects() throws(DocumentStoreError) -> [String] {
    var isSound: [BlobID: Bool] = [:]
    var damaged: [String] = []
    for document in try documents(StructuredQuery(.collectionGroup(ReservedPath.objects))) {
      guard let object = StoredObject(document) else { continue }
      let known = isSound[object.blob]
      let intact = if let known { known } else { try isContentIntact(object.blob) }
      isSound[object.blob] = intact
      if !intact { damaged.append("\(object.path.bucket)/\(object.path.name)") }
    }
    return damaged
  }

  private func isContentIntact(_ id: BlobID) throws(DocumentStoreError) -> Bool {
    guard let place = try objects.place(of: id) else { return false }
    do throws(ByteStoreError) {
      try objects.blobs.verify(id, at: place)
      return true
    } catch {
      guard error.isDamageOrUnreadable else { throw DocumentStoreError(error) }
      objects.state.noteDamage(of: id)
      return false
    }
  }
}
