// What a listener can choose.

private import FirebaseCore
public import Foundation

/// Where a listener looks. Without a remote, the database is server and cache at once; only what a snapshot says
/// about itself differs.
public enum ListenSource: UInt, Sendable {
  /// The cache at first, then what the remote says.
  case `default` = 0
  /// What is here, and never the remote.
  case cache = 1
}

/// Options of a listener; they never change, and are equal by value.
///
/// ```swift
/// let options = SnapshotListenOptions().withSource(.cache).withIncludeMetadataChanges(true)
/// ```
public final class SnapshotListenOptions: NSObject, Sendable, EqualByValue {
  /// Whom the listener hears.
  public let source: ListenSource
  /// Also tell changes of a snapshot's metadata alone. Without a remote there are none.
  public let includeMetadataChanges: Bool

  /// The default source, without changes of metadata.
  public override convenience init() { self.init(.default, false) }

  init(_ source: ListenSource, _ includeMetadataChanges: Bool) {
    self.source = source
    self.includeMetadataChanges = includeMetadataChanges
  }

  /// The same options with another source.
  public func withSource(_ source: ListenSource) -> SnapshotListenOptions {
    SnapshotListenOptions(source, includeMetadataChanges)
  }

  /// The same options, with or without changes of metadata.
  public func withIncludeMetadataChanges(_ include: Bool) -> SnapshotListenOptions {
    SnapshotListenOptions(source, include)
  }

  var identity: [UInt] { [source.rawValue, includeMetadataChanges ? 1 : 0] }

  public override func isEqual(_ object: Any?) -> Bool { isSame(as: object) }

  public override var hash: Int { identity.hashValue }
}

extension SnapshotListenOptions {
  static func metadata(_ include: Bool) -> SnapshotListenOptions { SnapshotListenOptions(.default, include) }
}
