// Targets: the queries sent to the remote, with their resume state and their documents.

package import DocumentStore

extension LocalStore {
  /// Returns the target of a query, and creates the target if there is none.
  package func allocate(_ query: StructuredQuery) throws(DocumentStoreError) -> StoredTarget {
    try allocate(text: query.targetID)
  }

  func allocate(text: String) throws(DocumentStoreError) -> StoredTarget {
    if let id = idsByText[text], let target = targets[id] { return target }
    globals.lastTarget += 2
    globals.sequence += 1
    let target = StoredTarget(id: TargetID(globals.lastTarget), text: text, sequence: globals.sequence)
    targets[target.id] = target
    idsByText[text] = target.id
    keys[target.id] = []
    var transaction = begin()
    transaction.put(target)
    do throws(DocumentStoreError) { try finish(&transaction) } catch {
      guard case .full = error else { throw error }
      unwrittenTargets.insert(target.id)
    }
    return target
  }

  /// Returns the documents that the remote has reported for a target.
  package func remoteKeys(of id: TargetID) throws(DocumentStoreError) -> Set<DocumentPath> {
    if let known = keys[id] { return known }
    var loaded = Set<DocumentPath>()
    for stored in try store.documents(StructuredQuery(.collection(CacheKeys.keys(of: id)))) {
      loaded.insert(CacheKeys.path(stored.path.id))
    }
    keys[id] = loaded
    return loaded
  }

  /// Releases a target after its last listener was removed. If the disk is full, the target stays in the
  /// cache.
  package func release(_ id: TargetID) throws(DocumentStoreError) {
    var transaction = begin()
    for path in pins.removeValue(forKey: id) ?? [] { unpin(path, &transaction) }
    let unpinned = transaction.orphans
    do throws(DocumentStoreError) {
      try step { () throws(DocumentStoreError) in try release(id, &transaction) }
    } catch {
      guard case .full = error else { throw error }
      unreleased.formUnion(unpinned)
    }
  }

  private func release(
    _ id: TargetID, _ transaction: inout CacheTransaction
  ) throws(DocumentStoreError) {
    if let target = targets[id] {
      switch collector {
      case .eager:
        transaction.orphans.formUnion(try remoteKeys(of: id))
        try drop(target, &transaction)
      case .lru:
        globals.sequence += 1
        targets[id]?.sequence = globals.sequence
        if let used = targets[id] { transaction.put(used) }
        unwrittenTargets.remove(id)
      }
    }
    try finish(&transaction)
  }

  func drop(_ target: StoredTarget, _ transaction: inout CacheTransaction) throws(DocumentStoreError) {
    for path in try remoteKeys(of: target.id) { transaction.remove(CacheKeys.key(path, of: target.id)) }
    transaction.remove(CacheKeys.target(target.id))
    keys[target.id] = nil
    targets[target.id] = nil
    unwrittenTargets.remove(target.id)
    idsByText[target.text] = nil
  }

  /// The documents that entered and left the views of a target.
  package struct ViewReport {
    package var id: TargetID
    package var added: [DocumentPath]
    package var removed: [DocumentPath]
    package var isFromCache: Bool

    package init(id: TargetID, added: [DocumentPath], removed: [DocumentPath], isFromCache: Bool) {
      self.id = id
      self.added = added
      self.removed = removed
      self.isFromCache = isFromCache
    }
  }

  package func note(_ reports: [ViewReport]) throws(DocumentStoreError) {
    var transaction = begin()
    for report in reports {
      for path in report.added where pins[report.id, default: []].insert(path).inserted {
        pinCounts[path, default: 0] += 1
      }
      for path in report.removed where pins[report.id]?.remove(path) != nil { unpin(path, &transaction) }
      if !report.isFromCache, let version = targets[report.id]?.version {
        targets[report.id]?.limboFreeVersion = version
        unwrittenTargets.insert(report.id)
      }
    }
    guard !transaction.orphans.isEmpty else { return }
    let unpinned = transaction.orphans
    do throws(DocumentStoreError) {
      try step { () throws(DocumentStoreError) in try finish(&transaction) }
    } catch {
      guard case .full = error else { throw error }
      unreleased.formUnion(unpinned)
    }
  }

  private func unpin(_ path: DocumentPath, _ transaction: inout CacheTransaction) {
    let count = (pinCounts[path] ?? 1) - 1
    pinCounts[path] = count > 0 ? count : nil
    if count <= 0 { transaction.orphans.insert(path) }
  }
}

extension CacheTransaction {
  mutating func put(_ target: StoredTarget) {
    put(
      [
        ("l", .integer(target.limboFreeVersion.microseconds)), ("q", .string(target.text)),
        ("r", .bytes(target.resumeToken)), ("s", .integer(target.sequence)),
        ("t", .integer(target.readTime.microseconds)), ("v", .integer(target.version.microseconds)),
      ], at: CacheKeys.target(target.id))
  }
}
