// Limbo resolution: determines the state of documents that match a query locally but that the remote does not
// list.
//
// The engine watches each such document with a target of its own. The remote then either sends a different
// version or reports that the document does not exist.

internal import DocumentStore

extension SyncEngine {
  func track(_ outcome: SyncView.Outcome, of target: TargetID) throws(DocumentStoreError) {
    for path in outcome.removedLimbo where !limbo.removeReference(to: path, of: target) {
      try leaveLimbo(path)
    }
    for path in outcome.addedLimbo {
      limbo.addReference(to: path, of: target)
      if let id = limbo.active[path] { notify([target: watching.aggregator.refusals(of: id)]) }
      guard limbo.active[path] == nil, !limbo.enqueued.contains(path) else { continue }
      limbo.enqueued.append(path)
      try pumpLimbo()
    }
  }

  func removeLimboReferences(of target: TargetID) throws(DocumentStoreError) {
    let paths = (limbo.pathsOfTargets[target] ?? []).sorted { ValueOrder.compare($0, $1) == .before }
    for path in paths where !limbo.removeReference(to: path, of: target) { try leaveLimbo(path) }
  }

  private func leaveLimbo(_ path: DocumentPath) throws(DocumentStoreError) {
    limbo.references[path] = nil
    limbo.enqueued.remove(path)
    guard let id = limbo.active.removeValue(forKey: path) else { return }
    limbo.resolutions[id] = nil
    try unfollow(id)
    try pumpLimbo()
  }

  private func pumpLimbo() throws(DocumentStoreError) {
    while limbo.active.count < options.limboMax, let path = limbo.enqueued.popFirst() {
      let id = TargetID(limbo.nextID)
      limbo.nextID += 2
      limbo.active[path] = id
      limbo.resolutions[id] = LimboSide.Resolution(path: path)
      try follow(TargetData(id, StructuredQuery(.document(path)), purpose: .limboResolution))
    }
  }

  /// Records which limbo documents the remote has reported as existing.
  func noteReceived(_ event: RemoteEvent) {
    for (id, change) in event.targetChanges where limbo.resolutions[id] != nil {
      if !change.added.isEmpty {
        limbo.resolutions[id]?.isReceived = true
      } else if !change.removed.isEmpty {
        limbo.resolutions[id]?.isReceived = false
      }
    }
  }

  /// Handles the removal of a target by the remote.
  func rejectListen(_ id: TargetID, _ error: RemoteError) throws(DocumentStoreError) {
    guard let resolution = limbo.resolutions[id] else {
      dropRejected(id)
      let isTriedAgain = pinning.followed[id] != nil && !error.code.isPermanent
      if isTriedAgain { try local.releaseViews(of: id) } else { try local.release(id) }
      try forget(id, error)
      if isTriedAgain { startIdleTimerIfUnused() }
      return
    }
    // A document that the user may not read counts as absent.
    var event = RemoteEvent(version: .none)
    event.documents[resolution.path] = SyncedDocument(resolution.path, .absent)
    event.resolvedLimbo = [resolution.path]
    let changed = try stored { () throws(DocumentStoreError) in try local.apply(event) }
    // On a full disk, the next stream watches the document again.
    guard let changed else { return }
    dropRejected(id)
    limbo.resolutions[id] = nil
    limbo.active[resolution.path] = nil
    try pumpLimbo()
    try emit(changed, event)
  }

  private func dropRejected(_ id: TargetID) {
    watching.targets[id] = nil
    watching.aggregator.remove(id)
  }

  func apply(_ event: RemoteEvent) throws(DocumentStoreError) {
    let changed = try stored { () throws(DocumentStoreError) in try local.apply(event) }
    guard let changed else { return }
    noteStored()
    noteReceived(event)
    // The refusals are mapped first, because updating the views may end the limbo target to which a refusal
    // belongs.
    let refusals = byUserTarget(event.refusals)
    try emit(changed, event)
    notify(refusals)
  }

  /// Returns the documents that the client assumes to be in a target.
  func remoteKeys(of id: TargetID) -> Set<DocumentPath> {
    if let resolution = limbo.resolutions[id] { return resolution.isReceived ? [resolution.path] : [] }
    let texts = queryTextsByTarget[id] ?? []
    if texts.isEmpty, pinning.followed[id] != nil { return local.keys[id] ?? [] }
    guard let first = texts.first, var keys = views[first]?.view.synced else { return [] }
    for text in texts.dropFirst() { keys.formUnion(views[text]?.view.synced ?? []) }
    return keys
  }
}
