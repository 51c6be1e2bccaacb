// Pending writes, from the user's call to the remote's answer.

package import DocumentStore

extension LocalStore {
  /// A queued batch, and the new local views of its documents.
  package typealias Written = (batch: PendingBatch, documents: [SyncedDocument])

  /// Adds a batch to the queue. The batch is durable when this function returns, unless a lower durability is
  /// requested.
  package func write(
    _ mutations: [Mutation], at time: StoredTimestamp, durability: StoreDurability? = nil,
    sendsAtOnce: Bool = false
  ) throws(DocumentStoreError) -> Written {
    try write(
      mutations.map { PendingMutation($0) }, at: time, durability: durability, sendsAtOnce: sendsAtOnce)
  }

  /// Adds a batch to the queue. Throws if a write follows earlier pending writes and their result is no
  /// longer the one that the write requires. `sendsAtOnce` says that the batch may be sent when this returns.
  package func write(
    _ mutations: [PendingMutation], at time: StoredTimestamp, durability: StoreDurability? = nil,
    sendsAtOnce: Bool = false
  ) throws(DocumentStoreError) -> Written {
    try finishRepair()
    var transaction = begin()
    transaction.isAtomic = true
    var seen: [DocumentPath: SyncedDocument] = [:]
    for mutation in mutations where seen[mutation.path] == nil {
      seen[mutation.path] = try transaction.seen(mutation.path, isPending: isPending(mutation.path))
    }
    let mutations = try mutations.map { mutation throws(DocumentStoreError) in
      try accepted(mutation, seen[mutation.path])
    }
    var base = try PendingBatch.base(of: mutations) { path throws(DocumentStoreError) in
      seen[path] ?? SyncedDocument(path)
    }
    var grounded: Set<DocumentPath> = []
    for mutation in mutations
    where mutation.precondition == .afterPendingWrites && grounded.insert(mutation.path).inserted {
      base.append(.ground(of: mutation.path, try transaction.remote(mutation.path).requirement))
    }
    let batch = PendingBatch(
      id: BatchID(globals.lastBatch + 1), run: run, time: time, base: base, mutations: mutations)
    var documents: [SyncedDocument] = []
    for path in batch.paths {
      let visible = batch.applied(to: seen[path] ?? SyncedDocument(path))
      try transaction.touch(path, visible: visible)
      documents.append(visible)
    }
    if sendsAtOnce { sendAtOnce(batch.id) }
    put(batch, &transaction)
    globals.lastBatch += 1
    queues[user, default: WriteQueue()].append(batch)
    do throws(DocumentStoreError) {
      try finish(&transaction, durability: durability)
    } catch {
      // The batch number is not reused.
      queues[user]?.remove(batch.id)
      partCounts[CacheKeys.batch(batch.id, of: user)] = nil
      if case .full = error { try noteFailedStep() }
      throw error
    }
    return (batch, documents)
  }

  /// Returns the mutation in the form that the queue stores. Checks a write that follows earlier pending
  /// writes. These may have been answered since the read on which the write is based. The document then has a
  /// real update time, and the write needs a different precondition. Newer pending writes may also have
  /// changed the result since that read. Throws in both cases.
  private func accepted(
    _ mutation: PendingMutation, _ seen: SyncedDocument?
  ) throws(DocumentStoreError) -> PendingMutation {
    let isAsRead: Bool
    switch mutation.precondition {
    case .none, .exists, .updateTime, .impossible: return mutation
    case .afterPendingWrites: isAsRead = true
    case .asRead(let fields): isAsRead = fields == seen?.fields
    }
    let path = mutation.path
    guard isAsRead, let seen, seen.pending == .local, seen.isFound,
      queue.batches(about: path).contains(where: { $0.producesDocument(path) })
    else {
      throw .failedPrecondition("The writes of \(path) that this one follows were answered: read it again.")
    }
    return mutation.requiring(.afterPendingWrites)
  }

  /// Queues a batch that uploads local documents which the remote does not have.
  package func write(uploading mutations: [Mutation]) throws(DocumentStoreError) {
    guard let time = try store.snapshot().time, !mutations.isEmpty else { return }
    var transaction = begin()
    transaction.isAtomic = true
    let batch = PendingBatch(
      id: BatchID(globals.lastBatch + 1), run: run, time: time, base: [],
      mutations: mutations.map { PendingMutation($0) })
    for path in batch.paths { try transaction.setRemote(SyncedDocument(path)) }
    put(batch, &transaction)
    globals.lastBatch += 1
    queues[user, default: WriteQueue()].append(batch)
    try finish(&transaction, durability: nil)
  }

