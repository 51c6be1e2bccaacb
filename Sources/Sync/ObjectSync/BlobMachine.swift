// The object client as a state machine: sends queued changes to a remote, in order.
//
//   1. queue    a change takes effect locally and enters the durable queue in one commit
//   2. send     the content is sent piece by piece, and other events come between two pieces; if the remote
//               is unreachable, the client retries later
//   3. settle   the remote accepts the change, or rejects it permanently; a rejected change is reverted
//               locally; then the next change is sent
//
// Two failures block only the changes of their own object: local content that cannot be read, and an upload
// whose session the remote loses repeatedly. The client retries such a change. After `failuresBeforeReport`
// attempts it reports the error to the watcher, and reverts the change if a later upload or deletion of the
// object is queued. If a damaged record prevents the store from taking down an outcome, that error is
// reported at once.
//
// BlobMachine+Fetching.swift has the opposite direction. Times are microseconds.

internal import DocumentStore
import Libc
import ObjectStore
import OfflineSync

struct BlobMachine: StateMachine {
  static let pieceBytes = 256 << 10
  /// The shortest timeout, so that the remote has a chance to answer.
  private static let timeoutMin: Int64 = 1_000_000
  /// The number of failed attempts of a change after which its watcher is notified.
  private static let failuresBeforeReport = 5
  /// After this many session errors of an upload, the upload starts over.
  private static let sessionErrorsMax = 3

  /// The error that stopped the client; nil while it works.
  private(set) var failure: BlobSyncError?
  /// The pending changes by number, which is the order of their commits.
  private var queue: ChangeQueue
  /// The changes that a watcher or a cancellation waits for.
  private var watched: [Int64: Watched] = [:]
  /// Outcomes that the store could not record yet.
  private var outcomes: [Int64: ChangeOutcome] = [:]
  private var held: Set<Int64> = []
  private var changeFailures: [Int64: ChangeFailure] = [:]
  private var sessionErrors: [Int64: SessionErrors] = [:]
  /// The number of answers from the remote.
  private var answers = 0
  /// The last error of the remote or the store that blocked the whole queue. Nil after the remote has
  /// answered a call, or after the store has recorded an outcome.
  private var lastFailure: BlobSyncError?
  private var sending: Sending?
  /// Deletions that count as successful if the remote finds no object. Either an earlier attempt
  /// succeeded and its answer was lost, or the upload of that object was reverted.
  private var mayBeAbsentAtRemote: Set<Int64> = []
  /// The number of the next step. A step with another number has been superseded.
  private var lastStep = 0
  /// Whether the retry timer runs. Meanwhile nothing is sent.
  private var isRetrying = false
  /// The source of all random delays, so that a seed reproduces them.
  private var rng: SplitMix64
  private var backoff: Backoff
  /// The waits, each with the number of the last change that it waits for.
  private var waits: [(number: Int64, call: BlobCallID)] = []
  /// Updates that the remote has not answered yet. Their objects exist only at the remote.
  private var remoteUpdates: [BlobCallID: RemoteUpdate] = [:]

  var fetching = Fetching()
  var listings: [BlobCallID: Listing] = [:]

  /// The effects of the current event.
  private var effects: [BlobEffect] = []

  private struct Watched {
    /// Nil if the watcher waits without a time limit.
    var timeout: Int64?
    /// The value of `answers` when the timeout began.
    var answersAtStart = 0
    var cancellations: [BlobCallID] = []
  }

  /// A failure that blocks one change and the later changes of its object, but no others.
  private struct ChangeFailure {
    var error: BlobSyncError
    var attempts = 0
    var backoff: Backoff
    /// Whether the change waits for its next attempt.
    var isDeferred = false
    /// Whether the error was reported, so that no caller waits for this change any more.
    var isReported = false
  }

  /// Session errors of an upload: the remote did not know the session or was at an unexpected offset.
  private struct SessionErrors {
    var count = 0
    /// Only bytes beyond this offset count as progress.
    let furthestOffset: UInt64
  }

