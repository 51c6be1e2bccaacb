// Starting over, waiting and ending. Without a remote there is no network to turn off.

private import DocumentStore
private import FirebaseCore
private import Foundation

extension Firestore {
  /// Accepted, without effect: what goes wrong is told by errors.
  public class func enableLogging(_ logging: Bool) {}

  // MARK: Network

  /// Completes, and changes nothing without a remote.
  public func enableNetwork(completion: (((any Error)?) -> Void)? = nil) {
    _ = client()
    complete(completion, nil)
  }

  nonisolated(nonsending) public func enableNetwork() async throws { _ = client() }

  /// Completes, and changes nothing without a remote.
  public func disableNetwork(completion: (((any Error)?) -> Void)? = nil) {
    _ = client()
    complete(completion, nil)
  }

  nonisolated(nonsending) public func disableNetwork() async throws { _ = client() }

  // MARK: Waiting

  /// Completes once all writes that were issued before are durable and visible, or have failed.
  public func waitForPendingWrites(completion: @escaping ((any Error)?) -> Void) {
    let client = client()
    let write = client.lastIssuedWrite
    answer({ (_: Void?, error) in completion(error) }) { await client.wait(for: write) }
  }

  nonisolated(nonsending) public func waitForPendingWrites() async throws {
    let client = client()
    await client.wait(for: client.lastIssuedWrite)
  }

  // MARK: Ending

  /// Ends this instance: writes under way are finished, listeners hear nothing more, the store is closed. Any
  /// later call traps, but for this one and `clearPersistence`. The next `firestore()` makes a new instance.
  public func terminate(completion: (((any Error)?) -> Void)? = nil) {
    answer({ (_: Void?, error) in completion?(error) }) { [self] in try await terminate() }
  }

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

  private func complete(_ completion: (((any Error)?) -> Void)?, _ error: (any Error)?) {
    guard let completion else { return }
    let callback = Callback<(any Error)?>(completion)
    let delivery = Delivery(value: error)
    callbackQueue.async { callback(delivery.value) }
  }
}
