// Listens to a query.

private import DocumentStore
private import Foundation

/// A closure that receives a snapshot, or the error that ended the listening.
public typealias FIRQuerySnapshotBlock = (QuerySnapshot?, (any Error)?) -> Void

extension Query: Listenable {
  /// Calls `listener` on the callback queue with the results, and again after each change. A write reaches
  /// the listener before the write's completion is called.
  @discardableResult
  public func addSnapshotListener(
    _ listener: @escaping (QuerySnapshot?, (any Error)?) -> Void
  ) -> any ListenerRegistration {
    addSnapshotListener(options: SnapshotListenOptions(), listener: listener)
  }

  /// Adds a listener. With `includeMetadataChanges`, it is also called when only a snapshot's metadata
  /// changes.
  @discardableResult
  public func addSnapshotListener(
    includeMetadataChanges: Bool, listener: @escaping (QuerySnapshot?, (any Error)?) -> Void
  ) -> any ListenerRegistration {
    addSnapshotListener(options: .metadata(includeMetadataChanges), listener: listener)
  }

  /// Calls the listener at once and after each change, until it is removed.
  @discardableResult
  public func addSnapshotListener(
    options: SnapshotListenOptions, listener: @escaping (QuerySnapshot?, (any Error)?) -> Void
  ) -> any ListenerRegistration {
    reportLateMisuse()
    return listenOnCallbackQueue(options, listener)
  }

  /// Listens on any serial queue.
  func listen(
    _ options: SnapshotListenOptions, on queue: DispatchQueue,
    _ handler: @escaping @Sendable (Result<QuerySnapshot, any Error>) -> Void
  ) -> Listening {
    firestore.client().listen(
      to: Result { try runnable }, options.rules, on: queue,
      making: SnapshotMaker(
        live: { [self] in QuerySnapshot(self, $0, options: options) },
        viewed: { [self] in QuerySnapshot(self, $0, options: options) }), handler: handler)
  }
}
