// The changes of a data source for loops.

import FirebaseFirestore
import LayerKit

extension DataSource {
  /// The documents as they are, and then each change of them:
  ///
  /// ```swift
  /// for try await change in Document<Item>.query.dataSource().changes {
  ///   print(change.after.keys, change.indices)
  /// }
  /// ```
  ///
  /// The loop takes the place of `listen`, and needs no callback queue: `documents`, the source and its
  /// blocks belong to the task of the loop while it runs. An error of the database ends it. A second loop
  /// begins where the first one did, and is told all documents again.
  public var changes: ChangesSequence { ChangesSequence(source: self) }

  /// Each iterator listens by itself, until it is gone or its task is cancelled. A source has one at a time.
  public struct ChangesSequence: AsyncSequence {
    public typealias Element = Snapshot
    public typealias Failure = any Error

    fileprivate let source: DataSource

    public func makeAsyncIterator() -> Iterator { Iterator(source) }

    /// Takes one change of the list after the other.
    public struct Iterator: AsyncIteratorProtocol {
      private let source: DataSource
      private let loop: ChangeLoop<T>

      fileprivate init(_ source: DataSource) {
        source.stop()
        self.source = source
        loop = ChangeLoop(source.beginLoop().query, source.route, source.toQueue)
        source.loop = loop
      }

      /// The next change; nil once the task is cancelled or the database terminated.
      public mutating func next() async throws -> Snapshot? { try await next(isolation: nil) }

      public mutating func next(
        isolation actor: isolated (any Actor)?
      ) async throws(any Error) -> Snapshot? {
        while loop.made.isEmpty {
          guard let event = await loop.nextEvent(isolation: actor) else { return nil }
          switch event {
          case .heard(let result): source.hear(try result.get())
          case .change: if let event = source.route.next() { source.handle(event) }
          }
        }
        return loop.made.removeFirst()
      }
    }
  }

  /// The query of a loop: what was listened to before, or what comes behind the documents that were read.
  private func beginLoop() -> Query {
    if let old = listening {
      listening = Listening(start: old.start, replaced: old.heard ?? old.replaced)
    } else {
      listening = Listening(start: lastDocument)
    }
    return page(behind: listening?.start)
  }
}