  private struct Sending {
    let change: QueuedChange
    /// Nil until the remote has reported its offset.
    var offset: UInt64?
  }

  private struct RemoteUpdate {
    let path: ObjectPath
    let changes: AttributeChanges
    /// The remaining time to wait for an unreachable remote.
    var timeout: Int64
    var backoff: Backoff
  }

  /// With a failure, the client only reads the store.
  init(_ changes: [QueuedChange], seed: UInt64, failure: BlobSyncError? = nil) {
    queue = ChangeQueue(changes)
    rng = SplitMix64(seed: seed)
    backoff = Backoff(seed: ~seed)
    self.failure = failure
  }

  mutating func handle(_ event: BlobEvent) -> [BlobEffect] {
    take(event)
    defer { effects = [] }
    return effects
  }

  mutating func emit(_ effect: BlobEffect) { effects.append(effect) }

  /// A source of delays for one retried operation.
  mutating func newBackoff() -> Backoff { Backoff(seed: rng.next()) }

  private mutating func take(_ event: BlobEvent) {
    switch event {
    case .start: sendNext()
    case .queued(let change, let timeout): queued(change, timeout)
    case .cancel(let number, let call): cancel(number, call)
    case .hold(let number): hold(number)
    case .release(let number): release(number)
    case .wait(let call): wait(call)
    case .updateAtRemote(let call, let path, let changes, let timeout):
      updateAtRemote(call, path, changes: changes, timeout: timeout)
    case .find(let search, let path, let limits): find(search, path, limits: limits)
    case .holdSearch(let search): hold(search)
    case .releaseSearch(let search): release(search)
    case .endSearch(let search, let error): finish(search, .failure(error))
    case .list(let call, let folder, let last, let limit): list(call, folder, after: last, limit: limit)
    case .stop: fail(.stopped)

    case .timer(let timer): timerFired(timer)
    case .step(let number): step(number)
    case .resume(let search): resume(search)
    case .answer(let search): answer(search)

    case .sent(let result): sent(result)
    case .recorded(let change, let outcome, let result): recorded(change, outcome, result: result)
    case .updatedAtRemote(let call, let result): updatedAtRemote(call, result)

    case .localRead(let search, let reason, let result): localRead(search, reason, result: result)
    case .described(let search, let local, let result): described(search, local, result: result)
    case .descriptionReceived(let search, let local, let remote, let result):
      descriptionReceived(search, local, remote: remote, result: result)
    case .arrivalOpened(let search, let isRereading): arrivalOpened(search, isRereading: isRereading)
    case .reread(let search, let result): reread(search, result)
    case .pieceRead(let search, let result): pieceRead(search, result)
    case .appended(let search, let result): appended(search, result)
    case .received(let search, let result): received(search, result)

    case .remotePage(let call, let result): remotePage(call, result)
    case .waitingRead(let call, let result): waitingRead(call, result)
    case .localPage(let call, let result): localPage(call, result)
    }
  }

  private mutating func timerFired(_ timer: BlobTimer) {
    switch timer {
    case .retry:
      isRetrying = false
      sendNext()
    case .attempt(let number):
      guard changeFailures[number] != nil else { return }
      changeFailures[number]?.isDeferred = false
      sendNext()
    case .timeout(let number): handleTimeout(number)
    case .update(let call): tryRemoteUpdate(call)
    case .search(let search): resume(search)
    }
  }

  // MARK: Users

  private mutating func queued(_ change: QueuedChange, _ timeout: Int64?) {
    if let failure { return emit(.endChange(change.number, .failure(failure))) }
    queue.append(change)
    watched[change.number] = Watched(timeout: timeout.map { max($0, Self.timeoutMin) })
    startTimeout(change.number)
    sendNext()
  }

