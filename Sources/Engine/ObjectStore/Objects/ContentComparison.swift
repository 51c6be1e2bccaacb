// The agreement between objects and their contents, as a part of the store's check.
//
//   1. the content of each object has a record
//   2. each recorded content belongs to an object
//
// The comparison keeps two sets of ids in memory: recorded contents, and contents that objects reference.
// Therefore its memory use grows only with the number of contents.

import ByteStore
package import DocumentStore

private struct ContentComparison: RecordComparison {
  let store: DocumentStore
  private(set) var contents: Set<BlobID> = []
  private var named: Set<BlobID> = []

  init(_ store: DocumentStore) { self.store = store }

  var unreferencedContents: Int { contents.count { !named.contains($0) } }

  mutating func add(
    _ document: StoredDocument, to agreement: inout StoreAgreement
  ) throws(DocumentStoreError) {
    let path = document.path
    if let id = BlobRecord.id(path) { contents.insert(id) }
    // Uploads that wait for a remote reference contents as well.
    if path.collectionID.isSameUTF8(as: ReservedPath.objects),
      let blob = StoredObject.blob(in: document.fields)
    {
      named.insert(blob)
    }
    guard ObjectPath(path) != nil else { return }
    agreement.objects += 1
    guard let object = StoredObject(document) else {
      return agreement.add("\(path) is not a record of an object", isOfObject: true)
    }
    if try store.document(at: BlobRecord.path(object.blob)) == nil {
      agreement.add(
        "the object \(object.path.name) in \(object.path.bucket) has a content that is missing",
        isOfObject: true)
    }
  }
}

extension DocumentStore {
  /// Compares indexes with documents, and objects with contents. Throws if a document or a page of an index
  /// cannot be read.
  package func agreement(
    progress: ((_ done: Int, _ total: Int) -> Void)? = nil
  ) throws(DocumentStoreError) -> StoreAgreement {
    var comparison = ContentComparison(self)
    var agreement = try agreement(comparing: &comparison, progress: progress)
    agreement.contents = comparison.contents.count
    agreement.unreferencedContents = comparison.unreferencedContents
    return agreement
  }
}

extension DocumentStore {
  /// The objects with unreadable contents, as `bucket/name`. Reads each content once. For a check
  /// that found damage only in contents.
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
