// Listening: from a query to a view, and from what has changed to what listeners are told.

internal import DocumentStore

extension SyncEngine {
  // MARK: Listeners

  func listen(
    _ id: ListenerID, _ query: StructuredQuery, _ rules: ListenRules
  ) throws(DocumentStoreError) {
    let (request, tellings) = events.add(id, to: query, rules)
    tell(tellings)
    switch request {
    case .listen(let asksRemote): try makeView(query, asksRemote: asksRemote)
    case .askRemote: try follow(TargetData(try local.allocate(query), query))
    case .none, .keep, .unlisten, .leaveRemote: break
    }
  }

  func unlisten(_ id: ListenerID) throws(DocumentStoreError) {
    let (request, query) = events.remove(id)
    guard let query, let known = views[query.canonicalID] else { return }
    switch request {
    case .unlisten:
      let others = views.values.count { $0.target == known.target } - 1
      guard others == 0 else { return drop(query.canonicalID) }
      try local.release(known.target)
      try unfollow(known.target)
      try forget(known.target, nil)
    case .leaveRemote:
      let isShared = views.contains { $0.value.target == known.target && $0.key != query.canonicalID }
      if !isShared { try unfollow(known.target) }
    case .none, .keep, .listen, .askRemote: break
    }
  }

  private func drop(_ text: String) {
    views[text] = nil
    viewOrder.removeAll { $0 == text }
  }

  private func makeView(_ query: StructuredQuery, asksRemote: Bool) throws(DocumentStoreError) {
    let target = try local.allocate(query)
    var view = SyncView(query, synced: try local.remoteKeys(of: target.id))
    let changes = view.compute(try local.documents(query))
    let isCurrent =
      online.state != .offline && views.values.contains { $0.target == target.id && $0.view.isSynced }
    let outcome = view.apply(
      changes, TargetChange(resumeToken: target.resumeToken, isCurrent: isCurrent))
    let text = query.canonicalID
    views[text] = QueryView(view: view, target: target.id)
    viewOrder.append(text)
    try track(outcome, of: target.id)
    if let snapshot = outcome.snapshot { tell(events.take([snapshot])) }
    if asksRemote { try follow(TargetData(target, query)) }
  }

  /// A target that nobody listens to any more, or that the remote has refused.
  func forget(_ target: TargetID, _ error: RemoteError?) throws(DocumentStoreError) {
    for text in viewOrder {
      guard let known = views[text], known.target == target else { continue }
      drop(text)
      guard let error else { continue }
      for id in events.fail(known.view.query) { effects.append(.failListener(id, error)) }
    }
    try removeLimboReferences(of: target)
  }

  // MARK: Telling

  func tell(_ tellings: [EventManager.Telling]) {
    guard !tellings.isEmpty else { return }
    for telling in tellings { effects.append(.tell(telling.id, telling.snapshot)) }
    for id in syncListeners { effects.append(.tellSync(id)) }
  }

  /// All that follows from documents that are different now, and from what was said of targets.
  func emit(_ documents: [SyncedDocument], _ event: RemoteEvent?) throws(DocumentStoreError) {
    let changed = ChangedDocuments(documents)
    var snapshots: [ViewSnapshot] = []
    var reports: [LocalStore.ViewReport] = []
    for text in viewOrder {
      guard let target = views[text]?.target else { continue }
      let change = event?.targetChanges[target]
      let isPendingReset = event?.mismatches[target] != nil
      let relevant = views[text].map { changed.concerning($0.view) } ?? []
      if relevant.isEmpty, change == nil, !isPendingReset { continue }
      guard let outcome = try update(text, relevant, change, isPendingReset) else { continue }
      try track(outcome, of: target)
      guard let snapshot = outcome.snapshot else { continue }
      snapshots.append(snapshot)
      reports.append(
        LocalStore.ViewReport(
          id: target, added: snapshot.changes.filter { $0.kind == .added }.map(\.document.path),
          removed: snapshot.changes.filter { $0.kind == .removed }.map(\.document.path),
          isFromCache: snapshot.isFromCache))
    }
    tell(events.take(snapshots))
    if !reports.isEmpty { try local.note(reports) }
  }

  private func update(
    _ text: String, _ documents: [SyncedDocument], _ change: TargetChange?, _ isPendingReset: Bool
  ) throws(DocumentStoreError) -> SyncView.Outcome? {
    // Taken out, so that what it has is changed in its place and not copied.
    guard var known = views.removeValue(forKey: text) else { return nil }
    defer { views[text] = known }
    var changes = known.view.compute(documents)
    if changes.needsRefill { known.view.refill(try local.documents(known.view.query), &changes) }
    return known.view.apply(changes, change, isPendingReset: isPendingReset)
  }

  // MARK: Online state

  /// Tells everybody, if it is different.
  func announceOnline() {
    if !online.isTimerRunning { effects.append(.stopTimer(.onlineState)) }
    guard online.state != events.online else { return }
    if online.state == .offline {
      var snapshots: [ViewSnapshot] = []
      for text in viewOrder {
        if let snapshot = views[text]?.view.goOffline() { snapshots.append(snapshot) }
      }
      tell(events.take(snapshots))
    }
    tell(events.take(online.state))
  }
}

/// Documents that are different now, found by where they are: most views are about other collections.
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
