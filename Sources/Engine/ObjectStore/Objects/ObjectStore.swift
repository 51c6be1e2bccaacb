// Objects of buckets: names for contents, in one store with the documents.
//
// A content is stored once, however many objects have it. What refers to it are the records of the objects
// themselves, which an index finds by their content: so a reference comes and goes in the very commit that
// changes the object. The record of a content says where it is, and goes with the last object that has it.
//
//   object record  →  content record  →  bytes in a pack or a file          each is durable before what is left of it

package import ByteStore
package import DocumentStore

/// The objects of one store. A value that can be made anew at any time; usable from any thread.
package struct ObjectStore: Sendable {
  let store: DocumentStore

  package var blobs: BlobStore { store.bytes.blobs }
  let state: ObjectState

  init(_ store: DocumentStore) {
    self.store = store
    state = store.attachments.attachment(ObjectState.self)
  }

  // MARK: Reading

  /// Nil if there is none.
  package func object(at path: ObjectPath) throws(DocumentStoreError) -> StoredObject? {
    guard let document = try store.document(at: path.document) else { return nil }
    return try object(of: document)
  }

  func object(of document: StoredDocument) throws(DocumentStoreError) -> StoredObject {
    guard let object = StoredObject(document) else {
      throw DocumentStoreError(
        RecordError(offset: 0, expected: "an object"), at: document.path, in: store.path)
    }
    return object
  }

  /// The object with its content, open for reading: what happens to the object later does not matter to the
  /// reader. Nil if there is no such object.
  package func content(
    at path: ObjectPath
  ) throws(DocumentStoreError) -> (object: StoredObject, reader: BlobReader)? {
    while let object = try object(at: path) {
      let place = try place(of: object.blob)
      do throws(DocumentStoreError) {
        guard let place else { throw missingContent(of: object) }
        return (object, try open(object.blob, at: place))
      } catch {
        // Another content may have come, or this one may have moved; then the next look finds it.
        guard try self.object(at: path)?.blob == object.blob else { continue }
        if try self.place(of: object.blob) == place { throw noted(error, of: object.blob) }
      }
    }
    return nil
  }

  /// The content of an object that some record has: it cannot go meanwhile, and may move.
  package func reader(of object: StoredObject) throws(DocumentStoreError) -> BlobReader {
    while true {
      let place = try place(of: object.blob)
      do throws(DocumentStoreError) {
        guard let place else { throw missingContent(of: object) }
        return try open(object.blob, at: place)
      } catch {
        if try self.place(of: object.blob) == place { throw noted(error, of: object.blob) }
      }
    }
  }

  /// Whether a read of the content has met damage since the store was opened, and no sound copy has come since.
  package func isKnownDamaged(_ id: BlobID) -> Bool { state.isKnownDamaged(id) }

  private func open(_ id: BlobID, at place: BlobPlace) throws(DocumentStoreError) -> BlobReader {
    do throws(ByteStoreError) {
      let reader = try blobs.reader(id, at: place)
      reader.onDamage = { [state] in state.noteDamage(of: id) }
      return reader
    } catch {
      throw DocumentStoreError(error)
    }
  }

  private func noted(_ error: DocumentStoreError, of id: BlobID) -> DocumentStoreError {
    if case .corrupted = error { state.noteDamage(of: id) }
    return error
  }

  private func missingContent(of object: StoredObject) -> DocumentStoreError {
    DocumentStoreError(
      .corrupted(
        Damage(
          file: blobs.path, offset: 0, expected: "the content \(object.blob) of \(object.path.name)",
          found: "no record of it")))
  }

  func place(of id: BlobID) throws(DocumentStoreError) -> BlobPlace? {
    guard let document = try store.document(at: BlobRecord.path(id)) else { return nil }
    return try place(in: document)
  }

  func place(in document: StoredDocument) throws(DocumentStoreError) -> BlobPlace {
    guard let place = BlobRecord.place(document.fields) else {
      throw DocumentStoreError(
        RecordError(offset: 0, expected: "a content"), at: document.path, in: store.path)
    }
    return place
  }

  // MARK: References

  /// Objects that have a content, two at most: more than that does not matter.
  static func references(to id: BlobID) throws(DocumentStoreError) -> StructuredQuery {
    try StructuredQuery(.collectionGroup(ReservedPath.objects))
      .filtered(by: .field(StoredObject.blobField, .equal, .bytes(id.bytes)))
      .limited(to: .first(2))
  }
}

extension DocumentStore {
  package var objects: ObjectStore { ObjectStore(self) }
}
