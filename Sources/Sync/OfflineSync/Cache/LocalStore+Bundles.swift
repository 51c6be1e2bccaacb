// What comes packed: documents, and queries whose answers are known up to some moment.

package import DocumentStore

extension LocalStore {
  /// The documents that are different for the user now. All of them stay as long as the bundle's own target does.
  package func load(_ bundle: BundleContents) throws(DocumentStoreError) -> [SyncedDocument] {
    var event = RemoteEvent(version: .none)
    for document in bundle.documents {
      // The version of none says that a write is pending, or that nothing is known.
      let version = max(SnapshotVersion(document.version), .first)
      let told = RemoteDocument(document.path, document.fields, version: version)
      event.documents[document.path] = told.synced
    }
    let whole = try allocate(text: "__bundle__/\(bundle.id)")
    let changed = try apply(event)
    var transaction = begin()
    try setKeys(of: whole.id, Set(bundle.documents.map(\.path)), &transaction)
    for bundled in bundle.queries {
      var target = try allocate(bundled.query)
      let readTime = SnapshotVersion(bundled.readTime)
      guard readTime > target.version else { continue }
      target.resumeToken = []
      target.version = readTime
      target.readTime = readTime
      targets[target.id] = target
      transaction.put(target)
      unwritten.remove(target.id)
      let found = bundle.documents.filter { $0.fields != nil && $0.queries.contains(bundled.name) }
      try setKeys(of: target.id, Set(found.map(\.path)), &transaction)
    }
    try finish(&transaction)
    return changed
  }

  private func setKeys(
    of id: TargetID, _ paths: Set<DocumentPath>, _ transaction: inout CacheTransaction
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
