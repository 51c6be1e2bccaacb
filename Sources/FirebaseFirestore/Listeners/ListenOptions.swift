// What a listener can choose.

private import FirebaseCore
public import Foundation

/// Where a listener looks. Without a remote, the database is server and cache at once; only what a snapshot says
/// about itself differs.
public enum ListenSource: UInt, Sendable {
  case `default` = 0
  case cache = 1
}

/// Options of a listener; they never change, and are equal by value.
///
/// ```swift
/// let options = SnapshotListenOptions().withSource(.cache).withIncludeMetadataChanges(true)
/// ```
public final class SnapshotListenOptions: NSObject, Sendable {
  public let source: ListenSource
  /// Also tell changes of a snapshot's metadata alone. Without a remote there are none.
  public let includeMetadataChanges: Bool

  /// The default source, without changes of metadata.
  public override convenience init() { self.init(.default, false) }

  init(_ source: ListenSource, _ includeMetadataChanges: Bool) {
    self.source = source
    self.includeMetadataChanges = includeMetadataChanges
  }

  public func withSource(_ source: ListenSource) -> SnapshotListenOptions {
    SnapshotListenOptions(source, includeMetadataChanges)
  }

  public func withIncludeMetadataChanges(_ include: Bool) -> SnapshotListenOptions {
    SnapshotListenOptions(source, include)
  }

  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? SnapshotListenOptions else { return false }
    return source == other.source && includeMetadataChanges == other.includeMetadataChanges
  }

  public override var hash: Int { Int(source.rawValue) * 2 + (includeMetadataChanges ? 1 : 0) }
}

extension SnapshotListenOptions {
  static func metadata(_ include: Bool) -> SnapshotListenOptions { SnapshotListenOptions(.default, include) }
}
