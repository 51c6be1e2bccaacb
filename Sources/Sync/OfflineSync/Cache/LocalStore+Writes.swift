// Writes, from the user to the remote's answer.

package import DocumentStore

extension LocalStore {
  /// A batch in the queue, and the documents as they look with it.
  package typealias Written = (batch: PendingBatch, documents: [SyncedDocument])

  /// Takes a batch into the queue: it is there when this returns, whatever happens then, unless less is asked for.
  package func write(
    _ mutations: [Mutation], at time: StoredTimestamp, _ durability: StoreDurability? = nil
  ) throws(DocumentStoreError) -> Written {
    var transaction = begin()
    transaction.isSeenAtOnce = true
    var seen: [DocumentPath: SyncedDocument] = [:]
    for mutation in mutations where seen[mutation.path] == nil {
      seen[mutation.path] = try transaction.seen(mutation.path, isPending: isPending(mutation.path))
    }
    let mutations = try mutations.map { mutation throws(DocumentStoreError) in
      mutation.precondition.isAboutPending ? try following(mutation, seen[mutation.path]) : mutation
    }
    var base = try PendingBatch.base(of: mutations) { path throws(DocumentStoreError) in
      seen[path] ?? SyncedDocument(path)
    }
    var grounded: Set<DocumentPath> = []
    for mutation in mutations
    where mutation.precondition == .asMadeBefore && grounded.insert(mutation.path).inserted {
      base.append(.verify(mutation.path, try transaction.remote(mutation.path).requirement))
    }
    let batch = PendingBatch(
      id: BatchID(globals.lastBatch + 1), run: run, time: time, base: base, mutations: mutations)
    var documents: [SyncedDocument] = []
    for path in batch.paths {
      let visible = batch.applied(to: seen[path] ?? SyncedDocument(path))
      try transaction.touch(path, visible: visible)
      documents.append(visible)
    }
    put(batch, &transaction)
    globals.lastBatch += 1
    queues[user, default: WriteQueue()].append(batch)
    do throws(DocumentStoreError) {
      try finish(&transaction, durability: durability)
    } catch {
      // Its number is not used again.
      queues[user]?.remove(batch.id)
      partCounts[CacheKeys.batch(batch.id, of: user)] = nil
      throw error
    }
    return (batch, documents)
  }

  /// What a write is to follow may have been answered since it was read: the time that it has now is another condition.
  /// And what waits behind it may make something else by now.
  private func following(
    _ mutation: Mutation, _ seen: SyncedDocument?
  ) throws(DocumentStoreError) -> Mutation {
    let path = mutation.path
    guard let seen, seen.pending == .local, let fields = seen.fields,
      queue.batches(about: path).contains(where: { $0.makes(path) }),
      mutation.precondition == .asMadeBefore || mutation.precondition == .asRead(fields)
    else {
      throw .failedPrecondition("The writes of \(path) that this one follows were answered: read it again.")
    }
    return mutation.requiring(.asMadeBefore)
  }

  /// The same for documents that are there already, and that the remote does not know.
  package func write(uploading mutations: [Mutation]) throws(DocumentStoreError) {
    guard let time = try store.snapshot().time, !mutations.isEmpty else { return }
    var transaction = begin()
    transaction.isSeenAtOnce = true
    let batch = PendingBatch(
      id: BatchID(globals.lastBatch + 1), run: run, time: time, base: [], mutations: mutations)
    for path in batch.paths { try transaction.setRemote(SyncedDocument(path)) }
    put(batch, &transaction)
    globals.lastBatch += 1
    queues[user, default: WriteQueue()].append(batch)
    try finish(&transaction, durability: nil)
  }

  /// The remote has taken a batch. The documents as they look now.
  package func acknowledge(
    _ id: BatchID, _ version: SnapshotVersion, _ results: [WriteResult], token: [UInt8]
  ) throws(DocumentStoreError) -> [SyncedDocument] {
    guard let batch = queue[id] else { return [] }
    var transaction = begin()
    for path in batch.paths {
      let remote = try transaction.remote(path)
      let accepted = batch.acknowledged(on: remote, version, results)
      // The watch stream may have been faster.
      if remote.version < accepted.version {
        // Other users of this store may wait with writes of it.
        keepBase(remote, exceptOf: user, &transaction)
        try transaction.setRemote(accepted)
      }
      try advanceBase(path, batch, version, results, &transaction)
    }
    if !token.isEmpty, token != streamToken {
      tokens[CacheKeys.queueName(user)] = token
      putTokens(&transaction)
    }
    return try remove(batch, &transaction, .buffered, Acceptance(version: version, results: results))
  }

  /// A batch will never happen, and whoever was told so must not see it come back: that is on stable storage when this
  /// returns, unless less is asked for of the store. The documents as they look now.
  package func reject(_ id: BatchID) throws(DocumentStoreError) -> [SyncedDocument] {
    guard let batch = queue[id] else { return [] }
    var transaction = begin()
    return try remove(batch, &transaction, nil, nil)
  }

  /// Without an answer, it was refused.
  private func remove(
    _ batch: PendingBatch, _ transaction: inout CacheTransaction, _ durability: StoreDurability?,
    _ answer: Acceptance?
  ) throws(DocumentStoreError) -> [SyncedDocument] {
    var seen: [DocumentPath: SyncedDocument] = [:]
    for path in batch.paths { seen[path] = try transaction.seen(path, isPending: true) }
    var followers: [DocumentPath: [BatchID: PendingBatch]] = [:]
    for path in batch.paths {
      followers[path] = settleFollowers(of: batch, path, answer, &transaction)
    }
    queues[user]?.remove(batch.id)
    removeBatch(batch.id, &transaction)
    var documents: [SyncedDocument] = []
    for path in batch.paths {
      let remote = try transaction.remote(path)
      let visible = local(
        remote, insteadOf: try transaction.remoteBefore(path), without: batch,
        changed: followers[path] ?? [:],
        seen: seen[path] ?? remote)
      try transaction.touch(path, visible: visible)
      documents.append(visible)
      if !isPending(path) { dropBase(path, &transaction) }
      transaction.orphans.insert(path)
    }
    try finish(&transaction, durability: durability)
    return documents
  }

  /// Batches that are for what this one makes of a document. Returns what those were before that may be seen.
  private func settleFollowers(
    of batch: PendingBatch, _ path: DocumentPath, _ answer: Acceptance?,
    _ transaction: inout CacheTransaction
  ) -> [BatchID: PendingBatch] {
    guard let settlement = queues[user]?.settleFollowers(of: batch, path, answer) else { return [:] }
    for changed in settlement.changed {
      put(changed, &transaction)
    }
    return settlement.before
  }
}
