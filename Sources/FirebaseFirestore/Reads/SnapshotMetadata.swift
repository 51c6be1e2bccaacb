// Where a snapshot comes from.

public import Foundation

/// What is known about how new a snapshot is. Equal by value.
public final class SnapshotMetadata: NSObject, Sendable {
  /// There are writes in it that have not reached the remote.
  public let hasPendingWrites: Bool
  /// The remote did not confirm that it is the newest state.
  public let isFromCache: Bool

  init(hasPendingWrites: Bool, isFromCache: Bool) {
    self.hasPendingWrites = hasPendingWrites
    self.isFromCache = isFromCache
  }

  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? SnapshotMetadata else { return false }
    return hasPendingWrites == other.hasPendingWrites && isFromCache == other.isFromCache
  }

  public override var hash: Int { (hasPendingWrites ? 2 : 0) + (isFromCache ? 1 : 0) }
}
