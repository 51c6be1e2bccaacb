// Decodes the request of a method, runs the call, and encodes its answers.

internal import FirestoreWire
internal import OfflineSync

extension CallContext {
  /// Sends a message, unless the call is over. Returns whether the call goes on.
  typealias Send<Response> = @Sendable (Response) throws(RemoteError) -> Bool

  /// Begins a method that takes one request. Returns the steps of an answer that was not sent at once.
  /// Streams of requests are in `Streams`.
  func perform(
    _ method: ServiceMethod, _ request: [UInt8], to responder: Responder
  ) throws(RemoteError) -> AnswerStep? {
    switch method {
    case .getDocument: try unary(request, responder, getDocument)
    case .listDocuments: try unary(request, responder, listDocuments)
    case .createDocument: try unary(request, responder, createDocument)
    case .updateDocument: try unary(request, responder, updateDocument)
    case .deleteDocument: try unary(request, responder, deleteDocument)
    case .beginTransaction: try unary(request, responder, beginTransaction)
    case .commit: try unary(request, responder, commit)
    case .rollback: try unary(request, responder, rollback)
    case .listCollectionIds: try unary(request, responder, listCollectionIds)
    case .batchWrite: try unary(request, responder, batchWrite)
    case .runAggregationQuery: try stream(request, responder, runAggregationQuery)
    case .batchGetDocuments: return try stream(request, responder, batchGetDocuments)
    case .runQuery: return try stream(request, responder, runQuery)
    case .write, .listen: throw RemoteError(.internal, "\(method.rawValue) takes a stream of requests.")
    }
    return nil
  }

  private func unary<Request: WireMessage, Response: WireMessage>(
    _ request: [UInt8], _ responder: Responder,
    _ call: (Request) throws(RemoteError) -> Response
  ) throws(RemoteError) {
    let request = try responder.format.decode(Request.self, request, limits: wireLimits())
    try responder.send(try call(request))
  }

  private func stream<Request: WireMessage, Response: WireMessage, Result>(
    _ request: [UInt8], _ responder: Responder,
    _ call: (Request, @escaping Send<Response>) throws(RemoteError) -> Result
  ) throws(RemoteError) -> Result {
    let request = try responder.format.decode(Request.self, request, limits: wireLimits())
    return try call(request) { response throws(RemoteError) in try responder.send(response) }
  }
}
