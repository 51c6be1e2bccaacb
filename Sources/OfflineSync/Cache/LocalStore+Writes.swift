// Writes, from the user to the remote's answer.

package import DocumentStore

extension LocalStore {
  /// Takes a batch into the queue: it is there when this returns, whatever happens then. The documents as they look
  /// now.
  package func write(
    _ mutations: [Mutation], at time: StoredTimestamp
  ) throws(DocumentStoreError) -> (batch: PendingBatch, documents: [SyncedDocument]) {
    var transaction = begin()
    var read: [DocumentPath: SyncedDocument] = [:]
    for mutation in mutations where read[mutation.path] == nil {
      read[mutation.path] = local(try transaction.remote(mutation.path))
    }
    let base = try PendingBatch.base(of: mutations) { path throws(DocumentStoreError) in
      read[path] ?? SyncedDocument(path)
    }
    let batch = PendingBatch(
      id: BatchID(globals.lastBatch + 1), time: time, base: base, mutations: mutations)
    for path in batch.paths { try transaction.touch(path) }
    transaction.put([("b", .bytes(BatchCodec.encode(batch)))], at: CacheKeys.batch(batch.id, of: user))
    globals.lastBatch += 1
    queues[user, default: WriteQueue()].append(batch)
    do throws(DocumentStoreError) {
      try finish(&transaction, durability: nil)
    } catch {
      // Its number is not used again.
      queues[user]?.remove(batch.id)
      throw error
    }
    return (batch, batch.paths.map { batch.applied(to: read[$0] ?? SyncedDocument($0)) })
  }

  /// The same for documents that are there already, and that the remote does not know.
  package func write(uploading mutations: [Mutation]) throws(DocumentStoreError) {
    guard let time = try store.snapshot().time, !mutations.isEmpty else { return }
    var transaction = begin()
    let batch = PendingBatch(
      id: BatchID(globals.lastBatch + 1), time: time, base: [], mutations: mutations)
    for path in batch.paths { try transaction.setRemote(SyncedDocument(path)) }
    transaction.put([("b", .bytes(BatchCodec.encode(batch)))], at: CacheKeys.batch(batch.id, of: user))
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
      if remote.version < accepted.version { try transaction.setRemote(accepted) }
    }
    if !token.isEmpty, token != streamToken {
      tokens[CacheKeys.queueName(user)] = token
      transaction.put(tokens.map { ($0, .bytes($1)) }, at: CacheKeys.tokens)
    }
    return try remove(batch, &transaction)
  }

  /// A batch will never happen. The documents as they look now.
  package func reject(_ id: BatchID) throws(DocumentStoreError) -> [SyncedDocument] {
    guard let batch = queue[id] else { return [] }
    var transaction = begin()
    return try remove(batch, &transaction)
  }

  private func remove(
    _ batch: PendingBatch, _ transaction: inout CacheTransaction
  ) throws(DocumentStoreError) -> [SyncedDocument] {
    queues[user]?.remove(batch.id)
    transaction.remove(CacheKeys.batch(batch.id, of: user))
    var documents: [SyncedDocument] = []
    for path in batch.paths {
      try transaction.touch(path)
      documents.append(local(try transaction.remote(path)))
      transaction.orphans.insert(path)
    }
    try finish(&transaction)
    return documents
  }
}
