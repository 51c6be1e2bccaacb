// Applies watch events of the remote to the cache.

package import DocumentStore

extension LocalStore {
  private static let tokenAgeMax: Int64 = 5 * 60 * 1_000_000

  /// Applies an event. Returns the documents whose local view changed.
  ///
  /// If only the resume token of a target changed, the token is written by this function at most every few
  /// minutes, and otherwise by `flush`. After a crash, the client may therefore resume from a token that is
  /// some minutes old.
  package func apply(_ event: RemoteEvent) throws(DocumentStoreError) -> [SyncedDocument] {
    try step { () throws(DocumentStoreError) in try take(event) }
  }

  private func take(_ event: RemoteEvent) throws(DocumentStoreError) -> [SyncedDocument] {
    var transaction = begin()
    globals.sequence += 1
    for (id, change) in event.targetChanges {
      guard targets[id] != nil else { continue }
      try apply(change, to: id, event: event, transaction: &transaction)
    }
    var changed: [DocumentPath] = []
    for (path, document) in event.documents {
      if event.resolvedLimbo.contains(path) { transaction.orphans.insert(path) }
      guard try take(document, &transaction) else { continue }
      changed.append(path)
      // The remote also sends documents that have changed and are in none of the client's targets.
      if collector == .lru, document.isFound, !isInTarget(path, event) { transaction.orphans.insert(path) }
    }
    if event.version != .none { globals.version = max(globals.version, event.version) }
    var documents: [SyncedDocument] = []
    for path in changed {
      keepBase(try transaction.remoteBefore(path), transaction: &transaction)
      let remote = try transaction.remote(path)
      guard isPending(path) else {
        documents.append(remote)
        continue
      }
      let visible = local(
        remote, insteadOf: try transaction.remoteBefore(path),
        seen: try transaction.seen(path, isPending: true))
      try transaction.touch(path, visible: visible)
      documents.append(visible)
    }
    if !transaction.isEmpty || !transaction.orphans.isEmpty { try finish(&transaction) }
    return documents
  }

  /// Whether the event has a document as one of a target that the client knows.
  private func isInTarget(_ path: DocumentPath, _ event: RemoteEvent) -> Bool {
    event.targetChanges.contains { id, change in
      targets[id] != nil && (change.added.contains(path) || change.modified.contains(path))
    }
  }

  private func apply(
    _ change: TargetChange, to id: TargetID, event: RemoteEvent, transaction: inout CacheTransaction
  ) throws(DocumentStoreError) {
    guard let old = targets[id] else { return }
    var known = try remoteKeys(of: id)
    keys[id] = nil
    for path in change.removed where known.remove(path) != nil {
      transaction.remove(CacheKeys.key(path, of: id))
      transaction.orphans.insert(path)
    }
    for path in change.added where known.insert(path).inserted {
      transaction.put([], at: CacheKeys.key(path, of: id))
      if collector == .lru { transaction.remove(CacheKeys.orphan(path)) }
    }
    keys[id] = known
    var new = old
    new.sequence = globals.sequence
    if event.mismatches[id] != nil {
      new.resumeToken = []
      new.version = .none
      new.limboFreeVersion = .none
    } else if !change.resumeToken.isEmpty {
      new.resumeToken = change.resumeToken
      new.version = event.version
    }
    targets[id] = new
    let isDue =
      old.resumeToken.isEmpty || event.mismatches[id] != nil || change.hasDocumentChanges
      || new.version.microseconds &- old.version.microseconds >= Self.tokenAgeMax
    if isDue {
      transaction.put(new)
      unwrittenTargets.remove(id)
    } else {
      unwrittenTargets.insert(id)
    }
  }

  /// Stores a version that the remote sent. Returns false if the cache already has this version or a newer
  /// one.
  private func take(
    _ document: SyncedDocument, _ transaction: inout CacheTransaction
  ) throws(DocumentStoreError) -> Bool {
    if document.content == .absent, document.version == .none {
      try transaction.setRemote(SyncedDocument(document.path))
      return true
    }
    let known = try transaction.remote(document.path)
    guard
      !known.isValid || document.version > known.version
        || (document.version == known.version && known.pending == .committed)
    else { return false }
    try transaction.setRemote(document)
    return true
  }
}
