// What pending writes were made on, for those who merge what others have done meanwhile.
//
//   base of a document = what stands in `__bases__`, else what the remote has
//
//   1. a write that waits builds on what the remote has: that is its base
//   2. the remote tells something newer: what was there before is kept as the base
//   3. the batch goes out with the base as its guard, and is refused, since the document is another one by now
//   4. the documents are looked up; the resolver gets the base, what is here and what the remote has, and what it says
//      takes the place of the writes; what the remote has is the base from then on
//   5. a batch is accepted: what it made of the base is the base of those behind it
//
// Batches with conditions are sent and guarded as all others, but the resolver is not asked about them: they go again as
// they are, and their conditions decide. Those that follow writes which the resolver has replaced are refused. What it
// writes behind others of them leaves the fields alone that these write: it does not know what they make of them. Not
// those of the ones that are certain to be refused, now that the others have changed the document.

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

  /// What a document has to be for the writes that wait to be what was meant; nil for whatever it is.
  package func guardOf(_ path: DocumentPath) throws(DocumentStoreError) -> Precondition? {
    let base: SyncedDocument
    if let kept = bases[user]?[path] { base = kept } else { base = try remoteDocument(path) }
    switch base.content {
    case .found: return .updateTime(base.version.timestamp)
    case .absent: return .exists(false)
    // Who has not seen it has not built on it.
    case .unknown, .invalid: return nil
    }
  }

  /// The remote has something else: what it had stays the base of all who have writes of it.
  func keepBase(
    _ old: SyncedDocument, exceptOf author: String?? = nil, _ transaction: inout CacheTransaction
  ) {
    guard resolver != nil, old.isValid else { return }
    for (user, queue) in queues where queue.isAbout(old.path) && bases[user]?[old.path] == nil {
      if let author, author == user { continue }
      setBase(old, of: user, &transaction)
    }
  }

  /// A batch was accepted.
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

  /// A batch was refused because others have changed what it builds on, and what they made of it is here. The documents
  /// that look different now.
  package func resolve(_ id: BatchID) throws(DocumentStoreError) -> [SyncedDocument] {
    guard let resolver, let batch = queue[id] else { return [] }
    var transaction = begin()
    var documents: [SyncedDocument] = []
    for path in batch.paths where queue.batches(about: path).first?.id == id {
      guard let base = bases[user]?[path] else { continue }
      dropBase(path, &transaction)
      let remote = try transaction.remote(path)
      // Its times alone are no conflict.
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
    var mutation = mutation?.leavingOut(kept, over: remote.fields ?? StoredMap())
    var changed: [PendingBatch] = []
    var isReplaced = false
    for batch in batches {
      let new: PendingBatch
      if batch.hasConditions {
        // It was made for what the others have made.
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

  /// By those of the batches that can still happen.
  private static func fieldsWritten(
    by batches: some Sequence<PendingBatch>, over remote: SyncedDocument
  ) -> [StoredFieldPath] {
    let path = remote.path
    var document = remote
    var fields: [StoredFieldPath] = []
    // Those that follow a patch were made for what it makes of something else.
    var isPinned = false
    for batch in batches where batch.canHappen(on: document, isPinned: isPinned) {
      document = batch.applied(to: document)
      fields += batch.fieldsWritten(of: path)
      isPinned = isPinned || (batch.changes(path) && batch.pins(path))
    }
    return fields
  }
}
