// Sends queued object changes to a remote, in order.
//
//   1. queue    a change takes effect locally and enters the durable queue in one commit
//   2. send     the content is sent piece by piece, and other calls run between two pieces; if the remote is
//               unreachable, the client retries later
//   3. settle   the remote accepts the change, or rejects it permanently; a rejected change is reverted
//               locally; then the next change is sent
//
// Two failures block only the changes of their own object: local content that cannot be read, and an upload
// whose session the remote loses repeatedly. The client retries such a change. After `failuresBeforeReport`
// attempts it reports the error to the watcher, and reverts the change if a later upload or deletion of the
// object is queued. If a damaged record prevents the store from taking down an outcome, that error is
// reported at once.
//
// All work runs on one serial scheduler, with one remote call at a time. BlobSync+Fetching.swift has the
// opposite direction.

internal import ByteStore
package import DocumentStore
import Libc
package import ObjectStore
package import OfflineSync

package indirect enum BlobSyncError: Error, Hashable, Sendable {
  case remote(BlobRemoteError)
  case store(DocumentStoreError)
  /// The change made no progress before its timeout, and stays queued. The payload is the error of the
  /// last attempt, from the remote or the store; nil if there was no attempt.
  case overdue(BlobSyncError?)
  /// The user cancelled the change.
  case cancelled
  /// The app has stopped. Pending changes stay queued.
  case stopped
}

