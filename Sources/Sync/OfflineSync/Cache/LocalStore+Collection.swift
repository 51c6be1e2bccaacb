// Cache eviction: removes documents that belong to no target, no queue and no view.

package import DocumentStore

extension LocalStore {
  /// The numbers of targets and documents that `collect` removed.
  package struct Collected: Sendable, Equatable {
    package var targets = 0
    package var documents = 0
  }

  /// Handles the documents that lost their last reference. Called at the end of each operation. The eager
  /// collector removes these documents immediately, and the LRU collector records them as orphans. It also
  /// records documents that only views hold, because views do not outlive the process.
  func releaseOrphans(_ transaction: inout CacheTransaction) throws(DocumentStoreError) {
    switch collector {
    case .eager:
      for path in transaction.orphans where try !isHeld(path) {
        try transaction.setRemote(SyncedDocument(path))
      }
    case .lru:
      for path in transaction.orphans where !isQueued(path) && !isKey(path) {
        transaction.put([("s", .integer(globals.sequence))], at: CacheKeys.orphan(path))
      }
    }
  }

  /// Whether a view, a pending write or a target has the document. The eager collector needs the documents of
  /// all targets here, also of those that an earlier process or a full disk has left. The LRU collector reads
  /// them when it collects.
  private func isHeld(_ path: DocumentPath) throws(DocumentStoreError) -> Bool {
    if pinCounts[path] != nil || isQueued(path) { return true }
    if collector == .eager { for id in targets.keys { _ = try remoteKeys(of: id) } }
    return isKey(path)
  }

  /// Whether a target whose documents are loaded has the document.
  private func isKey(_ path: DocumentPath) -> Bool { keys.values.contains { $0.contains(path) } }

  /// The approximate size of the cache.
  package var bytes: UInt64 { store.approximateBytes }

  /// Removes the least recently used targets and documents if the cache has at least `threshold` bytes. The
  /// candidates are all targets and all unreferenced documents. Removes `percentile` percent of the
  /// candidates, but at most `max`, and keeps active targets.
  package func collect(
    threshold: UInt64, percentile: Int = 10, max limit: Int = 1000, active: Set<TargetID>
  ) throws(DocumentStoreError) -> Collected {
    guard collector == .lru, bytes >= threshold else { return Collected() }
    var orphans: [(path: DocumentPath, sequence: Int64)] = []
    for stored in try store.documents(StructuredQuery(.collection(CacheKeys.orphans))) {
      orphans.append((CacheKeys.path(stored.path.id), stored.integer("s")))
    }
    let sequences = (targets.values.map(\.sequence) + orphans.map(\.sequence)).sorted()
    let count = min(limit, sequences.count * percentile / 100)
    guard count > 0 else { return Collected() }
    return try step { () throws(DocumentStoreError) in
      try collect(through: sequences[count - 1], orphans, active: active)
    }
  }

  /// Removes the targets and orphans that were not used after the sequence number.
  private func collect(
    through last: Int64, _ orphans: [(path: DocumentPath, sequence: Int64)], active: Set<TargetID>
  ) throws(DocumentStoreError) -> Collected {
    var transaction = begin()
    var collected = Collected()
    var candidates = Set<DocumentPath>()
    for (path, sequence) in orphans where sequence <= last { candidates.insert(path) }
    let recorded = candidates
    for target in targets.values.sorted(by: { $0.id < $1.id })
    where target.sequence <= last && !active.contains(target.id) {
      candidates.formUnion(try remoteKeys(of: target.id))
      try drop(target, &transaction)
      collected.targets += 1
    }
    for id in targets.keys { candidates.subtract(try remoteKeys(of: id)) }
    // Records of documents that a target has would be the oldest ones at each collection. A document gets a
    // record again when the last target releases it.
    for path in recorded.subtracting(candidates) { transaction.remove(CacheKeys.orphan(path)) }
    for path in candidates {
      guard try !isHeld(path) else {
        if recorded.contains(path) { transaction.remove(CacheKeys.orphan(path)) }
        transaction.orphans.insert(path)
        continue
      }
      try transaction.setRemote(SyncedDocument(path))
      transaction.remove(CacheKeys.orphan(path))
      collected.documents += 1
    }
    for id in targets.keys where !active.contains(id) { keys[id] = nil }
    try finish(&transaction)
    return collected
  }

