// Snapshots for `for try await`.

private import Foundation

extension Query {
  /// The results as they are, and then each time they change.
  ///
  /// ```swift
  /// for try await snapshot in Firestore.firestore().collection("cities").snapshots {
  ///   print(snapshot.count)
  /// }
  /// ```
  public var snapshots: QuerySnapshotsSequence { snapshots(includeMetadataChanges: false) }

  /// The results as they are and as they become; with or without changes of metadata.
  public func snapshots(includeMetadataChanges: Bool) -> QuerySnapshotsSequence {
    QuerySnapshotsSequence(self, includeMetadataChanges: includeMetadataChanges)
  }

  /// Snapshots of a query. Each iterator listens by itself, until it is gone or its task is cancelled, or until the
  /// database is terminated. What a listener would be told waits until the loop takes it; several commits that come
  /// quickly may be one snapshot. No callback queue is needed.
  public struct QuerySnapshotsSequence: AsyncSequence, Sendable {
    public typealias Element = QuerySnapshot
    public typealias Failure = any Error

    private let query: Query
    private let options: SnapshotListenOptions

    /// The results of a query, for a loop.
    public init(_ query: Query, includeMetadataChanges: Bool) {
      self.query = query
      options = .metadata(includeMetadataChanges)
    }

    public func makeAsyncIterator() -> Iterator {
      let (query, options) = (query, options)
      return Iterator(
        SnapshotStream.make { queue, handler in query.listen(options, on: queue, handler) })
    }

    /// Takes one snapshot after the other.
    public struct Iterator: AsyncIteratorProtocol {
      private var stream: AsyncThrowingStream<QuerySnapshot, any Error>.Iterator

      fileprivate init(_ stream: AsyncThrowingStream<QuerySnapshot, any Error>) {
        self.stream = stream.makeAsyncIterator()
      }

      /// The next snapshot; nil once the task is cancelled or the database terminated.
      public mutating func next() async throws -> QuerySnapshot? { try await stream.next() }

      public mutating func next(
        isolation actor: isolated (any Actor)?
      ) async throws(any Error) -> QuerySnapshot? {
        try await stream.next(isolation: actor)
      }
    }
  }
}

extension DocumentReference {
  /// The document as it is, there or not, and then each time it changes.
  public var snapshots: DocumentSnapshotsSequence { snapshots(includeMetadataChanges: false) }

  /// The document as it is and as it becomes; with or without changes of metadata.
  public func snapshots(includeMetadataChanges: Bool) -> DocumentSnapshotsSequence {
    DocumentSnapshotsSequence(self, includeMetadataChanges: includeMetadataChanges)
  }

  /// Snapshots of a document. Each iterator listens by itself, until it is gone or its task is cancelled, or until the
  /// database is terminated. What a listener would be told waits until the loop takes it; several commits that come
  /// quickly may be one snapshot. No callback queue is needed.
  public struct DocumentSnapshotsSequence: AsyncSequence, Sendable {
    public typealias Element = DocumentSnapshot
    public typealias Failure = any Error

    private let document: DocumentReference
    private let options: SnapshotListenOptions

    /// The states of a document, for a loop.
    public init(_ document: DocumentReference, includeMetadataChanges: Bool) {
      self.document = document
      options = .metadata(includeMetadataChanges)
    }

    public func makeAsyncIterator() -> Iterator {
      let (document, options) = (document, options)
      return Iterator(
        SnapshotStream.make { queue, handler in document.listen(options, on: queue, handler) })
    }

    /// Takes one snapshot after the other.
    public struct Iterator: AsyncIteratorProtocol {
      private var stream: AsyncThrowingStream<DocumentSnapshot, any Error>.Iterator

      fileprivate init(_ stream: AsyncThrowingStream<DocumentSnapshot, any Error>) {
        self.stream = stream.makeAsyncIterator()
      }

      /// The next snapshot; nil once the task is cancelled or the database terminated.
      public mutating func next() async throws -> DocumentSnapshot? { try await stream.next() }

      public mutating func next(
        isolation actor: isolated (any Actor)?
      ) async throws(any Error) -> DocumentSnapshot? {
        try await stream.next(isolation: actor)
      }
    }
  }
}

@available(*, unavailable)
extension Query.QuerySnapshotsSequence.Iterator: Sendable {}

@available(*, unavailable)
extension DocumentReference.DocumentSnapshotsSequence.Iterator: Sendable {}

private enum SnapshotStream {
  static func make<Snapshot: Sendable>(
    _ listen: (DispatchQueue, @escaping @Sendable (Result<Snapshot, any Error>) -> Void)
      -> Listening
  ) -> AsyncThrowingStream<Snapshot, any Error> {
    AsyncThrowingStream(Snapshot.self, bufferingPolicy: .unbounded) { continuation in
      let registration = listen(DispatchQueue(label: "dugout.firestore.snapshots")) { result in
        switch result {
        case .success(let snapshot): continuation.yield(snapshot)
        case .failure(let error): continuation.finish(throwing: error)
        }
      }
      registration.atEnd { continuation.finish() }
      continuation.onTermination = { _ in registration.remove() }
    }
  }
}
