// Listening to a document: a query for one key.

private import DocumentStore
private import Foundation

/// Called with a snapshot, or with the error that ended the listening.
public typealias FIRDocumentSnapshotBlock = (DocumentSnapshot?, (any Error)?) -> Void

extension DocumentReference {
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

  @discardableResult
  public func addSnapshotListener(
    options: SnapshotListenOptions, listener: @escaping (DocumentSnapshot?, (any Error)?) -> Void
  ) -> any ListenerRegistration {
    let callback = Callback<(DocumentSnapshot?, (any Error)?)> { listener($0.0, $0.1) }
    return listen(options, on: firestore.callbackQueue) { result in
      switch result {
      case .success(let snapshot): callback((snapshot, nil))
      case .failure(let error): callback((nil, error))
      }
    }
  }

  /// On any serial queue.
  func listen(
    _ options: SnapshotListenOptions, on queue: DispatchQueue,
    _ handler: @escaping @Sendable (Result<DocumentSnapshot, any Error>) -> Void
  ) -> any ListenerRegistration {
    let client = firestore.client()
    let path: DocumentPath
    do {
      path = try storedPath
    } catch {
      let listening = Listening { _ in }
      queue.async { if !listening.isRemoved { handler(.failure(error)) } }
      return listening
    }
    if client.remote != nil {
      return client.listen(to: StructuredQuery(.document(path)), options, on: queue) { [self] result in
        handler(result.map { DocumentSnapshot(self, $0) })
      }
    }
    let isFromCache = options.source == .cache
    return client.listen(to: StructuredQuery(.document(path)), on: queue) { [self] result in
      handler(
        result.map { live in
          DocumentSnapshot(self, live.documents.first.map(DocumentRecord.init), isFromCache: isFromCache)
        })
    }
  }
}
