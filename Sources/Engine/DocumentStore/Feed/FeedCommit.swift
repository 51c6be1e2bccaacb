// The commits of the change feed, as its consumers receive them.

/// A position in the change feed.
public struct FeedPosition: Hashable, Comparable, Sendable {
  /// The commit's number in the feed, counted from 1. A consumer stores this number in order to continue from
  /// this position later.
  public let value: UInt64

  /// The position before the first commit.
  public static let start = FeedPosition(0)

  /// Creates the position of the commit with this number.
  public init(_ value: UInt64) { self.value = value }

  public static func < (left: Self, right: Self) -> Bool { left.value < right.value }
}

/// One commit of the change feed.
public struct FeedCommit: Sendable {
  /// The commit's position.
  public let position: FeedPosition
  /// The commit's time.
  public let time: StoredTimestamp
  /// The changes, one per document.
  public let changes: [FeedChange]
}

/// The change of one document in a commit.
public struct FeedChange: Sendable {
  /// The kinds of change.
  public enum Outcome: Sendable {
    /// The document was written with this content.
    case written(StoredDocument)
    /// The document was deleted.
    case removed
    /// The document was written in a commit that is too large for the feed to keep its records. Read the
    /// document's current content from the store.
    case writtenWithMuchElse
  }

  /// The document's path.
  public let path: DocumentPath
  /// The change.
  public let outcome: Outcome
}
