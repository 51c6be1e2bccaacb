// Sends what waits for a remote of objects, one change after the other.
//
//   1. queue   a change happens here at once, and waits: it survives everything from then on
//   2. send    piece by piece; between two pieces others get their turn. What cannot be reached is tried again later
//   3. settle  the remote has it, or refuses it for ever: then its effect here is taken back, and the next one is sent
//
// A content that the disk does not give, or not whole, keeps back the changes of its object, and no others; so does an
// upload that the remote loses again and again. It is tried again and again; after some attempts whoever waits for it is
// told. Then it is taken back if another content or a deletion waits behind it. A damaged record of an object keeps back
// what has an answer already, which is told of at once.
//
// Everything happens on one scheduler, one call of the remote at a time. BlobSync+Finding.swift has the way back.

internal import ByteStore
package import DocumentStore
package import ObjectStore
package import OfflineSync

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

package indirect enum BlobSyncError: Error, Hashable, Sendable {
  case remote(BlobRemoteError)
  case store(DocumentStoreError)
  /// It did not come further for as long as was allowed, and this is what it failed with last: the remote, or the store,
  /// which cannot give or take down something; nil if nothing was tried. It goes on waiting.
  case overdue(BlobSyncError?)
  /// Its user took it back.
  case cancelled
  /// The app has gone. What waits goes on waiting.
  case stopped
}

