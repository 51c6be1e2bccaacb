// A database with a remote: the sync driver does the work that `LocalClient` leaves to the store.
//
// Calls reach the driver through the write queue, so the driver processes them in the order of the calls.

import ByteStore
import DocumentStore
import FirebaseCore
import Foundation
package import OfflineSync

/// The remote of one `Firestore` instance, together with its options.
package struct ClientRemote: Sendable {
  package var remote: any Remote
  package var attachment: RemoteAttachment
  package var acknowledgement: SyncDriver.Acknowledgement
  /// The time limit for one request to the remote, in seconds.
  package var timeLimit: Double
  package var collector: LocalStore.Collector
  package var options: SyncEngine.Options
}

final class RemoteClient: FirestoreClient {
  let store: ClientStore
  private let choice: ClientRemote
  private let listeners = ListenerRegistry()
  /// Requests that wait for the remote and whose time limit is not enforced by the engine.
  private let requests = PendingRequests()
  /// The driver of the open store; nil before the store is opened and after it is closed.
  private let attached: Locked<SyncDriver?>
  private let user: RemoteUser

  init(_ opening: StoreOpening, remote choice: ClientRemote, of app: AppUser) {
    self.choice = choice
    let attached = Locked<SyncDriver?>(nil)
    let user = RemoteUser()
    self.attached = attached
    self.user = user
    store = ClientStore(opening) { use throws(DocumentStoreError) in
      let driver = try use.attach(
        choice.remote, choice.attachment, collector: choice.collector, options: choice.options)
      attached.withLock { $0 = driver }
      user.attach(driver)
    }
    user.follow(app, through: store)
  }

  var hasRemote: Bool { true }
  var outboxCount: Int { attached.withLock { $0 }?.pendingWriteCount ?? 0 }
  var isPausedByFullDisk: Bool? { attached.withLock { $0 }?.isPausedByFullDisk }
  var listenerCount: Int { listeners.count }

  func stopListeners() { listeners.stopListeners() }

  func close(_ mayClose: DispatchSemaphore) {
    stopListeners()
    requests.endAll()
    store.close(mayClose)
    attached.withLock { $0 = nil }
    // Operations that were issued before the end may open the store, so the user is kept until here.
    user.end()
  }

  // MARK: The driver

  /// Returns the driver of an open store. Throws if the store has been closed in the meantime.
  private func openDriver() throws(DocumentStoreError) -> SyncDriver {
    guard let driver = attached.withLock({ $0 }) else { throw FirestoreErrors.terminatedStore }
    return driver
  }

  nonisolated(nonsending) private func openedDriver(after write: UInt64) async throws -> SyncDriver {
    await store.wait(for: write)
    if let driver = attached.withLock({ $0 }) { return driver }
    _ = try await store.opened()
    do throws(DocumentStoreError) { return try openDriver() } catch { throw FirestoreErrors.translate(error) }
  }

  /// Runs `body` with the driver, after all operations issued before this call and before all operations
  /// issued later. `body` must not block.
  private func runInOrder(_ body: @escaping @Sendable (Result<SyncDriver, any Error>) -> Void) {
    store.runOnWriteQueue { [self] view in
      let driver = Result { () throws(DocumentStoreError) in
        _ = try view.get()
        return try openDriver()
      }
      body(driver.mapError(FirestoreErrors.translate))
    }
  }

  /// Runs `body`, which reads the engine's state, after all operations that were issued before this call.
  nonisolated(nonsending) private func readEngine<Value: Sendable>(
    _ driver: SyncDriver, _ body: @escaping @Sendable (SyncEngine) throws(DocumentStoreError) -> Value
  ) async throws -> Value {
    try await awaitResult { (done: @escaping Answer<Value>) in
      driver.inspect { engine in
        let result = Result { () throws(DocumentStoreError) in try body(engine) }
        done(result.mapError(FirestoreErrors.translate))
      }
    }
  }

  // MARK: Writing

