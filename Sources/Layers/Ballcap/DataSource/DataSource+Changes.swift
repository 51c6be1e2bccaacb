// The changes of a data source as an asynchronous sequence.

import FirebaseFirestore
import LayerKit

extension DataSource {
  /// The present documents, and then each change of them:
  ///
  /// ```swift
  /// for try await change in Document<Item>.query.dataSource().changes {
  ///   print(change.after.keys, change.indices)
  /// }
  /// ```
  ///
  /// The loop takes the place of `listen` and needs no callback queue. While the loop runs, `documents`, the
  /// source and its blocks belong to the task of the loop. A database error ends the loop. A second loop
  /// starts at the same document as the first loop, and receives all documents again.
  public var changes: ChangesSequence { ChangesSequence(source: self) }

  /// A sequence of changes. Each iterator has its own listener, until the iterator is freed or its task is
  /// cancelled. A source has one iterator at a time.
  public struct ChangesSequence: AsyncSequence {
    public typealias Element = Snapshot
    public typealias Failure = any Error

    fileprivate let source: DataSource

    public func makeAsyncIterator() -> Iterator { Iterator(source) }

    /// Iterates over the changes of the list.
    public struct Iterator: AsyncIteratorProtocol {
      private let source: DataSource
      private let loop: ChangeLoop<T>

      fileprivate init(_ source: DataSource) {
        source.stop()
        self.source = source
        loop = ChangeLoop(source.beginLoop().query, source.route, source.toQueue)
        source.loop = loop
      }

      /// Returns the next change; nil once the task is cancelled or the database is terminated.
      public mutating func next() async throws -> Snapshot? { try await next(isolation: nil) }

      public mutating func next(
        isolation actor: isolated (any Actor)?
      ) async throws(any Error) -> Snapshot? {
        while loop.snapshots.isEmpty {
          guard let event = await loop.nextEvent(isolation: actor) else { return nil }
          switch event {
          case .received(let result): source.handleSnapshot(try result.get())
          case .change: if let event = source.route.next() { source.handle(event) }
          }
        }
        return loop.snapshots.removeFirst()
      }
    }
  }

  /// Returns the query of a loop. This is the query of the previous listener, or else a query for the
  /// documents after those that were already read.
  private func beginLoop() -> Query {
    if let old = listening {
      listening = Listening(start: old.start, replaced: old.received ?? old.replaced)
    } else {
      listening = Listening(start: lastDocument)
    }
    return page(after: listening?.start)
  }
}
