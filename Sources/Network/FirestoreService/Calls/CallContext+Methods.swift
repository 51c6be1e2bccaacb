// Decodes the request of a method, runs the call, and encodes its answers.

internal import FirestoreWire
internal import OfflineSync

extension CallContext {
  /// Sends a message, unless the call is over. Returns whether the call goes on.
  typealias Send<Response> = @Sendable (Response) throws(RemoteError) -> Bool
  /// Starts what a response waits for. `done` is called once: within the call, or later on any thread.
  typealias Pending<Response> =
    @Sendable (_ done: @escaping @Sendable (Result<Response, RemoteError>) -> Void) -> Void

  /// Begins a method that takes one request. Streams of requests are in `Streams`.
  func perform(
    _ method: ServiceMethod, _ request: [UInt8], to responder: Responder
  ) throws(RemoteError) -> AnswerProgress {
    switch method {
    case .getDocument: return try stream(request, responder, getDocument)
    case .listDocuments: return try stream(request, responder, listDocuments)
    case .createDocument: return try pending(request, responder, createDocument)
    case .updateDocument: return try pending(request, responder, updateDocument)
    case .deleteDocument: return try pending(request, responder, deleteDocument)
    case .beginTransaction: try unary(request, responder, beginTransaction)
    case .commit:
      guard let identity = metadata.writeIdentity else { return try pending(request, responder, commit) }
      return try commitOnce(request, identity, to: responder)
    case .rollback: try unary(request, responder, rollback)
    case .listCollectionIds: try unary(request, responder, listCollectionIds)
    case .partitionQuery: try unary(request, responder, partitionQuery)
    case .batchWrite: return try stream(request, responder, batchWrite)
    case .runAggregationQuery: return try stream(request, responder, runAggregationQuery)
    case .batchGetDocuments: return try stream(request, responder, batchGetDocuments)
    case .runQuery: return try stream(request, responder, runQuery)
    case .write, .listen: throw RemoteError(.internal, "\(method.rawValue) takes a stream of requests.")
    }
    return .done
  }

  private func unary<Request: WireMessage, Response: WireMessage>(
    _ request: [UInt8], _ responder: Responder,
    _ call: (Request) throws(RemoteError) -> Response
  ) throws(RemoteError) {
    let request = try responder.format.decode(Request.self, request, limits: wireLimits())
    try responder.send(try call(request))
  }

  private func pending<Request: WireMessage, Response: WireMessage>(
    _ request: [UInt8], _ responder: Responder,
    _ call: (Request) throws(RemoteError) -> Pending<Response>
  ) throws(RemoteError) -> AnswerProgress {
    let request = try responder.format.decode(Request.self, request, limits: wireLimits())
    let start = try call(request)
    return .waiting { resume in
      start { result in
        resume { () throws(RemoteError) in
          try responder.send(try result.get())
          return .done
        }
      }
    }
  }

  private func stream<Request: WireMessage, Response: WireMessage, Result>(
    _ request: [UInt8], _ responder: Responder,
    _ call: (Request, @escaping Send<Response>) throws(RemoteError) -> Result
  ) throws(RemoteError) -> Result {
    let request = try responder.format.decode(Request.self, request, limits: wireLimits())
    return try call(request) { response throws(RemoteError) in try responder.send(response) }
  }
}
