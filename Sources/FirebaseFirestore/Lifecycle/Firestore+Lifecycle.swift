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

  /// Ends this instance: writes under way are finished, listeners hear nothing more, the store is closed. Any
  /// later call traps, but for this one and `clearPersistence`. The next `firestore()` makes a new instance.
  public func terminate(completion: (((any Error)?) -> Void)? = nil) {
    answer({ (_: Void?, error) in completion?(error) }) { [self] in try await terminate() }
  }

  /// Ends everything and closes the store; later calls of the instance fail.
  nonisolated(nonsending) public func terminate() async throws {
    forget()
    guard let client = end() else { return }
    await withCheckedContinuation { done in
      DispatchQueue.global().async {
        client.close()
        done.resume()
      }
    }
  }

  /// Deletes the database with all that is in it. Fails with `failedPrecondition` once it was used and not
  /// terminated, here or elsewhere in the process.
  public func clearPersistence(completion: (((any Error)?) -> Void)? = nil) {
    answer({ (_: Void?, error) in completion?(error) }) { [self] in try await clearPersistence() }
  }

  /// Deletes the database, which must not be in use.
  nonisolated(nonsending) public func clearPersistence() async throws {
    let running = FirestoreErrors.make(
      .failedPrecondition, "Persistence cannot be cleared while the client is running.")
    guard let place = idlePlace else { throw running }
    let isErased = try await withCheckedThrowingContinuation {
      (done: CheckedContinuation<Bool, any Error>) in
      DispatchQueue.global().async {
        let result = Result { () throws(DocumentStoreError) in try AppStores.shared.erase(place) }
        done.resume(with: result.mapError(FirestoreErrors.translate))
      }
    }
    guard isErased else { throw running }
  }
}
