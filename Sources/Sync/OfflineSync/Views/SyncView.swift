// A view: the result of one query with listeners, in the user's state, and the remote's confirmation of it.
//
//   synced    the documents that the remote has reported as matching
//   limbo     the documents that match locally, but that the remote does not list although it has sent all;
//             each is resolved by a target of its own
//   accepted  the documents still shown with a local write that the remote has accepted. The remote will
//             send the result, unless the document was deleted again before it could; then it is in limbo,
//             too (docs/decisions/0029)
//   state     synced  ⇔  the target is current and nothing is in limbo. A target that starts over is not
//             current until it has been answered again
//
// Invariants:
//   - `results` has the entries of `entries`, in the order of the query, and at most as many as the limit.
//   - `limbo` is empty unless `isCurrent` was true at some time; its documents are in the view and not in
//     `synced`.

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
  /// The number of documents with pending writes.
  private var pendingCount = 0
  private var committed: Set<DocumentPath> = []
  private var limbo: Set<DocumentPath> = []
  /// The version of the accepted write for each document.
  private var acceptedVersions: [DocumentPath: SnapshotVersion] = [:]
  /// The version up to which the remote has sent the changes of all watched targets.
  private var completeVersion = SnapshotVersion.none
  private(set) var isCurrent = false
  private var state = SyncState.none
  /// Documents whose limbo state has to be computed again; nil means all.
  private var limboCandidates: Set<DocumentPath>? = []

  init(_ query: StructuredQuery, synced: Set<DocumentPath>) {
    self.query = query
    self.synced = synced
  }

  var isSynced: Bool { state == .synced }

  /// The documents in the order of the query.
  var storedDocuments: [StoredDocument] { Array(results) }

  func document(_ path: DocumentPath) -> SyncedDocument? { entries[path]?.document }

  // MARK: Documents

  /// A set of changes in preparation.
  struct Changes {
    fileprivate(set) var set = ViewChangeSet()
    fileprivate(set) var old: LiveResults
    /// Whether documents outside the view may move up into free positions.
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

  /// Completes a set of changes in preparation from all documents that match the query.
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
    return Entry(place: LiveEntry(key, key, document: stored), document: document)
  }

  private func change(from old: Entry?, to new: Entry?) -> ViewChange.Kind? {
    switch (old, new) {
    case (nil, nil): return nil
    case (nil, _?): return .added
    case (_?, nil): return .removed
    case (let old?, let new?):
      if old.document.fields != new.document.fields {
        // The remote has accepted the write and will send its result, so the change is not shown yet.
        let waits = old.document.pending == .local && new.document.pending == .committed
        return waits ? nil : .modified
      }
      let wasPending = old.document.pending == .local
      let isPending =
        new.document.pending == .local || (new.document.pending == .committed && wasPending)
      return wasPending == isPending ? nil : .metadata
    }
  }

  /// Records that the remote has accepted a write of a document that does not visibly change.
  private mutating func noteAccepted(_ old: SyncedDocument?, _ new: SyncedDocument?) {
    guard let old, let new, old.pending == .local else { return }
    acceptedVersions[new.path] = new.pending == .committed ? new.version : nil
    limboCandidates?.insert(new.path)
  }

  private func isOverdue(_ path: DocumentPath) -> Bool {
    acceptedVersions[path].map { $0 < completeVersion } ?? false
  }

  /// Whether an accepted write is overdue: the remote has sent everything up to `version`, but not the result
  /// of a write that it accepted at an earlier version.
  func hasOverdue(at version: SnapshotVersion) -> Bool {
    isCurrent && version > completeVersion
      && acceptedVersions.contains { path, accepted in
        accepted < version && !synced.contains(path) && !limbo.contains(path)
      }
  }

  private mutating func advanceCompleteVersion(_ version: SnapshotVersion) {
    guard version > completeVersion else { return }
    completeVersion = version
    for (path, accepted) in acceptedVersions where accepted < version { limboCandidates?.insert(path) }
  }

  private mutating func place(_ old: Entry?, _ new: Entry?) {
    if let old {
      acceptedVersions[old.document.path] = nil
      results.remove(sortKey: old.place.sortKey)
      entries[old.document.path] = nil
      if old.document.pending == .local { pendingCount -= 1 }
      committed.remove(old.document.path)
      limboCandidates?.insert(old.document.path)
    }
    if let new {
      results.insert(new.place)
      entries[new.document.path] = new
      if new.document.pending == .local { pendingCount += 1 }
      if new.document.pending == .committed { committed.insert(new.document.path) }
      limboCandidates?.insert(new.document.path)
    }
  }

  /// The sort key of the document at the limit, if the view is full.
  private var edge: [UInt8]? {
    guard let limit, limit.count > 0, results.count == limit.count else { return nil }
    return limit.isLast ? results.entry(at: 0).sortKey : results.last?.sortKey
  }

  private func isBeyond(_ key: [UInt8], _ edge: [UInt8]) -> Bool {
    limit?.isLast == true ? key.lexicographicallyPrecedes(edge) : edge.lexicographicallyPrecedes(key)
  }

  // MARK: Sync state

  /// The result of applying changes to a view.
  struct Outcome {
    /// Nil if listeners see no change.
    var snapshot: ViewSnapshot?
    var addedLimbo: [DocumentPath] = []
    var removedLimbo: [DocumentPath] = []
  }

  mutating func apply(
    _ changes: Changes, _ targetChange: TargetChange? = nil, at version: SnapshotVersion = .none,
    isPendingReset: Bool = false, resolvesLimbo: Bool = true
  ) -> Outcome {
    advanceCompleteVersion(version)
    if let targetChange { take(targetChange) }
    // The target starts over. Until it has been answered again, documents that are missing in it may exist.
    if isPendingReset { (isCurrent, limboCandidates) = (false, nil) }
    var outcome = Outcome()
    if resolvesLimbo, isCurrent {
      (outcome.addedLimbo, outcome.removedLimbo) = updateLimbo()
    }
    let before = state
    state = isCurrent && limbo.isEmpty ? .synced : .local
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
    limboCandidates?.formUnion(change.added)
    limboCandidates?.formUnion(change.removed)
    if change.isCurrent != isCurrent { limboCandidates = nil }
    isCurrent = change.isCurrent
  }

  private mutating func updateLimbo() -> (added: [DocumentPath], removed: [DocumentPath]) {
    var added: [DocumentPath] = []
    var removed: [DocumentPath] = []
    let candidates = limboCandidates ?? limbo.union(entries.keys)
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
    limboCandidates = []
    return (added, removed)
  }

  /// Marks the result as possibly outdated, because the remote is unreachable.
  mutating func goOffline() -> ViewSnapshot? {
    guard isCurrent else { return nil }
    isCurrent = false
    limboCandidates = nil
    return apply(Changes(old: results), resolvesLimbo: false).snapshot
  }

  /// Stops expecting messages from the remote, also about limbo documents. The next snapshot shows the
  /// remaining listeners that the result is from the cache.
  mutating func stopWatchingRemote() {
    limbo = []
    isCurrent = false
    limboCandidates = nil
    if state == .synced { state = .local }
  }

  /// Returns a description of a violated invariant, or nil.
  func brokenInvariant() -> String? {
    if entries.count != results.count { return "the entries of \(query.canonicalID)" }
    if let limit, results.count > limit.count { return "the limit of \(query.canonicalID)" }
    if state == .synced, !limbo.isEmpty { return "the limbo of \(query.canonicalID)" }
    if acceptedVersions.keys.contains(where: { entries[$0]?.document.pending != .local }) {
      return "the accepted writes of \(query.canonicalID)"
    }
    if pendingCount != entries.values.count(where: { $0.document.pending == .local }) {
      return "the pending documents of \(query.canonicalID)"
    }
    return nil
  }
}
