// Commits as those who follow the store later see them.

/// A place in the order of the commits of a change feed.
public struct FeedPosition: Hashable, Comparable, Sendable {
  /// Counts the commits of the feed, from 1. Kept by whoever wants to go on from there.
  public let value: UInt64

  /// Before the first commit.
  public static let start = FeedPosition(0)

  /// The commit with this number.
  public init(_ value: UInt64) { self.value = value }

  public static func < (left: Self, right: Self) -> Bool { left.value < right.value }
}

/// One commit of a change feed.
public struct FeedCommit: Sendable {
  /// Which commit it is, in the order of all.
  public let position: FeedPosition
  /// When it was made.
  public let time: StoredTimestamp
  /// What it changed, a document each.
  public let changes: [FeedChange]
}

/// What a commit made of a document.
public struct FeedChange: Sendable {
  /// What became of a document.
  public enum Outcome: Sendable {
    /// It has this content now.
    case written(StoredDocument)
    /// It is gone.
    case removed
    /// It was written, in a commit too large to be kept twice: what it is now has to be read.
    case writtenWithMuchElse
  }

  /// Which document.
  public let path: DocumentPath
  /// What became of it.
  public let outcome: Outcome
}
