// Conflict resolution: tracks the bases of pending writes and merges them with changes of other clients.
//
//   base of a document = its entry in `__bases__`, or else the remote's version
//
//   1. a pending write is based on the remote's version
//   2. when the remote sends a newer version, the previous one is kept as the base
//   3. the batch is sent with the base as its guard, and the remote refuses it because the document has
//      changed
//   4. the client looks the documents up and calls the resolver with the base, the local and the remote
//      version; the result replaces the writes, and the remote's version becomes the base
//   5. when a batch is accepted, its effect on the base becomes the base of the later batches
//
// Batches with preconditions are sent and guarded like all others, but the resolver is not asked about
// them. They are sent again unchanged, and their preconditions decide. Batches that follow writes which
// the resolver replaced are refused. A resolver's write leaves out the fields that earlier batches with
// preconditions write, because the resolver does not know their result. Batches that are certain to be
// refused after the remote's change do not count.

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

  /// Returns the precondition under which the pending writes of a document still apply to the version
  /// they are based on; nil for no precondition.
  package func guardPrecondition(_ path: DocumentPath) throws(DocumentStoreError) -> Precondition? {
    let base: SyncedDocument
    if let kept = bases[user]?[path] { base = kept } else { base = try remoteDocument(path) }
    switch base.content {
    case .found: return .updateTime(base.version.timestamp)
    case .absent: return .exists(false)
    // The user has not seen the document, so the write does not depend on its content.
    case .unknown, .invalid: return nil
    }
  }

  /// Keeps the remote's previous version as the base for every user with pending writes of the document.
  func keepBase(
    _ old: SyncedDocument, exceptOf author: String?? = nil, _ transaction: inout CacheTransaction
  ) {
    guard resolver != nil, old.isValid else { return }
    for (user, queue) in queues where queue.hasWrites(old.path) && bases[user]?[old.path] == nil {
      if let author, author == user { continue }
      setBase(old, of: user, &transaction)
    }
  }

  /// Moves the base of a document forward after a batch was accepted.
  func advanceBase(
    _ path: DocumentPath, _ batch: PendingBatch, _ version: SnapshotVersion, _ results: [WriteResult],
    _ transaction: inout CacheTransaction
  ) throws(DocumentStoreError) {
    guard let base = bases[user]?[path] else { return }
    let new = batch.acknowledged(on: base, version, results)
    if try transaction.remote(path).version > new.version {
      setBase(new, of: user, &transaction)
    } else {
      dropBase(path, &transaction)
    }
  }

  func dropBase(_ path: DocumentPath, _ transaction: inout CacheTransaction) {
    guard bases[user]?.removeValue(forKey: path) != nil else { return }
    transaction.remove(CacheKeys.base(path, of: user))
  }

  private func setBase(
    _ document: SyncedDocument, of user: String?, _ transaction: inout CacheTransaction
  ) {
    bases[user, default: [:]][document.path] = document
    let note = RemoteNote.fields(document, isPending: true) ?? StoredMap()
    transaction.put(note.entries, at: CacheKeys.base(document.path, of: user))
  }

  /// Resolves a batch that was refused because other clients changed its documents, after their versions
  /// were received. Returns the documents whose local view changed.
  package func resolve(_ id: BatchID) throws(DocumentStoreError) -> [SyncedDocument] {
    guard let resolver, let batch = queue[id] else { return [] }
    var transaction = begin()
    var documents: [SyncedDocument] = []
    for path in batch.paths where queue.batches(about: path).first?.id == id {
      guard let base = bases[user]?[path] else { continue }
      dropBase(path, &transaction)
      let remote = try transaction.remote(path)
      // A difference in the times alone is no conflict.
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
        try replaceWrites(of: path, by: mutation, &transaction)
      case .dropWrites: try replaceWrites(of: path, by: nil, &transaction)
      }
      documents.append(self.local(remote))
    }
    try finish(&transaction, durability: nil)
    return documents
  }

  private func replaceWrites(
    of path: DocumentPath, by mutation: Mutation?, _ transaction: inout CacheTransaction
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
        // The batch was based on the replaced writes.
        guard isReplaced, batch.follows(path) else { continue }
        new = batch.following(path, madeAt: nil)
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

  /// The fields written by those of the batches that may still succeed.
  private static func fieldsWritten(
    by batches: some Sequence<PendingBatch>, over remote: SyncedDocument
  ) -> [StoredFieldPath] {
    let path = remote.path
    var document = remote
    var fields: [StoredFieldPath] = []
    // Batches that follow a patch expect the result of that patch on another version.
    var isPinned = false
    for batch in batches where batch.maySucceed(on: document, isPinned: isPinned) {
      document = batch.applied(to: document)
      fields += batch.fieldsWritten(of: path)
      isPinned = isPinned || (batch.changes(path) && batch.pins(path))
    }
    return fields
  }
}
