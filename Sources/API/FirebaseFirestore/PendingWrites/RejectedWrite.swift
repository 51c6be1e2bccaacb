// Writes that the remote refused, for those who are to know, whoever made them.

private import DocumentStore
private import FirebaseCore
public import Foundation
private import OfflineSync

/// Writes that were made together, and that the remote has refused: they are out of the queue, and what they did here is
/// taken back.
///
/// ```swift
/// for try await rejected in Firestore.firestore().rejectedWrites {
///   print("\(rejected.write.paths) refused: \(rejected.error.localizedDescription)")
/// }
/// ```
public struct RejectedWrite: Hashable, Sendable, Identifiable {
  /// As `pendingWrites()` has shown it.
  public let write: PendingWrite
  /// What a completion of the write gets, of `FirestoreErrorDomain`.
  public let error: NSError

  /// That of the write.
  public var id: PendingWrite.ID { write.id }
}

extension Firestore {
  /// Tells `listener` on the callback queue each write of the current user that the remote refuses, in their order, also
  /// those that an earlier run of the program has left in the queue. A write that was cancelled is none of them. An error
  /// without a write, that of a database which cannot be used, is told once and ends the listening. Without a remote
  /// nothing is refused, and nothing told.
  ///
  /// When it is told, the documents are again as they were without the write: a read in the callback sees that. The
  /// completion of the write comes next, if somebody waits for it, and then the listeners of the documents.
  ///
  /// What was refused while nobody listened is told to the next listener, the last hundred of them; what a program does
  /// not hear before its end, it does not hear later. What is on its way to a listener that is just being removed is told
  /// to nobody: add the next listener before you remove the last one.
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
    return client().listenToRejections(on: callbackQueue) { result in
      switch result {
      case .success(let rejected): callback((rejected, nil))
      case .failure(let error): callback((nil, error))
      }
    }
  }

  /// The same for a loop, which needs no callback queue. Listening begins here, and a slow loop misses none. It ends with
  /// the database.
  public var rejectedWrites: AsyncThrowingStream<RejectedWrite, any Error> {
    AsyncThrowingStream { continuation in
      let queue = DispatchQueue(label: "dugout.firestore.rejections")
      let registration = client().listenToRejections(on: queue) { result in
        switch result {
        case .success(let rejected): continuation.yield(rejected)
        case .failure(let error): continuation.finish(throwing: error)
        }
      }
      registration.atEnd { continuation.finish() }
      continuation.onTermination = { _ in registration.remove() }
    }
  }
}

extension FirestoreClient {
  fileprivate func listenToRejections(
    on queue: DispatchQueue, _ handler: @escaping @Sendable (Result<RejectedWrite, any Error>) -> Void
  ) -> Listening {
    listenToDriver(on: queue, withoutRemote: nil, handler) { driver, tell in
      let id = driver.listenToRejections { result in
        tell(result.map { RejectedWrite($0) }.mapError(FirestoreErrors.translate))
      }
      return { driver.unlistenToRejections(id) }
    }
  }
}

extension RejectedWrite {
  fileprivate init(_ rejection: Rejection) {
    write = PendingWrite(rejection.id, rejection.paths, rejection.time, isSent: true)
    error = FirestoreErrors.translate(.remote(rejection.error)) as NSError
  }
}
