// A client of an object server: the calls that users make, and the driver of `BlobMachine`. All decisions are
// in `BlobMachine`.
//
// All work runs on one serial scheduler, with one remote call at a time. The driver performs each call to the
// remote or to the store at once, and passes the answer to the machine before any other event.

internal import ByteStore
package import DocumentStore
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
    package var timeout: Int64?
    /// Called with the number of bytes that the remote has received.
    var progress: @Sendable (UInt64) -> Void
    /// Called once with the outcome; on success, with the object as it is then.
    var end: @Sendable (Result<StoredObject?, BlobSyncError>) -> Void

    package init(
      timeout: Int64? = nil, progress: @escaping @Sendable (UInt64) -> Void = { _ in },
      end: @escaping @Sendable (Result<StoredObject?, BlobSyncError>) -> Void
    ) {
      self.timeout = timeout
      self.progress = progress
      self.end = end
    }
  }

  typealias UpdateEnd = @Sendable (Result<RemoteObject?, BlobSyncError>) -> Void
  typealias ListingEnd = @Sendable (Result<ObjectPage, BlobSyncError>) -> Void

  let objects: ObjectStore
  let remote: any BlobRemote
  private let driver: MachineDriver<BlobMachine, BlobTimer>
  private var scheduler: any SyncScheduler { driver.scheduler }
  /// The local content that is being sent.
  private var content: BlobReader?
  /// The contents that are arriving.
  var arrivals: [Search: ObjectArrival] = [:]

  // The callbacks of users.
  private var watchers: [Int64: Watcher] = [:]
  private var cancellations: [BlobCallID: @Sendable (Bool) -> Void] = [:]
  private var waits: [BlobCallID: @Sendable (BlobSyncError?) -> Void] = [:]
  private var updates: [BlobCallID: UpdateEnd] = [:]
  private var listings: [BlobCallID: ListingEnd] = [:]
  var searches: [Search: (request: FetchRequest, end: SearchEnd)] = [:]
  private let lastNumber = Locked(0)

  package init(
    _ objects: ObjectStore, _ remote: any BlobRemote, scheduler: any SyncScheduler,
    seed: UInt64 = UInt64.random(in: 0...UInt64.max)
  ) throws(DocumentStoreError) {
    self.objects = objects
    self.remote = remote
    let machine: BlobMachine
    do throws(DocumentStoreError) { machine = BlobMachine(try objects.outbox.changes(), seed: seed) } catch {
      // The queue is unreadable, so nothing is sent. Objects in the store can still be read.
      guard case .corrupted = error else { throw error }
      machine = BlobMachine([], seed: seed, failure: .store(error))
    }
    driver = MachineDriver(machine, scheduler)
    scheduler.run { [weak self] in self?.handle(.start) }
  }

  /// The error that stopped the client; nil while it works. Read on the scheduler.
  package var failure: BlobSyncError? { driver.machine.failure }

  // MARK: Users

  /// Finishes an upload. When this returns, the object is stored and its change is queued.
  package func put(
    _ upload: ObjectUpload, token: String, watcher: Watcher
  ) throws(DocumentStoreError) -> (object: StoredObject, change: QueuedChange) {
    try objects.outbox.finish(upload, token: token) { [self] change in add(change, watcher) }
  }

  /// Returns nil if the store has no such object.
  package func update(
    _ path: ObjectPath, _ changes: AttributeChanges, watcher: Watcher
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
    run { sync in
      sync.watchers[change.number] = watcher
      sync.handle(.queued(change, timeout: watcher.timeout))
    }
  }

  /// Cancels a pending change and reverts its local effect. Calls `done` with false if the change is not
  /// pending any more. If the change is in transit, the remote may already have executed it. The client then
  /// receives the result like any other state of the remote.
  package func cancel(_ number: Int64, _ done: @escaping @Sendable (Bool) -> Void = { _ in }) {
    let call = newCall()
    run { sync in
      sync.cancellations[call] = done
      sync.handle(.cancel(number, call))
    }
  }

  /// Pauses a change and the later changes of its object, until `release`.
  package func hold(_ number: Int64) { run { $0.handle(.hold(number)) } }

  package func release(_ number: Int64) { run { $0.handle(.release(number)) } }

  /// Returns the pending changes in order.
  package func changes() throws(DocumentStoreError) -> [QueuedChange] { try objects.outbox.changes() }

  /// Calls `end` when all changes that are pending now have an outcome or cannot be sent.
  package func wait(_ end: @escaping @Sendable (BlobSyncError?) -> Void) {
    let call = newCall()
    run { sync in
      sync.waits[call] = end
      sync.handle(.wait(call))
    }
  }

  /// Changes attributes of an object that the store does not have, so the remote has to be reached.
  /// Retries for up to `timeout` microseconds.
  package func updateAtRemote(
    _ path: ObjectPath, _ changes: AttributeChanges, timeout: Int64 = 0,
    _ end: @escaping @Sendable (Result<RemoteObject?, BlobSyncError>) -> Void
  ) {
    let call = newCall()
    run { sync in
      sync.updates[call] = end
      sync.handle(.updateAtRemote(call, path, changes, timeout: timeout))
    }
  }

  /// Stops sending and completes all watchers with `stopped`. The next client sends the pending changes.
  package func stop(_ done: @escaping @Sendable () -> Void) {
    run { sync in
      sync.handle(.stop)
      sync.driver.stopTimers()
      done()
    }
  }

  func handle(_ listing: BlobEvent, endingWith end: @escaping ListingEnd, call: BlobCallID) {
    run { sync in
      sync.listings[call] = end
      sync.handle(listing)
    }
  }

  // MARK: The machine

  func newNumber() -> Int {
    lastNumber.withLock { last in
      last += 1
      return last
    }
  }

  func newCall() -> BlobCallID { BlobCallID(value: newNumber()) }

  func run(_ body: @escaping @Sendable (BlobSync) -> Void) { scheduler.run { [self] in body(self) } }

  func handle(_ event: BlobEvent) { driver.handle(event, perform) }

  /// Performs an effect. Returns its answer if the effect is a call to the remote or to the store.
  private func perform(_ effect: BlobEffect) -> BlobEvent? {
    switch effect {
    case .send(let call): return .sent(Result { () throws(BlobSyncError) in try send(call) })
    case .closeContent: content = nil
    case .abandon(let session): try? remote.abandon(upload: session)
    case .record(let change, let outcome):
      return .recorded(
        change, outcome, Result { () throws(DocumentStoreError) in try record(change, outcome) })
    case .updateAtRemote(let call, let path, let changes):
      return .updatedAtRemote(call, Result { () throws(BlobSyncError) in try updated(path, changes) })

    case .readLocal(let search, let path, let reason):
      return .localRead(
        search, reason, Result { () throws(DocumentStoreError) in try local(path, reason) })
    case .describe(let search, let path, let local):
      return .described(search, local, Result { () throws(BlobSyncError) in try description(of: path) })
    case .receiveAbsence(let path): try? objects.outbox.receiveAbsence(of: path)
    case .forgetArrivals(let path): objects.forgetArrivals(at: path)
    case .receiveDescription(let search, let local, let remote):
      let changed = Result { () throws(DocumentStoreError) in
        try objects.outbox.receive(remote.attributes, remote.reportedMetadata, at: local.path)
      }
      return .descriptionReceived(search, local, remote, changed)
    case .openArrival(let search, let path, let object, let resumes):
      return .arrivalOpened(search, isRereading: openArrival(search, path, object: object, resumes: resumes))
    case .reread(let search): return .reread(search, rereadPiece(search))
    case .readPiece(let search, let object, let offset, let count):
      let piece = Result { () throws(BlobSyncError) in
        try found { () throws(BlobRemoteError) in try remote.read(object, from: offset, count: count) }
      }
      return .pieceRead(search, piece)
    case .append(let search, let bytes): return .appended(search, append(bytes, to: search))
    case .receive(let search, let path, let object):
      return .received(
        search, Result { () throws(DocumentStoreError) in try receive(search, path, object: object) })
    case .closeArrival(let search, let keepsStagedPart):
      closeArrival(search, keepsStagedPart: keepsStagedPart)

    case .requestPage(let call, let bucket, let prefix, let last, let count):
      return .remotePage(call, requestPage(bucket, prefix, after: last, count: count))
    case .readWaiting(let call, let folder, let last, let end):
      return .waitingRead(call, readWaiting(folder, after: last, upTo: end))
    case .listLocally(let call, let folder, let last, let limit):
      return .localPage(call, listLocally(folder, after: last, limit: limit))

    case .later(let event): scheduler.run { [weak self] in self?.handle(event) }
    case .startTimer(let timer, let microseconds):
      driver.start(timer, after: microseconds) { [weak self] in self?.handle(.timer(timer)) }
    case .stopTimer(let timer): driver.stop(timer)

    case .progress(let number, let byteCount): watchers[number]?.progress(byteCount)
    case .endChange(let number, let result): watchers.removeValue(forKey: number)?.end(result)
    case .endCancellation(let call, let isCancelled): cancellations.removeValue(forKey: call)?(isCancelled)
    case .endWait(let call, let error): waits.removeValue(forKey: call)?(error)
    case .endUpdate(let call, let result): updates.removeValue(forKey: call)?(result)
    case .searchProgress(let search, let byteCount, let total):
      searches[search]?.request.progress(byteCount, total)
    case .endSearch(let search, let result): searches.removeValue(forKey: search)?.end(result)
    case .endListing(let call, let result): listings.removeValue(forKey: call)?(result)
    }
    return nil
  }

  // MARK: Calls about changes

  private func send(_ call: SendCall) throws(BlobSyncError) -> SendAnswer {
    switch call {
    case .offset(let session):
      return .offset(
        try callRemote { () throws(BlobRemoteError) in try remote.offset(ofUpload: session) })
    case .append(let object, let session, let offset, let count):
      let bytes = try stored { () throws(DocumentStoreError) in
        try piece(of: object, at: offset, count: count)
      }
      try callRemote { () throws(BlobRemoteError) in
        try remote.append(bytes, at: offset, toUpload: session)
      }
      return .appended
    case .finish(let object, let session):
      let stored = try callRemote { () throws(BlobRemoteError) in
        try remote.finish(upload: session, as: RemoteObject(object))
      }
      return .finished(stored.reportedMetadata)
    case .delete(let path):
      let isDeleted = try found { () throws(BlobRemoteError) in
        try remote.delete(bucket: path.bucket, name: path.name.text)
        return true
      }
      return .deleted(isDeleted == true)
    case .update(let path, let changes): return .updated(try updated(path, changes) != nil)
    }
  }

  private func piece(
    of object: StoredObject, at offset: UInt64, count: Int
  ) throws(DocumentStoreError) -> [UInt8] {
    let reader: BlobReader
    if let content { reader = content } else { reader = try objects.reader(of: object) }
    content = reader
    var piece = [UInt8](repeating: 0, count: count)
    try ObjectStore.fill(&piece, from: reader, at: offset)
    return piece
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

  private func record(
    _ change: QueuedChange, _ outcome: ChangeOutcome
  ) throws(DocumentStoreError) -> StoredObject? {
    switch outcome {
    case .done(let reportedMetadata): return try objects.outbox.acknowledge(change, reportedMetadata) ?? nil
    case .absent: try objects.outbox.acknowledgeAbsence(change)
    case .reverted: try objects.outbox.rollBackChange(change)
    }
    return nil
  }

  // MARK: Errors

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

  private func stored<Value>(
    _ body: () throws(DocumentStoreError) -> Value
  ) throws(BlobSyncError) -> Value {
    do throws(DocumentStoreError) { return try body() } catch { throw .store(error) }
  }
}
