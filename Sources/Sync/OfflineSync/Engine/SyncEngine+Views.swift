// Listeners: creates views for queries and turns changes into snapshots for listeners.

internal import DocumentStore

extension SyncEngine {
  // MARK: Listeners

  func listen(
    _ id: ListenerID, _ query: StructuredQuery, rules: ListenRules
  ) throws(DocumentStoreError) {
    let (request, deliveries) = events.add(id, to: query, rules: rules)
    notify(deliveries)
    switch request {
    case .listen(let watchesRemote): try makeView(query, watchesRemote: watchesRemote)
    case .watchRemote: try follow(TargetData(try local.allocate(query), query))
    case .none, .keep, .unlisten, .stopWatchingRemote: break
    }
    guard !rules.isCacheOnly, let target = views[query.canonicalID]?.target else { return }
    for refusal in activeRefusals(of: target) { effects.append(.refuse(id, refusal)) }
  }

  func unlisten(_ id: ListenerID) throws(DocumentStoreError) {
    let (request, query) = events.remove(id)
    guard let query, let known = views[query.canonicalID] else { return }
    let target = known.target
    switch request {
    case .unlisten:
      guard queryTextsByTarget[target]?.count == 1 else {
        drop(query.canonicalID, of: target)
        return try unwatchIfUnused(target)
      }
      if try isKeptByPin(target) { return try forget(target, nil) }
      try local.release(target)
      try unfollow(target)
      try forget(target, nil)
    case .stopWatchingRemote: try unwatchIfUnused(target)
    case .none, .keep, .listen, .watchRemote: break
    }
  }

  /// Stops watching a target that is not pinned and whose remaining listeners only read the cache.
  func unwatchIfUnused(_ target: TargetID) throws(DocumentStoreError) {
    let texts = queryTextsByTarget[target] ?? []
    guard watching.targets[target] != nil, pinning.followed[target] == nil,
      !texts.contains(where: { events.watchesRemote($0) })
    else { return }
    try unfollow(target)
    try removeLimboReferences(of: target)
    for text in texts {
      views[text]?.view.stopWatchingRemote()
      events.stopWatchingRemote(text)
    }
  }

  private func drop(_ text: String, of target: TargetID) {
    views[text] = nil
    viewOrder.removeAll { $0 == text }
    queryTextsByTarget[target]?.removeAll { $0 == text }
    if queryTextsByTarget[target]?.isEmpty == true { queryTextsByTarget[target] = nil }
  }

  private func makeView(_ query: StructuredQuery, watchesRemote: Bool) throws(DocumentStoreError) {
    let target = try local.allocate(query)
    var view = SyncView(query, synced: try local.remoteKeys(of: target.id))
    let changes = view.compute(try local.documents(query))
    let texts = queryTextsByTarget[target.id] ?? []
    // A pinned target may be complete without a view. The remote does not send it again then.
    let isPinCurrent =
      pinning.followed[target.id] != nil && watching.phase == .open
      && watching.aggregator.hasReceivedAll(target.id)
    let isCurrent =
      online.state != .offline && (isPinCurrent || texts.contains { views[$0]?.view.isSynced ?? false })
    let outcome = view.apply(
      changes, TargetChange(resumeToken: target.resumeToken, isCurrent: isCurrent))
    let text = query.canonicalID
    views[text] = QueryView(view: view, target: target.id)
    viewOrder.append(text)
    queryTextsByTarget[target.id, default: []].append(text)
    try track(outcome, of: target.id)
    if let snapshot = outcome.snapshot { notify(events.take([snapshot])) }
    if watchesRemote { try follow(TargetData(target, query)) }
  }

  /// Drops the views of a target that has no listeners or that the remote has refused.
  func forget(_ target: TargetID, _ error: RemoteError?) throws(DocumentStoreError) {
    for text in queryTextsByTarget[target] ?? [] {
      guard let known = views[text] else { continue }
      drop(text, of: target)
      guard let error else { continue }
      for id in events.fail(known.view.query) { effects.append(.failListener(id, error)) }
    }
    try removeLimboReferences(of: target)
    if let error { notePinFailure(target, error) }
  }

  // MARK: Notifying

  func notify(_ deliveries: [EventManager.PendingDelivery]) {
    guard !deliveries.isEmpty else { return }
    for delivery in deliveries { effects.append(.notify(delivery.id, delivery.snapshot)) }
    for id in syncListeners { effects.append(.notifySync(id)) }
  }

