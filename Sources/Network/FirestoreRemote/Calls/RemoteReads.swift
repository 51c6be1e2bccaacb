// Reads outside the streams: documents of one snapshot, and aggregates.

internal import DocumentStore
internal import FirestoreWire
internal import OfflineSync

extension RemoteContext {
  /// Reads documents, all from one snapshot, in the order of the paths.
  func documents(
    at paths: [DocumentPath], as user: String?,
    _ answer: @escaping @Sendable (Result<[RemoteDocument], RemoteError>) -> Void
  ) {
    guard !paths.isEmpty else { return answer(.success([])) }
    var request = Wire.BatchGetDocumentsRequest()
    request.documents = paths.map(database.name)
    var found: [DocumentPath: RemoteDocument] = [:]
    call(
      "batchGet", at: database.documentsName, sending: request, as: user,
      answer: WebCall.Answer(
        take: { message throws(RemoteError) in
          guard let document = try database.document(inLookup: message) else { return }
          found[document.path] = document
        },
        done: { result in
          answer(
            result.mapError(\.errorOfRead).flatMap { _ in
              Result { () throws(RemoteError) in try Self.inOrder(paths, found) }
            })
        }
      ))
  }

  private static func inOrder(
    _ paths: [DocumentPath], _ found: [DocumentPath: RemoteDocument]
  ) throws(RemoteError) -> [RemoteDocument] {
    let documents = paths.compactMap { found[$0] }
    guard documents.count == paths.count, found.count == Set(paths).count else {
      throw RemoteError(.internal, "The answer has other documents than those that were asked for.")
    }
    return documents
  }

  /// Computes aggregates over a query.
  func aggregate(
    _ aggregates: [Aggregate], over query: StructuredQuery, as user: String?,
    _ answer: @escaping @Sendable (Result<[StoredValue], RemoteError>) -> Void
  ) {
    let asked = AggregationRequest(query, aggregates)
    var request = Wire.RunAggregationQueryRequest()
    let parent: String
    do throws(RemoteError) { (parent, request.structuredAggregationQuery) = try database.wire(asked) } catch {
      return answer(.failure(error))
    }
    var values: [StoredValue]?
    call(
      "runAggregationQuery", at: parent, sending: request, as: user,
      answer: WebCall.Answer(
        take: { message throws(RemoteError) in
          let response = try RemoteContext.decode(Wire.RunAggregationQueryResponse.self, message)
          if let result = response.result { values = try asked.list.values(of: result) }
        },
        done: { result in
          answer(
            result.mapError(\.errorOfRead).flatMap { _ in
              guard let values else { return .failure(RemoteError(.internal, "The answer has no result.")) }
              return .success(values)
            })
        }
      ))
  }
}

extension RemoteContext {
  /// Starts a call.
  func call(
    _ verb: String, at resource: String, sending request: some WireMessage, as user: String?,
    answer: WebCall.Answer
  ) {
    do throws(RemoteError) {
      call(verb, at: resource, body: try Self.encode(request), as: user, answer: answer)
    } catch {
      answer.done(.failure(CallFailure(error: error, isWithoutEffect: true)))
    }
  }

  /// Starts a call with an encoded message.
  func call(
    _ verb: String, at resource: String, body: [UInt8], as user: String?, answer: WebCall.Answer
  ) {
    let target = head.target(of: verb, at: resource)
    WebCall(self, target: target, body: body, as: user, answer: answer).start()
  }
}

extension DatabaseName {
  /// The document in a message of the answer; nil if the message has none. A document that cannot be read is
  /// one without content.
  fileprivate func document(inLookup message: [UInt8]) throws(RemoteError) -> RemoteDocument? {
    do throws(RemoteError) {
      let response: Wire.BatchGetDocumentsResponse = try RemoteContext.read(message)
      return try document(response)
    } catch {
      guard let document = unreadableDocument(in: message, because: error.message) else {
        throw RemoteContext.unreadable(error)
      }
      return document
    }
  }

  fileprivate func document(
    _ response: Wire.BatchGetDocumentsResponse
  ) throws(RemoteError) -> RemoteDocument? {
    switch response.result {
    case nil: return nil
    case .found(let document): return try self.document(document)
    case .missing(let name):
      return RemoteDocument(try path(of: name), nil, version: SnapshotVersion(response.readTime))
    }
  }
}
