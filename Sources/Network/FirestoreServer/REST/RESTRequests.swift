// Requests of the REST API.

internal import ByteStore
internal import FirestoreService
internal import FirestoreWire
internal import HTTPTransport
internal import OfflineSync

/// Begins requests of the REST API.
struct RESTRequests: Sendable {
  let runner: CallRunner
  let limits: HTTPLimits

  /// Begins a request whose host and origin have been checked.
  func begin(
    _ request: HTTPRequest, _ response: HTTPResponse, record: RequestRecord, fields: AnswerFields
  ) -> any HTTPBodyReceiver {
    let caller: Caller
    do throws(RemoteError) { caller = try runner.credentials.caller(of: request.fields) } catch {
      runner.journal.refused(.credentials, request.connection)
      response.answer(error, fields, record: record)
      return AnsweredRequest()
    }
    guard !runner.streams.isDraining else {
      runner.journal.metrics.refused(.draining)
      response.answer(CallRunner.draining, fields, record: record)
      return AnsweredRequest()
    }
    let metadata = runner.metadata(caller, request.connection, with: request.fields)
    let exchange = RESTExchange(
      runner, metadata, response: RESTResponse(response, record, fields: fields),
      bodyBytesMax: limits.messageBytesMax)
    // Reading with HEAD is reading with GET. The transport sends no body.
    exchange.begin(request, method: request.method == "HEAD" ? "GET" : request.method)
    return exchange
  }
}

/// Takes the body of one request, and runs its call.
final class RESTExchange: HTTPBodyReceiver {
  private struct State {
    var method = ""
    var target = ""
    var body: HeldBody
    var call: ServiceCall?
    var isOver = false
  }

  private let runner: CallRunner
  private let metadata: CallMetadata
  private let response: RESTResponse
  private let state: Locked<State>

  init(_ runner: CallRunner, _ metadata: CallMetadata, response: RESTResponse, bodyBytesMax: Int) {
    self.runner = runner
    self.metadata = metadata
    self.response = response
    state = Locked(State(body: HeldBody(of: response.budget, bytesMax: bodyBytesMax)))
  }

  func begin(_ request: HTTPRequest, method: String) {
    let excess = state.withLock { state in
      state.method = method
      state.target = request.target
      let excess = state.body.announce(request)
      state.isOver = excess != nil
      return excess
    }
    if let excess { response.refuse(excess) }
  }

  func receive(_ bytes: ArraySlice<UInt8>) {
    response.record.received(bytes.count)
    let excess = state.withLock { state in
      guard !state.isOver, let excess = state.body.add(bytes) else { return HeldBody.Excess?.none }
      state.isOver = true
      return excess
    }
    if let excess { response.refuse(excess) }
  }

  func finish() {
    let isOver = state.withLock { $0.isOver }
    guard !isOver else { return }
    // A body can be large, so it is not read on the loop.
    response.queue.add { [self] in run() }
  }

  func cancel() {
    let call = state.withLock { state in
      defer {
        state.isOver = true
        state.body.drop()
      }
      return state.call
    }
    call?.cancel()
    response.record.end(code: RemoteError.Code.cancelled.rawValue)
  }

  private func run() {
    let request = state.withLock { state in
      state.body.take().map { RESTRequest(method: state.method, target: state.target, body: $0) }
    }
    guard let request else { return }
    do throws(RemoteError) { try run(try RESTCall(request), target: request.target) } catch {
      response.end(error)
    }
  }

  private func run(_ rest: RESTCall, target: String) throws(RemoteError) {
    let record = response.record
    record.name(ServerMethod(name: rest.method))
    runner.note(RESTExchange.database(of: target), in: record)
    response.begin(rest)
    let call = runner.service.handle(
      rest.method, metadata: metadata, format: .json,
      on: ServiceQueue(of: response.queue, for: ServerMethod(name: rest.method))
    ) { [response] event in response.deliver(event) }
    let isOver = state.withLock { state in
      state.call = call
      return state.isOver
    }
    guard !isOver else { return call.cancel() }
    call.send(rest.request)
    call.finish()
  }

  /// The database in the path of a target.
  private static func database(of target: String) -> DatabaseName? {
    let path = target.prefix { $0 != "?" }.dropFirst("/v1/".count)
    return RequestPeek.database(String(path).replacing("%28", with: "(").replacing("%29", with: ")"))
  }
}
