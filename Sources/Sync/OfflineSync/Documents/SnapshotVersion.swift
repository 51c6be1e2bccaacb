// Moments of a remote.

public import DocumentStore

/// A moment in the history of a remote: when it committed something, or up to when a client knows all. Never goes
/// back. `none` comes before all others.
public struct SnapshotVersion: Hashable, Comparable, Sendable {
  /// Before everything.
  public static let none = SnapshotVersion(microseconds: 0)
  /// Nothing was changed before it.
  package static let first = SnapshotVersion(microseconds: 1)
  private static let start = StoredTimestamp(seconds: 0, nanoseconds: 0)

  /// Since 1970.
  public let microseconds: Int64

  /// Since 1970.
  public init(microseconds: Int64) { self.microseconds = microseconds }

  /// The moment of a timestamp.
  public init(_ timestamp: StoredTimestamp) { microseconds = timestamp.microseconds }

  public static func < (left: Self, right: Self) -> Bool { left.microseconds < right.microseconds }

  /// The same as documents have it.
  public var stored: StoredTimestamp { timestamp }

  package var timestamp: StoredTimestamp {
    guard let timestamp = StoredTimestamp(microseconds: microseconds) ?? Self.start else {
      preconditionFailure("1970 is a year")
    }
    return timestamp
  }
}
