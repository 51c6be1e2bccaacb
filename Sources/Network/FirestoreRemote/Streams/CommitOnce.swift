// A commit outside the queue, on a write stream of its own.
//
//   1. It waits until few others run.
//   2. The handshake registers the run of the user. A server that registers nothing gets the commit by REST.
//   3. The batch is sent, with its identity.
//   4. If the stream ends without an answer, another stream is opened after a delay, and the batch is sent
//      again. The server answers with the outcome of the first time.
//
// All of that together has the time limit of a call.

internal import DocumentStore
internal import OfflineSync

/// It is only accessed on the scheduler of its remote.
final class CommitOnce: @unchecked Sendable {
  // The conformance is unchecked, because all work runs on the serial scheduler.
  typealias Answer = @Sendable (Result<SnapshotVersion, RemoteError>) -> Void

  private let context: RemoteContext
  private let runs: CommitRuns
  private let user: String?
  private var write: RemoteWrite
  private var answer: Answer?
  private var stream: (any WriteStream)?
  /// Whether it has left the line of commits.
  private var hasBegun = false
  private var attempt = 0
  private var backoff: Backoff
  /// Whether the present stream has registered the run.
  private var isRegistered = false
  /// Whether the batch was sent on the present stream.
  private var isSent = false
  /// The number of streams on which the batch was sent. A server may have applied it if there is one.
  private var sentCount = 0

  init(
    _ context: RemoteContext, _ runs: CommitRuns, committing mutations: [Mutation], as user: String?,
    answer: @escaping Answer
  ) {
    self.context = context
    self.runs = runs
    self.user = user
    self.answer = answer
    write = runs.add(mutations, of: user)
    backoff = Backoff(seed: UInt64(bitPattern: write.id.batch.value) ^ write.id.run.value)
    // The first delay is none.
    _ = backoff.next()
  }

  func start() {
    // The line, the stream or the delay keeps the commit, and the timer does not after the answer.
    context.scheduler.run(after: context.callTimeLimit) { [weak self] in self?.timeOut() }
    runs.begin(self)
  }

  /// Begins, after others have ended. A commit that has ended meanwhile only leaves.
  func run() {
    guard answer != nil else { return runs.end(self, hasRun: true) }
    hasBegun = true
    if runs.registers == false { sendByREST() } else { open() }
  }

  private func timeOut() {
    end(.failure(sentCount > 0 ? .unanswered : RemoteError(.unavailable, "The remote has not answered.")))
  }

  // MARK: Streams

  private func open() {
    guard answer != nil else { return }
    attempt += 1
    let attempt = attempt
    (isRegistered, isSent) = (false, false)
    stream = BatchStream(context, as: user) { [self] event in
      guard answer != nil, attempt == self.attempt else { return }
      receive(event)
    }
  }

  private func receive(_ event: WriteStreamEvent) {
    switch event {
    case .opened: stream?.handshake([], runs: [runs.registration(of: user)])
    case .registered(let tokens):
      guard runs.take(tokens, of: user) else { return }
      runs.noteRegistration()
      isRegistered = true
    case .handshakeComplete: send()
    case .answered(let version, _, _): end(.success(version))
    case .overtaken: end(.failure(.unanswered))
    case .closed(let error): ended(error)
    }
  }

  private func send() {
    guard isRegistered else { return sendByREST() }
    write = runs.sent(write, of: user)
    isSent = true
    sentCount += 1
    stream?.write(write)
  }

  private func sendByREST() {
    runs.noteNoRegistration()
    // Another server has taken the place of one that perhaps has applied the batch.
    guard sentCount == 0, let answer else { return end(.failure(.unanswered)) }
    let mutations = write.mutations
    finish()
    context.commit(mutations, as: user, answer)
  }

  // MARK: The end

  private func ended(_ error: RemoteError?) {
    stream = nil
    // Without an error, the stream has ended because the app has another token.
    if attempt == 1, error == nil || error?.code == .unauthenticated { return open() }
    let error = error ?? RemoteError(.unavailable, "The stream has ended.")
    guard sentCount > 0 else { return end(.failure(error.unsent)) }
    switch error.code {
    // The server may have forgotten a batch that it has applied.
    case _ where error == .outcomeUnknown: end(.failure(.unanswered))
    // These also come from connections, before the batch is sent or after it was applied.
    case .resourceExhausted, .unauthenticated: retry()
    case _ where !isSent: if error.code.isPermanent { end(.failure(.unanswered)) } else { retry() }
    // The server looks for the batch before it looks at these.
    case .invalidArgument, .notFound, .alreadyExists, .failedPrecondition, .aborted: end(.failure(error))
    case _ where error.code.isRefusal && sentCount == 1: end(.failure(error))
    case _ where error.code.isPermanent: end(.failure(.unanswered))
    default: retry()
    }
  }

  private func retry() { context.scheduler.run(after: backoff.next()) { [self] in open() } }

  private func end(_ result: Result<SnapshotVersion, RemoteError>) {
    guard let answer else { return }
    finish()
    answer(result)
  }

  private func finish() {
    answer = nil
    stream?.close()
    stream = nil
    runs.remove(write, of: user)
    runs.end(self, hasRun: hasBegun)
  }
}