  /// Updates all views after documents or targets changed, and notifies listeners.
  func emit(_ documents: [SyncedDocument], _ event: RemoteEvent?) throws(DocumentStoreError) {
    let changed = ChangedDocuments(documents)
    var snapshots: [ViewSnapshot] = []
    var reports: [LocalStore.ViewReport] = []
    for text in viewOrder {
      guard let target = views[text]?.target else { continue }
      // A view whose target is not complete on this stream still lacks changes from the time without a
      // connection.
      let receivedVersion = watching.aggregator.hasReceivedAll(target) ? local.lastRemoteVersion : .none
      guard
        let (relevant, isOverdue) = views[text].map({
          (changed.concerning($0.view), $0.view.hasOverdue(at: receivedVersion))
        })
      else { continue }
      let change = event?.targetChanges[target]
      let isPendingReset = event?.mismatches[target] != nil
      if relevant.isEmpty, change == nil, !isPendingReset, !isOverdue { continue }
      guard
        let outcome = try update(
          text, relevant, change: change, at: receivedVersion, isPendingReset: isPendingReset)
      else { continue }
      try track(outcome, of: target)
      guard let snapshot = outcome.snapshot else { continue }
      snapshots.append(snapshot)
      reports.append(
        LocalStore.ViewReport(
          id: target, added: snapshot.changes.filter { $0.kind == .added }.map(\.document.path),
          removed: snapshot.changes.filter { $0.kind == .removed }.map(\.document.path),
          isFromCache: snapshot.isFromCache))
    }
    notify(events.take(snapshots))
    if !reports.isEmpty { try local.note(reports) }
  }

  private func update(
    _ text: String, _ documents: [SyncedDocument], change: TargetChange?, at version: SnapshotVersion,
    isPendingReset: Bool
  ) throws(DocumentStoreError) -> SyncView.Outcome? {
    // The view is removed from the dictionary during the update, so that it is modified in place and not
    // copied.
    guard var known = views.removeValue(forKey: text) else { return nil }
    defer { views[text] = known }
    var changes = known.view.compute(documents)
    if changes.needsRefill { known.view.refill(try local.documents(known.view.query), &changes) }
    return known.view.apply(changes, change, at: version, isPendingReset: isPendingReset)
  }

  // MARK: Refusals

  /// Returns the current refusals of a target and of the limbo documents of its views.
  func activeRefusals(of target: TargetID) -> [RemoteRefusal] {
    let paths = (limbo.pathsOfTargets[target] ?? []).sorted { ValueOrder.compare($0, $1) == .before }
    let ids = [target] + paths.compactMap { limbo.active[$0] }
    return ids.flatMap { watching.aggregator.refusals(of: $0) }
  }

  /// Maps refusals of limbo targets to the user targets that refer to their documents.
  func byUserTarget(_ refusals: [TargetID: [RemoteRefusal]]) -> [TargetID: [RemoteRefusal]] {
    var mapped: [TargetID: [RemoteRefusal]] = [:]
    for (id, refused) in refusals {
      let targets = limbo.resolutions[id].map { limbo.references[$0.path] ?? [] } ?? [id]
      for target in targets { mapped[target, default: []] += refused }
    }
    return mapped
  }

  /// Notifies the listeners of these targets, except those that only read the cache.
  func notify(_ refusals: [TargetID: [RemoteRefusal]]) {
    for (target, refused) in byUserTarget(refusals).sorted(by: { $0.key < $1.key }) {
      for text in queryTextsByTarget[target] ?? [] { notify(refused, to: text) }
    }
  }

  /// Notifies the listeners whose views contain the refused document.
  func notify(_ refusals: [RemoteRefusal]) {
    for refusal in refusals {
      guard case .document(let path) = refusal.subject else { continue }
      for text in viewOrder where views[text]?.view.document(path) != nil { notify([refusal], to: text) }
    }
  }

  private func notify(_ refusals: [RemoteRefusal], to text: String) {
    for id in events.remoteListeners(text) {
      for refusal in refusals { effects.append(.refuse(id, refusal)) }
    }
  }

  // MARK: Online state

  /// Notifies all listeners if the online state has changed.
  func announceOnline() {
    if !online.isTimerRunning { effects.append(.stopTimer(.onlineState)) }
    guard online.state != events.online else { return }
    if online.state == .offline {
      var snapshots: [ViewSnapshot] = []
      for text in viewOrder {
        if let snapshot = views[text]?.view.goOffline() { snapshots.append(snapshot) }
      }
      notify(events.take(snapshots))
    }
    notify(events.take(online.state))
  }
}

/// Changed documents, indexed by path and collection, because a change is irrelevant to most views.
struct ChangedDocuments {
  private var byPath: [DocumentPath: SyncedDocument] = [:]
  private var byCollection: [CollectionPath: [SyncedDocument]] = [:]
  private let all: [SyncedDocument]

  init(_ documents: [SyncedDocument]) {
    all = documents
    for document in documents {
      byPath[document.path] = document
      byCollection[document.path.parent, default: []].append(document)
    }
  }

  func concerning(_ view: SyncView) -> [SyncedDocument] {
    let scope = view.query.scope
    return switch scope {
    case .document(let path): byPath[path].map { [$0] } ?? []
    case .collection(let collection): byCollection[collection] ?? []
    case .collectionGroup: all.filter { scope.contains($0.path) }
    }
  }
}