  func write(_ mutations: Result<[PendingMutation], any Error>, finished: @escaping Answer<Void>) {
    store.issue { [self] number in
      do throws(DocumentStoreError) {
        _ = try store.openedOnWriteQueue()
        write(mutations, number, through: try openDriver(), finished: finished)
      } catch {
        store.finish(number, waiting: { .failure(FirestoreErrors.translate(error)) }, done: finished)
      }
    }
  }

  private func write(
    _ mutations: Result<[PendingMutation], any Error>, _ number: UInt64, through driver: SyncDriver,
    finished: @escaping Answer<Void>
  ) {
    let checked = Result {
      let mutations = try mutations.get()
      // A remote would refuse every write that a store refuses. This check reports such a write at once,
      // still in the order of the writes.
      try DocumentStore.check(mutations.map(\.mutation))
      return mutations
    }.mapError(FirestoreErrors.translate(any:))
    // Reads that wait for this write read from the store. The write is in the store as soon as the driver has
    // accepted it.
    guard case .success(let mutations) = checked, !mutations.isEmpty else {
      return driver.inspect { [store] _ in
        store.markFinished(number)
        finished(checked.map { _ in })
      }
    }
    driver.write(
      mutations, choice.acknowledgement, taken: { [store] in store.markFinished(number) },
      completion: Self.completion(finished))
  }

  func waitForPendingWrites(_ done: @escaping Answer<Void>) {
    runInOrder { driver in
      switch driver {
      case .failure(let error): done(.failure(error))
      case .success(let driver): driver.waitForPendingWrites(Self.completion(done))
      }
    }
  }

  private static func completion(_ done: @escaping Answer<Void>) -> SyncDriver.Completion {
    { error in done(error.map { .failure(FirestoreErrors.translate($0)) } ?? .success(())) }
  }

  func beginTransactions(_ view: LocalView) throws -> any TransactionAttempts {
    let state = try openDriver().inspectNow { engine throws(DocumentStoreError) in
      (isOnline: engine.isNetworkEnabled, isPaused: engine.isPausedByMeteredNetwork, user: engine.local.user)
    }
    guard state.isOnline else {
      let reason = state.isPaused ? "metered" : "disabled"
      throw FirestoreErrors.make(
        .unavailable, "A transaction needs the remote, and the network is \(reason).")
    }
    return RemoteTransactionAttempts(
      remote: choice.remote, user: state.user, timeLimit: choice.timeLimit, requests: requests,
      simulation: store.simulation)
  }

  // MARK: Reading

  nonisolated(nonsending) func document(
    at path: DocumentPath, source: ReadSource, after write: UInt64
  ) async throws -> ViewedDocument {
    let driver = try await openedDriver(after: write)
    guard source == .cache else {
      let snapshot = try await first(of: StructuredQuery(.document(path)), driver)
      return try RemoteReads.document(path, snapshot, source: source)
    }
    let known = try await readEngine(driver) { engine throws(DocumentStoreError) in
      try engine.local.document(path)
    }
    return try RemoteReads.cached(known)
  }

  nonisolated(nonsending) func documentForWrite(
    at path: DocumentPath, after write: UInt64
  ) async throws -> ViewedDocument {
    let driver = try await openedDriver(after: write)
    let (snapshot, known) = try await answer { done in
      driver.firstConfirmed(at: path) { done($0.mapError(FirestoreErrors.translate)) }
    }
    return try RemoteReads.document(path, snapshot, known: known)
  }

  nonisolated(nonsending) func documents(
    _ query: StructuredQuery, source: ReadSource, after write: UInt64
  ) async throws -> ViewedDocuments {
    let driver = try await openedDriver(after: write)
    let isReady = Result { () throws(DocumentStoreError) in try driver.store.isReady(query) }
    if try !isReady.mapError(FirestoreErrors.translate).get() {
      // The indexes are created here and not in the driver, because all other callers wait while the driver
      // works.
      try await store.prepared { view throws(DocumentStoreError) in try view.store.makeIndexes(for: query) }
    }
    guard source == .cache else {
      return try RemoteReads.documents(try await first(of: query, driver), source)
    }
    return try await readEngine(driver) { engine throws(DocumentStoreError) in
      RemoteReads.cached(try engine.local.documents(query))
    }
  }