  /// Removes the documents that match a query and have a version older than `version`, except documents that
  /// are in use. Returns the number of removed documents.
  func evict(
    _ query: StructuredQuery, before version: SnapshotVersion, active: Set<TargetID>,
    unless isInView: (DocumentPath) -> Bool
  ) throws(DocumentStoreError) -> Int {
    let held = try heldPaths(active)
    let gone = try documents(query).filter { $0.pending == .none && $0.version < version }.map(\.path)
      .filter { !held.contains($0) && !isQueued($0) && !isInView($0) }
    try forget(Set(gone), active)
    return gone.count
  }

  /// Removes the least recently used documents of a collection until it no longer exceeds its size limit.
  /// Returns the number of removed documents.
  func shrink(
    _ collection: CollectionPath, to bytesMax: UInt64, active: Set<TargetID>,
    unless isInView: (DocumentPath) -> Bool
  ) throws(DocumentStoreError) -> Int {
    let records = try store.records(StructuredQuery(.collection(collection)))
    var bytes = records.reduce(UInt64(0)) { $0 + UInt64($1.byteCount) }
    guard bytes > bytesMax else { return 0 }
    let held = try heldPaths(active).union(knownCommitted())
    let uses = try lastUses(in: collection)
    let candidates = records.filter {
      $0.updateTime.microseconds != 0 && !held.contains($0.path) && !isQueued($0.path) && !isInView($0.path)
    }.map { (use: uses[$0.path, default: 0], record: $0) }
    var gone = Set<DocumentPath>()
    for (_, record) in candidates.sorted(by: {
      ($0.use, $0.record.updateTime) < ($1.use, $1.record.updateTime)
    }) where bytes > bytesMax {
      gone.insert(record.path)
      bytes -= UInt64(record.byteCount)
    }
    try forget(gone, active)
    return gone.count
  }

  /// Returns the sequence number of each document's last use: the highest sequence number of any target that
  /// contained the document.
  private func lastUses(
    in collection: CollectionPath
  ) throws(DocumentStoreError) -> [DocumentPath: Int64] {
    var uses: [DocumentPath: Int64] = [:]
    for stored in try store.documents(StructuredQuery(.collection(CacheKeys.orphans))) {
      uses[CacheKeys.path(stored.path.id)] = stored.integer("s")
    }
    for target in targets.values {
      for path in try remoteKeys(of: target.id) where path.parent == collection {
        uses[path] = max(uses[path, default: 0], target.sequence)
      }
    }
    return uses
  }

  private func heldPaths(_ active: Set<TargetID>) throws(DocumentStoreError) -> Set<DocumentPath> {
    var held = Set<DocumentPath>()
    for id in active { held.formUnion(try remoteKeys(of: id)) }
    return held
  }

  private func isQueued(_ path: DocumentPath) -> Bool { queues.values.contains { $0.hasWrites(path) } }

  /// Removes documents, and every inactive target that contains one of them. If such a target stayed, its
  /// resume token would still cover the removed documents, and the remote would not send them again.
  private func forget(
    _ gone: Set<DocumentPath>, _ active: Set<TargetID>
  ) throws(DocumentStoreError) {
    guard !gone.isEmpty else { return }
    try step { () throws(DocumentStoreError) in try drop(gone, active) }
  }

  private func drop(_ gone: Set<DocumentPath>, _ active: Set<TargetID>) throws(DocumentStoreError) {
    var transaction = begin()
    for target in targets.values.filter({ !active.contains($0.id) }) {
      let keys = try remoteKeys(of: target.id)
      guard !keys.isDisjoint(with: gone) else { continue }
      transaction.orphans.formUnion(keys.subtracting(gone))
      try drop(target, &transaction)
    }
    for path in gone {
      try transaction.setRemote(SyncedDocument(path))
      transaction.remove(CacheKeys.orphan(path))
    }
    try finish(&transaction)
  }
}
