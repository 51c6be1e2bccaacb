// Objects in buckets: named contents that are stored in the same store as the documents.
//
// A content is stored once, even if several objects reference it. The references are the object records
// themselves. An index on the content id finds them. So a reference is added or removed in the commit that
// changes the object. The content record says where the bytes are. It is removed together with the last
// object that references the content.
//
//   object record  →  content record  →  bytes in a pack or a file       made durable from right to left

package import ByteStore
package import DocumentStore

/// The objects of one store. A stateless value that is cheap to create; usable from any thread.
package struct ObjectStore: Sendable {
  let store: DocumentStore

  package var blobs: BlobStore { store.bytes.blobs }
  let state: ObjectState

  init(_ store: DocumentStore) {
    self.store = store
    state = store.attachments.attachment(ObjectState.self)
  }

  // MARK: Reading

  /// Returns the object, or nil if the object does not exist.
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

  /// The object and a reader of its content. Later changes of the object do not affect the reader. Nil if
  /// the object does not exist.
  package func content(
    at path: ObjectPath
  ) throws(DocumentStoreError) -> (object: StoredObject, reader: BlobReader)? {
    while let object = try object(at: path) {
      let place = try place(of: object.blob)
      do throws(DocumentStoreError) {
        guard let place else { throw missingContent(of: object) }
        return (object, try open(object.blob, at: place))
      } catch {
        // If the object has a new content by now, or if its content has moved, try again.
        guard try self.object(at: path)?.blob == object.blob else { continue }
        if try self.place(of: object.blob) == place { throw noted(error, of: object.blob) }
      }
    }
    return nil
  }

  /// Opens a reader for the content of `object`. The object's record must still exist, because it keeps the
  /// content from being removed. If the content moves meanwhile, tries again at the new location.
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

  /// Fills `bytes` with the bytes of a content, starting at `offset`. The content must have at least that
  /// many bytes after `offset`.
  package static func fill(
    _ bytes: inout [UInt8], from reader: BlobReader, at offset: UInt64
  ) throws(DocumentStoreError) {
    try translatingErrors { () throws(ByteStoreError) in try reader.fill(&bytes, at: offset) }
  }

  /// Whether a read has found the content damaged since the store was opened, and no intact copy has been
  /// stored after that.
  package func isKnownDamaged(_ id: BlobID) -> Bool { state.isKnownDamaged(id) }

  private func open(_ id: BlobID, at place: BlobLocation) throws(DocumentStoreError) -> BlobReader {
    let reader = try translatingErrors { () throws(ByteStoreError) in try blobs.reader(id, at: place) }
    reader.onDamage = { [state] in state.noteDamage(of: id) }
    return reader
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

  func place(of id: BlobID) throws(DocumentStoreError) -> BlobLocation? {
    guard let document = try store.document(at: BlobRecord.path(id)) else { return nil }
    return try place(in: document)
  }

  func place(in document: StoredDocument) throws(DocumentStoreError) -> BlobLocation {
    guard let place = BlobRecord.place(document.fields) else {
      throw DocumentStoreError(
        RecordError(offset: 0, expected: "a content"), at: document.path, in: store.path)
    }
    return place
  }

  // MARK: References

  /// The objects that reference a content, at most two, because callers only distinguish none, one and
  /// more.
  static func references(to id: BlobID) throws(DocumentStoreError) -> StructuredQuery {
    try StructuredQuery(.collectionGroup(ReservedPath.objects))
      .filtered(by: .field(StoredObject.blobField, .equal, .bytes(id.bytes)))
      .limited(to: .first(2))
  }
}

extension DocumentStore {
  package var objects: ObjectStore { ObjectStore(self) }
}
