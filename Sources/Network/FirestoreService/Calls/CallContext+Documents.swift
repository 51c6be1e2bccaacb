// CreateDocument, UpdateDocument and DeleteDocument: commits of one write that return the document.

internal import Authority
internal import DocumentStore
internal import FirestoreWire
internal import OfflineSync

extension ServedDatabase {
  /// The collection with an id below a parent, which is a document or the root.
  func collection(_ id: String, below parent: String) throws(RemoteError) -> CollectionPath {
    let document = try name.parent(of: parent)
    guard !id.utf8.contains(UInt8(ascii: "/")) else {
      throw RemoteError(
        .invalidArgument, "Collection id \"\(shortened(id))\" is invalid because it contains \"/\".")
    }
    // A document in the collection has a valid name if the collection has.
    let path = try name.path(of: "\(name.name(ofParent: document))/\(id)/a")
    return path.parent
  }
}

extension CallContext {
  func createDocument(
    _ request: Wire.CreateDocumentRequest
  ) throws(RemoteError) -> Pending<Wire.Document> {
    let database = try database(ofParent: request.parent)
    let mask = try FieldMask(of: request.mask)
    guard request.document?.name.isEmpty ?? true else {
      throw RemoteError(.invalidArgument, "document.name must not be set")
    }
    let collection = try database.collection(request.collectionId, below: request.parent)
    let id = request.documentId.isEmpty ? RandomName.make(options.random) : request.documentId
    guard id != ".", id != ".." else {
      throw RemoteError(.invalidArgument, "Resource id \"\(id)\" is invalid because it is reserved.")
    }
    guard !id.utf8.contains(UInt8(ascii: "/")) else {
      throw RemoteError(
        .invalidArgument, "Resource id \"\(shortened(id))\" is invalid because it contains \"/\".")
    }
    var write = Wire.Write()
    var document = request.document ?? Wire.Document()
    document.name = "\(database.name.documentsName)/\(collection)/\(id)"
    write.operation = .update(document)
    var precondition = Wire.Precondition()
    precondition.conditionType = .exists(false)
    write.currentDocument = precondition
    return try commit(write, in: database, mask: mask)
  }

  func updateDocument(
    _ request: Wire.UpdateDocumentRequest
  ) throws(RemoteError) -> Pending<Wire.Document> {
    let document = request.document ?? Wire.Document()
    let database = try self.document(document.name).database
    let mask = try FieldMask(of: request.mask)
    var write = Wire.Write()
    write.operation = .update(document)
    write.updateMask = request.updateMask
    write.currentDocument = request.currentDocument
    return try commit(write, in: database, mask: mask)
  }

  func deleteDocument(
    _ request: Wire.DeleteDocumentRequest
  ) throws(RemoteError) -> Pending<EmptyResponse> {
    let database = try document(request.name).database
    var write = Wire.Write()
    write.operation = .delete(request.name)
    write.currentDocument = request.currentDocument
    let mutation = try database.name.mutation(write)
    return { [client] done in
      database.commit([mutation], for: client) { outcome in done(outcome.map { _ in EmptyResponse() }) }
    }
  }

  /// Commits a write of one document, and answers with the document as it is after the commit. The read of
  /// the document before and the commit are one transaction.
  private func commit(
    _ write: Wire.Write, in database: ServedDatabase, mask: FieldMask?
  ) throws(RemoteError) -> Pending<Wire.Document> {
    let mutation = try database.name.mutation(write)
    try database.authority.checkWrite([mutation], as: user)
    return { [client] done in
      database.commit(reading: mutation, for: client) { result in
        done(
          result.flatMap { outcome, base in
            Result { () throws(RemoteError) in
              database.document(try Self.record(after: mutation, on: base, outcome: outcome), mask)
            }
          })
      }
    }
  }

  /// The document that a mutation has left.
  private static func record(
    after mutation: Mutation, on base: StoredDocument?, outcome: CommitOutcome
  ) throws(RemoteError) -> DocumentRecord {
    // The commit has checked the precondition.
    let unconditional = Mutation(mutation.path, mutation.change, precondition: .none)
    let document: StoredDocument?
    do throws(DocumentStoreError) {
      document = try unconditional.apply(
        to: base, at: outcome.time, updated: outcome.writes.first?.updateTime)
    } catch {
      throw RemoteError(error)
    }
    guard let document else { throw RemoteError(.internal, "The write left no document.") }
    return DocumentRecord(document)
  }
}
