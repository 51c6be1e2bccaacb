// Snapshots for `for try await`.

private import FirebaseCore
private import Foundation
private import OfflineSync

extension Query {
  /// The current results, followed by the results after each change.
  ///
  /// ```swift
  /// for try await snapshot in Firestore.firestore().collection("cities").snapshots {
  ///   print(snapshot.count)
  /// }
  /// ```
  public var snapshots: QuerySnapshotsSequence { snapshots(includeMetadataChanges: false) }

  /// The current results, followed by the results after each change, with or without changes of metadata.
  public func snapshots(includeMetadataChanges: Bool) -> QuerySnapshotsSequence {
    QuerySnapshotsSequence(self, includeMetadataChanges: includeMetadataChanges)
  }

  /// Snapshots of a query. Each iterator has its own listener, which is removed when the iterator is
  /// released, its task is cancelled or the database is terminated. Snapshots wait in a buffer until the loop
  /// reads them. Several commits in quick succession may produce a single snapshot. No callback queue is
  /// needed.
  public struct QuerySnapshotsSequence: AsyncSequence, Sendable {
    public typealias Element = QuerySnapshot
    public typealias Failure = any Error

    private let query: Query
    private let options: SnapshotListenOptions

    /// Creates a sequence of the results of a query.
    public init(_ query: Query, includeMetadataChanges: Bool) {
      self.query = query
      options = .metadata(includeMetadataChanges)
    }

    public func makeAsyncIterator() -> Iterator {
      let (query, options) = (query, options)
      return Iterator(
        SnapshotStream.make(in: query.firestore.simulation) { queue, handler in
          query.listen(options, on: queue, handler)
        })
    }

    /// An iterator that returns one snapshot after the other.
    public struct Iterator: AsyncIteratorProtocol {
      private var stream: AsyncThrowingStream<QuerySnapshot, any Error>.Iterator

      fileprivate init(_ stream: AsyncThrowingStream<QuerySnapshot, any Error>) {
        self.stream = stream.makeAsyncIterator()
      }

      /// Returns the next snapshot; nil once the task is cancelled or the database is terminated.
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
  /// The current document, existing or not, followed by the document after each change.
  public var snapshots: DocumentSnapshotsSequence { snapshots(includeMetadataChanges: false) }

  /// The current document, followed by the document after each change, with or without changes of metadata.
  public func snapshots(includeMetadataChanges: Bool) -> DocumentSnapshotsSequence {
    DocumentSnapshotsSequence(self, includeMetadataChanges: includeMetadataChanges)
  }

  /// Snapshots of a document. Each iterator has its own listener, which is removed when the iterator is
  /// released, its task is cancelled or the database is terminated. Snapshots wait in a buffer until the loop
  /// reads them. Several commits in quick succession may produce a single snapshot. No callback queue is
  /// needed.
  public struct DocumentSnapshotsSequence: AsyncSequence, Sendable {
    public typealias Element = DocumentSnapshot
    public typealias Failure = any Error

    private let document: DocumentReference
    private let options: SnapshotListenOptions

    /// Creates a sequence of the states of a document.
    public init(_ document: DocumentReference, includeMetadataChanges: Bool) {
      self.document = document
      options = .metadata(includeMetadataChanges)
    }

    public func makeAsyncIterator() -> Iterator {
      let (document, options) = (document, options)
      return Iterator(
        SnapshotStream.make(in: document.firestore.simulation) { queue, handler in
          document.listen(options, on: queue, handler)
        })
    }

    /// An iterator that returns one snapshot after the other.
    public struct Iterator: AsyncIteratorProtocol {
      private var stream: AsyncThrowingStream<DocumentSnapshot, any Error>.Iterator

      fileprivate init(_ stream: AsyncThrowingStream<DocumentSnapshot, any Error>) {
        self.stream = stream.makeAsyncIterator()
      }

      /// Returns the next snapshot; nil once the task is cancelled or the database is terminated.
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
    in simulation: (any Simulation)?,
    _ listen: (DispatchQueue, @escaping @Sendable (Result<Snapshot, any Error>) -> Void)
      -> Listening
  ) -> AsyncThrowingStream<Snapshot, any Error> {
    AsyncThrowingStream(Snapshot.self, bufferingPolicy: .unbounded) { continuation in
      let registration = listen(.serial("dugout.firestore.snapshots", in: simulation)) { result in
        switch result {
        case .success(let snapshot): continuation.yield(snapshot)
        case .failure(let error): continuation.finish(throwing: error)
        }
      }
      registration.whenRemoved { continuation.finish() }
      continuation.onTermination = { _ in registration.remove() }
    }
  }
}
