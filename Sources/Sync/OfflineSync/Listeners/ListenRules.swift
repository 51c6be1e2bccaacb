// What a listener wants to be told.

/// Numbers of listeners: each is used once.
package struct ListenerID: Hashable, Comparable, Sendable {
  package let value: Int

  package init(_ value: Int) { self.value = value }

  package static func < (left: Self, right: Self) -> Bool { left.value < right.value }
}

package struct ListenRules: Sendable, Hashable {
  package var includesMetadataChanges = false
  /// Rather nothing than something old, as long as the remote may answer.
  package var waitsForSync = false
  /// The remote is not asked.
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
