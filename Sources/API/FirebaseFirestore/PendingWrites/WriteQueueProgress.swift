// How far the queue of writes is, for those who show it.

private import DocumentStore
private import FirebaseCore
public import Foundation
private import OfflineSync

/// How many writes wait for the remote, and how many it has answered since somebody began to look.
///
/// ```swift
/// for try await progress in Firestore.firestore().writeQueueProgress {
///   print("\(progress.pendingCount) left, \(Int(progress.fractionCompleted * 100)) %")
/// }
/// ```
public struct WriteQueueProgress: Hashable, Sendable {
  /// Writes that the remote has not answered: what `pendingWrites()` would list.
  public let pendingCount: Int
  /// Of these, those that are on their way, the first ones of the list.
  public let sentCount: Int
  /// Since the listening began, or since the user changed.
  public let acceptedCount: Int
  /// The same, of writes that the remote refused.
  public let rejectedCount: Int
  /// The same, of writes that were taken out of the queue.
  public let cancelledCount: Int
  /// When the write was made that has waited longest; nil if none waits.
  public let oldest: Date?

  /// Of all writes that there were since the listening began, how many wait no more; 1 if none waits.
  public var fractionCompleted: Double {
    let done = acceptedCount + rejectedCount + cancelledCount
    return pendingCount == 0 ? 1 : Double(done) / Double(done + pendingCount)
  }
}

extension Firestore {
  /// Tells `listener` on the callback queue how far the current user's writes are: once now, and then each time one is
  /// made, sent or answered. An error, that of a database which cannot be used, is told once and ends the listening.
  /// Without a remote no write waits, and that is told once.
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

  /// The same for a loop, which needs no callback queue. One that is slow is told the newest state, and not each.
  public var writeQueueProgress: AsyncThrowingStream<WriteQueueProgress, any Error> {
    AsyncThrowingStream(WriteQueueProgress.self, bufferingPolicy: .bufferingNewest(1)) { continuation in
      let queue = DispatchQueue(label: "dugout.firestore.progress")
      let registration = client().listenToQueue(on: queue) { result in
        switch result {
        case .success(let progress): continuation.yield(progress)
        case .failure(let error): continuation.finish(throwing: error)
        }
      }
      registration.atEnd { continuation.finish() }
      continuation.onTermination = { _ in registration.remove() }
    }
  }
}

extension FirestoreClient {
  fileprivate func listenToQueue(
    on queue: DispatchQueue, _ handler: @escaping @Sendable (Result<WriteQueueProgress, any Error>) -> Void
  ) -> Listening {
    listenToDriver(on: queue, withoutRemote: .nothing, handler) { driver, tell in
      let start = Guarded<QueueProgress?>(nil)
      let id = driver.listenToQueue { result in
        tell(result.map { WriteQueueProgress($0, since: start) }.mapError(FirestoreErrors.translate))
      }
      return { driver.unlistenToQueue(id) }
    }
  }
}

extension WriteQueueProgress {
  fileprivate static let nothing = WriteQueueProgress(
    pendingCount: 0, sentCount: 0, acceptedCount: 0, rejectedCount: 0, cancelledCount: 0, oldest: nil)

  /// `start` is what was told first, of this user.
  fileprivate init(_ progress: QueueProgress, since start: Guarded<QueueProgress?>) {
    let base = start.withLock { start in
      // Another user's answers are counted from that user's coming on.
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
