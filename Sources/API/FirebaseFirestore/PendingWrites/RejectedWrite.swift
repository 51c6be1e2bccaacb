// Notifications about writes that the remote has rejected.

private import DocumentStore
private import FirebaseCore
public import Foundation
private import OfflineSync

/// A batch of writes that the remote has rejected. It is no longer in the outbox, and its local effect is
/// undone.
///
/// ```swift
/// for try await rejected in Firestore.firestore().rejectedWrites {
///   print("\(rejected.write.paths) refused: \(rejected.error.localizedDescription)")
/// }
/// ```
public struct RejectedWrite: Hashable, Sendable, Identifiable {
  /// The batch as `pendingWrites()` listed it.
  public let write: PendingWrite
  /// The error that the write's completion receives, in `FirestoreErrorDomain`.
  public let error: NSError

  /// The ID of the batch.
  public var id: PendingWrite.ID { write.id }
}

extension Firestore {
  ///  Calls `listener` on the callback queue with each rejected write of the current user, in the order of
  ///  the rejections. This includes writes that an earlier run of the program left in the outbox, but not
  ///  cancelled writes. If the database cannot be used, the listener receives one error without a write, and
  ///  the listening ends. Without a remote, the listener is never called.
  ///
  ///  When the listener is called, the rejected write has already been undone, so a read in the callback does
  ///  not see its effect. The completion of the write runs after the listener, and then the listeners of the
  ///  documents.
  ///
  ///  Writes that are rejected while no listener is registered go to the next listener, but at most the last
  ///  hundred of them. They are lost when the program ends. If a listener is removed while a rejection is
  ///  being delivered to it, that rejection is lost. So add the next listener before you remove the last one.
  ///
  ///  ```swift
  ///  Firestore.firestore().addRejectedWritesListener { rejected, _ in
  ///    if let rejected { print("\(rejected.write.paths) refused, code \(rejected.error.code)") }
  ///  }
  ///  ```
  @discardableResult
  public func addRejectedWritesListener(
    _ listener: @escaping (RejectedWrite?, (any Error)?) -> Void
  ) -> any ListenerRegistration {
    let callback = Callback<(RejectedWrite?, (any Error)?)> { listener($0.0, $0.1) }
    return client().listenToRejections(on: callbackQueue) { result in
      switch result {
      case .success(let rejected): callback((rejected, nil))
      case .failure(let error): callback((nil, error))
      }
    }
  }

  /// The rejected writes as a sequence, without a callback queue. Listening starts when this property is
  /// read. No rejected write is dropped if the loop is slow. The sequence ends when the database is
  /// terminated.
  public var rejectedWrites: AsyncThrowingStream<RejectedWrite, any Error> {
    AsyncThrowingStream { continuation in
      let queue = DispatchQueue.serial("dugout.firestore.rejections", in: simulation)
      let registration = client().listenToRejections(on: queue) { result in
        switch result {
        case .success(let rejected): continuation.yield(rejected)
        case .failure(let error): continuation.finish(throwing: error)
        }
      }
      registration.whenRemoved { continuation.finish() }
      continuation.onTermination = { _ in registration.remove() }
    }
  }
}

extension FirestoreClient {
  fileprivate func listenToRejections(
    on queue: DispatchQueue, _ handler: @escaping @Sendable (Result<RejectedWrite, any Error>) -> Void
  ) -> Listening {
    listenToDriver(on: queue, withoutRemote: nil, handler: handler) { driver, deliver in
      let id = driver.listenToRejections { result in
        deliver(result.map { RejectedWrite($0) }.mapError(FirestoreErrors.translate))
      }
      return { driver.unlistenToRejections(id) }
    }
  }
}

extension RejectedWrite {
  fileprivate init(_ rejection: Rejection) {
    write = PendingWrite(rejection.id, rejection.paths, time: rejection.time, isSent: true)
    error = FirestoreErrors.translate(.remote(rejection.error)) as NSError
  }
}
