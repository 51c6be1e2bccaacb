// A commit outside the outbox, which a server of Dugout applies once.
//
//   1. It waits until few others run.
//   2. The handshake of a write stream registers the run of the user, unless the server has registered it
//      before. A server that registers nothing gets the commit without an identity.
//   3. The batch is one request, with its identity in a header field.
//   4. If the answer is lost, the batch is closed after a delay. The server answers with the outcome if it
//      has applied the batch. If not, it will never apply it, and the writes are sent as another batch.
//
// So each number is sent with its writes once. A request that arrives late is refused, and a refusal is about
// the only request of its batch. A server that ignores identities has nothing to apply in step 4.
//
// Together, these steps have the time limit of a call. Step 4 comes in time if the connection breaks or the
// answer is an error, but not if the connection is silent. A commit without an identity has a time limit of
// its own.

internal import DocumentStore
internal import FirestoreWire
internal import OfflineSync

/// It is only accessed on the scheduler of its remote.
final class CommitOnce: @unchecked Sendable {
  // The conformance is unchecked, because all work runs on the serial scheduler.
  typealias Answer = @Sendable (Result<SnapshotVersion, RemoteError>) -> Void

  private let context: RemoteContext
  private let runs: CommitRuns
  private let user: String?
  private let mutations: [Mutation]
  /// The request with the writes, and the one without.
  private var body: [UInt8] = []
  private var emptyBody: [UInt8] = []
  private var answer: Answer?
  /// Whether it has left the queue of waiting commits.
  private var hasBegun = false
  private var backoff: Backoff

  // The registration.
  private var stream: (any WriteStream)?
  private var streamCount = 0
  /// Whether the present stream has registered the run.
  private var isRegistered = false
  /// Whether a stream has ended because of its token, and another one was opened.
  private var hasRenewedToken = false
  /// Whether the server has refused the previous registration.
  private var hasRefusedRegistration = false

  // The batch.
  /// The present number; nil if the writes have none.
  private var batch: RemoteWrite?
  private var call: WebCall?
  /// Whether the server may have applied the present batch, although its request has ended.
  private var mayBeApplied = false
  /// The error of the last request, which a commit that is out of time names.
  private var lastFailure: RemoteError?

  init(
    _ context: RemoteContext, _ runs: CommitRuns, committing mutations: [Mutation], as user: String?,
    answer: @escaping Answer
  ) {
    self.context = context
    self.runs = runs
    self.user = user
    self.mutations = mutations
    self.answer = answer
    backoff = Backoff(seed: .random(in: 0...UInt64.max))
    // The first delay is none.
    _ = backoff.next()
  }

  func start() {
    // The queue, the stream, the call or the delay retains the commit. The timer does not retain it.
    context.scheduler.run(after: context.callTimeLimit) { [weak self] in self?.timeOut() }
    runs.begin(self)
  }

  /// Begins, after others have ended. A commit that has ended meanwhile only leaves.
  func run() {
    guard answer != nil else { return runs.end(self, hasRun: true) }
    hasBegun = true
    guard runs.registers != false else { return commitWithoutIdentity() }
    do throws(RemoteError) {
      body = try context.commitBody(mutations)
      emptyBody = try context.commitBody([])
    } catch {
      return end(.failure(error))
    }
    proceed()
  }

  private func timeOut() {
    let isUnanswered = mayBeApplied || call.map { !$0.isWithoutEffect } ?? false
    let error = isUnanswered ? .unanswered : RemoteError(.unavailable, RemoteError.unanswered.message)
    end(.failure(error.naming(lastFailure)))
  }

  // MARK: Steps

  private func proceed() {
    guard answer != nil else { return }
    if mayBeApplied {
      closeBatch()
    } else if runs.isRegistered(user) {
      sendBatch()
    } else {
      register()
    }
  }

  private func retry() { context.scheduler.run(after: backoff.next()) { [self] in proceed() } }

  /// Commits at a server that takes no identities. It has not got the present writes.
  private func commitWithoutIdentity() {
    guard let answer else { return }
    finish()
    context.commit(mutations, as: user, answer)
  }

  // MARK: Registering

