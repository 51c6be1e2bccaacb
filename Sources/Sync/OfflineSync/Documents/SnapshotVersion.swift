// Points in a remote's commit history.

public import DocumentStore

/// A point in a remote's commit history: the time of a commit, or the time up to which a client has
/// received all changes. Versions never decrease. `none` precedes all others.
public struct SnapshotVersion: Hashable, Comparable, Sendable {
  /// Precedes all other versions.
  public static let none = SnapshotVersion(microseconds: 0)
  /// The smallest version of a change.
  package static let first = SnapshotVersion(microseconds: 1)
  private static let start = StoredTimestamp(seconds: 0, nanoseconds: 0)

  /// Microseconds since 1970.
  public let microseconds: Int64

  /// Creates a version from microseconds since 1970.
  public init(microseconds: Int64) { self.microseconds = microseconds }

  /// Creates the version of a timestamp, truncated to microseconds.
  public init(_ timestamp: StoredTimestamp) { microseconds = timestamp.microseconds }

  public static func < (left: Self, right: Self) -> Bool { left.microseconds < right.microseconds }

  /// The version as a timestamp of stored documents.
  public var stored: StoredTimestamp { timestamp }

  package var timestamp: StoredTimestamp {
    guard let timestamp = StoredTimestamp(microseconds: microseconds) ?? Self.start else {
      preconditionFailure("1970 is a year")
    }
    return timestamp
  }
}
