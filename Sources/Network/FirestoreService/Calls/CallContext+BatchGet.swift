// BatchGetDocuments and GetDocument.

internal import Authority
internal import ByteStore
internal import DocumentStore
internal import FirestoreWire
internal import OfflineSync

extension CallContext {
  /// The documents come in the order of their first mention, each once. Each step reads some of them.
  func batchGetDocuments(
    _ request: Wire.BatchGetDocumentsRequest, _ send: @escaping Send<Wire.BatchGetDocumentsResponse>
  ) throws(RemoteError) -> AnswerProgress {
    let database = try database(request.database)
    var paths: [DocumentPath] = []
    var known: Set<DocumentPath> = []
    for name in request.documents {
      let path = try database.name.path(of: name)
      if known.insert(path).inserted { paths.append(path) }
    }
    let mask = try FieldMask(of: request.mask)
    for path in paths { try database.authority.checkRead(StructuredQuery(.document(path)), as: user) }
    let reading = try reading(database, ReadSelector(request.consistencySelector))
    try reading.announce { id throws(RemoteError) in
      var response = Wire.BatchGetDocumentsResponse()
      response.transaction = id
      return try send(response)
    }
    @Sendable func step(_ rest: ArraySlice<DocumentPath>) throws(RemoteError) -> AnswerProgress {
      guard !rest.isEmpty else { return .done }
      let part = rest.prefix(Self.readCount)
      return try reading.perform { view throws(RemoteError) in
        for (path, record) in zip(part, try view.documents(at: Array(part))) {
          var response = Wire.BatchGetDocumentsResponse()
          response.readTime = view.readTime
          response.result =
            record.map { .found(database.document($0, mask)) } ?? .missing(database.name.name(of: path))
          guard try send(response) else { return .done }
        }
        let rest = rest.dropFirst(part.count)
        guard !rest.isEmpty else { return .done }
        return .next { () throws(RemoteError) in try step(rest) }
      }
    }
    return try reading.afterLocking(paths) { [paths] () throws(RemoteError) in try step(paths[...]) }
  }

  /// The number of documents that are read at once, and kept in memory until they are sent.
  static let readCount = 20

  func getDocument(
    _ request: Wire.GetDocumentRequest, _ send: @escaping Send<Wire.Document>
  ) throws(RemoteError) -> AnswerProgress {
    let (database, path) = try document(request.name)
    let mask = try FieldMask(of: request.mask)
    try database.authority.checkRead(StructuredQuery(.document(path)), as: user)
    let reading = try reading(database, ReadSelector(request.consistencySelector))
    return try reading.afterLocking([path]) { () throws(RemoteError) in
      try reading.perform { view throws(RemoteError) in
        guard let record = try view.documents(at: [path]).first ?? nil else {
          throw RemoteError(.notFound, "Document (\(database.name.name(of: path))) not found.")
        }
        _ = try send(database.document(record, mask))
        return .done
      }
    }
  }
}
