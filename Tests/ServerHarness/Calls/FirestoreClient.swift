// Firestore's calls as messages, over a connection of gRPC.

#if Server
package import DocumentStore
package import FirestoreWire
import OfflineSync

/// A client of one database of a server. Usable from any thread.
package struct FirestoreClient: Sendable {
  private static let service = "/google.firestore.v1.Firestore/"

  package let database: DatabaseName
  package let connection: GRPCClient

  /// Connects to a server of this machine. `token` is the bearer token of all calls. `makeCipher` makes the
  /// encryption; nil if there is none.
  package init(
    port: Int, database: DatabaseName, token: String? = "owner",
    makeCipher: (@Sendable () throws -> any ConnectionCipher)? = nil
  ) throws {
    self.database = database
    var metadata = [(name: "google-cloud-resource-prefix", value: database.text)]
    if let token { metadata.append((name: "authorization", value: "Bearer \(token)")) }
    var options = GRPCClientOptions(metadata: metadata)
    options.secondsMax = 20
    options.makeCipher = makeCipher
    connection = try GRPCClient(port: port, options: options)
  }

  package func close() { connection.close() }

  /// The path of a document of the test, which is valid.
  package static func path(_ segments: String...) -> DocumentPath { DocumentPath(unchecked: segments) }

  // MARK: Calls

  /// Calls a method with one answer.
  package func call<Response: WireMessage>(
    _ method: String, _ request: some WireMessage, as type: Response.Type
  ) async throws(GRPCEnd) -> Response {
    guard let response = try await callAll(method, request, as: type).first else {
      throw GRPCEnd(code: 13, message: "\(method) has no answer", origin: .status)
    }
    return response
  }

  /// Calls a method with any number of answers.
  package func callAll<Response: WireMessage>(
    _ method: String, _ request: some WireMessage, as type: Response.Type
  ) async throws(GRPCEnd) -> [Response] {
    let reply = await connection.call(Self.service + method, try Self.bytes(request))
    guard reply.end.isOK else { throw reply.end }
    var responses: [Response] = []
    for message in reply.messages { responses.append(try Self.message(message)) }
    return responses
  }

  package func open(
    _ method: String, onMessage: @escaping @Sendable ([UInt8]) -> Void,
    onEnd: @escaping @Sendable (GRPCEnd) -> Void
  ) -> GRPCStream {
    connection.open(Self.service + method, onMessage: onMessage, onEnd: onEnd)
  }

  package static func bytes(_ message: some WireMessage) throws(GRPCEnd) -> [UInt8] {
    do { return try message.protobuf() } catch {
      throw GRPCEnd(code: 13, message: "a request cannot be encoded: \(error)", origin: .client)
    }
  }

  package static func message<Message: WireMessage>(_ bytes: [UInt8]) throws(GRPCEnd) -> Message {
    do { return try Message(protobuf: bytes) } catch {
      throw GRPCEnd(code: 13, message: "an answer cannot be decoded: \(error)", origin: .client)
    }
  }

  // MARK: Writes

  package func writes(_ mutations: [Mutation]) throws(GRPCEnd) -> [Wire.Write] {
    var writes: [Wire.Write] = []
    for mutation in mutations {
      do { writes.append(try database.wire(mutation)) } catch {
        throw GRPCEnd(code: 13, message: "\(error)", origin: .client)
      }
    }
    return writes
  }

  @discardableResult
  package func commit(
    _ mutations: [Mutation], transaction: [UInt8] = []
  ) async throws(GRPCEnd) -> Wire.CommitResponse {
    var request = Wire.CommitRequest()
    request.database = database.text
    request.writes = try writes(mutations)
    request.transaction = transaction
    return try await call("Commit", request, as: Wire.CommitResponse.self)
  }

  /// Returns the status of each write.
  package func batchWrite(_ mutations: [Mutation]) async throws(GRPCEnd) -> [Wire.Status] {
    var request = Wire.BatchWriteRequest()
    request.database = database.text
    request.writes = try writes(mutations)
    return try await call("BatchWrite", request, as: Wire.BatchWriteResponse.self).status
  }

  // MARK: Reads

  /// Returns the documents that exist.
  package func documents(
    at paths: [DocumentPath], transaction: [UInt8]? = nil
  ) async throws(GRPCEnd) -> [DocumentPath: StoredDocument] {
    var request = Wire.BatchGetDocumentsRequest()
    request.database = database.text
    request.documents = paths.map(database.name(of:))
    request.consistencySelector = transaction.map { .transaction($0) }
    let answers = try await callAll("BatchGetDocuments", request, as: Wire.BatchGetDocumentsResponse.self)
    var documents: [DocumentPath: StoredDocument] = [:]
    for case .found(let document)? in answers.map(\.result) {
      let stored = try stored(document)
      documents[stored.path] = stored
    }
    return documents
  }

  /// Returns all documents of a collection at the top.
  package func documents(in collection: String) async throws(GRPCEnd) -> [StoredDocument] {
    var selector = Wire.StructuredQuery.CollectionSelector()
    selector.collectionId = collection
    var request = Wire.RunQueryRequest()
    request.parent = database.documentsName
    request.structuredQuery = Wire.StructuredQuery()
    request.structuredQuery?.from = [selector]
    var documents: [StoredDocument] = []
    for answer in try await callAll("RunQuery", request, as: Wire.RunQueryResponse.self) {
      if let document = answer.document { documents.append(try stored(document)) }
    }
    return documents
  }

  private func stored(_ wire: Wire.Document) throws(GRPCEnd) -> StoredDocument {
    guard let path = try? database.path(of: wire.name), let created = wire.createTime?.stored,
      let updated = wire.updateTime?.stored
    else { throw GRPCEnd(code: 13, message: "\(wire.name) is no document", origin: .client) }
    return StoredDocument(path: path, createTime: created, updateTime: updated, fields: wire.fields)
  }

  // MARK: Transactions

  /// Begins a transaction. `retried` is an earlier attempt.
  package func beginTransaction(retried: [UInt8] = []) async throws(GRPCEnd) -> [UInt8] {
    var readWrite = Wire.TransactionOptions.ReadWrite()
    readWrite.retryTransaction = retried
    var request = Wire.BeginTransactionRequest()
    request.database = database.text
    request.options = Wire.TransactionOptions()
    request.options?.mode = .readWrite(readWrite)
    return try await call("BeginTransaction", request, as: Wire.BeginTransactionResponse.self).transaction
  }
}
#endif
