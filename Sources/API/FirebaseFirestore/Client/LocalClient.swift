// A database without a remote: the store executes every call.
//
// Listeners:
// 1. The store registers a listener after all writes that were issued before it (DocumentStore.listen).
// 2. Writes that are issued later are acknowledged after the registration. Their completions therefore run
//    after the listener has received its first snapshot.
// 3. If an index has to be created first, the index queue creates it and then registers the listener. Other
//    calls do not wait for the index. Commits that are acknowledged meanwhile are part of the listener's
//    first snapshot.
// 4. A commit puts the snapshots for all listeners on their queues. After the last of these snapshots, each
//    in-sync listener is called once for the commit. If another commit has changed a snapshot by then, the
//    in-sync listeners are called after the snapshots of that commit.

import ByteStore
import DocumentStore
import FirebaseCore
import Foundation
import OfflineSync

final class LocalClient: FirestoreClient {
  let store: ClientStore
  private let listeners = ListenerRegistry()
  private let announcements = SyncAnnouncements()
  /// Transactions, which may wait for other transactions.
  private let requests = PendingRequests()
  /// Refreshes the store while there are listeners; nil unless the store is read-only.
  private let follower: StoreFollower?

  convenience init(_ opening: StoreOpening) {
    self.init(
      ClientStore(opening) { use throws(DocumentStoreError) in
        try use.view.store.checkIsNotCache()
      })
  }

  private init(_ store: ClientStore) {
    self.store = store
    guard store.opening.isReadOnly else {
      follower = nil
      return
    }
    follower = StoreFollower(
      every: store.opening.refreshInterval, while: { [listeners] in listeners.count > 0 },
      refresh: { [weak store] in
        // A failed refresh is repeated at a later turn, and `snapshotAge` shows the error.
        guard let store, let view = store.openView else { return true }
        return (try? view.store.refresh()) != nil
      })
  }

  /// Returns a client without a database, for a terminated instance. Every call of it fails with
  /// `failedPrecondition`.
  static func terminated() -> LocalClient { LocalClient(ClientStore(closedAt: .memory(UUID()))) }

  var hasRemote: Bool { false }
  var outboxCount: Int { 0 }
  var isPausedByFullDisk: Bool? { nil }
  var listenerCount: Int { listeners.count }

  func stopListeners() {
    listeners.stopListeners()
    announcements.removeAll()
  }

  func close(_ mayClose: DispatchSemaphore) {
    stopListeners()
    follower?.stop()
    requests.endAll()
    store.close(mayClose)
  }

  // MARK: Writing

  func write(_ mutations: Result<[PendingMutation], any Error>, finished: @escaping Answer<Void>) {
    store.issue { [store] number in
      let begun = Result {
        let mutations = try mutations.get().map(\.mutation)
        try store.checkWritable()
        let view = try store.openedOnWriteQueue()
        return (view, try view.begin(mutations))
      }
      store.finish(
        number,
        waiting: {
          Result {
            let (view, write) = try begun.get()
            _ = try view.finish(write)
          }.mapError(FirestoreErrors.translate(any:))
        }, done: finished)
    }
  }

  func waitForPendingWrites(_ done: @escaping Answer<Void>) {
    // Checked here, because a call that was issued before the end of the client succeeds.
    let result = Result { try store.checkIsNotClosed() }
    store.afterAcknowledgements { done(result) }
  }

  func beginTransactions(_ view: LocalView) -> any TransactionAttempts {
    let attempts = LocalTransactionAttempts(view.store, requests: requests)
    guard case .readOnly(let path) = store.opening.place else { return attempts }
    return ReadOnlyTransactionAttempts(attempts, path)
  }

  // MARK: Reading

  nonisolated(nonsending) func document(
    at path: DocumentPath, source: ReadSource, after write: UInt64
  ) async throws -> ViewedDocument {
    try await store.read(after: write) { view throws(DocumentStoreError) in
      try view.record(at: path, source: source)
    }
  }

  nonisolated(nonsending) func documentForWrite(
    at path: DocumentPath, after write: UInt64
  ) async throws -> ViewedDocument {
    try await document(at: path, source: .default, after: write)
  }

  nonisolated(nonsending) func documents(
    _ query: StructuredQuery, source: ReadSource, after write: UInt64
  ) async throws -> ViewedDocuments {
    let ready = try await store.read(after: write) { view throws(DocumentStoreError) in
      try view.documentsIfIndexed(query, source: source)
    }
    if let ready { return ready }
    return try await store.prepared { view throws(DocumentStoreError) in
      try view.documents(query, source: source)
    }
  }

