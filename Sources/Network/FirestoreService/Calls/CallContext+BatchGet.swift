// BatchGetDocuments and GetDocument.

internal import Authority
internal import DocumentStore
internal import FirestoreWire
internal import OfflineSync

extension CallContext {
  /// The documents come in the order of their first mention, each once.
  func batchGetDocuments(
    _ request: Wire.BatchGetDocumentsRequest,
    _ send: (Wire.BatchGetDocumentsResponse) throws(RemoteError) -> Bool
  ) throws(RemoteError) {
    let database = try database(request.database)
    var paths: [DocumentPath] = []
    var known: Set<DocumentPath> = []
    for name in request.documents {
      let path = try database.name.path(of: name)
      if known.insert(path).inserted { paths.append(path) }
    }
    let mask = try FieldMask(of: request.mask)
    for path in paths { try database.authority.checkRead(StructuredQuery(.document(path)), as: user) }
    try reading(database, ReadSelector(request.consistencySelector)) { view throws(RemoteError) in
      if !view.newTransaction.isEmpty {
        var response = Wire.BatchGetDocumentsResponse()
        response.transaction = view.newTransaction
        guard try send(response) else { throw ReadView.cancelled }
      }
      for start in stride(from: 0, to: paths.count, by: Self.readCount) {
        let part = Array(paths[start..<min(start + Self.readCount, paths.count)])
        for (path, record) in zip(part, try view.documents(at: part)) {
          var response = Wire.BatchGetDocumentsResponse()
          response.readTime = view.readTime
          response.result =
            record.map { .found(database.document($0, mask)) } ?? .missing(database.name.name(of: path))
          guard try send(response) else { return }
        }
      }
    }
  }

  /// The number of documents that are read at once, and kept in memory until they are sent.
  private static let readCount = 100

  func getDocument(_ request: Wire.GetDocumentRequest) throws(RemoteError) -> Wire.Document {
    let (database, path) = try document(request.name)
    let mask = try FieldMask(of: request.mask)
    try database.authority.checkRead(StructuredQuery(.document(path)), as: user)
    return try reading(database, ReadSelector(request.consistencySelector)) { view throws(RemoteError) in
      guard let record = try view.documents(at: [path]).first ?? nil else {
        throw RemoteError(.notFound, "Document (\(database.name.name(of: path))) not found.")
      }
      return database.document(record, mask)
    }
  }
}
