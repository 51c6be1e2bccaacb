// Executes the calls of one `Firestore` instance.
//
// `LocalClient` works on the store alone. `RemoteClient` uses the store as the cache and outbox of a remote.
// `Firestore` creates one of these clients from its settings, and no other code checks whether there is a
// remote.
//
// Reads are async. A read with a completion runs the async read on the answers queue, so results arrive in
// the order of the calls. Such a read never needs a thread of Swift's concurrency pool, because callers that
// wait for the completion may block all threads of the pool. Reads that wait for an index or for the remote
// may complete later. A blocking read waits for earlier writes and then reads on the caller's thread.

import ByteStore
package import Dispatch
package import DocumentStore
import FirebaseCore
package import OfflineSync

/// Receives the result of one call.
package typealias Answer<Value> = @Sendable (Result<Value, any Error>) -> Void

package protocol FirestoreClient: AnyObject, Sendable {
  /// The store, and the order of the calls.
  var store: ClientStore { get }
  /// Whether the client has a remote, which can reject writes that were committed locally.
  var hasRemote: Bool { get }
  /// The number of writes that the remote has not answered; 0 without a remote. Does not wait.
  var outboxCount: Int { get }
  /// Whether a full disk keeps the client from taking changes of the remote; nil without an open remote. Does
  /// not wait.
  var isPausedByFullDisk: Bool? { get }
  /// The number of listeners. Does not wait.
  var listenerCount: Int { get }

  /// Stops notifying all listeners.
  func stopListeners()

  /// Waits for the operations in progress, then releases the store for good. Once `mayClose` is signalled,
  /// this call no longer waits for long operations. Those that are still running find the store closed.
  func close(_ mayClose: DispatchSemaphore)

  // MARK: Writing

  /// Enqueues the writes and returns. Calls `finished` on an internal queue with the outcome, also for
  /// invalid writes. The `finished` closures of several calls run in the order of the calls.
  func write(_ mutations: Result<[PendingMutation], any Error>, finished: @escaping Answer<Void>)

  /// Calls `done` when every write issued before this call is durable and visible, or has failed. By then the
  /// completions of those writes are scheduled. With a remote, `done` also waits until the remote has
  /// accepted or rejected those writes.
  func waitForPendingWrites(_ done: @escaping Answer<Void>)

  /// Returns an object that begins the attempts of one transaction. Blocks.
  func beginTransactions(_ view: LocalView) throws -> any TransactionAttempts

  // MARK: Reading

  nonisolated(nonsending) func document(
    at path: DocumentPath, source: ReadSource, after write: UInt64
  ) async throws -> ViewedDocument

  /// Reads a document for a write that depends on the document's contents. If the remote has accepted all
  /// local writes to the document, this read returns the contents in the cache, because the snapshot of a
  /// query may be older.
  nonisolated(nonsending) func documentForWrite(
    at path: DocumentPath, after write: UInt64
  ) async throws -> ViewedDocument

  nonisolated(nonsending) func documents(
    _ query: StructuredQuery, source: ReadSource, after write: UInt64
  ) async throws -> ViewedDocuments

  nonisolated(nonsending) func aggregate(
    _ aggregates: [Aggregate], over query: StructuredQuery, source: ReadSource, after write: UInt64
  ) async throws -> [StoredValue]

  /// Reads a document on the caller's thread, after the writes that were issued before. Blocks, but never
  /// waits for a remote.
  func documentNow(at path: DocumentPath, source: ReadSource) throws -> ViewedDocument

  /// Runs a query on the caller's thread, after the writes that were issued before. Blocks, but never waits
  /// for a remote.
  func documentsNow(_ query: StructuredQuery, source: ReadSource) throws -> ViewedDocuments

  // MARK: Listening

  /// Calls `handler` on `queue` with every snapshot of a query's results. Listening ends when the caller
  /// removes the returned listener or an error occurs.
  func listen<Snapshot: Sendable>(
    to query: StructuredQuery, _ rules: ListenRules, on queue: DispatchQueue,
    making snapshots: SnapshotMaker<Snapshot>, handler: @escaping Answer<Snapshot>
  ) -> Listening

  /// Creates a listener that is registered with the client until it is removed. `stopListeners` ends it.
  func addListener() -> Listening

  /// Calls `handler` on `queue`: once after the registration, and then after each round of snapshots. All
  /// in-sync listeners must use the same queue.
  func listenToSync(on queue: DispatchQueue, _ handler: @escaping @Sendable () -> Void) -> Listening

  /// Calls `handler` on `queue` with the values that the driver reports. `begin` registers with the driver
  /// and returns a closure that unregisters. After an error, no further values are reported. Without a
  /// remote, `value` is the only value.
  func listenToDriver<Value: Sendable>(
    on queue: DispatchQueue, withoutRemote value: Value?, handler: @escaping Answer<Value>,
    begin: @escaping @Sendable (SyncDriver, @escaping Answer<Value>) -> @Sendable () -> Void
  ) -> Listening

  /// Passes the driver to `request`, in the order of the calls. `request` must not block, and passes the
  /// result to its closure. Without a remote, `value` is the result.
  func askDriver<Value: Sendable>(
    withoutRemote value: Value, _ done: @escaping Answer<Value>,
    request: @escaping @Sendable (SyncDriver, @escaping Answer<Value>) -> Void)

  /// Calls `handler` with the current user: once after the registration, at each step of the user's pending
  /// writes, and when the user changes. Removing `listening` ends these calls. Without a remote, calls
  /// `handler` once with nil. `isAlive` is checked after the registration, because termination does not end
  /// listeners that are registered after it.
  func followUser(
    _ listening: Listening, while isAlive: @Sendable () -> Bool, handler: @escaping Answer<String?>)

  /// Drops the reference to a listener of `followUser` that has been removed.
  func forget(_ listening: Listening)

  // MARK: The remote

  /// Sends an event to the driver. The order of events and all other calls is preserved. Without a remote,
  /// the event has no effect.
  func send(_ event: SyncEvent, _ done: @escaping Answer<Void>)

  /// Returns the current user's writes that the remote has neither accepted nor rejected yet.
  nonisolated(nonsending) func pendingWrites() async throws -> [PendingWriteBatch]

  /// Returns the driver, after the operations that were issued before this call; nil without a remote.
  nonisolated(nonsending) func driver() async throws -> SyncDriver?

  /// Deletes those results of a query that were last changed before `limit`, and returns their number. With a
  /// remote, the documents are deleted from the cache only.
  nonisolated(nonsending) func evict(_ query: StructuredQuery, before limit: StoredTimestamp) async throws
    -> Int

  /// Loads a bundle. Blocks.
  func load(_ bundle: BundleContents, into view: LocalView) throws
}

