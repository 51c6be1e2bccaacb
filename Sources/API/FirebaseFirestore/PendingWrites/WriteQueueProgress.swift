// The progress of the outbox, for display.

private import ByteStore
private import DocumentStore
private import FirebaseCore
public import Foundation
private import OfflineSync

/// The number of batches of writes that wait for the remote, and the number that the remote has answered
/// since the listening began.
///
/// ```swift
/// for try await progress in Firestore.firestore().writeQueueProgress {
///   print("\(progress.pendingCount) left, \(Int(progress.fractionCompleted * 100)) %")
/// }
/// ```
public struct WriteQueueProgress: Hashable, Sendable {
  /// The number of batches that the remote has not answered; `pendingWrites()` lists them.
  public let pendingCount: Int
  /// The number of pending batches that were already sent, a part of `pendingCount`. They come first in the
  /// list of `pendingWrites()`.
  public let sentCount: Int
  /// The number of batches that the remote accepted since the listening began or the user changed.
  public let acceptedCount: Int
  /// The number of batches that the remote rejected since the listening began or the user changed.
  public let rejectedCount: Int
  /// The number of batches that were cancelled since the listening began or the user changed.
  public let cancelledCount: Int
  /// The time when the oldest pending write was issued; nil if none is pending.
  public let oldest: Date?

  /// The fraction of completed batches among all batches since the listening began or the user changed; 1 if
  /// none is pending.
  public var fractionCompleted: Double {
    let done = acceptedCount + rejectedCount + cancelledCount
    return pendingCount == 0 ? 1 : Double(done) / Double(done + pendingCount)
  }
}

extension Firestore {
  /// Calls `listener` on the callback queue with the progress of the current user's writes. Calls it at once,
  /// and again whenever a write is issued, sent or answered. If the database cannot be used, the listener
  /// receives one error and the listening ends. Without a remote, the listener is called once and reports no
  /// pending write.
  @discardableResult
  public func addWriteQueueListener(
    _ listener: @escaping (WriteQueueProgress?, (any Error)?) -> Void
  ) -> any ListenerRegistration {
    let callback = Callback<(WriteQueueProgress?, (any Error)?)> { listener($0.0, $0.1) }
    return client().listenToQueue(on: callbackQueue) { result in
      switch result {
      case .success(let progress): callback((progress, nil))
      case .failure(let error): callback((nil, error))
      }
    }
  }

  /// The progress as a sequence, without a callback queue. If the loop is slow, it receives only the newest
  /// progress.
  public var writeQueueProgress: AsyncThrowingStream<WriteQueueProgress, any Error> {
    AsyncThrowingStream(WriteQueueProgress.self, bufferingPolicy: .bufferingNewest(1)) { continuation in
      let queue = DispatchQueue.serial("dugout.firestore.progress", in: simulation)
      let registration = client().listenToQueue(on: queue) { result in
        switch result {
        case .success(let progress): continuation.yield(progress)
        case .failure(let error): continuation.finish(throwing: error)
        }
      }
      registration.whenRemoved { continuation.finish() }
      continuation.onTermination = { _ in registration.remove() }
    }
  }
}

extension FirestoreClient {
  fileprivate func listenToQueue(
    on queue: DispatchQueue, _ handler: @escaping @Sendable (Result<WriteQueueProgress, any Error>) -> Void
  ) -> Listening {
    listenToDriver(on: queue, withoutRemote: .nothing, handler: handler) { driver, deliver in
      let start = Locked<QueueProgress?>(nil)
      let id = driver.listenToQueue { result in
        deliver(result.map { WriteQueueProgress($0, since: start) }.mapError(FirestoreErrors.translate))
      }
      return { driver.unlistenToQueue(id) }
    }
  }
}

extension WriteQueueProgress {
  fileprivate static let nothing = WriteQueueProgress(
    pendingCount: 0, sentCount: 0, acceptedCount: 0, rejectedCount: 0, cancelledCount: 0, oldest: nil)

  /// Counts answers relative to `start`, the first progress of the current user.
  fileprivate init(_ progress: QueueProgress, since start: Locked<QueueProgress?>) {
    let base = start.withLock { start in
      // The counts start again from zero when the user changes.
      if start?.user != .some(progress.user) { start = progress }
      return start?.answers ?? progress.answers
    }
    pendingCount = progress.pendingCount
    sentCount = progress.sentCount
    acceptedCount = progress.answers.accepted - base.accepted
    rejectedCount = progress.answers.rejected - base.rejected
    cancelledCount = progress.answers.cancelled - base.cancelled
    oldest = progress.oldest.map { Timestamp($0).dateValue() }
  }
}
