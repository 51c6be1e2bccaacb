// Notifications about writes that the remote has rejected.

private import ByteStore
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
  /// The batch as `pendingWrites()` listed it. Its paths are those of `documents`.
  public let write: PendingWrite
  /// The error that the write's completion receives, in `FirestoreErrorDomain`.
  public let error: NSError
  /// The writes of the batch, in order. Of a large batch, only those that fit in 1 MiB are listed.
  public let documents: [RejectedDocument]
  /// Whether `documents` has all writes of the batch.
  public let isComplete: Bool

  /// The ID of the batch.
  public var id: PendingWrite.ID { write.id }
}

extension Firestore {
  /// Calls `listener` on the callback queue with each rejected write of the current user, in the order of the
  /// rejections. This includes writes that an earlier run of the program left in the outbox, but not
  /// cancelled writes. If the database cannot be used, the listener receives one error without a write, and
  /// the listening ends. Without a remote, the listener is never called.
  ///
  /// When the listener is called, the rejected write has already been undone, so a read in the callback does
  /// not see its effect. The completion of the write runs after the listener, and then the listeners of the
  /// documents.
  ///
  /// A rejection is stored until a listener has returned from its call, also across restarts. A new listener
  /// first receives the rejections of its user that no listener has seen, the oldest first. After a power
  /// failure, a rejection may be reported a second time. For each user, the newest thousand rejections are
  /// kept, and at most 4 MiB of them.
  ///
  /// ```swift
  /// Firestore.firestore().addRejectedWritesListener { rejected, _ in
  ///   if let rejected { print("\(rejected.write.paths) refused, code \(rejected.error.code)") }
  /// }
  /// ```
  @discardableResult
  public func addRejectedWritesListener(
    _ listener: @escaping (RejectedWrite?, (any Error)?) -> Void
  ) -> any ListenerRegistration {
    let callback = Callback<(RejectedWrite?, (any Error)?)> { listener($0.0, $0.1) }
    return client().listenToRejections(of: self, on: callbackQueue) { result in
      switch result {
      case .success(let rejection):
        callback((rejection.write, nil))
        rejection.noteSeen()
      case .failure(let error): callback((nil, error))
      }
    }
  }

  /// The rejected writes as a sequence, without a callback queue. Listening starts when this property is
  /// read. No rejected write is dropped if the loop is slow. A rejected write counts as seen when the loop
  /// asks for the next element. If the loop ends earlier, the next listener receives the write again. The
  /// sequence ends when the database is terminated.
  public var rejectedWrites: AsyncThrowingStream<RejectedWrite, any Error> {
    let rejections = AsyncThrowingStream<DeliveredRejection, any Error> { continuation in
      let queue = DispatchQueue.serial("dugout.firestore.rejections", in: simulation)
      let registration = client().listenToRejections(of: self, on: queue) { result in
        switch result {
        case .success(let rejection): continuation.yield(rejection)
        case .failure(let error): continuation.finish(throwing: error)
        }
      }
      registration.whenRemoved { continuation.finish() }
      continuation.onTermination = { _ in registration.remove() }
    }
    let last = Locked<DeliveredRejection?>(nil)
    return AsyncThrowingStream {
      last.withLock { last in
        defer { last = nil }
        return last
      }?.noteSeen()
      var iterator = rejections.makeAsyncIterator()
      let next = try await iterator.next()
      last.withLock { $0 = next }
      return next?.write
    }
  }
}

/// A rejection, and the call that removes it.
private struct DeliveredRejection: Sendable {
  let write: RejectedWrite
  let noteSeen: @Sendable () -> Void
}

extension FirestoreClient {
  fileprivate func listenToRejections(
    of firestore: Firestore, on queue: DispatchQueue,
    handler: @escaping @Sendable (Result<DeliveredRejection, any Error>) -> Void
  ) -> Listening {
    listenToDriver(on: queue, withoutRemote: nil, handler: handler) { [weak firestore] driver, deliver in
      let id = driver.listenToRejections { [weak firestore, weak driver] result in
        guard let firestore else { return }
        let delivered = result.map { rejection in
          DeliveredRejection(write: RejectedWrite(rejection, in: firestore)) { [weak driver] in
            driver?.noteSeen(rejection)
          }
        }
        deliver(delivered.mapError(FirestoreErrors.translate))
      }
      return { driver.unlistenToRejections(id) }
    }
  }
}

extension RejectedWrite {
  fileprivate init(_ rejection: Rejection, in firestore: Firestore) {
    write = PendingWrite(rejection.id, rejection.paths, time: rejection.time, isSent: true)
    error = FirestoreErrors.translate(.remote(rejection.error)) as NSError
    documents = rejection.mutations.map { RejectedDocument($0, in: firestore) }
    isComplete = rejection.mutations.count == rejection.mutationCount
  }
}
