// Listening to a query.

private import DocumentStore
private import Foundation

/// Called with a snapshot, or with the error that ended the listening.
public typealias FIRQuerySnapshotBlock = (QuerySnapshot?, (any Error)?) -> Void

extension Query {
  /// Tells `listener` the results on the callback queue: first as they are, then each time they change. A write
  /// is told before its completion is called.
  @discardableResult
  public func addSnapshotListener(
    _ listener: @escaping (QuerySnapshot?, (any Error)?) -> Void
  ) -> any ListenerRegistration {
    addSnapshotListener(options: SnapshotListenOptions(), listener: listener)
  }

  /// With `includeMetadataChanges`, also when nothing but a snapshot's metadata changes.
  @discardableResult
  public func addSnapshotListener(
    includeMetadataChanges: Bool, listener: @escaping (QuerySnapshot?, (any Error)?) -> Void
  ) -> any ListenerRegistration {
    addSnapshotListener(options: .metadata(includeMetadataChanges), listener: listener)
  }

  @discardableResult
  public func addSnapshotListener(
    options: SnapshotListenOptions, listener: @escaping (QuerySnapshot?, (any Error)?) -> Void
  ) -> any ListenerRegistration {
    let callback = Callback<(QuerySnapshot?, (any Error)?)> { listener($0.0, $0.1) }
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
    _ handler: @escaping @Sendable (Result<QuerySnapshot, any Error>) -> Void
  ) -> any ListenerRegistration {
    let client = firestore.client()
    let structured: StructuredQuery
    do {
      structured = try runnable
    } catch {
      let listening = Listening { _ in }
      queue.async { if !listening.isRemoved { handler(.failure(error)) } }
      return listening
    }
    if client.remote != nil {
      return client.listen(to: structured, options, on: queue) { [self] result in
        handler(result.map { QuerySnapshot(self, $0, options) })
      }
    }
    return client.listen(to: structured, on: queue) { [self] result in
      handler(result.map { QuerySnapshot(self, $0, options) })
    }
  }
}
