// Starting over, waiting and ending. Without a remote there is no network to turn off.

private import DocumentStore
private import FirebaseCore
private import Foundation
private import OfflineSync

extension Firestore {
  /// Accepted, without effect: what goes wrong is told by errors.
  public class func enableLogging(_ logging: Bool) {}

  // MARK: Network

  /// Goes on with the remote. Completes, and changes nothing without one.
  public func enableNetwork(completion: (((any Error)?) -> Void)? = nil) {
    send(.enableNetwork, completion)
  }

  /// Lets writes and reads go to the remote again; without a remote nothing changes.
  nonisolated(nonsending) public func enableNetwork() async throws {
    try await client().send(.enableNetwork)
  }

  /// Leaves the remote alone: reads are answered from what is here, writes wait. Completes, and changes nothing
  /// without a remote.
  public func disableNetwork(completion: (((any Error)?) -> Void)? = nil) {
    send(.disableNetwork, completion)
  }

  /// Cuts the remote off until `enableNetwork()`; without a remote nothing changes.
  nonisolated(nonsending) public func disableNetwork() async throws {
    try await client().send(.disableNetwork)
  }

  private func send(_ event: SyncEvent, _ completion: (((any Error)?) -> Void)?) {
    let callback = Callback<(any Error)?> { completion?($0) }
    let queue = callbackQueue
    client().send(event) { result in
      queue.async {
        if case .failure(let error) = result { callback(error) } else { callback(nil) }
      }
    }
  }

  // MARK: Waiting

  /// Completes once all writes that were issued before are durable and visible, or have failed; with a remote, once it
  /// has answered them. Fails with `cancelled` if the user changes meanwhile.
  public func waitForPendingWrites(completion: @escaping ((any Error)?) -> Void) {
    let callback = Callback<(any Error)?> { completion($0) }
    let queue = callbackQueue
    client().waitForPendingWrites { result in
      queue.async {
        if case .failure(let error) = result { callback(error) } else { callback(nil) }
      }
    }
  }

  /// Returns when all writes before it are acknowledged.
  nonisolated(nonsending) public func waitForPendingWrites() async throws {
    let client = client()
    try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
      client.waitForPendingWrites { done.resume(with: $0) }
    }
  }

  // MARK: Ending

  /// Ends this instance. When this returns, listeners hear nothing more, the next `firestore()` makes a new instance,
  /// and any later call of this one traps, but for `terminate` and `clearPersistence`. What was asked before is finished
  /// behind it: reads, transactions and writes have their completions; those that wait for a remote, and bundles whose
  /// stream has not ended, fail. Then the store is closed, and then comes this completion. A transaction's block must not
  /// wait for it.
  ///
  /// With a remote, the completion of a write that it has not answered is called with `cancelled`, where the original
  /// never calls it. The write stays in the queue, and the next instance sends it.
  ///
  /// Of instances that share a directory, the last one ends the way to the remote: writes of the others, and who waits
  /// for them, are told when the remote has answered, or then.
  public func terminate(completion: (((any Error)?) -> Void)? = nil) {
    forget()
    end()
    let tell = told { (_: Void?, error) in completion?(error) }
    ending.notify(queue: endQueue) { tell(.success(())) }
  }

  /// Ends everything and closes the store; later calls of the instance fail.
  nonisolated(nonsending) public func terminate() async throws {
    forget()
    end()
    await withCheckedContinuation { done in ending.notify(queue: endQueue) { done.resume() } }
  }

  /// Deletes the database with all that is in it. Fails with `failedPrecondition` once it was used and not
  /// terminated, here or elsewhere in the process; behind a `terminate` of this instance it waits for that.
  public func clearPersistence(completion: (((any Error)?) -> Void)? = nil) {
    clear(told { (_: Void?, error) in completion?(error) })
  }

  /// Deletes the database, which must not be in use.
  nonisolated(nonsending) public func clearPersistence() async throws {
    try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
      clear { done.resume(with: $0) }
    }
  }

  private func clear(_ done: @escaping @Sendable (Result<Void, any Error>) -> Void) {
    let place = idlePlace
    ending.notify(queue: endQueue) {
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
