// Executes the calls of one `Firestore` instance.
//
// `LocalClient` works on the store alone. `RemoteClient` uses the store as the cache and outbox of a remote.
// `Firestore` creates one of them from its settings, and no other code asks whether there is a remote.
//
// Reads are async. A read with a completion runs the async read on the answers queue, so results arrive in
// the order of the calls, and no thread of Swift's tasks is involved: callers waiting for the completion may
// block all of them. Reads that wait for an index or for the remote complete later. A blocking read waits
// for earlier writes and then reads on the caller's thread.

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
  /// Whether a remote can reject what is committed here.
  var hasRemote: Bool { get }

  /// Stops notifying all listeners.
  func silence()

  /// Waits for the operations in progress, then releases the store for good. Once `mayClose` is signalled,
  /// this no longer waits for long operations: they then find the store closed.
  func close(_ mayClose: DispatchSemaphore)

  // MARK: Writing

  /// Enqueues the writes and returns. Calls `finished` on an internal queue with the outcome, in the order
  /// of the calls. This includes writes that are invalid.
  func write(_ mutations: Result<[PendingMutation], any Error>, finished: @escaping Answer<Void>)

  /// Calls `done` when every write issued before is durable and visible, or has failed, and its completion
  /// is scheduled. With a remote, waits until the remote has answered those writes.
  func waitForPendingWrites(_ done: @escaping Answer<Void>)

  /// Returns the source of the attempts of one transaction. Blocks.
  func beginTransactions(_ view: LocalView) throws -> any TransactionAttempts

  // MARK: Reading

  nonisolated(nonsending) func document(
    at path: DocumentPath, source: ReadSource, after write: UInt64
  ) async throws -> ViewedDocument

  /// Reads a document for a write that depends on its contents. If all writes to the document are accepted,
  /// the cached contents replace those of the view, which may be older.
  nonisolated(nonsending) func knownDocument(
    at path: DocumentPath, after write: UInt64
  ) async throws -> ViewedDocument

  nonisolated(nonsending) func documents(
    _ query: StructuredQuery, source: ReadSource, after write: UInt64
  ) async throws -> ViewedDocuments

  nonisolated(nonsending) func aggregate(
    _ aggregates: [Aggregate], over query: StructuredQuery, source: ReadSource, after write: UInt64
  ) async throws -> [StoredValue]

  /// Blocks, but never waits for a remote.
  func documentNow(at path: DocumentPath, source: ReadSource, after write: UInt64) throws -> ViewedDocument

  /// Blocks, but never waits for a remote.
  func documentsNow(
    _ query: StructuredQuery, source: ReadSource, after write: UInt64
  ) throws -> ViewedDocuments

  // MARK: Listening

  /// Calls `handler` on `queue` with the states of a query. Listening ends when the caller removes it or an
  /// error occurs.
  func listen<Snapshot: Sendable>(
    to query: StructuredQuery, _ rules: ListenRules, on queue: DispatchQueue,
    making snapshots: SnapshotMaker<Snapshot>, _ handler: @escaping Answer<Snapshot>
  ) -> Listening

  /// Calls `handler` on `queue`, once now and then after each round of snapshots. All in-sync listeners use
  /// one queue.
  func listenToSync(on queue: DispatchQueue, _ handler: @escaping @Sendable () -> Void) -> Listening

  /// Calls `handler` on `queue` with the values that the driver reports. `begin` registers with the driver
  /// and returns a closure that unregisters. An error is the last value. Without a remote, the only value
  /// is `value`.
  func listenToDriver<Value: Sendable>(
    on queue: DispatchQueue, withoutRemote value: Value?, _ handler: @escaping Answer<Value>,
    begin: @escaping @Sendable (SyncDriver, @escaping Answer<Value>) -> @Sendable () -> Void
  ) -> Listening

  /// Calls `handler` with the current user: now, at each step of the user's pending writes, and when the
  /// user changes. `listening` ends that. Without a remote, calls `handler` once with nil. `isAlive` is
  /// checked after the registration, because a termination does not end later registrations.
  func followUser(
    _ listening: Listening, while isAlive: @Sendable () -> Bool, _ handler: @escaping Answer<String?>)

  /// Forgets a listener of `followUser`, which was removed.
  func forget(_ listening: Listening)

  // MARK: The remote

  /// Sends an event to the driver, in order with the calls before and after this one. Without a remote, the
  /// event has no effect.
  func send(_ event: SyncEvent, _ done: @escaping Answer<Void>)

  /// Returns the current user's writes that the remote has not answered.
  nonisolated(nonsending) func pendingWrites() async throws -> [PendingWriteBatch]

  /// Deletes the documents of a query that were last changed before `limit`, and returns their count. With
  /// a remote, deletes them from the cache only.
  nonisolated(nonsending) func evict(_ query: StructuredQuery, before limit: StoredTimestamp) async throws
    -> Int

  /// Loads a bundle. Blocks.
  func load(_ bundle: BundleContents, into view: LocalView) throws
}

extension Locked {
  /// Returns the value and leaves nil.
  fileprivate func take<Value>() -> Value? where State == Value? {
    withLock { state in
      defer { state = nil }
      return state
    }
  }
}

/// Converts the states that listeners receive into snapshots of the API.
package struct SnapshotMaker<Snapshot: Sendable>: Sendable {
  /// Converts a state of the store.
  let live: @Sendable (LiveSnapshot) -> Snapshot
  /// Converts a state of the driver.
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

  /// Waits for the writes issued before, then runs a long operation on a thread that may block.
  nonisolated(nonsending) func performedAfterWrites<Value: Sendable>(
    _ body: @escaping @Sendable (LocalView) throws(DocumentStoreError) -> Value
  ) async throws -> Value {
    await store.wait(for: lastIssuedWrite)
    return try await store.performed(body)
  }

  nonisolated(nonsending) package func send(_ event: SyncEvent) async throws {
    try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
      send(event) { done.resume(with: $0) }
    }
  }

  /// Runs an async read after the writes issued before, and passes its result to `done` in the order of
  /// these calls. `body` receives the number of the last of those writes.
  func read<Value: Sendable>(
    _ done: @escaping Answer<Value>, _ body: @escaping @Sendable (UInt64) async throws -> Value
  ) {
    let write = lastIssuedWrite
    // Released with its only call: the task lives a little longer, and must not keep the caller's objects.
    let delivery = Locked<Answer<Value>?>(done)
    store.answerInOrder(after: write) {
      let result: Result<Value, any Error>
      do { result = .success(try await body(write)) } catch { result = .failure(error) }
      delivery.take()?(result.mapError(FirestoreErrors.translate(any:)))
    }
  }

  /// Listens to a query, or delivers the error of an invalid query.
  func listen<Snapshot: Sendable>(
    to query: Result<StructuredQuery, any Error>, _ rules: ListenRules, on queue: DispatchQueue,
    making snapshots: SnapshotMaker<Snapshot>, _ handler: @escaping Answer<Snapshot>
  ) -> Listening {
    switch query {
    case .success(let query): return listen(to: query, rules, on: queue, making: snapshots, handler)
    case .failure(let error):
      let listening = Listening { _ in }
      queue.async { listening.call { handler(.failure(error)) } }
      return listening
    }
  }
}