/// A client of an object server. Usable from any thread.
package final class BlobSync: @unchecked Sendable {
  // Unchecked, because all mutable state is touched on the scheduler alone, which is serial.

  /// Callbacks about one change. Called on the scheduler.
  package struct Watcher: Sendable {
    /// After this many microseconds without an answer, `end` is called with `overdue` and the watcher is
    /// removed; nil means never.
    package var patience: Int64?
    /// Called with the number of bytes that the remote has received.
    var progress: @Sendable (UInt64) -> Void
    /// Called once with the outcome; on success, with the object as it is then.
    var end: @Sendable (Result<StoredObject?, BlobSyncError>) -> Void

    package init(
      patience: Int64? = nil, progress: @escaping @Sendable (UInt64) -> Void = { _ in },
      end: @escaping @Sendable (Result<StoredObject?, BlobSyncError>) -> Void
    ) {
      self.patience = patience
      self.progress = progress
      self.end = end
    }
  }

  static let pieceBytes = 256 << 10
  /// The shortest patience, so that the remote has a chance to answer.
  private static let patienceMin: Int64 = 1_000_000
  /// The number of failed attempts of a change after which its watcher is notified.
  private static let failuresBeforeReport = 5
  /// After this many session errors of an upload, the upload starts over.
  private static let sessionErrorsMax = 3

  let objects: ObjectStore
  let remote: any BlobRemote
  let scheduler: any SyncScheduler
  /// The error that stopped the client; nil while it works.
  package private(set) var failure: BlobSyncError?
  /// The pending changes by number, which is the order of their commits.
  private var queue: ChangeQueue
  private var watchers: [Int64: Watcher] = [:]
  /// Outcomes that the store could not record yet.
  private var outcomes: [Int64: Outcome] = [:]
  private var held: Set<Int64> = []
  private var changeFailures: [Int64: ChangeFailure] = [:]
  private var sessionErrors: [Int64: SessionErrors] = [:]
  /// The number of answers from the remote.
  private var answers = 0
  /// The last error that blocked the whole queue, from the remote or the store; nil after a call was
  /// answered and the answer recorded.
  private var lastFailure: BlobSyncError?
  private var sending: Sending?
  /// Deletions that count as successful if the remote finds no object. Either an earlier attempt
  /// succeeded and its answer was lost, or the upload of that object was reverted.
  private var mayBeAbsentAtRemote: Set<Int64> = []
  /// The number of the next step. A step with another number has been superseded.
  private var lastStep = 0
  /// The number of the running retry timer; nil if the remote is believed to be reachable.
  private var retry: Int?
  private var lastTimer = 0
  /// The source of all random delays, so that a seed reproduces them.
  var rng: SplitMix64
  private var backoff: Backoff
  /// Completions of `wait`, each with the number of the last change that it waits for.
  private var waits: [(number: Int64, end: @Sendable (BlobSyncError?) -> Void)] = []

  /// All active searches, and those that wait for a slot to fetch their content.
  var searches: [ObjectIdentifier: Search] = [:]
  var searchesWaitingForSlot: [Search] = []
  var activeFetchCount = 0
  /// Searches with a staged content, in the order in which they began.
  var searchesWithStagedPart: [Search] = []

  /// Updates of objects that exist only at the remote and that it has not answered.
  private var remoteUpdates: [Int: RemoteUpdate] = [:]
  private var lastRemoteUpdate = 0

  private enum Outcome {
    case done(RemoteObjectMetadata?)
    /// The remote has no such object.
    case absent
    case reverted(BlobSyncError)
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
    var reader: BlobReader?
    /// Nil until the remote has reported its offset.
    var offset: UInt64?
  }

  private struct RemoteUpdate {
    let path: ObjectPath
    let changes: AttributeChanges
    /// The remaining time to wait for an unreachable remote.
    var patience: Int64
    var backoff: Backoff
    let end: @Sendable (Result<RemoteObject?, BlobSyncError>) -> Void
  }

  package init(
    _ objects: ObjectStore, _ remote: any BlobRemote, _ scheduler: any SyncScheduler,
    seed: UInt64 = UInt64.random(in: 0...UInt64.max)
  ) throws(DocumentStoreError) {
    self.objects = objects
    self.remote = remote
    self.scheduler = scheduler
    rng = SplitMix64(seed: seed)
    backoff = Backoff(seed: ~seed)
    do throws(DocumentStoreError) { queue = ChangeQueue(try objects.outbox.changes()) } catch {
      // The queue is unreadable, so nothing is sent. Objects in the store can still be read.
      guard case .corrupted = error else { throw error }
      queue = ChangeQueue([])
      failure = .store(error)
    }
    scheduler.run { [weak self] in self?.sendNext() }
  }

  // MARK: Users

  /// Finishes an upload. When this returns, the object is stored and its change is queued.
  package func put(
    _ upload: ObjectUpload, token: String, _ watcher: Watcher
  ) throws(DocumentStoreError) -> (object: StoredObject, change: QueuedChange) {
    try objects.outbox.finish(upload, token: token) { [self] change in add(change, watcher) }
  }

  /// Returns nil if the store has no such object.
  package func update(
    _ path: ObjectPath, _ changes: AttributeChanges, _ watcher: Watcher
  ) throws(DocumentStoreError) -> StoredObject? {
    try objects.outbox.update(path, changes) { change in add(change, watcher) }?.object
  }

  /// Returns false if the pending changes leave nothing to delete. The watcher is then never called.
  @discardableResult
  package func delete(_ path: ObjectPath, _ watcher: Watcher) throws(DocumentStoreError) -> Bool {
    try objects.outbox.delete(path) { change in add(change, watcher) } != nil
  }

  /// Called inside the commit of the change, so that no other change can come in between.
  private func add(_ change: QueuedChange, _ watcher: Watcher) {
    scheduler.run { [self] in
      if let failure { return watcher.end(.failure(failure)) }
      queue.append(change)
      watchers[change.number] = watcher
      if let patience = watcher.patience { look(at: change.number, in: max(patience, Self.patienceMin)) }
      sendNext()
    }
  }

  /// Checks after `patience` whether the remote has answered any call since.
  private func look(at number: Int64, in patience: Int64) {
    let before = answers
    scheduler.run(after: patience) { [weak self] in
      guard let self, let watcher = watchers[number] else { return }
      let isTakenBack = if case .reverted? = outcomes[number] { true } else { false }
      // A change that is being reverted does not stay queued, so it must not be reported as overdue.
      if answers != before || held.contains(number) || isTakenBack { return look(at: number, in: patience) }
      watchers[number] = nil
      watcher.end(.failure(.overdue(blockingError(of: number))))
    }
  }

  /// Returns the error that blocks a change: that of the whole queue, or else that of the change or of an
  /// earlier change of its object.
  private func blockingError(of number: Int64) -> BlobSyncError? {
    guard lastFailure == nil, let path = queue[number]?.path else { return lastFailure }
    return changeFailures.filter { $0.key <= number && queue[$0.key]?.path == path }
      .min { $0.key < $1.key }?.value.error
  }

  /// Cancels a pending change and reverts its local effect. Calls `done` with false if the change is not
  /// pending any more. The remote may already have executed a change in transit; the client then receives
  /// the result as a state of the remote.
  package func cancel(_ number: Int64, _ done: @escaping @Sendable (Bool) -> Void = { _ in }) {
    scheduler.run { [self] in
      guard failure == nil, let change = queue[number] else { return done(false) }
      if sending?.change.number == number { sending = nil }
      // If the remote is unreachable now, it has to expire the session by itself.
      if change.put != nil { try? remote.abandon(upload: change.session) }
      let before = watchers[number]
      watchers[number] = Watcher { result in
        before?.end(result)
        if case .failure(.cancelled) = result { done(true) } else { done(false) }
      }
      recordOutcome(change, .reverted(.cancelled))
    }
  }

  /// Pauses a change and the later changes of its object, until `release`.
  package func hold(_ number: Int64) {
    scheduler.run { [self] in
      held.insert(number)
      if sending?.change.number == number { sending = nil }
      sendNext()
    }
  }

  package func release(_ number: Int64) {
    scheduler.run { [self] in
      held.remove(number)
      sendNext()
    }
  }

  /// Returns the pending changes in order.
  package func changes() throws(DocumentStoreError) -> [QueuedChange] { try objects.outbox.changes() }

  /// Calls `end` when all changes that are pending now have an outcome or cannot be sent.
  package func wait(_ end: @escaping @Sendable (BlobSyncError?) -> Void) {
    scheduler.run { [self] in
      if let failure { return end(failure) }
      guard let last = queue.last else { return end(nil) }
      waits.append((last, end))
      completeWaits()
    }
  }

  /// Stops sending and completes all watchers with `stopped`. The next client sends the pending changes.
  package func stop(_ done: @escaping @Sendable () -> Void) {
    scheduler.run { [self] in
      fail(.stopped)
      done()
    }
  }

  // MARK: Sending

  private func sendNext() {
    guard failure == nil, sending == nil, retry == nil else { return }
    // A change that has an outcome only waits for the store, so its position in the queue does not matter.
    let answered = outcomes.keys.filter { changeFailures[$0]?.isDeferred != true }.min().flatMap { queue[$0] }
    var blocked: Set<ObjectPath> = []
    let next =
      answered
      ?? queue.first { change in
        let isDeferred = changeFailures[change.number]?.isDeferred == true
        if isDeferred || held.contains(change.number) { blocked.insert(change.path) }
        return !blocked.contains(change.path)
      }
    guard let next else { return }
    sending = Sending(change: next)
    nextStep()
  }

  private enum Step {
    case more
    case over(Outcome)
  }

  private func nextStep() {
    lastStep += 1
    let number = lastStep
    scheduler.run { [weak self] in
      guard let self, lastStep == number else { return }
      step()
    }
  }

  private func step() {
    guard failure == nil, var sending else { return }
    self.sending = nil
    if let outcome = outcomes[sending.change.number] { return recordOutcome(sending.change, outcome) }
    do throws(BlobSyncError) {
      let step = try send(&sending)
      answers += 1
      lastFailure = nil
      switch step {
      case .more:
        self.sending = sending
        nextStep()
      case .over(let outcome): recordOutcome(sending.change, outcome)
      }
    } catch {
      refused(&sending, error)
    }
  }

  private func send(_ sending: inout Sending) throws(BlobSyncError) -> Step {
    let change = sending.change
    let (bucket, name) = (change.path.bucket, change.path.name.text)
    switch change.kind {
    case .put(let object): return try send(object, &sending)
    case .delete:
      let isDeleted = try found { () throws(BlobRemoteError) in
        try remote.delete(bucket: bucket, name: name)
        return true
      }
      // If this deletion was tried before, the object may be gone because of that attempt. The result is
      // the desired one either way.
      return .over(isDeleted == true || mayBeAbsentAtRemote.contains(change.number) ? .done(nil) : .absent)
    case .update(let changes):
      // The local content keeps its own generation, because the remote may have received another content
      // meanwhile.
      return .over(try updated(change.path, changes) == nil ? .absent : .done(nil))
    }
  }

  /// Applies the changes to the remote's current attributes, so that the changes of other clients
  /// survive. Returns nil if there is no such object.
  private func updated(
    _ path: ObjectPath, _ changes: AttributeChanges
  ) throws(BlobSyncError) -> RemoteObject? {
    try found { () throws(BlobRemoteError) in
      var object = try remote.object(bucket: path.bucket, name: path.name.text)
      // Invalid values and wrong names from the remote are not sent back to it.
      try object.check()
      (object.bucket, object.name) = (path.bucket, path.name.text)
      changes.apply(to: &object.attributes)
      return try remote.update(object)
    }
  }

  /// Changes attributes of an object that the store does not have, so the remote has to be reached.
  /// Retries for up to `patience` microseconds.
  package func updateAtRemote(
    _ path: ObjectPath, _ changes: AttributeChanges, patience: Int64 = 0,
    _ end: @escaping @Sendable (Result<RemoteObject?, BlobSyncError>) -> Void
  ) {
    scheduler.run { [self] in
      if let failure { return end(.failure(failure)) }
      lastRemoteUpdate += 1
      remoteUpdates[lastRemoteUpdate] = RemoteUpdate(
        path: path, changes: changes, patience: patience, backoff: Backoff(seed: rng.next()), end: end)
      tryRemoteUpdate(lastRemoteUpdate)
    }
  }

  private func tryRemoteUpdate(_ number: Int) {
    guard var update = remoteUpdates[number] else { return }
    let result = Result { () throws(BlobSyncError) in try updated(update.path, update.changes) }
    guard case .failure(.remote(.unavailable)) = result, update.patience > 0 else {
      remoteUpdates[number] = nil
      return update.end(result)
    }
    let delay = min(max(update.backoff.next(), 1000), update.patience)
    update.patience -= delay
    remoteUpdates[number] = update
    scheduler.run(after: delay) { [weak self] in self?.tryRemoteUpdate(number) }
  }

  private func send(_ object: StoredObject, _ sending: inout Sending) throws(BlobSyncError) -> Step {
    let session = sending.change.session
    guard let offset = sending.offset else {
      sending.offset = try callRemote { () throws(BlobRemoteError) in try remote.offset(ofUpload: session) }
      return .more
    }
    guard offset < object.byteCount else {
      let stored = try callRemote { () throws(BlobRemoteError) in
        try remote.finish(upload: session, as: RemoteObject(object))
      }
      return .over(.done(stored.standing))
    }
    var piece = [UInt8](repeating: 0, count: Int(min(UInt64(Self.pieceBytes), object.byteCount - offset)))
    try stored { () throws(DocumentStoreError) in
      let reader: BlobReader
      if let known = sending.reader { reader = known } else { reader = try objects.reader(of: object) }
      sending.reader = reader
      try ObjectStore.fill(&piece, from: reader, at: offset)
    }
    let number = sending.change.number
    if case .store? = changeFailures[number]?.error { changeFailures[number] = nil }
    let bytes = piece
    try callRemote { () throws(BlobRemoteError) in try remote.append(bytes, at: offset, toUpload: session) }
    let end = offset + UInt64(bytes.count)
    sending.offset = end
    if let known = sessionErrors[number], end > known.furthestOffset {
      sessionErrors[number] = nil
      changeFailures[number] = nil
    }
    backoff.reset()
    watchers[number]?.progress(end)
    return .more
  }

  private func refused(_ sending: inout Sending, _ error: BlobSyncError) {
    // A rejection counts as an answer.
    if case .remote(let reason) = error {
      if case .unavailable = reason { lastFailure = error } else { lastFailure = nil }
      if !reason.isTransient { answers += 1 }
    }
    switch error {
    case .remote(.notFound), .remote(.wrongOffset): sessionFailed(&sending, error)
    case .remote(let reason) where reason.isTransient:
      if case .delete = sending.change.kind { mayBeAbsentAtRemote.insert(sending.change.number) }
      scheduleRetry()
    case .remote: revert(sending.change, error)
    case .store(.corrupted):
      // The change was acknowledged and most of the content may be intact, so only its user may cancel it.
      deferChange(sending.change, error)
    case .store(let reason):
      guard reason.mayBeTransient else { return fail(error) }
      guard reason.isProcessWide else { return deferChange(sending.change, error) }
      lastFailure = error
      scheduleRetry()
    case .cancelled, .overdue, .stopped: break
    }
  }

  /// Resumes at the remote's offset. If that brings no progress, the upload starts over once; then the
  /// change is deferred.
  private func sessionFailed(_ sending: inout Sending, _ error: BlobSyncError) {
    let change = sending.change
    var known = sessionErrors[change.number] ?? SessionErrors(furthestOffset: sending.offset ?? 0)
    known.count += 1
    sessionErrors[change.number] = known
    guard known.count <= Self.sessionErrorsMax + 1 else {
      return deferChange(change, .remote(.unavailable("The remote loses the upload again and again.")))
    }
    if known.count > Self.sessionErrorsMax {
      if change.put != nil { try? remote.abandon(upload: change.session) }
      sending.offset = 0
    } else if case .remote(.wrongOffset(let offset)) = error {
      sending.offset = offset
    } else {
      return scheduleRetry()
    }
    self.sending = sending
    nextStep()
  }

  /// Defers a change until its next attempt. Other objects are not affected.
  private func deferChange(_ change: QueuedChange, _ error: BlobSyncError) {
    let number = change.number
    var known = changeFailures[number] ?? ChangeFailure(error: error, backoff: Backoff(seed: rng.next()))
    known.error = error
    known.attempts += 1
    if !known.isDeferred {
      known.isDeferred = true
      scheduler.run(after: known.backoff.next()) { [weak self] in
        guard let self, changeFailures[number] != nil else { return }
        changeFailures[number]?.isDeferred = false
        sendNext()
      }
    }
    changeFailures[number] = known
    // A change that already has an outcome waits for its record alone, so the error is reported at once.
    if known.attempts >= Self.failuresBeforeReport || outcomes[number] != nil { report(of: change, error) }
    sendNext()
  }

  /// Reports a repeated error. If a later upload or deletion of the object is queued, this change is
  /// reverted instead. Otherwise its watcher is told first and may cancel it. If the error is reported
  /// again, the watchers of later changes of the object are told, too: those changes are updates and stay
  /// queued. A change that has an outcome cannot be reverted.
  private func report(of change: QueuedChange, _ error: BlobSyncError) {
    let number = change.number
    let hasAnswer = outcomes[number] != nil
    if !hasAnswer, nextStateIndependent(behind: change) != nil { return revert(change, error) }
    let watcher = watchers.removeValue(forKey: number)
    watcher?.end(.failure(error))
    guard hasAnswer || watcher == nil else { return }
    changeFailures[number]?.isReported = true
    for other in watchers.keys.sorted() where queue[other]?.path == change.path && other > number {
      watchers.removeValue(forKey: other)?.end(.failure(error))
    }
    completeWaits()
  }

  /// The next change of the object that does not depend on its earlier state.
  private func nextStateIndependent(behind change: QueuedChange) -> QueuedChange? {
    queue.first { $0.number > change.number && $0.path == change.path && $0.isStateIndependent }
  }

  /// Reverts a change and discards its upload session.
  private func revert(_ change: QueuedChange, _ reason: BlobSyncError) {
    if change.put != nil { try? remote.abandon(upload: change.session) }
    recordOutcome(change, .reverted(reason))
  }

  private func scheduleRetry() {
    lastTimer += 1
    let timer = lastTimer
    retry = timer
    scheduler.run(after: backoff.next()) { [weak self] in
      guard let self, retry == timer else { return }
      retry = nil
      sendNext()
    }
  }

  // MARK: Answers

  /// Records an outcome in the store. If the store cannot write it now, for example on a full disk, it is
  /// kept and recorded later. Nothing is sent twice.
  private func recordOutcome(_ change: QueuedChange, _ outcome: Outcome) {
    do throws(DocumentStoreError) {
      switch outcome {
      case .done(let standing):
        let object = try objects.outbox.acknowledge(change, standing)
        completed(change, .success(object ?? nil))
      case .absent:
        try objects.outbox.acknowledgeAbsence(change)
        completed(change, .failure(.remote(.notFound)))
      case .reverted(let reason):
        try objects.outbox.rollBackChange(change)
        // The user has deleted an object whose upload may never have reached the remote.
        if change.put != nil, let next = nextStateIndependent(behind: change), case .delete = next.kind {
          mayBeAbsentAtRemote.insert(next.number)
        }
        completed(change, .failure(reason))
      }
    } catch {
      outcomes[change.number] = outcome
      // A damaged record of this object does not affect other objects.
      if case .corrupted = error { return deferChange(change, .store(error)) }
      guard error.mayBeTransient else { return fail(.store(error)) }
      lastFailure = .store(error)
      scheduleRetry()
    }
  }

  private func completed(_ change: QueuedChange, _ result: Result<StoredObject?, BlobSyncError>) {
    backoff.reset()
    if case .store? = lastFailure { lastFailure = nil }
    queue.remove(change.number)
    outcomes[change.number] = nil
    changeFailures[change.number] = nil
    sessionErrors[change.number] = nil
    mayBeAbsentAtRemote.remove(change.number)
    held.remove(change.number)
    watchers.removeValue(forKey: change.number)?.end(result)
    completeWaits()
    sendNext()
  }

  /// Completes each wait whose changes have an outcome or cannot be sent.
  private func completeWaits() {
    guard !waits.isEmpty else { return }
    var stuck: Set<ObjectPath> = []
    let next = queue.first { change in
      if changeFailures[change.number]?.isReported == true { stuck.insert(change.path) }
      return !stuck.contains(change.path)
    }
    let first = next?.number ?? .max
    let told = changeFailures.filter { $0.value.isReported }.min { $0.key < $1.key }
    let over = waits.filter { $0.number < first }
    waits.removeAll { $0.number < first }
    for wait in over {
      let isComplete = told.map { $0.key > wait.number } ?? true
      wait.end(isComplete ? nil : told?.value.error)
    }
  }

  /// Stops for good, because memory may be ahead of the store. The next client starts from the state of
  /// the store.
  private func fail(_ error: BlobSyncError) {
    guard failure == nil else { return }
    failure = error
    sending = nil
    let (watchers, waits, searches, remoteUpdates) = (watchers, waits, searches, remoteUpdates)
    (self.watchers, self.waits, self.searchesWaitingForSlot, self.remoteUpdates) = ([:], [], [], [:])
    for watcher in watchers.values { watcher.end(.failure(error)) }
    for wait in waits { wait.end(error) }
    for search in searches.values { finish(search, .failure(error)) }
    for update in remoteUpdates.values { update.end(.failure(error)) }
  }

  // MARK: The remote

  func callRemote<Value>(_ body: () throws(BlobRemoteError) -> Value) throws(BlobSyncError) -> Value {
    do throws(BlobRemoteError) { return try body() } catch { throw .remote(error) }
  }

  /// Returns nil if there is no such object.
  func found<Value>(_ body: () throws(BlobRemoteError) -> Value) throws(BlobSyncError) -> Value? {
    do throws(BlobRemoteError) {
      return try body()
    } catch {
      if error == .notFound { return nil }
      throw .remote(error)
    }
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