  nonisolated(nonsending) private func first(
    of query: StructuredQuery, _ driver: SyncDriver
  ) async throws -> ViewSnapshot {
    try await answer { done in driver.first(query) { done($0.mapError(FirestoreErrors.translate)) } }
  }

  /// Waits for the driver's answer to one request. Throws an error if the client ends first.
  nonisolated(nonsending) private func answer<Value: Sendable>(
    _ request: (@escaping Answer<Value>) -> Void
  ) async throws -> Value {
    try await awaitResult { request(requests.once(on: store.answers.queue, $0)) }
  }

  nonisolated(nonsending) func aggregate(
    _ aggregates: [Aggregate], over query: StructuredQuery, source: ReadSource, after write: UInt64
  ) async throws -> [StoredValue] {
    guard source == .server else { return try await store.aggregate(aggregates, over: query, after: write) }
    let driver = try await openedDriver(after: write)
    let limit = RemoteTimeLimit(seconds: choice.timeLimit, in: store.simulation)
    return try await awaitResult { (answer: @escaping Answer<[StoredValue]>) in
      let done = requests.once(
        on: store.answers.queue, answer, cancelling: { limit.end(with: PendingRequests.terminated) })
      driver.inspect { [choice] engine in
        guard engine.isNetworkEnabled else { return done(.failure(RemoteAggregate.unavailable)) }
        let request = RemoteAggregate(
          aggregates: aggregates, query: query, remote: choice.remote, user: engine.local.user,
          limit: limit, attemptsMax: engine.isOffline ? 1 : RemoteAggregate.attemptsMax, done: done)
        request.send()
      }
    }
  }

  // The blocking reads below use the local cache only, and never wait for the remote.

  func documentNow(at path: DocumentPath, source: ReadSource) throws -> ViewedDocument {
    guard source != .server else { throw RemoteReads.blockingServerReadError }
    let viewed = try store.readBlocking { view throws(DocumentStoreError) in
      try view.record(at: path, source: .cache)
    }
    guard viewed.record == nil, let driver = attached.withLock({ $0 }) else { return viewed }
    let known = Result { () throws(DocumentStoreError) in
      try driver.inspectNow { engine throws(DocumentStoreError) in try engine.local.document(path) }
    }
    return try RemoteReads.cached(try known.mapError(FirestoreErrors.translate).get())
  }

  func documentsNow(_ query: StructuredQuery, source: ReadSource) throws -> ViewedDocuments {
    guard source != .server else { throw RemoteReads.blockingServerReadError }
    return try store.readBlocking { view throws(DocumentStoreError) in
      try view.documents(query, source: .cache)
    }
  }

  // MARK: Listening

  func listen<Snapshot: Sendable>(
    to query: StructuredQuery, _ rules: ListenRules, on queue: DispatchQueue,
    making snapshots: SnapshotMaker<Snapshot>, handler: @escaping Answer<Snapshot>
  ) -> Listening {
    let listening = listeners.add()
    /// Delivers a result on `queue`. If the result is a final error, the listener is removed after the
    /// delivery. The removal also ends loops over the listener's snapshots, and these loops must receive the
    /// error first.
    let deliver: @Sendable (Result<ViewSnapshot, any Error>, Bool) -> Void = { result, isFinal in
      queue.submit {
        guard !listening.isRemoved else { return }
        let snapshot = result.map(snapshots.viewed)
        listening.call { handler(snapshot) }
        if isFinal { listening.remove() }
      }
    }
    let fail: @Sendable (any Error) -> Void = { deliver(.failure(FirestoreErrors.translate(any: $0)), true) }
    runInOrder { [store] driver in
      guard !listening.isRemoved else { return }
      do {
        let driver = try driver.get()
        let isReady = try driver.store.isReady(query)
        store.whenIndexed(listening, isReady: isReady, for: query, in: driver.store) { indexed in
          if case .failure(let error) = indexed { return fail(error) }
          let id = driver.listen(to: query, rules) { result in
            switch result {
            case .success(let state): deliver(.success(state), false)
            // A remote document that exceeds the limits is reported as an error, but the listener stays
            // registered.
            case .failure(.refused(let refusal)):
              deliver(.failure(FirestoreErrors.translate(.refused(refusal))), false)
            case .failure(let error): fail(error)
            }
          }
          listening.attach { driver.unlisten(id) }
        }
      } catch {
        fail(error)
      }
    }
    return listening
  }

