// Turns the network on and off, waits for writes, terminates instances, and deletes databases.

private import ByteStore
private import DocumentStore
private import FirebaseCore
private import Foundation
private import OfflineSync

extension Firestore {
  /// Turns the log of all databases in this process on or off. It is off at first. Each event becomes one
  /// line of text: in the unified log on Apple's systems, otherwise in the standard error output.
  public class func enableLogging(_ logging: Bool) {
    ProcessLog.shared.set(logging ? FirestoreLog.standard : nil)
  }

  // MARK: Network

  /// Connects to the remote again, and calls `completion`. Without a remote, only calls `completion`.
  public func enableNetwork(completion: (((any Error)?) -> Void)? = nil) {
    send(.enableNetwork, completion)
  }

  /// Connects to the remote again. Without a remote, has no effect.
  nonisolated(nonsending) public func enableNetwork() async throws {
    try await client().send(.enableNetwork)
  }

  /// Disconnects from the remote, and calls `completion`. Until `enableNetwork()`, reads use the local cache,
  /// and writes wait in the outbox. Without a remote, only calls `completion`.
  public func disableNetwork(completion: (((any Error)?) -> Void)? = nil) {
    send(.disableNetwork, completion)
  }

  /// Disconnects from the remote until `enableNetwork()`. Without a remote, has no effect.
  nonisolated(nonsending) public func disableNetwork() async throws {
    try await client().send(.disableNetwork)
  }

  /// Sets the networks over which the database syncs from now on, and calls `completion`. With `.unmetered`,
  /// the database pauses while the network is metered, and `syncProgress` says so. It connects when neither
  /// this pause nor `disableNetwork()` keeps it from it. Without a remote, only calls `completion`.
  public func setNetworkUse(_ use: FirestoreNetworkUse, completion: (((any Error)?) -> Void)? = nil) {
    send(.setNetworkUse(NetworkUse(use)), completion)
  }

  /// Sets the networks over which the database syncs from now on. Without a remote, has no effect.
  nonisolated(nonsending) public func setNetworkUse(_ use: FirestoreNetworkUse) async throws {
    try await client().send(.setNetworkUse(NetworkUse(use)))
  }

  private func send(_ event: SyncEvent, _ completion: (((any Error)?) -> Void)?) {
    client().send(event, callbackQueue.passingError(to: completion))
  }

  // MARK: Waiting

  /// Calls `completion` once all writes issued before this call are durable and visible, or have failed. With
  /// a remote, waits until the remote has answered these writes. Fails with `cancelled` if the user changes
  /// in the meantime.
  public func waitForPendingWrites(completion: @escaping ((any Error)?) -> Void) {
    client().waitForPendingWrites(callbackQueue.passingError(to: completion))
  }

  /// Returns once all writes issued before this call are acknowledged.
  nonisolated(nonsending) public func waitForPendingWrites() async throws {
    let client = client()
    try await awaitResult { client.waitForPendingWrites($0) }
  }

  // MARK: Ending

  /// Terminates this instance. After this returns, listeners are no longer called, and the next `firestore()`
  /// creates a new instance.
  ///
  /// Other threads may still use this instance, during the call and later. References, queries and batches
  /// can still be created. Reads, writes and all other calls that can report an error fail with
  /// `failedPrecondition`. A listener that is added later receives this error once. `terminate` and
  /// `clearPersistence` succeed, and calls that cannot report an error have no effect.
  ///
  /// Operations issued before this call complete in the background: reads, transactions and writes call their
  /// completions. Operations that wait for a remote fail, and so do transactions that wait for other
  /// transactions and bundles whose stream has not ended. Then the store is closed, and `completion` is
  /// called. A transaction's block must not wait for `completion`.
  ///
  /// With a remote, each unanswered write completes with `cancelled`; in Firestore, its completion would
  /// never be called. The write stays in the outbox, and the next instance sends it.
  ///
  /// If several instances share a directory, the connection to the remote ends when the last of them
  /// terminates. Until then, unanswered writes and waits of an instance that terminated earlier still wait
  /// for the remote. They complete when the remote answers, or at the latest when the connection ends.
  public func terminate(completion: (((any Error)?) -> Void)? = nil) {
    forget()
    end()
    let complete = delivering { (_: Void?, error) in completion?(error) }
    afterEnding { complete(.success(())) }
  }

  /// Terminates the instance and returns when the store is closed. Later calls of the instance fail with
  /// `failedPrecondition`.
  nonisolated(nonsending) public func terminate() async throws {
    forget()
    end()
    await awaitValue { done in afterEnding { done(()) } }
  }

  /// Deletes the database with all its data. Fails with `failedPrecondition` if an instance in this process
  /// has used the database and is not terminated. If this instance is being terminated, waits until the
  /// termination has ended. Always fails with `failedPrecondition` on a read-only database.
  public func clearPersistence(completion: (((any Error)?) -> Void)? = nil) {
    clear(delivering { (_: Void?, error) in completion?(error) })
  }

  /// Deletes the database, which must not be in use.
  nonisolated(nonsending) public func clearPersistence() async throws {
    try await awaitResult { clear($0) }
  }

  private func clear(_ done: @escaping @Sendable (Result<Void, any Error>) -> Void) {
    guard access == .readAndWrite else { return done(.failure(FirestoreErrors.readOnly(storeDirectory))) }
    let place = closedStoreAddress
    afterEnding {
      done(
        Result {
          let running = FirestoreErrors.make(
            .failedPrecondition, "Persistence cannot be cleared while the client is running.")
          guard let place else { throw running }
          let result = Result { () throws(DocumentStoreError) in try AppStores.shared.erase(place) }
          guard try result.mapError(FirestoreErrors.translate).get() else { throw running }
        })
    }
  }
}
