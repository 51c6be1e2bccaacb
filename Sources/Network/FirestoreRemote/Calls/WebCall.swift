// A call by REST: one request, and one message or a list of messages as the answer.
//
//   1. The tokens are fetched.
//   2. The request is sent. If the server refuses the token, the call fetches another one and tries once
// more.
//   3. Each message of the answer is passed on as it arrives.
//
// All of that together has a time limit.

internal import FirestoreWire
internal import HTTPClient
internal import OfflineSync

/// The reason why a call has no answer.
struct CallFailure: Error, Equatable {
  var error: RemoteError
  /// Whether the call has certainly had no effect.
  var isWithoutEffect: Bool
  /// Whether something on the way may have answered in place of the service.
  var isOfOther = false
  /// Whether the request was refused for its length.
  var isTooLong = false

  /// The error for a read. A page of a proxy does not say that the service refuses the read.
  var errorOfRead: RemoteError {
    isOfOther && error.code.isPermanent ? RemoteError(.unavailable, error.message) : error
  }

  /// The error for a commit that was not applied. Its code must not be the one of an unknown outcome.
  var errorOfUnsentCommit: RemoteError {
    isTooLong ? RemoteError(.invalidArgument, error.message) : error.unsent
  }
}

/// It is only accessed on the scheduler of its remote.
final class WebCall: @unchecked Sendable {
  // The conformance is unchecked, because all work runs on the serial scheduler.
  /// The page of a proxy may be long.
  private static let refusalBytesMax = 64 << 10

  private enum Phase: Equatable { case waiting, sent, over }

  private let context: RemoteContext
  private let target: String
  private let user: String?
  /// Fields of the request besides those of all requests.
  private let fields: [WebRequest.Field]
  private var body: [UInt8]
  /// Nil at the end of the call.
  private var answer: Answer?

  /// The receivers of an answer.
  struct Answer {
    /// Receives each message.
    var take: ([UInt8]) throws(RemoteError) -> Void
    /// Called once, at the end.
    var done: (Result<Void, CallFailure>) -> Void
  }

  private var phase = Phase.waiting
  private var exchange: (any WebExchange)?
  private var tokens = RequestTokens()
  private var hasRetried = false
  private var attempt = 0
  private var status = 0
  private var elements = JSONElements(bytesMax: 0)
  /// The body of an answer with another status than 200.
  private var refusal: [UInt8] = []

  init(
    _ context: RemoteContext, target: String, fields: [WebRequest.Field] = [], body: [UInt8],
    as user: String?, answer: Answer
  ) {
    self.context = context
    self.target = target
    self.fields = fields
    self.body = body
    self.user = user
    self.answer = answer
  }

  func start() {
    // The timer keeps the call until its end.
    context.scheduler.run(after: context.callTimeLimit) { [self] in timeOut() }
    fetchTokens()
  }

  /// Whether the call has had no effect so far: a server has not got the request, or has refused its token.
  var isWithoutEffect: Bool { phase == .waiting }

  /// Ends the call without an answer.
  func cancel() {
    answer = nil
    guard phase != .over else { return }
    end(.failure(CallFailure(error: .unanswered, isWithoutEffect: isWithoutEffect)))
  }

  private func timeOut() {
    guard phase != .over else { return }
    end(.failure(CallFailure(error: .unanswered, isWithoutEffect: isWithoutEffect)))
  }

  // MARK: The request

  private func fetchTokens() {
    context.credentials.tokens(for: user) { [self] answer in
      guard phase == .waiting else { return }
      switch answer {
      case .failure(let error): end(.failure(CallFailure(error: error, isWithoutEffect: true)))
      case .success(let tokens): send(tokens)
      }
    }
  }

  private func send(_ tokens: RequestTokens) {
    self.tokens = tokens
    phase = .sent
    attempt += 1
    status = 0
    refusal = []
    elements = JSONElements(bytesMax: RemoteContext.limits.bytesMax)
    var request = WebRequest("POST", target)
    request.fields = [WebRequest.Field("content-type", "text/plain")] + context.head.fields(tokens) + fields
    request.body = body
    let attempt = attempt
    exchange = context.transport.begin(request) { [weak self, scheduler = context.scheduler] event in
      scheduler.run { [weak self] in self?.receive(event, attempt) }
    }
  }

  // MARK: The answer

  private func receive(_ event: WebEvent, _ attempt: Int) {
    guard phase == .sent, attempt == self.attempt else { return }
    switch event {
    case .head(let status, _): self.status = status
    case .bytes(let bytes):
      do throws(RemoteError) { try receive(bytes) } catch { fail(error) }
      // A call that has failed has no exchange any more.
      exchange?.taken(bytes.count)
    case .ended(let failure?):
      let error = RemoteError(.unavailable, failure.message)
      end(.failure(CallFailure(error: error, isWithoutEffect: failure.isUnsent)))
    case .ended(nil): finish()
    }
  }

  private func receive(_ bytes: [UInt8]) throws(RemoteError) {
    guard status == 200 else {
      refusal += bytes.prefix(max(0, Self.refusalBytesMax - refusal.count))
      return
    }
    for message in try elements.append(bytes) {
      if let error = RemoteError(answer: message[...]) { throw error }
      try answer?.take(message)
    }
  }

  private func finish() {
    guard status == 200 else { return refuse(RemoteError(status: status, body: refusal)) }
    guard elements.isComplete else { return fail(RemoteError(.unavailable, "The answer is incomplete.")) }
    end(.success(()))
  }

  /// Ends the call with an error of the server.
  private func refuse(_ error: RemoteError) {
    guard error.code == .unauthenticated else { return fail(error) }
    context.credentials.refuse(tokens, of: user)
    guard !hasRetried, tokens != RequestTokens() else { return fail(error) }
    hasRetried = true
    phase = .waiting
    fetchTokens()
  }

  private func fail(_ error: RemoteError) {
    let isTooLong = status == 413
    let isRefused = isTooLong || (error.code.isRefusal && status != 200)
    var failure = CallFailure(error: error, isWithoutEffect: isRefused, isTooLong: isTooLong)
    failure.isOfOther = status != 200 && RemoteError(answer: refusal[...]) == nil
    end(.failure(failure))
  }

  private func end(_ result: Result<Void, CallFailure>) {
    phase = .over
    exchange?.cancel()
    exchange = nil
    let done = answer?.done
    (answer, body) = (nil, [])
    done?(result)
  }
}

extension RemoteError.Code {
  /// Whether a server that answers with this code has certainly not done what it was asked for.
  var isRefusal: Bool {
    switch self {
    case .cancelled, .unknown, .deadlineExceeded, .internal, .unavailable, .dataLoss: false
    case .invalidArgument, .notFound, .alreadyExists, .permissionDenied, .resourceExhausted,
      .failedPrecondition, .aborted, .outOfRange, .unimplemented, .unauthenticated:
      true
    }
  }
}
