// The metadata of snapshots.

public import Foundation

/// The source of a snapshot and its pending writes. Equal by value.
public final class SnapshotMetadata: NSObject, Sendable {
  /// Whether the snapshot contains writes that the remote has not acknowledged.
  public let hasPendingWrites: Bool
  /// Whether the snapshot may be out of date, because the remote has not confirmed it as current.
  public let isFromCache: Bool

  /// Returns a shared instance with these values.
  static func of(hasPendingWrites: Bool, isFromCache: Bool) -> SnapshotMetadata {
    switch (hasPendingWrites, isFromCache) {
    case (false, false): confirmed
    case (false, true): cached
    case (true, false): pending
    case (true, true): pendingAndCached
    }
  }

  private static let confirmed = SnapshotMetadata(hasPendingWrites: false, isFromCache: false)
  private static let cached = SnapshotMetadata(hasPendingWrites: false, isFromCache: true)
  private static let pending = SnapshotMetadata(hasPendingWrites: true, isFromCache: false)
  private static let pendingAndCached = SnapshotMetadata(hasPendingWrites: true, isFromCache: true)

  private init(hasPendingWrites: Bool, isFromCache: Bool) {
    self.hasPendingWrites = hasPendingWrites
    self.isFromCache = isFromCache
  }

  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? SnapshotMetadata else { return false }
    return hasPendingWrites == other.hasPendingWrites && isFromCache == other.isFromCache
  }

  public override var hash: Int { (hasPendingWrites ? 2 : 0) + (isFromCache ? 1 : 0) }
}
