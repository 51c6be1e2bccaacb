// The change feed as a sequence for `for try await`.

/// The changes of all documents in the order of their commits, past ones first and then new ones as they are
/// committed.
///
/// A loop ends without an error when its task is cancelled. When the database is terminated, the loop throws
/// `failedPrecondition` once. It throws `FirestoreChangesError.truncated` if it is so slow that the feed
/// drops changes before the loop reads them.
///
/// The feed is read in pages of about 256 KiB, on the thread of the loop. The next page is read when the loop
/// needs it, so a slow loop needs no more memory than a fast one. Each iterator reads separately.
public struct FirestoreChanges: AsyncSequence, Sendable {
  public typealias Element = FirestoreChange
  public typealias Failure = any Error

  private let firestore: Firestore
  private let start: ChangeStart

  init(_ firestore: Firestore, _ start: ChangeStart) {
    self.firestore = firestore
    self.start = start
  }

  public func makeAsyncIterator() -> Iterator { Iterator(ChangeReader(firestore, start)) }

  /// An iterator that returns one change after the other.
  public struct Iterator: AsyncIteratorProtocol {
    private let reader: ChangeReader
    private var signals: AsyncStream<Void>.Iterator

    fileprivate init(_ reader: ChangeReader) {
      self.reader = reader
      signals = reader.signals.makeAsyncIterator()
    }

    /// Returns the next change, and waits for it if necessary. Returns nil once the task is cancelled or an
    /// error was thrown.
    public mutating func next() async throws -> FirestoreChange? { try await next(isolation: nil) }

    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(any Error) -> FirestoreChange? {
      while !Task.isCancelled {
        switch try reader.take() {
        case .change(let change): return change
        case .end: return nil
        case .nothing:
          // The stream of signals ends only if the task is cancelled.
          guard await signals.next(isolation: actor) != nil else { break }
        }
      }
      reader.end()
      return nil
    }
  }
}

@available(*, unavailable)
extension FirestoreChanges.Iterator: Sendable {}

extension Firestore {
  /// The changes of all documents after a position, followed by each new change. Without a position, starts
  /// with the oldest change that is kept.
  ///
  /// ```swift
  /// for try await change in Firestore.firestore().changes() {
  ///   print(change.commitTime, change.kind, change.document.path)
  /// }
  /// ```
  ///
  /// Changes are kept while a consumer is registered or a loop is running. `registerConsumer(_:)` makes
  /// positions survive restarts. Without a consumer, the changes from `makeAsyncIterator()` on are kept, and
  /// an older position fails with `FirestoreChangesError.truncated`.
  ///
  /// The loop throws a `FirestoreChangesError` if changes after `position` are missing, or if the position
  /// belongs to another database.
  ///
  /// With a remote, a change is reported when the local cache commits it, with pending writes in it. The
  /// answer of the remote is another change, and the eviction of a document is reported as a deletion.
  public func changes(after position: ChangePosition? = nil) -> FirestoreChanges {
    FirestoreChanges(self, position.map { .position($0) } ?? .oldest)
  }
}
