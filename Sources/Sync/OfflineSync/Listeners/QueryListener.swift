// One listener, and the rules for which snapshots it receives.

struct QueryListener {
  let id: ListenerID
  let rules: ListenRules
  private var hasDeliveredFirst = false
  private var online = OnlineState.unknown
  /// The latest snapshot, delivered or not.
  private var last: ViewSnapshot?

  init(_ id: ListenerID, _ rules: ListenRules) {
    self.id = id
    self.rules = rules
  }

  /// Returns the snapshot to deliver after a change of the view; nil for none.
  mutating func take(_ snapshot: ViewSnapshot) -> ViewSnapshot? {
    var snapshot = snapshot
    if !rules.includesMetadataChanges {
      snapshot = snapshot.withChanges(snapshot.changes.filter { $0.kind != .metadata })
    }
    defer { last = snapshot }
    guard hasDeliveredFirst else { return canBeFirst(snapshot) ? begin(with: snapshot) : nil }
    return shouldDeliver(snapshot) ? snapshot : nil
  }

  /// Returns the first snapshot if a change of the online state ends the wait for it.
  mutating func take(_ state: OnlineState) -> ViewSnapshot? {
    online = state
    guard !hasDeliveredFirst, let last, canBeFirst(last) else { return nil }
    return begin(with: last)
  }

  private mutating func begin(with snapshot: ViewSnapshot) -> ViewSnapshot {
    hasDeliveredFirst = true
    return snapshot.asFirst
  }

  private func canBeFirst(_ snapshot: ViewSnapshot) -> Bool {
    if !snapshot.isFromCache || rules.isCacheOnly { return true }
    if rules.waitsForSync, online != .offline { return false }
    return !snapshot.documents.isEmpty || snapshot.hasCachedResults || online == .offline
  }

  private func shouldDeliver(_ snapshot: ViewSnapshot) -> Bool {
    if !snapshot.changes.isEmpty { return true }
    let isMetadataNew =
      snapshot.isSyncStateChanged || last.map { $0.hasPendingWrites != snapshot.hasPendingWrites } ?? false
    return isMetadataNew && rules.includesMetadataChanges
  }
}