  /// Starts the timer for the timeout of a watcher. When the timer fires, the client checks whether the
  /// remote has answered any call since then.
  private mutating func startTimeout(_ number: Int64) {
    guard let timeout = watched[number]?.timeout else { return }
    watched[number]?.answersAtStart = answers
    emit(.startTimer(.timeout(number), microseconds: timeout))
  }

  private mutating func handleTimeout(_ number: Int64) {
    guard let watched = watched[number], watched.timeout != nil else { return }
    let isReverted = if case .reverted? = outcomes[number] { true } else { false }
    // A change that is being reverted does not stay queued, so it must not be reported as overdue.
    if answers != watched.answersAtStart || held.contains(number) || isReverted {
      return startTimeout(number)
    }
    // The timer has fired, so `endWatch` does not have to stop it.
    self.watched[number]?.timeout = nil
    endWatch(number, .failure(.overdue(blockingError(of: number))))
  }

  /// Returns false if no caller waits for the change.
  @discardableResult
  private mutating func endWatch(_ number: Int64, _ result: Result<StoredObject?, BlobSyncError>) -> Bool {
    guard let watched = watched.removeValue(forKey: number) else { return false }
    if watched.timeout != nil { emit(.stopTimer(.timeout(number))) }
    emit(.endChange(number, result))
    let isCancelled = if case .failure(.cancelled) = result { true } else { false }
    for call in watched.cancellations { emit(.endCancellation(call, isCancelled)) }
    return true
  }

  /// Returns the error that blocks a change. This is the error of the whole queue if there is one. Otherwise
  /// it is the error of this change or of an earlier change of the same object.
  private func blockingError(of number: Int64) -> BlobSyncError? {
    guard lastFailure == nil, let path = queue[number]?.path else { return lastFailure }
    return changeFailures.filter { $0.key <= number && queue[$0.key]?.path == path }
      .min { $0.key < $1.key }?.value.error
  }

  private mutating func cancel(_ number: Int64, _ call: BlobCallID) {
    guard failure == nil, let change = queue[number] else { return emit(.endCancellation(call, false)) }
    if sending?.change.number == number { endSending() }
    // If the remote is unreachable now, it has to expire the session by itself.
    if change.put != nil { emit(.abandon(session: change.session)) }
    watched[number, default: Watched()].cancellations.append(call)
    emit(.record(change, .reverted(.cancelled)))
  }

  private mutating func hold(_ number: Int64) {
    held.insert(number)
    if sending?.change.number == number { endSending() }
    sendNext()
  }

  private mutating func release(_ number: Int64) {
    held.remove(number)
    sendNext()
  }

  private mutating func wait(_ call: BlobCallID) {
    if let failure { return emit(.endWait(call, failure)) }
    guard let last = queue.last else { return emit(.endWait(call, nil)) }
    waits.append((last, call))
    completeWaits()
  }

  // MARK: Sending

  private mutating func sendNext() {
    guard failure == nil, sending == nil, !isRetrying else { return }
    // A change that has an outcome only waits for the store, so its position in the queue does not matter.
    let answered = outcomes.keys.filter { changeFailures[$0]?.isDeferred != true }.min().flatMap { queue[$0] }
    guard let next = answered ?? nextUnblocked else { return }
    sending = Sending(change: next)
    nextStep()
  }

  private var nextUnblocked: QueuedChange? {
    var blocked: Set<ObjectPath> = []
    return queue.first { change in
      let isDeferred = changeFailures[change.number]?.isDeferred == true
      if isDeferred || held.contains(change.number) { blocked.insert(change.path) }
      return !blocked.contains(change.path)
    }
  }

  private mutating func endSending() {
    if sending?.offset != nil { emit(.closeContent) }
    sending = nil
  }

  private mutating func nextStep() {
    lastStep += 1
    emit(.later(.step(lastStep)))
  }

  private mutating func step(_ number: Int) {
    guard lastStep == number, failure == nil, let sending else { return }
    if let outcome = outcomes[sending.change.number] {
      self.sending = nil
      return emit(.record(sending.change, outcome))
    }
    emit(.send(nextCall(of: sending)))
  }

