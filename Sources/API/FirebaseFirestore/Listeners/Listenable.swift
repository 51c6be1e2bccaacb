// Shared code for listening to queries and to documents.

import DocumentStore
private import FirebaseCore
import Foundation
import OfflineSync

/// A query or a document reference.
protocol Listenable {
  associatedtype Snapshot: Sendable

  var firestore: Firestore { get }

  /// Calls `handler` with each snapshot on `queue`, which must be serial.
  func listen(
    _ options: SnapshotListenOptions, on queue: DispatchQueue,
    _ handler: @escaping @Sendable (Result<Snapshot, any Error>) -> Void
  ) -> Listening
}

extension Listenable {
  /// Calls the user's closure with each snapshot on the callback queue.
  func listenOnCallbackQueue(
    _ options: SnapshotListenOptions, _ listener: @escaping (Snapshot?, (any Error)?) -> Void
  ) -> any ListenerRegistration {
    let callback = Callback<(Snapshot?, (any Error)?)> { listener($0.0, $0.1) }
    return listen(options, on: firestore.callbackQueue) { result in
      switch result {
      case .success(let snapshot): callback((snapshot, nil))
      case .failure(let error): callback((nil, error))
      }
    }
  }
}