  nonisolated(nonsending) func aggregate(
    _ aggregates: [Aggregate], over query: StructuredQuery, source: ReadSource, after write: UInt64
  ) async throws -> [StoredValue] {
    try await store.aggregate(aggregates, over: query, after: write)
  }

  func documentNow(at path: DocumentPath, source: ReadSource) throws -> ViewedDocument {
    try store.readBlocking { view throws(DocumentStoreError) in
      try view.record(at: path, source: source)
    }
  }

  func documentsNow(_ query: StructuredQuery, source: ReadSource) throws -> ViewedDocuments {
    try store.readBlocking { view throws(DocumentStoreError) in
      try view.documents(query, source: source)
    }
  }

  // MARK: Listening

  func listen<Snapshot: Sendable>(
    to query: StructuredQuery, _ rules: ListenRules, on queue: DispatchQueue,
    making snapshots: SnapshotMaker<Snapshot>, handler: @escaping Answer<Snapshot>
  ) -> Listening {
    let listening = addListener()
    let deliver: @Sendable (Result<LiveSnapshot, DocumentStoreError>) -> Void = { [weak self] result in
      self?.deliver(result, to: listening, making: snapshots, handler: handler)
    }
    store.runInOrder { [store] view in
      guard !listening.isRemoved else { return }
      do throws(DocumentStoreError) {
        let documents = try view.get().store
        let isReady = try documents.isReady(toListenTo: query)
        store.whenIndexed(listening, isReady: isReady, for: query, in: documents) { indexed in
          do throws(DocumentStoreError) {
            try indexed.get()
            let registration = try documents.listen(to: query, on: queue, deliver)
            listening.attach { registration.remove() }
          } catch {
            queue.submit { deliver(.failure(error)) }
          }
        }
      } catch {
        queue.submit { deliver(.failure(error)) }
      }
    }
    return listening
  }

  private func deliver<Snapshot>(
    _ result: Result<LiveSnapshot, DocumentStoreError>, to listening: Listening,
    making snapshots: SnapshotMaker<Snapshot>, handler: Answer<Snapshot>
  ) {
    guard !listening.isRemoved else { return }
    switch result {
    case .success(let state):
      guard let visible = state.withoutTimeOnlyChanges else { return }
      let snapshot = snapshots.live(visible)
      if listening.call({ handler(.success(snapshot)) }) { announceSync() }
    case .failure(let error):
      listening.call { handler(.failure(FirestoreErrors.translate(error))) }
      // The listener is removed only after the error was delivered. The removal also ends loops over its
      // snapshots, and these loops must receive the error first.
      listening.remove()
    }
  }

  func listenToDriver<Value: Sendable>(
    on queue: DispatchQueue, withoutRemote value: Value?, handler: @escaping Answer<Value>,
    begin: @escaping @Sendable (SyncDriver, @escaping Answer<Value>) -> @Sendable () -> Void
  ) -> Listening {
    let listening = listeners.add()
    guard value != nil || isOver else { return listening }
    store.runInOrder { view in
      switch view {
      case .success: if let value { listening.deliver(.success(value), on: queue, to: handler) }
      case .failure(let error):
        listening.deliver(.failure(FirestoreErrors.translate(error)), on: queue, to: handler)
      }
    }
    return listening
  }

  /// Whether the client has ended.
  private var isOver: Bool { (try? store.checkIsNotClosed()) == nil }

  func addListener() -> Listening {
    let listening = listeners.add()
    // In this order, because the turn that this schedules ends the following if there is no listener.
    follower?.begin()
    return listening
  }

  func forget(_ listening: Listening) { listeners.remove(listening) }

  func followUser(
    _ listening: Listening, while isAlive: @Sendable () -> Bool, handler: @escaping Answer<String?>
  ) {
    handler(.success(nil))
  }

  // MARK: In sync

  func listenToSync(on queue: DispatchQueue, _ handler: @escaping @Sendable () -> Void) -> Listening {
    let listening = listeners.add(onRemoval: { [weak announcements] in announcements?.remove($0) })
    // The listener cannot receive an error, so it is never called.
    guard !isOver else {
      listening.remove()
      return listening
    }
    let call: @Sendable () -> Void = { listening.call(handler) }
    store.runInOrder { [store, listeners, announcements] _ in
      store.whenInSync(on: queue) {
        // The first call of an in-sync listener covers every snapshot that was delivered before it. Those
        // snapshots cause no further call.
        announcements.add(listening, on: queue, call)
        if !listeners.contains(listening) { announcements.remove(listening) }
        call()
      }
    }
    return listening
  }