  private func nextCall(of sending: Sending) -> SendCall {
    let change = sending.change
    switch change.kind {
    case .put(let object):
      guard let offset = sending.offset else { return .offset(session: change.session) }
      guard offset < object.byteCount else { return .finish(object, session: change.session) }
      return .append(
        object, session: change.session, offset: offset,
        count: Int(min(UInt64(Self.pieceBytes), object.byteCount - offset)))
    case .delete: return .delete(change.path)
    case .update(let changes): return .update(change.path, changes)
    }
  }

  private mutating func sent(_ result: Result<SendAnswer, BlobSyncError>) {
    guard let sending else { return }
    let change = sending.change
    switch result {
    case .failure(let error): refused(sending, error)
    case .success(let answer):
      switch answer {
      case .offset(let offset): self.sending?.offset = offset
      case .appended: appended(sending)
      case .finished, .deleted, .updated: self.sending = nil
      }
      answers += 1
      lastFailure = nil
      switch answer {
      case .offset, .appended: nextStep()
      case .finished(let reportedMetadata): emit(.record(change, .done(reportedMetadata)))
      case .deleted(let isDeleted):
        // If this deletion was tried before, the object may be gone because of that attempt. The result is
        // the desired one either way.
        let isDone = isDeleted || mayBeAbsentAtRemote.contains(change.number)
        emit(.record(change, isDone ? .done(nil) : .absent))
      // The local content keeps its own generation, because the remote may have received another content
      // meanwhile.
      case .updated(let isThere): emit(.record(change, isThere ? .done(nil) : .absent))
      }
    }
    // If the upload continues, its content stays open.
    if sending.offset != nil, self.sending?.offset == nil { emit(.closeContent) }
  }

  private mutating func appended(_ sending: Sending) {
    guard case .append(_, _, let offset, let count) = nextCall(of: sending) else { return }
    let number = sending.change.number
    let end = offset + UInt64(count)
    self.sending?.offset = end
    localContentWasRead(number)
    if let known = sessionErrors[number], end > known.furthestOffset {
      sessionErrors[number] = nil
      changeFailures[number] = nil
    }
    backoff.reset()
    if watched[number] != nil { emit(.progress(number, end)) }
  }

  private mutating func localContentWasRead(_ number: Int64) {
    if case .store? = changeFailures[number]?.error { changeFailures[number] = nil }
  }

  private mutating func refused(_ sending: Sending, _ error: BlobSyncError) {
    let change = sending.change
    if case .remote(let reason) = error {
      if case .append = nextCall(of: sending) { localContentWasRead(change.number) }
      // A rejection counts as an answer.
      if case .unavailable = reason { lastFailure = error } else { lastFailure = nil }
      if !reason.isTransient { answers += 1 }
    }
    switch error {
    case .remote(.notFound): return sessionFailed(sending, nil)
    case .remote(.wrongOffset(let offset)): return sessionFailed(sending, offset)
    case .remote, .store, .cancelled, .overdue, .stopped: self.sending = nil
    }
    switch error {
    case .remote(let reason) where reason.isTransient:
      if case .delete = change.kind { mayBeAbsentAtRemote.insert(change.number) }
      scheduleRetry()
    case .remote: revert(change, error)
    case .store(.corrupted):
      // The change was acknowledged, and most of the content may be intact, so only the user may cancel the
      // change.
      deferChange(change, error)
    case .store(let reason):
      guard reason.mayBeTransient else { return fail(error) }
      guard reason.isProcessWide else { return deferChange(change, error) }
      lastFailure = error
      scheduleRetry()
    case .cancelled, .overdue, .stopped: break
    }
  }

