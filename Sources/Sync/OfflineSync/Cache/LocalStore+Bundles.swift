// Loading bundles: documents, and queries whose results are complete up to a given read time.

package import DocumentStore

extension LocalStore {
  /// Returns the documents whose local view changed. The bundle gets a target of its own, and all of the
  /// bundle's documents stay in the cache as long as that target exists.
  package func load(_ bundle: BundleContents) throws(DocumentStoreError) -> [SyncedDocument] {
    try step { () throws(DocumentStoreError) in try take(bundle) }
  }

  private func take(_ bundle: BundleContents) throws(DocumentStoreError) -> [SyncedDocument] {
    var event = RemoteEvent(version: .none)
    for document in bundle.documents {
      // `SnapshotVersion.none` means a pending write or unknown content, so it cannot be the version of a
      // known document.
      let version = max(SnapshotVersion(document.version), .first)
      let loaded = RemoteDocument(document.path, document.fields, version: version)
      event.documents[document.path] = loaded.synced
    }
    let whole = try allocate(text: "__bundle__/\(bundle.id)")
    let paths = Set(bundle.documents.map(\.path))
    // The documents are stored after an entry that names them. A crash would otherwise leave documents that
    // no collection finds. The earlier documents of the bundle stay until the end.
    var keeping = begin()
    try setKeys(of: whole.id, paths.union(try remoteKeys(of: whole.id)), transaction: &keeping)
    try finish(&keeping)
    let changed = try apply(event)
    var transaction = begin()
    try setKeys(of: whole.id, paths, transaction: &transaction)
    for bundled in bundle.queries {
      var target = try allocate(bundled.query)
      let readTime = SnapshotVersion(bundled.readTime)
      guard readTime > target.version else { continue }
      target.resumeToken = []
      target.version = readTime
      target.readTime = readTime
      targets[target.id] = target
      transaction.put(target)
      unwrittenTargets.remove(target.id)
      let found = bundle.documents.filter { $0.fields != nil && $0.queries.contains(bundled.name) }
      try setKeys(of: target.id, Set(found.map(\.path)), transaction: &transaction)
    }
    try finish(&transaction)
    return changed
  }

  private func setKeys(
    of id: TargetID, _ paths: Set<DocumentPath>, transaction: inout CacheTransaction
  ) throws(DocumentStoreError) {
    let old = try remoteKeys(of: id)
    for path in old.subtracting(paths) {
      transaction.remove(CacheKeys.key(path, of: id))
      transaction.orphans.insert(path)
    }
    for path in paths.subtracting(old) {
      transaction.put([], at: CacheKeys.key(path, of: id))
      if collector == .lru { transaction.remove(CacheKeys.orphan(path)) }
    }
    keys[id] = paths
  }
}