  /// Announces a round of snapshots. Runs after a listener has received a snapshot. Only the first call for a
  /// commit schedules an announcement, and that announcement covers all later calls that precede it.
  private func announceSync() {
    guard let queue = announcements.begin() else { return }
    store.acknowledgements.submit { [store, announcements] in
      store.whenInSync(on: queue) {
        for call in announcements.end() { call() }
      }
    }
  }

  // MARK: Without a remote

  func send(_ event: SyncEvent, _ done: @escaping Answer<Void>) {
    done(Result { try store.checkIsNotClosed() })
  }

  func askDriver<Value: Sendable>(
    withoutRemote value: Value, _ done: @escaping Answer<Value>,
    request: @escaping @Sendable (SyncDriver, @escaping Answer<Value>) -> Void
  ) {
    done(
      Result {
        try store.checkIsNotClosed()
        return value
      })
  }

  nonisolated(nonsending) func driver() async throws -> SyncDriver? {
    try store.checkIsNotClosed()
    return nil
  }

  nonisolated(nonsending) func pendingWrites() async throws -> [PendingWriteBatch] {
    try store.checkIsNotClosed()
    return []
  }

  nonisolated(nonsending) func evict(
    _ query: StructuredQuery, before limit: StoredTimestamp
  ) async throws -> Int {
    try store.checkWritable()
    return try await performedAfterWrites { view in
      Result { try view.store.evict(query, before: limit) }.mapError(FirestoreErrors.translate(any:))
    }.get()
  }

  func load(_ bundle: BundleContents, into view: LocalView) throws {
    try store.checkWritable()
    try view.load(bundle)
  }
}

/// The listeners that are called when all snapshots are in sync. Any thread may use this object.
private final class SyncAnnouncements: Sendable {
  private struct State {
    /// The listeners that have received their first call.
    var listeners: [ObjectIdentifier: @Sendable () -> Void] = [:]
    /// The queue that all listeners use; nil before the first listener.
    var queue: DispatchQueue?
    /// The listeners that the scheduled announcement will notify; empty if none is scheduled.
    var announced: Set<ObjectIdentifier> = []
  }

  private let state = Locked(State())

  func add(_ listening: Listening, on queue: DispatchQueue, _ call: @escaping @Sendable () -> Void) {
    state.withLock { state in
      state.listeners[ObjectIdentifier(listening)] = call
      state.queue = queue
    }
  }

  func remove(_ listening: Listening) {
    let id = ObjectIdentifier(listening)
    let removed = state.withLock { state in
      // The ID must be removed, because another listener may be allocated at the same address.
      state.announced.remove(id)
      return state.listeners.removeValue(forKey: id)
    }
    // The closure is released outside the lock. It may hold the last reference to another listener, and the
    // removal of that listener takes the lock.
    withExtendedLifetime(removed) {}
  }

  func removeAll() {
    let removed = state.withLock { state in
      defer { state.listeners = [:] }
      return state.listeners
    }
    withExtendedLifetime(removed) {}
  }

  /// Returns the queue for a new announcement. Returns nil if an announcement is already scheduled, or if
  /// there are no listeners.
  func begin() -> DispatchQueue? {
    state.withLock { state in
      let isNew = state.announced.isEmpty
      state.announced.formUnion(state.listeners.keys)
      return isNew && !state.announced.isEmpty ? state.queue : nil
    }
  }

  /// Returns the listeners to notify: those that were registered when any snapshot of the round was delivered
  /// and have not been removed since.
  func end() -> [@Sendable () -> Void] {
    state.withLock { state in
      defer { state.announced = [] }
      return state.announced.compactMap { state.listeners[$0] }
    }
  }
}

extension DocumentStore {
  private static let evictedAtOnce = 500

  fileprivate func evict(_ query: StructuredQuery, before limit: StoredTimestamp) throws -> Int {
    var count = 0
    var rest = try records(query).filter { $0.updateTime < limit }.map(\.path)[...]
    while !rest.isEmpty {
      let chunk = rest.prefix(Self.evictedAtOnce)
      rest = rest.dropFirst(chunk.count)
      count += try transaction { transaction in
        var old: [DocumentPath] = []
        for path in chunk {
          if let document = try transaction.document(at: path), document.updateTime < limit {
            old.append(path)
          }
        }
        for path in old { try transaction.write(.delete(path)) }
        return old.count
      }
    }
    return count
  }
}
