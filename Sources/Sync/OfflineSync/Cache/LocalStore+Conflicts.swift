// Conflict resolution: tracks the bases of pending writes and merges these writes with changes of other
// clients.
//
//   base of a document = its entry in `__bases__`, or else the remote's version
//
//   1. a pending write is based on the remote's version
//   2. when the remote sends a newer version, the previous version is kept as the base
//   3. the batch is sent with the base as its guard, and the remote refuses the batch because the document
//      has changed
//   4. the client looks up the documents and calls the resolver with the base, the local version and the
//      remote's version; the result replaces the writes, and the remote's version becomes the base
//   5. when a batch is accepted, the base with that batch applied becomes the base of the later batches
//
// Batches with preconditions are sent and guarded like all others, but the resolver is not called for them.
// They are sent again unchanged, and their preconditions decide whether the remote accepts them. A batch that
// follows writes which the resolver replaced is refused. The resolver's write leaves out the fields that
// earlier batches with preconditions write, because the resolver does not have the results of those batches.
// Batches that the remote is certain to refuse after its change are ignored here.

package import DocumentStore

extension LocalStore {
  func loadBases() throws(DocumentStoreError) {
    for stored in try store.documents(StructuredQuery(.collection(CacheKeys.bases))) {
      let parts = stored.path.id.split(separator: ":", maxSplits: 1).map(String.init)
      guard parts.count == 2, let user = CacheKeys.user(queueName: parts[0]) else {
        throw RemoteNote.damaged(stored.path, store)
      }
      let path = CacheKeys.path(parts[1])
      bases[user, default: [:]][path] = try RemoteNote.document(path, stored, in: store)
    }
  }

  /// Returns the precondition that the remote's document is still the version on which the pending writes are
  /// based. Returns nil if no precondition is needed.
  package func guardPrecondition(_ path: DocumentPath) throws(DocumentStoreError) -> Precondition? {
    let base: SyncedDocument
    if let kept = bases[user]?[path] { base = kept } else { base = try remoteDocument(path) }
    switch base.content {
    case .found: return .updateTime(base.version.timestamp)
    case .absent: return .exists(false)
    // The user has not seen the document, so the write cannot depend on the document's content.
    case .unknown, .invalid: return nil
    }
  }

  /// Keeps the remote's previous version as the base for every user with pending writes of the document.
  func keepBase(
    _ old: SyncedDocument, exceptOf author: String?? = nil, transaction: inout CacheTransaction
  ) {
    guard resolver != nil, old.isValid else { return }
    for (user, queue) in queues where queue.hasWrites(old.path) && bases[user]?[old.path] == nil {
      if let author, author == user { continue }
      setBase(old, of: user, transaction: &transaction)
    }
  }

  /// Moves the base of a document forward after a batch was accepted.
  func advanceBase(
    _ path: DocumentPath, _ batch: PendingBatch, version: SnapshotVersion, results: [WriteResult],
    transaction: inout CacheTransaction
  ) throws(DocumentStoreError) {
    guard let base = bases[user]?[path] else { return }
    let new = batch.acknowledged(on: base, version, results: results)
    if try transaction.remote(path).version > new.version {
      setBase(new, of: user, transaction: &transaction)
    } else {
      dropBase(path, &transaction)
    }
  }

  func dropBase(_ path: DocumentPath, _ transaction: inout CacheTransaction) {
    dropBase(path, of: user, transaction: &transaction)
  }

  func dropBase(_ path: DocumentPath, of user: String?, transaction: inout CacheTransaction) {
    guard bases[user]?.removeValue(forKey: path) != nil else { return }
    transaction.remove(CacheKeys.base(path, of: user))
  }

  private func setBase(
    _ document: SyncedDocument, of user: String?, transaction: inout CacheTransaction
  ) {
    bases[user, default: [:]][document.path] = document
    let note = RemoteNote.fields(document, isPending: true) ?? StoredMap()
    transaction.put(note.entries, at: CacheKeys.base(document.path, of: user))
  }

  /// Resolves the conflicts of a batch that was refused because other clients changed its documents. Call
  /// this only after the current versions of these documents were received. Returns the documents whose local
  /// view changed.
  package func resolve(_ id: BatchID) throws(DocumentStoreError) -> [SyncedDocument] {
    guard let resolver, let batch = queue[id] else { return [] }
    return try step { () throws(DocumentStoreError) in try resolve(batch, with: resolver) }
  }

  private func resolve(
    _ batch: PendingBatch, with resolver: ConflictResolver
  ) throws(DocumentStoreError) -> [SyncedDocument] {
    var transaction = begin()
    var documents: [SyncedDocument] = []
    for path in batch.paths where queue.batches(about: path).first?.id == batch.id {
      guard let base = bases[user]?[path] else { continue }
      dropBase(path, &transaction)
      let remote = try transaction.remote(path)
      // Versions that differ only in their times do not conflict.
      guard base.fields != remote.fields else { continue }
      let waiting = queue.batches(about: path)
      let open = waiting.filter { !$0.hasConditions }
      guard !open.isEmpty else { continue }
      let local =
        open.count == waiting.count
        ? try transaction.seen(path, isPending: true) : open.reduce(remote) { $1.applied(to: $0) }
      let conflict = WriteConflict(path, base: base.stored, local: local.stored, remote: remote.stored)
      switch resolver(conflict) {
      case .keepWrites: continue
      case .replaceWrites(let mutation):
        precondition(mutation.path == path, "a conflict is resolved by a write of its document")
        try replaceWrites(of: path, by: mutation, transaction: &transaction)
      case .dropWrites: try replaceWrites(of: path, by: nil, transaction: &transaction)
      }
      documents.append(self.local(remote))
    }
    try finish(&transaction, durability: nil)
    return documents
  }

  private func replaceWrites(
    of path: DocumentPath, by mutation: Mutation?, transaction: inout CacheTransaction
  ) throws(DocumentStoreError) {
    let batches = queue.batches(about: path)
    let remote = try transaction.remote(path)
    let kept = Self.fieldsWritten(by: batches.prefix(while: \.hasConditions), over: remote)
    var mutation = mutation?.omitting(kept, over: remote.fields ?? StoredMap())
    var changed: [PendingBatch] = []
    var isReplaced = false
    for batch in batches {
      let new: PendingBatch
      if batch.hasConditions {
        // This batch follows the replaced writes, so its precondition can no longer hold.
        guard isReplaced, batch.follows(path) else { continue }
        new = batch.following(path, acceptedAt: nil)
      } else {
        new = batch.replacingWrites(of: path, by: mutation)
        mutation = nil
        isReplaced = true
      }
      changed.append(new)
      put(new, &transaction)
    }
    queues[user]?.replace(changed, about: path)
    try transaction.touch(path)
  }

  /// Returns the fields that the batches write. Ignores batches that the remote is certain to refuse.
  private static func fieldsWritten(
    by batches: some Sequence<PendingBatch>, over remote: SyncedDocument
  ) -> [StoredFieldPath] {
    let path = remote.path
    var document = remote
    var fields: [StoredFieldPath] = []
    // A batch that follows a patch expects the result of that patch on an older version of the document.
    var isPinned = false
    for batch in batches where batch.maySucceed(on: document, isPinned: isPinned) {
      document = batch.applied(to: document)
      fields += batch.fieldsWritten(of: path)
      isPinned = isPinned || (batch.changes(path) && batch.pins(path))
    }
    return fields
  }
}