extension Locked {
  /// Returns the value and replaces it with nil.
  fileprivate func take<Value>() -> Value? where State == Value? {
    withLock { state in
      defer { state = nil }
      return state
    }
  }
}

/// Converts internal snapshots to the snapshots of the API.
package struct SnapshotMaker<Snapshot: Sendable>: Sendable {
  /// Converts a snapshot from the store.
  let live: @Sendable (LiveSnapshot) -> Snapshot
  /// Converts a snapshot from the driver.
  let viewed: @Sendable (ViewSnapshot) -> Snapshot
}

/// A batch of writes in the outbox.
package struct PendingWriteBatch: Sendable {
  let batch: PendingBatch
  let isSent: Bool
}

extension FirestoreClient {
  /// The number of the last write issued. A read that starts now must see that write.
  package var lastIssuedWrite: UInt64 { store.lastIssuedWrite }

  /// Waits for the writes that were issued before this call, then runs a long operation on a thread that may
  /// block.
  nonisolated(nonsending) func performedAfterWrites<Value: Sendable>(
    _ body: @escaping @Sendable (LocalView) throws(DocumentStoreError) -> Value
  ) async throws -> Value {
    await store.wait(for: lastIssuedWrite)
    return try await store.performed(body)
  }

  nonisolated(nonsending) package func send(_ event: SyncEvent) async throws {
    try await awaitResult { send(event, $0) }
  }

  /// Runs an async read after the writes that were issued before this call. Passes the results of these reads
  /// to their `done` closures in the order of the calls. `body` receives the number of the last write before
  /// the read.
  func read<Value: Sendable>(
    _ done: @escaping Answer<Value>, _ body: @escaping @Sendable (UInt64) async throws -> Value
  ) {
    let write = lastIssuedWrite
    // `done` is released when it is called. The task lives a little longer, and must not keep the caller's
    // objects alive.
    let delivery = Locked<Answer<Value>?>(done)
    store.answerInOrder(after: write) {
      let result: Result<Value, any Error>
      do { result = .success(try await body(write)) } catch { result = .failure(error) }
      delivery.take()?(result.mapError(FirestoreErrors.translate(any:)))
    }
  }

  /// Listens to a query. If the query is invalid, delivers its error instead.
  func listen<Snapshot: Sendable>(
    to query: Result<StructuredQuery, any Error>, _ rules: ListenRules, on queue: DispatchQueue,
    making snapshots: SnapshotMaker<Snapshot>, handler: @escaping Answer<Snapshot>
  ) -> Listening {
    switch query {
    case .success(let query): return listen(to: query, rules, on: queue, making: snapshots, handler: handler)
    case .failure(let error):
      let listening = addListener()
      listening.deliver(.failure(error), on: queue, to: handler)
      return listening
    }
  }
}