  /// Resumes the upload at the remote's offset, or retries later if the remote gave no offset. If several
  /// attempts bring no progress, the upload starts over once. If that fails, too, the change is deferred.
  private mutating func sessionFailed(_ sending: Sending, _ offset: UInt64?) {
    let change = sending.change
    var known = sessionErrors[change.number] ?? SessionErrors(furthestOffset: sending.offset ?? 0)
    known.count += 1
    sessionErrors[change.number] = known
    guard known.count <= Self.sessionErrorsMax + 1 else {
      self.sending = nil
      return deferChange(change, .remote(.unavailable("The remote lost the upload repeatedly.")))
    }
    let startsOver = known.count > Self.sessionErrorsMax
    if startsOver, change.put != nil { emit(.abandon(session: change.session)) }
    guard let offset = startsOver ? 0 : offset else {
      self.sending = nil
      return scheduleRetry()
    }
    self.sending?.offset = offset
    nextStep()
  }

  /// Defers a change until its next attempt. Other objects are not affected. After several attempts, reports
  /// the error, or reverts the change if a later upload or deletion of the object is queued.
  private mutating func deferChange(_ change: QueuedChange, _ error: BlobSyncError) {
    let number = change.number
    var known = changeFailures[number] ?? ChangeFailure(error: error, backoff: newBackoff())
    known.error = error
    known.attempts += 1
    if !known.isDeferred {
      known.isDeferred = true
      emit(.startTimer(.attempt(number), microseconds: known.backoff.next()))
    }
    changeFailures[number] = known
    // A change that already has an outcome only waits until the store records the outcome, so the error is
    // reported at once.
    let hasAnswer = outcomes[number] != nil
    if hasAnswer || known.attempts >= Self.failuresBeforeReport {
      // A change that has an outcome cannot be reverted.
      if !hasAnswer, nextStateIndependent(behind: change) != nil { return revert(change, error) }
      report(of: change, error)
    }
    sendNext()
  }

  /// Reports a repeated error. The first report goes to the watcher of the change, which may cancel the
  /// change. If that watcher is gone, or if the change already has an outcome, the watchers of later changes
  /// of the object get the error, too. The later changes stay queued; if the change has no outcome, all of
  /// them are updates.
  private mutating func report(of change: QueuedChange, _ error: BlobSyncError) {
    let number = change.number
    let isFirst = endWatch(number, .failure(error))
    guard outcomes[number] != nil || !isFirst else { return }
    changeFailures[number]?.isReported = true
    for other in watched.keys.sorted() where queue[other]?.path == change.path && other > number {
      endWatch(other, .failure(error))
    }
    completeWaits()
  }

  /// The next change of the object that does not depend on the object's earlier state.
  private func nextStateIndependent(behind change: QueuedChange) -> QueuedChange? {
    queue.first { $0.number > change.number && $0.path == change.path && $0.isStateIndependent }
  }

  /// Reverts a change and discards its upload session.
  private mutating func revert(_ change: QueuedChange, _ reason: BlobSyncError) {
    if change.put != nil { emit(.abandon(session: change.session)) }
    emit(.record(change, .reverted(reason)))
  }

  private mutating func scheduleRetry() {
    isRetrying = true
    emit(.startTimer(.retry, microseconds: backoff.next()))
  }

  // MARK: Updates at the remote

  private mutating func updateAtRemote(
    _ call: BlobCallID, _ path: ObjectPath, changes: AttributeChanges, timeout: Int64
  ) {
    if let failure { return emit(.endUpdate(call, .failure(failure))) }
    remoteUpdates[call] = RemoteUpdate(
      path: path, changes: changes, timeout: timeout, backoff: newBackoff())
    tryRemoteUpdate(call)
  }

  private mutating func tryRemoteUpdate(_ call: BlobCallID) {
    guard let update = remoteUpdates[call] else { return }
    emit(.updateAtRemote(call, update.path, update.changes))
  }

  private mutating func updatedAtRemote(_ call: BlobCallID, _ result: Result<RemoteObject?, BlobSyncError>) {
    guard var update = remoteUpdates[call] else { return }
    guard case .failure(.remote(.unavailable)) = result, update.timeout > 0 else {
      remoteUpdates[call] = nil
      return emit(.endUpdate(call, result))
    }
    let delay = min(max(update.backoff.next(), 1000), update.timeout)
    update.timeout -= delay
    remoteUpdates[call] = update
    emit(.startTimer(.update(call), microseconds: delay))
  }

