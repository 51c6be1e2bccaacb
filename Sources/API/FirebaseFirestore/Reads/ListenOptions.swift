// The options of a listener.

private import FirebaseCore
public import Foundation
import OfflineSync

/// The source of a listener's snapshots. Without a remote, the database is both server and cache, and the
/// source affects only the metadata of the snapshots.
public enum ListenSource: UInt, Sendable {
  /// The cache first, then the remote.
  case `default` = 0
  /// The local cache only, never the remote.
  case cache = 1
}

/// Options of a listener, immutable and equal by value.
///
/// ```swift
/// let options = SnapshotListenOptions().withSource(.cache).withIncludeMetadataChanges(true)
/// ```
public final class SnapshotListenOptions: NSObject, Sendable, EqualByValue {
  /// The source of the snapshots.
  public let source: ListenSource
  /// Whether to call the listener when only a snapshot's metadata changes. Without a remote, that never
  /// happens.
  public let includeMetadataChanges: Bool

  /// Creates options with the default source, without changes of metadata.
  public override convenience init() { self.init(.default, false) }

  init(_ source: ListenSource, _ includeMetadataChanges: Bool) {
    self.source = source
    self.includeMetadataChanges = includeMetadataChanges
  }

  /// Returns a copy with another source.
  public func withSource(_ source: ListenSource) -> SnapshotListenOptions {
    SnapshotListenOptions(source, includeMetadataChanges)
  }

  /// Returns a copy that includes or excludes changes of metadata.
  public func withIncludeMetadataChanges(_ include: Bool) -> SnapshotListenOptions {
    SnapshotListenOptions(source, include)
  }

  var identity: [UInt] { [source.rawValue, includeMetadataChanges ? 1 : 0] }

  public override func isEqual(_ object: Any?) -> Bool { isSame(as: object) }

  public override var hash: Int { identity.hashValue }
}

extension SnapshotListenOptions {
  var rules: ListenRules {
    ListenRules(includesMetadataChanges: includeMetadataChanges, isCacheOnly: source == .cache)
  }

  static func metadata(_ include: Bool) -> SnapshotListenOptions { SnapshotListenOptions(.default, include) }
}
