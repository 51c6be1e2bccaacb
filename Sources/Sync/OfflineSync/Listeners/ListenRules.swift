// The options of a listener.

/// The unique id of a listener.
package struct ListenerID: Hashable, Comparable, Sendable {
  package let value: Int

  package init(_ value: Int) { self.value = value }

  package static func < (left: Self, right: Self) -> Bool { left.value < right.value }
}

package struct ListenRules: Sendable, Hashable {
  package var includesMetadataChanges = false
  /// Whether the listener waits for the remote, as long as the remote may answer, instead of receiving cached
  /// documents.
  package var waitsForSync = false
  /// Whether to read only the cache, without the remote.
  package var isCacheOnly = false

  package init(
    includesMetadataChanges: Bool = false, waitsForSync: Bool = false, isCacheOnly: Bool = false
  ) {
    self.includesMetadataChanges = includesMetadataChanges
    self.waitsForSync = waitsForSync
    self.isCacheOnly = isCacheOnly
  }
}

package enum OnlineState: Sendable, Hashable {
  case unknown, online, offline
}