  // MARK: Outcomes

  /// Handles the result of recording an outcome in the store. If the store cannot write the outcome now, for
  /// example on a full disk, the client keeps it and records it later. Nothing is sent twice.
  private mutating func recorded(
    _ change: QueuedChange, _ outcome: ChangeOutcome, result: Result<StoredObject?, DocumentStoreError>
  ) {
    switch (result, outcome) {
    case (.success(let object), .done): completed(change, .success(object))
    case (.success, .absent): completed(change, .failure(.remote(.notFound)))
    case (.success, .reverted(let reason)):
      // The user has already deleted the object, and its upload may never have reached the remote.
      if change.put != nil, let next = nextStateIndependent(behind: change), case .delete = next.kind {
        mayBeAbsentAtRemote.insert(next.number)
      }
      completed(change, .failure(reason))
    case (.failure(let error), _):
      outcomes[change.number] = outcome
      // A damaged record of this object does not affect other objects.
      if case .corrupted = error { return deferChange(change, .store(error)) }
      guard error.mayBeTransient else { return fail(.store(error)) }
      lastFailure = .store(error)
      scheduleRetry()
    }
  }

  private mutating func completed(_ change: QueuedChange, _ result: Result<StoredObject?, BlobSyncError>) {
    backoff.reset()
    if case .store? = lastFailure { lastFailure = nil }
    queue.remove(change.number)
    outcomes[change.number] = nil
    changeFailures[change.number] = nil
    sessionErrors[change.number] = nil
    mayBeAbsentAtRemote.remove(change.number)
    held.remove(change.number)
    endWatch(change.number, result)
    completeWaits()
    sendNext()
  }

  /// Completes each wait whose changes have an outcome or cannot be sent.
  private mutating func completeWaits() {
    guard !waits.isEmpty else { return }
    var stuck: Set<ObjectPath> = []
    let next = queue.first { change in
      if changeFailures[change.number]?.isReported == true { stuck.insert(change.path) }
      return !stuck.contains(change.path)
    }
    let first = next?.number ?? .max
    let reported = changeFailures.filter { $0.value.isReported }.min { $0.key < $1.key }
    for wait in waits where wait.number < first {
      let isComplete = reported.map { $0.key > wait.number } ?? true
      emit(.endWait(wait.call, isComplete ? nil : reported?.value.error))
    }
    waits.removeAll { $0.number < first }
  }

  /// Stops the client permanently, because its state in memory may be ahead of the store. The next client
  /// starts from the state of the store.
  private mutating func fail(_ error: BlobSyncError) {
    guard failure == nil else { return }
    failure = error
    endSending()
    for number in watched.keys.sorted() { endWatch(number, .failure(error)) }
    for wait in waits { emit(.endWait(wait.call, error)) }
    waits = []
    endSearches(.failure(error))
    for call in remoteUpdates.keys.sorted() { emit(.endUpdate(call, .failure(error))) }
    remoteUpdates = [:]
  }
}

extension QueuedChange {
  /// Whether the result of the change is independent of the object's earlier state.
  fileprivate var isStateIndependent: Bool {
    switch kind {
    case .put, .delete: true
    case .update: false
    }
  }
}

extension DocumentStoreError {
  /// Whether nothing was written and a retry may succeed, for example once there is space or fewer files
  /// are open.
  fileprivate var mayBeTransient: Bool {
    switch self {
    case .full, .failed: true
    default: false
    }
  }

  /// Whether the process lacks file descriptors or memory, so that the error says nothing about the file
  /// itself.
  fileprivate var isProcessWide: Bool {
    guard case .failed(let evidence) = self, let code = evidence.code else { return true }
    return [EMFILE, ENFILE, ENOMEM].contains(code)
  }
}