  func listenToDriver<Value: Sendable>(
    on queue: DispatchQueue, withoutRemote value: Value?, handler: @escaping Answer<Value>,
    begin: @escaping @Sendable (SyncDriver, @escaping Answer<Value>) -> @Sendable () -> Void
  ) -> Listening {
    let listening = listeners.add()
    let deliver: Answer<Value> = { listening.deliver($0, on: queue, to: handler) }
    runInOrder { driver in
      guard !listening.isRemoved else { return }
      switch driver {
      case .failure(let error): deliver(.failure(error))
      case .success(let driver): listening.attach(begin(driver, deliver))
      }
    }
    return listening
  }

  func askDriver<Value: Sendable>(
    withoutRemote value: Value, _ done: @escaping Answer<Value>,
    request: @escaping @Sendable (SyncDriver, @escaping Answer<Value>) -> Void
  ) {
    runInOrder { driver in
      switch driver {
      case .failure(let error): done(.failure(error))
      case .success(let driver): request(driver, done)
      }
    }
  }

  func listenToSync(on queue: DispatchQueue, _ handler: @escaping @Sendable () -> Void) -> Listening {
    let listening = listeners.add()
    runInOrder { driver in
      guard case .success(let driver) = driver, !listening.isRemoved else { return }
      let id = driver.listenToSync { queue.submit { listening.call(handler) } }
      listening.attach { driver.unlistenToSync(id) }
    }
    return listening
  }

  func addListener() -> Listening { listeners.add() }

  func forget(_ listening: Listening) { listeners.remove(listening) }

  func followUser(
    _ listening: Listening, while isAlive: @Sendable () -> Bool, handler: @escaping Answer<String?>
  ) {
    listeners.add(listening)
    // Termination does not end a listener that is registered after it, so this listener must be removed here.
    guard isAlive() else { return listening.remove() }
    runInOrder { driver in
      switch driver {
      case .failure(let error): handler(.failure(error))
      case .success(let driver):
        let id = driver.listenToQueue { progress in
          handler(progress.map(\.user).mapError(FirestoreErrors.translate))
        }
        listening.attach { driver.unlistenToQueue(id) }
      }
    }
  }

  // MARK: The remote

  func send(_ event: SyncEvent, _ done: @escaping Answer<Void>) {
    runInOrder { driver in
      switch driver {
      case .failure(let error): done(.failure(error))
      case .success(let driver): driver.send(event, Self.completion(done))
      }
    }
  }

  nonisolated(nonsending) func driver() async throws -> SyncDriver? {
    try await openedDriver(after: lastIssuedWrite)
  }

  nonisolated(nonsending) func pendingWrites() async throws -> [PendingWriteBatch] {
    try await readEngine(try await openedDriver(after: lastIssuedWrite)) { engine in
      let sentCount = engine.progress.sentCount
      return engine.pendingBatches.enumerated().map { position, batch in
        PendingWriteBatch(batch: batch, isSent: position < sentCount)
      }
    }
  }

  nonisolated(nonsending) func evict(
    _ query: StructuredQuery, before limit: StoredTimestamp
  ) async throws -> Int {
    try await readEngine(try await openedDriver(after: lastIssuedWrite)) {
      engine throws(DocumentStoreError) in
      try engine.evict(query, before: limit)
    }
  }

  func load(_ bundle: BundleContents, into view: LocalView) throws {
    try view.load(bundle, through: try openDriver())
  }
}
