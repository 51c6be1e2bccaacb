// One query that someone listens to: its documents as the user sees them, and what the remote has confirmed of them.
//
//   synced   what the remote has said to match
//   limbo    what matches here, and the remote does not list, though it has told all: it is asked for one by one
//   accepted what is still shown with its write, which the remote has accepted: it will tell what came of it, unless
//            the document was gone again before it told anything. That is limbo, too (docs/decisions/0029).
//   state    synced  ⇔  the remote has told all, nothing is in limbo, and nothing is being asked for again
//
// Invariants:
//   - `results` has the entries of `entries`, in the order of the query, and no more than the limit.
//   - `limbo` is empty unless `isCurrent` was true at some time; a document of it is in the view and not in `synced`.

package import DocumentStore

package struct SyncView {
  private enum SyncState { case none, local, synced }

  private struct Entry {
    let place: LiveEntry
    let document: SyncedDocument
  }

  package let query: StructuredQuery
  private var entries: [DocumentPath: Entry] = [:]
  private var results = LiveResults()
  private(set) var synced: Set<DocumentPath>
  /// Documents with writes that are pending.
  private var pendingCount = 0
  private var committed: Set<DocumentPath> = []
  private var limbo: Set<DocumentPath> = []
  /// With the version that the write has made.
  private var accepted: [DocumentPath: SnapshotVersion] = [:]
  /// Up to which the remote has told of everything that was listened to.
  private var heard = SnapshotVersion.none
  private(set) var isCurrent = false
  private var state = SyncState.none
  /// Documents of which it has to be looked at again whether they are in limbo; nil for all.
  private var unsettled: Set<DocumentPath>? = []

  init(_ query: StructuredQuery, synced: Set<DocumentPath>) {
    self.query = query
    self.synced = synced
  }

  var isSynced: Bool { state == .synced }

  func document(_ path: DocumentPath) -> SyncedDocument? { entries[path]?.document }

  // MARK: Documents

  /// Changes on their way into the view.
  struct Changes {
    fileprivate(set) var set = ViewChangeSet()
    fileprivate(set) var old: LiveResults
    /// Documents that are not in the view may take places that have become free.
    fileprivate(set) var needsRefill = false
  }

  private var limit: (count: Int, isLast: Bool)? {
    switch query.limit {
    case nil: nil
    case .first(let count): (count, false)
    case .last(let count): (count, true)
    }
  }

  mutating func compute(_ changed: some Sequence<SyncedDocument>) -> Changes {
    var changes = Changes(old: results)
    compute(changed, &changes)
    return changes
  }

  /// Goes on with changes that have begun, with all that match.
  mutating func refill(_ documents: [SyncedDocument], _ changes: inout Changes) {
    changes.needsRefill = false
    compute(documents, &changes)
    changes.needsRefill = false
  }

  private mutating func compute(_ changed: some Sequence<SyncedDocument>, _ changes: inout Changes) {
    let edge = edge
    for document in changed {
      let old = entries[document.path]
      let new = entry(document)
      guard let kind = change(from: old, to: new) else {
        noteAccepted(old?.document, new?.document)
        continue
      }
      changes.set.add(kind, kind == .removed ? old?.document ?? document : document)
      if let edge {
        if kind == .removed || (kind == .modified && new.map { isBeyond($0.place.sortKey, edge) } ?? false) {
          changes.needsRefill = true
        }
      }
      place(old, new)
    }
    guard let limit else { return }
    while results.count > limit.count,
      let last = limit.isLast ? results.entry(at: 0) : results.last, let entry = entries[last.document.path]
    {
      place(entry, nil)
      changes.set.add(.removed, entry.document)
    }
  }

  private func entry(_ document: SyncedDocument) -> Entry? {
    guard let stored = document.stored, query.matches(stored), let key = query.sortKey(stored) else {
      return nil
    }
    return Entry(place: LiveEntry(key, key, stored), document: document)
  }

  private func change(from old: Entry?, to new: Entry?) -> ViewChange.Kind? {
    switch (old, new) {
    case (nil, nil): return nil
    case (nil, _?): return .added
    case (_?, nil): return .removed
    case (let old?, let new?):
      if old.document.fields != new.document.fields {
        // The remote has accepted the write. What it made of it is to come.
        let waits = old.document.pending == .local && new.document.pending == .committed
        return waits ? nil : .modified
      }
      let wasPending = old.document.pending == .local
      let isPending =
        new.document.pending == .local || (new.document.pending == .committed && wasPending)
      return wasPending == isPending ? nil : .metadata
    }
  }

  /// A change that listeners are not told, and that leaves what they see as it was.
  private mutating func noteAccepted(_ old: SyncedDocument?, _ new: SyncedDocument?) {
    guard let old, let new, old.pending == .local else { return }
    accepted[new.path] = new.pending == .committed ? new.version : nil
    unsettled?.insert(new.path)
  }

  private func isOverdue(_ path: DocumentPath) -> Bool { accepted[path].map { $0 < heard } ?? false }

  /// A remote that has told of everything up to `version` should have told of a write that it accepted before.
  func hasOverdue(at version: SnapshotVersion) -> Bool {
    isCurrent && version > heard
      && accepted.contains { path, made in
        made < version && !synced.contains(path) && !limbo.contains(path)
      }
  }

  private mutating func hear(_ version: SnapshotVersion) {
    guard version > heard else { return }
    heard = version
    for (path, made) in accepted where made < version { unsettled?.insert(path) }
  }

  private mutating func place(_ old: Entry?, _ new: Entry?) {
    if let old {
      accepted[old.document.path] = nil
      results.remove(sortKey: old.place.sortKey)
      entries[old.document.path] = nil
      if old.document.pending == .local { pendingCount -= 1 }
      committed.remove(old.document.path)
      unsettled?.insert(old.document.path)
    }
    if let new {
      results.insert(new.place)
      entries[new.document.path] = new
      if new.document.pending == .local { pendingCount += 1 }
      if new.document.pending == .committed { committed.insert(new.document.path) }
      unsettled?.insert(new.document.path)
    }
  }

  /// The document at the limit, if the view is full.
  private var edge: [UInt8]? {
    guard let limit, limit.count > 0, results.count == limit.count else { return nil }
    return limit.isLast ? results.entry(at: 0).sortKey : results.last?.sortKey
  }

  private func isBeyond(_ key: [UInt8], _ edge: [UInt8]) -> Bool {
    limit?.isLast == true ? key.lexicographicallyPrecedes(edge) : edge.lexicographicallyPrecedes(key)
  }

  // MARK: Sync state

  /// What a view asks for after a change.
  struct Outcome {
    /// Nil if listeners need not know.
    var snapshot: ViewSnapshot?
    var addedLimbo: [DocumentPath] = []
    var removedLimbo: [DocumentPath] = []
  }

  mutating func apply(
    _ changes: Changes, _ targetChange: TargetChange? = nil, at version: SnapshotVersion = .none,
    isPendingReset: Bool = false, resolvesLimbo: Bool = true
  ) -> Outcome {
    hear(version)
    if let targetChange { take(targetChange) }
    var outcome = Outcome()
    if resolvesLimbo, !isPendingReset, isCurrent {
      (outcome.addedLimbo, outcome.removedLimbo) = settleLimbo()
    }
    let before = state
    state = isCurrent && limbo.isEmpty && !isPendingReset ? .synced : .local
    guard !changes.set.isEmpty || state != before else { return outcome }
    outcome.snapshot = ViewSnapshot(
      query: query, documents: results, old: changes.old, changes: changes.set.sorted(by: query),
      hasPendingWrites: pendingCount > 0, committed: committed, isFromCache: state != .synced,
      isSyncStateChanged: state != before,
      hasCachedResults: targetChange.map { !$0.resumeToken.isEmpty } ?? false)
    return outcome
  }

  private mutating func take(_ change: TargetChange) {
    synced.formUnion(change.added)
    synced.subtract(change.removed)
    unsettled?.formUnion(change.added)
    unsettled?.formUnion(change.removed)
    if change.isCurrent != isCurrent { unsettled = nil }
    isCurrent = change.isCurrent
  }

  private mutating func settleLimbo() -> (added: [DocumentPath], removed: [DocumentPath]) {
    var added: [DocumentPath] = []
    var removed: [DocumentPath] = []
    let candidates = unsettled ?? limbo.union(entries.keys)
    for path in candidates.sorted(by: { ValueOrder.compare($0, $1) == .before }) {
      let isInLimbo =
        entries[path].map { entry in
          (entry.document.pending != .local || isOverdue(path)) && !synced.contains(path)
        } ?? false
      if isInLimbo {
        if limbo.insert(path).inserted { added.append(path) }
      } else if limbo.remove(path) != nil {
        removed.append(path)
      }
    }
    unsettled = []
    return (added, removed)
  }

  /// The remote cannot be reached: what it says is not known to be the newest any more.
  mutating func goOffline() -> ViewSnapshot? {
    guard isCurrent else { return nil }
    isCurrent = false
    unsettled = nil
    return apply(Changes(old: results), resolvesLimbo: false).snapshot
  }

  /// Nobody asks the remote any more, nor for documents one by one. Listeners who stay see it in what they are told
  /// next.
  mutating func leaveRemote() {
    limbo = []
    isCurrent = false
    unsettled = nil
    if state == .synced { state = .local }
  }

  /// Nil if all is as it should be.
  func brokenInvariant() -> String? {
    if entries.count != results.count { return "the entries of \(query.canonicalID)" }
    if let limit, results.count > limit.count { return "the limit of \(query.canonicalID)" }
    if state == .synced, !limbo.isEmpty { return "the limbo of \(query.canonicalID)" }
    if accepted.keys.contains(where: { entries[$0]?.document.pending != .local }) {
      return "the accepted writes of \(query.canonicalID)"
    }
    if pendingCount != entries.values.count(where: { $0.document.pending == .local }) {
      return "the pending documents of \(query.canonicalID)"
    }
    return nil
  }
}