  /// Removes a batch that the remote accepted, and applies the remote's results. Returns the local views of
  /// the affected documents.
  package func acknowledge(
    _ id: BatchID, _ version: SnapshotVersion, results: [WriteResult], token: [UInt8]
  ) throws(DocumentStoreError) -> [SyncedDocument] {
    guard let batch = queue[id] else { return [] }
    let answer = Acceptance(version: version, results: results)
    return try step { () throws(DocumentStoreError) in try acknowledge(batch, answer, token: token) }
  }

  private func acknowledge(
    _ batch: PendingBatch, _ answer: Acceptance, token: [UInt8]
  ) throws(DocumentStoreError) -> [SyncedDocument] {
    let (version, results) = (answer.version, answer.results)
    var transaction = begin()
    for path in batch.paths {
      let remote = try transaction.remote(path)
      let accepted = batch.acknowledged(on: remote, version, results: results)
      // The watch stream may already have delivered a newer version.
      if remote.version < accepted.version {
        // Other users of this store may have pending writes of the document.
        keepBase(remote, exceptOf: user, transaction: &transaction)
        try transaction.setRemote(accepted)
      }
      try advanceBase(path, batch, version: version, results: results, transaction: &transaction)
    }
    if !token.isEmpty, token != streamToken {
      tokens[CacheKeys.queueName(user)] = token
      putTokens(&transaction)
    }
    return try remove(batch, &transaction, durability: answerDurability(), answer: answer)
  }

  /// Every sixteenth answer is synced. After a power loss, the client sends the batches again whose answers
  /// were lost. An authority recognises more batches than that.
  private func answerDurability() -> StoreDurability {
    bufferedAnswers += 1
    guard bufferedAnswers == Self.bufferedAnswersMax else { return .buffered }
    bufferedAnswers = 0
    return .synced
  }

  /// Removes a batch that will never take effect, and keeps its rejection until the app has seen it. The
  /// removal is durable when this returns, unless the store has a lower durability, because a batch must not
  /// reappear after its rejection was reported. Returns the affected documents' local views.
  package func reject(
    _ id: BatchID, keeping rejection: Rejection? = nil
  ) throws(DocumentStoreError) -> [SyncedDocument] {
    guard let batch = queue[id] else { return [] }
    return try step { () throws(DocumentStoreError) in
      var transaction = begin()
      if let rejection { keep(rejection, &transaction) }
      return try remove(batch, &transaction, durability: nil, answer: nil)
    }
  }

  /// Removes a batch from the queue, and updates later batches and the views. `answer` is nil if the remote
  /// did not accept the batch.
  private func remove(
    _ batch: PendingBatch, _ transaction: inout CacheTransaction, durability: StoreDurability?,
    answer: Acceptance?
  ) throws(DocumentStoreError) -> [SyncedDocument] {
    var seen: [DocumentPath: SyncedDocument] = [:]
    for path in batch.paths { seen[path] = try transaction.seen(path, isPending: true) }
    var followers: [DocumentPath: [BatchID: PendingBatch]] = [:]
    for path in batch.paths {
      followers[path] = updateFollowers(of: batch, path, answer: answer, transaction: &transaction)
    }
    queues[user]?.remove(batch.id)
    removeBatch(batch.id, of: user, transaction: &transaction)
    try noteAnswered(batch, &transaction)
    dropTokens(of: batch.run, user, transaction: &transaction)
    dropExport(of: batch.run, user, transaction: &transaction)
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

  /// Updates the batches that follow `batch` in a document. Returns the previous versions of those updated
  /// batches whose effect may be visible.
  private func updateFollowers(
    of batch: PendingBatch, _ path: DocumentPath, answer: Acceptance?,
    transaction: inout CacheTransaction
  ) -> [BatchID: PendingBatch] {
    guard let followerUpdates = queues[user]?.updateFollowers(of: batch, path, answer: answer) else {
      return [:]
    }
    for changed in followerUpdates.changed {
      put(changed, &transaction)
    }
    return followerUpdates.before
  }
}
