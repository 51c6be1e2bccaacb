// Listens to a document, as to a query for a single key.

private import DocumentStore
private import Foundation

/// A closure that receives a snapshot, or the error that ended the listening.
public typealias FIRDocumentSnapshotBlock = (DocumentSnapshot?, (any Error)?) -> Void

extension DocumentReference: Listenable {
  /// Calls `listener` on the callback queue with the document, whether or not it exists, and again after each
  /// change. A write reaches the listener before the write's completion is called.
  @discardableResult
  public func addSnapshotListener(
    _ listener: @escaping (DocumentSnapshot?, (any Error)?) -> Void
  ) -> any ListenerRegistration {
    addSnapshotListener(options: SnapshotListenOptions(), listener: listener)
  }

  /// Adds a listener. With `includeMetadataChanges`, it is also called when only a snapshot's metadata
  /// changes.
  @discardableResult
  public func addSnapshotListener(
    includeMetadataChanges: Bool, listener: @escaping (DocumentSnapshot?, (any Error)?) -> Void
  ) -> any ListenerRegistration {
    addSnapshotListener(options: .metadata(includeMetadataChanges), listener: listener)
  }

  /// Calls the listener at once and after each change, until it is removed.
  @discardableResult
  public func addSnapshotListener(
    options: SnapshotListenOptions, listener: @escaping (DocumentSnapshot?, (any Error)?) -> Void
  ) -> any ListenerRegistration {
    listenOnCallbackQueue(options, listener)
  }

  /// Listens on any serial queue.
  func listen(
    _ options: SnapshotListenOptions, on queue: DispatchQueue,
    _ handler: @escaping @Sendable (Result<DocumentSnapshot, any Error>) -> Void
  ) -> Listening {
    firestore.client().listen(
      to: Result { StructuredQuery(.document(try storedPath)) }, options.rules, on: queue,
      making: SnapshotMaker(
        live: { [self] in
          DocumentSnapshot(
            self, $0.documents.first.map(DocumentRecord.init), isFromCache: options.source == .cache)
        },
        viewed: { [self] in DocumentSnapshot(self, $0) }), handler: handler)
  }
}
