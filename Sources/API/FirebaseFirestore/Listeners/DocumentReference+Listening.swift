// Listening to a document: a query for one key.

private import DocumentStore
private import Foundation

/// Called with a snapshot, or with the error that ended the listening.
public typealias FIRDocumentSnapshotBlock = (DocumentSnapshot?, (any Error)?) -> Void

extension DocumentReference: Listenable {
  /// Tells `listener` the document on the callback queue: first as it is, there or not, then each time it changes.
  /// A write is told before its completion is called.
  @discardableResult
  public func addSnapshotListener(
    _ listener: @escaping (DocumentSnapshot?, (any Error)?) -> Void
  ) -> any ListenerRegistration {
    addSnapshotListener(options: SnapshotListenOptions(), listener: listener)
  }

  /// With `includeMetadataChanges`, also when nothing but a snapshot's metadata changes.
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
    tell(options, listener)
  }

  /// On any serial queue.
  func listen(
    _ options: SnapshotListenOptions, on queue: DispatchQueue,
    _ handler: @escaping @Sendable (Result<DocumentSnapshot, any Error>) -> Void
  ) -> Listening {
    firestore.client().listen(
      to: Result { StructuredQuery(.document(try storedPath)) }, options, on: queue,
      live: { [self] in
        DocumentSnapshot(
          self, $0.documents.first.map(DocumentRecord.init), isFromCache: options.source == .cache)
      },
      viewed: { [self] in DocumentSnapshot(self, $0) }, handler)
  }
}