  private func register() {
    streamCount += 1
    let number = streamCount
    isRegistered = false
    stream = BatchStream(context, as: user) { [self] event in
      guard answer != nil, stream != nil, number == streamCount else { return }
      switch event {
      case .opened: stream?.handshake([], runs: [runs.registration(of: user)])
      case .registered(let tokens): isRegistered = runs.take(tokens, of: user)
      case .handshakeComplete:
        closeStream()
        if isRegistered { return proceed() }
        runs.noteNoRegistration()
        commitWithoutIdentity()
      case .closed(let error): registrationEnded(error)
      case .answered, .overtaken: break
      }
    }
  }

  private func registrationEnded(_ error: RemoteError?) {
    stream = nil
    // Without an error, the stream has ended because the app has another token.
    if !hasRenewedToken, error == nil || error?.code == .unauthenticated {
      hasRenewedToken = true
      return register()
    }
    end(.failure((error ?? RemoteError(.unavailable, "The stream has ended.")).unsent))
  }

  private func closeStream() {
    stream?.close()
    stream = nil
  }

  // MARK: Sending

  private func sendBatch() {
    let batch = self.batch ?? runs.add(of: user)
    self.batch = batch
    send(batch, body) { [self] result in
      switch result {
      case .success(let answer):
        // The server has committed the writes, also if it ignores identities. They were sent to it once.
        if !answer.isIdentified { runs.noteNoRegistration() }
        end(.success(answer.version))
      case .failure(let failure) where failure.isTooLong:
        end(.failure(failure.errorOfUnsentCommit))
      // A page of something on the way says nothing about the request, unless it asks for less of them.
      case .failure(let failure)
      where failure.isWithoutEffect && (!failure.isOfOther || failure.error.code == .resourceExhausted):
        refused(failure.error)
      case .failure:
        mayBeApplied = true
        retry()
      }
    }
  }

  private func send(
    _ batch: RemoteWrite, _ body: [UInt8], _ done: @escaping (Result<CommitAnswer, CallFailure>) -> Void
  ) {
    do throws(RemoteError) {
      let call = try context.commitCall(runs.identity(of: batch, of: user), body: body, as: user) {
        [self] result in
        self.call = nil
        if case .failure(let failure) = result { lastFailure = failure.error }
        done(result)
      }
      self.call = call
      // The answer may come within this call.
      call.start()
    } catch {
      done(.failure(CallFailure(error: error, isWithoutEffect: true)))
    }
  }

  /// Takes a refusal of the batch, which was not applied.
  private func refused(_ error: RemoteError) {
    switch error {
    case .outcomeUnknown:
      // A batch that is sent for the first time has no outcome: the server does not know the run any more.
      guard !hasRefusedRegistration, let batch else { return end(.failure(.unanswered)) }
      hasRefusedRegistration = true
      hasRenewedToken = false
      runs.refuse(batch.registration, of: user)
      dropBatch()
      proceed()
    case _ where error.code == .resourceExhausted: retry()
    default: end(.failure(error.unsent))
    }
  }

  /// Closes the batch, whose answer was lost.
  private func closeBatch() {
    guard let batch else { return }
    send(batch, emptyBody) { [self] result in
      switch result {
      case .success(let answer) where !answer.isIdentified:
        // Another server has taken the place of one that perhaps has applied the batch.
        runs.noteNoRegistration()
        end(.failure(.unanswered(after: lastFailure)))
      case .success(let answer) where !answer.isClosed: end(.success(answer.version))
      case .success:
        mayBeApplied = false
        dropBatch()
        proceed()
      case .failure(let failure):
        // The server may have forgotten a batch that it has applied.
        if failure.error.code.isPermanent, !failure.isOfOther {
          return end(.failure(.unanswered(after: failure.error)))
        }
        retry()
      }
    }
  }

  /// Removes the number of a batch that is not applied.
  private func dropBatch() {
    if let batch { runs.remove(batch, of: user) }
    batch = nil
  }

  // MARK: The end

  private func end(_ result: Result<SnapshotVersion, RemoteError>) {
    guard let answer else { return }
    finish()
    answer(result)
  }

  private func finish() {
    answer = nil
    body = []
    closeStream()
    call?.cancel()
    call = nil
    dropBatch()
    runs.end(self, hasRun: hasBegun)
  }
}
