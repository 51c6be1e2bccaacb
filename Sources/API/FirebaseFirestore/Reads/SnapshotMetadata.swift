// Where a snapshot comes from.

public import Foundation

/// What is known about how new a snapshot is. Equal by value.
public final class SnapshotMetadata: NSObject, Sendable {
  /// There are writes in it that have not reached the remote.
  public let hasPendingWrites: Bool
  /// The remote did not confirm that it is the newest state.
  public let isFromCache: Bool

  /// One for all snapshots that have the same.
  static func of(hasPendingWrites: Bool, isFromCache: Bool) -> SnapshotMetadata {
    switch (hasPendingWrites, isFromCache) {
    case (false, false): settled
    case (false, true): cached
    case (true, false): pending
    case (true, true): pendingAndCached
    }
  }

  private static let settled = SnapshotMetadata(hasPendingWrites: false, isFromCache: false)
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
