// Sends what waits for a remote of objects, one change after the other.
//
//   1. queue   a change happens here at once, and waits: it survives everything from then on
//   2. send    piece by piece; between two pieces others get their turn. What cannot be reached is tried again later
//   3. settle  the remote has it, or refuses it for ever: then its effect here is taken back, and the next one is sent
//
// Everything happens on one scheduler, one call of the remote at a time. BlobSync+Finding.swift has the way back.

internal import ByteStore
package import DocumentStore

package enum BlobSyncError: Error, Hashable, Sendable {
  case remote(BlobRemoteError)
  case store(DocumentStoreError)
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
    /// How many bytes the remote has.
    var progress: @Sendable (UInt64) -> Void
    /// How it ended: with the object as it is then.
    var end: @Sendable (Result<StoredObject?, BlobSyncError>) -> Void

    package init(
      progress: @escaping @Sendable (UInt64) -> Void = { _ in },
      end: @escaping @Sendable (Result<StoredObject?, BlobSyncError>) -> Void
    ) {
      self.progress = progress
      self.end = end
    }
  }

  static let pieceBytes = 256 << 10

  let objects: ObjectStore
  let remote: any BlobRemote
  let scheduler: any SyncScheduler
  /// Why nothing works any more.
  private(set) var failure: BlobSyncError?
  /// Held from the commit of a change until it is in the queue: both have the same order.
  private let queueing = Locked(Queueing())
  /// In the order of their numbers.
  private var queue: [QueuedChange]
  private var watchers: [Int64: Watcher] = [:]
  private var held: Set<Int64> = []
  private var sending: Sending?
  /// A change that was sent without an answer: the remote may have done it.
  private var unanswered: Int64?
  /// Of the step that is to come; one that was superseded does nothing.
  private var lastStep = 0
  /// The remote could not be reached, and this is the timer that waits.
  private var retry: Int?
  private var lastTimer = 0
  private var backoff = Backoff(seed: UInt64.random(in: 0...UInt64.max))
  /// Told once nothing waits that was made before, by the number of the last one.
  private var waits: [(number: Int64, end: @Sendable (BlobSyncError?) -> Void)] = []

  private struct Queueing { private let place: UInt8 = 0 }

  private struct Sending {
    let change: QueuedChange
    var reader: BlobReader?
    /// Nil until the remote was asked how far it is.
    var offset: UInt64?
    /// So often it was somewhere else than it had said.
    var corrections = 0
  }

  package init(
    _ objects: ObjectStore, _ remote: any BlobRemote, _ scheduler: any SyncScheduler
  ) throws(DocumentStoreError) {
    self.objects = objects
    self.remote = remote
    self.scheduler = scheduler
    queue = try objects.outbox.changes()
    scheduler.run { [weak self] in self?.sendNext() }
  }

  // MARK: Users

  /// Finishes an upload: when it returns, the object is here, and waits for the remote.
  package func put(
    _ upload: ObjectUpload, token: String, _ watcher: Watcher
  ) throws(DocumentStoreError) -> (object: StoredObject, change: QueuedChange) {
    try queueing.withLock { _ throws(DocumentStoreError) in
      let done = try objects.outbox.finish(upload, token: token)
      add(done.change, watcher)
      return done
    }
  }

  /// Nil if there is no such object here.
  package func update(
    _ path: ObjectPath, _ watcher: Watcher, _ body: (inout ObjectAttributes) -> Void
  ) throws(DocumentStoreError) -> StoredObject? {
    try queueing.withLock { _ throws(DocumentStoreError) in
      guard let done = try objects.outbox.update(path, body) else { return nil }
      add(done.change, watcher)
      return done.object
    }
  }

  package func delete(_ path: ObjectPath, _ watcher: Watcher) throws(DocumentStoreError) {
    try queueing.withLock { _ throws(DocumentStoreError) in
      add(try objects.outbox.delete(path), watcher)
    }
  }

  private func add(_ change: QueuedChange, _ watcher: Watcher) {
    scheduler.run { [self] in
      if let failure { return watcher.end(.failure(failure)) }
      queue.append(change)
      watchers[change.number] = watcher
      sendNext()
    }
  }

  /// Takes a change back that waits: its effect here vanishes. False if it does not wait any more. If it was on its
  /// way, the remote may have done it; then it comes back as what the remote has.
  package func cancel(_ number: Int64, _ done: @escaping @Sendable (Bool) -> Void = { _ in }) {
    scheduler.run { [self] in
      guard failure == nil, let place = queue.firstIndex(where: { $0.number == number }) else {
        return done(false)
      }
      let change = queue[place]
      if sending?.change.number == number { sending = nil }
      // What cannot be reached now forgets the session by itself.
      if change.put != nil { try? remote.abandon(upload: change.session) }
      takeBack(change, .cancelled)
      done(true)
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

  /// Told when all that waits now was answered.
  package func wait(_ end: @escaping @Sendable (BlobSyncError?) -> Void) {
    scheduler.run { [self] in
      if let failure { return end(failure) }
      guard let last = queue.last else { return end(nil) }
      waits.append((last.number, end))
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
    var blocked: Set<ObjectPath> = []
    for change in queue {
      if held.contains(change.number) { blocked.insert(change.path) }
      guard !blocked.contains(change.path) else { continue }
      sending = Sending(change: change)
      return nextStep()
    }
  }

  private enum Step {
    case more
    case done(ObjectStanding?)
    /// There is no such object.
    case absent
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
    do throws(BlobSyncError) {
      switch try send(&sending) {
      case .more:
        self.sending = sending
        nextStep()
      case .done(let standing): acknowledge(sending.change, standing)
      case .absent: findAbsent(sending.change)
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
      return isDeleted == true || unanswered == change.number ? .done(nil) : .absent
    case .update(let attributes):
      let updated = try found { () throws(BlobRemoteError) in
        var object = RemoteObject(bucket: bucket, name: name, byteCount: 0)
        object.attributes = attributes
        return try remote.update(object)
      }
      // What is here stays the content of its own generation: the remote may have got another one meanwhile.
      return updated == nil ? .absent : .done(nil)
    }
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
      return .done(stored.standing)
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
    let bytes = piece
    try asked { () throws(BlobRemoteError) in try remote.append(bytes, at: offset, toUpload: session) }
    let end = offset + UInt64(bytes.count)
    sending.offset = end
    sending.corrections = 0
    backoff.reset()
    watchers[sending.change.number]?.progress(end)
    return .more
  }

  private func refused(_ sending: inout Sending, _ error: BlobSyncError) {
    switch error {
    case .remote(.wrongOffset(let offset)) where sending.corrections < 3:
      sending.corrections += 1
      sending.offset = offset
      self.sending = sending
      nextStep()
    case .remote(.unavailable), .remote(.notFound), .remote(.wrongOffset):
      unanswered = sending.change.number
      tryLater()
    case .remote(.rejected): takeBack(sending.change, error)
    case .store(.corrupted):
      // It can never be sent. The object here stays damaged for all to see; what the remote has comes back.
      takeBack(sending.change, error)
    case .store: fail(error)
    case .cancelled, .stopped: break
    }
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

  private func acknowledge(_ change: QueuedChange, _ standing: ObjectStanding?) {
    backoff.reset()
    do throws(DocumentStoreError) {
      let object = try objects.outbox.acknowledge(change, standing)
      settled(change, .success(object ?? nil))
    } catch {
      fail(.store(error))
    }
  }

  private func findAbsent(_ change: QueuedChange) {
    backoff.reset()
    do throws(DocumentStoreError) {
      try objects.outbox.findAbsent(change)
      settled(change, .failure(.remote(.notFound)))
    } catch {
      fail(.store(error))
    }
  }

  private func takeBack(_ change: QueuedChange, _ reason: BlobSyncError) {
    do throws(DocumentStoreError) {
      try objects.outbox.takeBack(change)
      settled(change, .failure(reason))
    } catch {
      fail(.store(error))
    }
  }

  private func settled(_ change: QueuedChange, _ result: Result<StoredObject?, BlobSyncError>) {
    queue.removeAll { $0.number == change.number }
    held.remove(change.number)
    watchers.removeValue(forKey: change.number)?.end(result)
    let first = queue.first?.number ?? .max
    let over = waits.filter { $0.number < first }
    waits.removeAll { $0.number < first }
    for wait in over { wait.end(nil) }
    sendNext()
  }

  /// What memory has may be ahead of the store: the next one goes on from what that has.
  private func fail(_ error: BlobSyncError) {
    guard failure == nil else { return }
    failure = error
    sending = nil
    let (watchers, waits) = (watchers, waits)
    (self.watchers, self.waits) = ([:], [])
    for watcher in watchers.values { watcher.end(.failure(error)) }
    for wait in waits { wait.end(error) }
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