/// A client of a remote of objects. Usable from any thread.
package final class BlobSync: @unchecked Sendable {
  // Unchecked, because all that changes is touched on the scheduler alone, which does one thing at a time.

  /// Told how a change goes on. Called on the scheduler.
  package struct Watcher: Sendable {
    /// After so many microseconds without news it is told that the change is overdue, and no more; nil for never.
    package var patience: Int64?
    /// How many bytes the remote has.
    var progress: @Sendable (UInt64) -> Void
    /// How it ended: with the object as it is then.
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
  /// The remote has to have had a chance.
  private static let patienceMin: Int64 = 1_000_000
  /// So often what keeps one change back is tried before anybody is told.
  private static let setbacksMax = 5
  /// So often the remote may lose the thread of an upload before that begins anew.
  private static let stumblesMax = 3

  let objects: ObjectStore
  let remote: any BlobRemote
  let scheduler: any SyncScheduler
  /// Why nothing is sent any more.
  package private(set) var failure: BlobSyncError?
  /// In the order of their numbers, which is that of their commits.
  private var queue: ChangeQueue
  private var watchers: [Int64: Watcher] = [:]
  /// What has become of changes, as far as the store could not take it down yet.
  private var outcomes: [Int64: Outcome] = [:]
  private var held: Set<Int64> = []
  private var setbacks: [Int64: Setback] = [:]
  private var stumbles: [Int64: Stumbles] = [:]
  /// So often the remote has answered.
  private var answers = 0
  /// What kept all back last: the remote, or the store; nil once a call was answered, and the answer taken down.
  private var lastFailure: BlobSyncError?
  private var sending: Sending?
  /// Deletions of which the remote may find nothing, and which are done then: it has deleted it without saying so, or what
  /// was to be deleted never came there.
  private var mayBeGone: Set<Int64> = []
  /// Of the step that is to come; one that was superseded does nothing.
  private var lastStep = 0
  /// The remote could not be reached, and this is the timer that waits.
  private var retry: Int?
  private var lastTimer = 0
  /// For all delays, so that a seed decides them.
  var dice: SeededDice
  private var backoff: Backoff
  /// Told once nothing waits that was made before, by the number of the last one.
  private var waits: [(number: Int64, end: @Sendable (BlobSyncError?) -> Void)] = []

  /// Searches that have not ended, and among them those that wait until fewer contents are on their way here.
  var searches: [ObjectIdentifier: Search] = [:]
  var waitingSearches: [Search] = []
  var contentsOnTheirWay = 0
  /// Those of whose contents something may have come, in the order in which they began.
  var begunSearches: [Search] = []

  /// Changes of objects that are at the remote alone, until it has answered.
  private var elsewhere: [Int: Elsewhere] = [:]
  private var lastElsewhere = 0

  private enum Outcome {
    case done(RemoteObjectMetadata?)
    /// There is no such object.
    case absent
    case takenBack(BlobSyncError)
  }

  /// What keeps back a change, and those of its object behind it, but no others.
  private struct Setback {
    var error: BlobSyncError
    var attempts = 0
    var backoff: Backoff
    /// Until the next attempt.
    var isAside = false
    /// Nobody waits for it any more.
    var isToldOf = false
  }

  /// An upload that the remote was somewhere else with than it had said, or knew nothing of.
  private struct Stumbles {
    var count = 0
    /// Only what brings it further is progress.
    let furthest: UInt64
  }

  private struct Sending {
    let change: QueuedChange
    var reader: BlobReader?
    /// Nil until the remote was asked how far it is.
    var offset: UInt64?
  }

  private struct Elsewhere {
    let path: ObjectPath
    let changes: AttributeChanges
    /// What is left of it for a remote that cannot be reached.
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
    dice = SeededDice(seed: seed)
    backoff = Backoff(seed: ~seed)
    do throws(DocumentStoreError) { queue = ChangeQueue(try objects.outbox.changes()) } catch {
      // Nobody knows what waits, so that nothing is sent. What is here can still be read.
      guard case .corrupted = error else { throw error }
      queue = ChangeQueue([])
      failure = .store(error)
    }
    scheduler.run { [weak self] in self?.sendNext() }
  }

  // MARK: Users

  /// Finishes an upload: when it returns, the object is here, and waits for the remote.
  package func put(
    _ upload: ObjectUpload, token: String, _ watcher: Watcher
  ) throws(DocumentStoreError) -> (object: StoredObject, change: QueuedChange) {
    try objects.outbox.finish(upload, token: token) { [self] change in add(change, watcher) }
  }

  /// Nil if there is no such object here.
  package func update(
    _ path: ObjectPath, _ changes: AttributeChanges, _ watcher: Watcher
  ) throws(DocumentStoreError) -> StoredObject? {
    try objects.outbox.update(path, changes) { change in add(change, watcher) }?.object
  }

  /// False if what waits has left nothing to delete: then nobody is told anything.
  @discardableResult
  package func delete(_ path: ObjectPath, _ watcher: Watcher) throws(DocumentStoreError) -> Bool {
    try objects.outbox.delete(path) { change in add(change, watcher) } != nil
  }

  /// Called while no other change is made.
  private func add(_ change: QueuedChange, _ watcher: Watcher) {
    scheduler.run { [self] in
      if let failure { return watcher.end(.failure(failure)) }
      queue.append(change)
      watchers[change.number] = watcher
      if let patience = watcher.patience { look(at: change.number, in: max(patience, Self.patienceMin)) }
      sendNext()
    }
  }

  /// Until the next look, the remote has to have answered something.
  private func look(at number: Int64, in patience: Int64) {
    let before = answers
    scheduler.run(after: patience) { [weak self] in
      guard let self, let watcher = watchers[number] else { return }
      let isTakenBack = if case .takenBack? = outcomes[number] { true } else { false }
      // What is to be taken back does not go on waiting, as it would be told that it does.
      if answers != before || held.contains(number) || isTakenBack { return look(at: number, in: patience) }
      watchers[number] = nil
      watcher.end(.failure(.overdue(hindrance(of: number))))
    }
  }

  /// What keeps a change back: what keeps back all, or else it, or one of its object before it.
  private func hindrance(of number: Int64) -> BlobSyncError? {
    guard lastFailure == nil, let path = queue[number]?.path else { return lastFailure }
    return setbacks.filter { $0.key <= number && queue[$0.key]?.path == path }
      .min { $0.key < $1.key }?.value.error
  }

  /// Takes a change back that waits: its effect here vanishes. False if it does not wait any more. If it was on its
  /// way, the remote may have done it; then it comes back as what the remote has.
  package func cancel(_ number: Int64, _ done: @escaping @Sendable (Bool) -> Void = { _ in }) {
    scheduler.run { [self] in
      guard failure == nil, let change = queue[number] else { return done(false) }
      if sending?.change.number == number { sending = nil }
      // What cannot be reached now forgets the session by itself.
      if change.put != nil { try? remote.abandon(upload: change.session) }
      let before = watchers[number]
      watchers[number] = Watcher { result in
        before?.end(result)
        if case .failure(.cancelled) = result { done(true) } else { done(false) }
      }
      settle(change, .takenBack(.cancelled))
    }
  }

  /// Does not send a change, nor those of the same object behind it, until it is released.
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

  /// What waits now, in order.
  package func changes() throws(DocumentStoreError) -> [QueuedChange] { try objects.outbox.changes() }

  /// Told when all that waits now was answered, or cannot be sent.
  package func wait(_ end: @escaping @Sendable (BlobSyncError?) -> Void) {
    scheduler.run { [self] in
      if let failure { return end(failure) }
      guard let last = queue.last else { return end(nil) }
      waits.append((last, end))
      endWaits()
    }
  }

  /// Nothing is sent any more, and whoever waits is told so. What waits is sent by the next one.
  package func stop(_ done: @escaping @Sendable () -> Void) {
    scheduler.run { [self] in
      fail(.stopped)
      done()
    }
  }

  // MARK: Sending

  private func sendNext() {
    guard failure == nil, sending == nil, retry == nil else { return }
    // What has an answer waits for the store alone, wherever it stands.
    let answered = outcomes.keys.filter { setbacks[$0]?.isAside != true }.min().flatMap { queue[$0] }
    var blocked: Set<ObjectPath> = []
    let next =
      answered
      ?? queue.first { change in
        let isAside = setbacks[change.number]?.isAside == true
        if isAside || held.contains(change.number) { blocked.insert(change.path) }
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
    if let outcome = outcomes[sending.change.number] { return settle(sending.change, outcome) }
    do throws(BlobSyncError) {
      let step = try send(&sending)
      answers += 1
      lastFailure = nil
      switch step {
      case .more:
        self.sending = sending
        nextStep()
      case .over(let outcome): settle(sending.change, outcome)
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
      // Who has deleted it, if this was tried before, nobody knows; it is gone as was wanted.
      return .over(isDeleted == true || mayBeGone.contains(change.number) ? .done(nil) : .absent)
    case .update(let changes):
      // What is here stays the content of its own generation: the remote may have got another one meanwhile.
      return .over(try updated(change.path, changes) == nil ? .absent : .done(nil))
    }
  }

  /// The object at the remote with these changes, and with all that others have changed; nil if there is none.
  private func updated(
    _ path: ObjectPath, _ changes: AttributeChanges
  ) throws(BlobSyncError) -> RemoteObject? {
    try found { () throws(BlobRemoteError) in
      var object = try remote.object(bucket: path.bucket, name: path.name.text)
      // Values beyond the limits are not repeated to the remote, nor an object of another name.
      try object.check()
      (object.bucket, object.name) = (path.bucket, path.name.text)
      changes.apply(to: &object.attributes)
      return try remote.update(object)
    }
  }

  /// Changes attributes of an object of which nothing is here: the remote has to be reached. One that cannot be is asked
  /// again for so many microseconds.
  package func updateElsewhere(
    _ path: ObjectPath, _ changes: AttributeChanges, patience: Int64 = 0,
    _ end: @escaping @Sendable (Result<RemoteObject?, BlobSyncError>) -> Void
  ) {
    scheduler.run { [self] in
      if let failure { return end(.failure(failure)) }
      lastElsewhere += 1
      elsewhere[lastElsewhere] = Elsewhere(
        path: path, changes: changes, patience: patience, backoff: Backoff(seed: dice.next()), end: end)
      tryElsewhere(lastElsewhere)
    }
  }

  private func tryElsewhere(_ number: Int) {
    guard var update = elsewhere[number] else { return }
    let result = Result { () throws(BlobSyncError) in try updated(update.path, update.changes) }
    guard case .failure(.remote(.unavailable)) = result, update.patience > 0 else {
      elsewhere[number] = nil
      return update.end(result)
    }
    let delay = min(max(update.backoff.next(), 1000), update.patience)
    update.patience -= delay
    elsewhere[number] = update
    scheduler.run(after: delay) { [weak self] in self?.tryElsewhere(number) }
  }

  private func send(_ object: StoredObject, _ sending: inout Sending) throws(BlobSyncError) -> Step {
    let session = sending.change.session
    guard let offset = sending.offset else {
      sending.offset = try asked { () throws(BlobRemoteError) in try remote.offset(ofUpload: session) }
      return .more
    }
    guard offset < object.byteCount else {
      let stored = try asked { () throws(BlobRemoteError) in
        try remote.finish(upload: session, as: RemoteObject(object))
      }
      return .over(.done(stored.standing))
    }
    var piece = [UInt8](repeating: 0, count: Int(min(UInt64(Self.pieceBytes), object.byteCount - offset)))
    do throws(DocumentStoreError) {
      let reader: BlobReader
      if let known = sending.reader { reader = known } else { reader = try objects.reader(of: object) }
      sending.reader = reader
      do throws(ByteStoreError) { try reader.fill(&piece, at: offset) } catch {
        throw DocumentStoreError(error)
      }
    } catch {
      throw .store(error)
    }
    let number = sending.change.number
    if case .store? = setbacks[number]?.error { setbacks[number] = nil }
    let bytes = piece
    try asked { () throws(BlobRemoteError) in try remote.append(bytes, at: offset, toUpload: session) }
    let end = offset + UInt64(bytes.count)
    sending.offset = end
    if let known = stumbles[number], end > known.furthest {
      stumbles[number] = nil
      setbacks[number] = nil
    }
    backoff.reset()
    watchers[number]?.progress(end)
    return .more
  }

  private func refused(_ sending: inout Sending, _ error: BlobSyncError) {
    // A refusal is an answer.
    if case .remote(let reason) = error {
      if case .unavailable = reason { lastFailure = error } else { lastFailure = nil }
      if !reason.isTransient { answers += 1 }
    }
    switch error {
    case .remote(.notFound), .remote(.wrongOffset): stumbled(&sending, error)
    case .remote(let reason) where reason.isTransient:
      if case .delete = sending.change.kind { mayBeGone.insert(sending.change.number) }
      tryLater()
    case .remote: giveUp(sending.change, error)
    case .store(.corrupted):
      // It was acknowledged, and most of it may be whole: nobody but its user lets go of it.
      putAside(sending.change, error)
    case .store(let reason):
      guard reason.mayPass else { return fail(error) }
      guard reason.isOfAllFiles else { return putAside(sending.change, error) }
      lastFailure = error
      tryLater()
    case .cancelled, .overdue, .stopped: break
    }
  }

  /// It goes on where the remote is. If that does not bring it further, it begins anew, once; then others go on.
  private func stumbled(_ sending: inout Sending, _ error: BlobSyncError) {
    let change = sending.change
    var known = stumbles[change.number] ?? Stumbles(furthest: sending.offset ?? 0)
    known.count += 1
    stumbles[change.number] = known
    guard known.count <= Self.stumblesMax + 1 else {
      return putAside(change, .remote(.unavailable("The remote loses the upload again and again.")))
    }
    if known.count > Self.stumblesMax {
      if change.put != nil { try? remote.abandon(upload: change.session) }
      sending.offset = 0
    } else if case .remote(.wrongOffset(let offset)) = error {
      sending.offset = offset
    } else {
      return tryLater()
    }
    self.sending = sending
    nextStep()
  }

  /// Others go on, until it is tried again.
  private func putAside(_ change: QueuedChange, _ error: BlobSyncError) {
    let number = change.number
    var known = setbacks[number] ?? Setback(error: error, backoff: Backoff(seed: dice.next()))
    known.error = error
    known.attempts += 1
    if !known.isAside {
      known.isAside = true
      scheduler.run(after: known.backoff.next()) { [weak self] in
        guard let self, setbacks[number] != nil else { return }
        setbacks[number]?.isAside = false
        sendNext()
      }
    }
    setbacks[number] = known
    // What has an answer can only wait for its records.
    if known.attempts >= Self.setbacksMax || outcomes[number] != nil { tell(of: change, error) }
    sendNext()
  }

  /// If another content or a deletion waits behind it, it is not worth waiting for. Else whoever waits for it may take it
  /// back. Only if that does not happen, those who wait behind it are told, too: they are updates, and go on waiting.
  /// What has an answer cannot be taken back either.
  private func tell(of change: QueuedChange, _ error: BlobSyncError) {
    let number = change.number
    let hasAnswer = outcomes[number] != nil
    if !hasAnswer, nextOfItsOwn(behind: change) != nil { return giveUp(change, error) }
    let watcher = watchers.removeValue(forKey: number)
    watcher?.end(.failure(error))
    guard hasAnswer || watcher == nil else { return }
    setbacks[number]?.isToldOf = true
    for other in watchers.keys.sorted() where queue[other]?.path == change.path && other > number {
      watchers.removeValue(forKey: other)?.end(.failure(error))
    }
    endWaits()
  }

  /// Of the same object.
  private func nextOfItsOwn(behind change: QueuedChange) -> QueuedChange? {
    queue.first { $0.number > change.number && $0.path == change.path && $0.isOfItsOwn }
  }

  /// Leaves nothing of it at the remote either.
  private func giveUp(_ change: QueuedChange, _ reason: BlobSyncError) {
    if change.put != nil { try? remote.abandon(upload: change.session) }
    settle(change, .takenBack(reason))
  }

  private func tryLater() {
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

  /// What the store cannot take down now, it is given again later: a full disk is no reason to send anything twice.
  private func settle(_ change: QueuedChange, _ outcome: Outcome) {
    do throws(DocumentStoreError) {
      switch outcome {
      case .done(let standing):
        let object = try objects.outbox.acknowledge(change, standing)
        settled(change, .success(object ?? nil))
      case .absent:
        try objects.outbox.acknowledgeAbsence(change)
        settled(change, .failure(.remote(.notFound)))
      case .takenBack(let reason):
        try objects.outbox.rollBackChange(change)
        // What its user deleted was here, and may never have come to the remote.
        if change.put != nil, let next = nextOfItsOwn(behind: change), case .delete = next.kind {
          mayBeGone.insert(next.number)
        }
        settled(change, .failure(reason))
      }
    } catch {
      outcomes[change.number] = outcome
      // A record of this object is damaged, which is no matter of others.
      if case .corrupted = error { return putAside(change, .store(error)) }
      guard error.mayPass else { return fail(.store(error)) }
      lastFailure = .store(error)
      tryLater()
    }
  }

  private func settled(_ change: QueuedChange, _ result: Result<StoredObject?, BlobSyncError>) {
    backoff.reset()
    if case .store? = lastFailure { lastFailure = nil }
    queue.remove(change.number)
    outcomes[change.number] = nil
    setbacks[change.number] = nil
    stumbles[change.number] = nil
    mayBeGone.remove(change.number)
    held.remove(change.number)
    watchers.removeValue(forKey: change.number)?.end(result)
    endWaits()
    sendNext()
  }

  /// Of those behind which nothing waits that could be sent.
  private func endWaits() {
    guard !waits.isEmpty else { return }
    var stuck: Set<ObjectPath> = []
    let next = queue.first { change in
      if setbacks[change.number]?.isToldOf == true { stuck.insert(change.path) }
      return !stuck.contains(change.path)
    }
    let first = next?.number ?? .max
    let told = setbacks.filter { $0.value.isToldOf }.min { $0.key < $1.key }
    let over = waits.filter { $0.number < first }
    waits.removeAll { $0.number < first }
    for wait in over {
      let isComplete = told.map { $0.key > wait.number } ?? true
      wait.end(isComplete ? nil : told?.value.error)
    }
  }

  /// What memory has may be ahead of the store: the next one goes on from what that has.
  private func fail(_ error: BlobSyncError) {
    guard failure == nil else { return }
    failure = error
    sending = nil
    let (watchers, waits, searches, elsewhere) = (watchers, waits, searches, elsewhere)
    (self.watchers, self.waits, self.waitingSearches, self.elsewhere) = ([:], [], [], [:])
    for watcher in watchers.values { watcher.end(.failure(error)) }
    for wait in waits { wait.end(error) }
    for search in searches.values { finish(search, .failure(error)) }
    for update in elsewhere.values { update.end(.failure(error)) }
  }

  // MARK: The remote

  func asked<Value>(_ body: () throws(BlobRemoteError) -> Value) throws(BlobSyncError) -> Value {
    do throws(BlobRemoteError) { return try body() } catch { throw .remote(error) }
  }

  /// Nil if there is no such object.
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
  /// What it makes of an object does not depend on what that was.
  fileprivate var isOfItsOwn: Bool {
    switch kind {
    case .put, .delete: true
    case .update: false
    }
  }
}

extension DocumentStoreError {
  /// Nothing was written, and the same may succeed once there is room, or fewer files are open.
  fileprivate var mayPass: Bool {
    switch self {
    case .full, .failed: true
    default: false
    }
  }

  /// The process has too many files open, or too little memory, which says nothing of the file that was to be read.
  fileprivate var isOfAllFiles: Bool {
    guard case .failed(let evidence) = self, let code = evidence.code else { return true }
    return [EMFILE, ENFILE, ENOMEM].contains(code)
  }
}
