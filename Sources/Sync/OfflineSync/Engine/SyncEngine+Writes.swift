// The life of a write: into the queue, through the pipeline, to the remote's answer.

internal import DocumentStore

extension SyncEngine {
  // MARK: From users

  func write(
    _ mutations: [Mutation], at time: StoredTimestamp, call: CallID?
  ) throws(DocumentStoreError) {
    try follow(try local.write(mutations, at: time, sendsAtOnce: writing.hasRegistered), call)
  }

  /// Continues after a batch was queued: updates views and fills the pipeline.
  func follow(_ written: LocalStore.Written, _ call: CallID?) throws(DocumentStoreError) {
    if let call { completions[local.queueName, default: [:]][written.batch.id] = call }
    try emit(written.documents, nil)
    try fillPipeline()
  }

  /// The batches without an answer, in order.
  package var pendingBatches: [PendingBatch] { local.queue.all }

  /// The number of batches that are sent or will be sent as soon as the stream is open.
  package var outstandingCount: Int { writing.pipeline.count }

  /// The progress of the current user's queue. The cost is independent of the queue's length.
  package var progress: QueueProgress {
    QueueProgress(
      user: local.user, pendingCount: local.queue.count,
      sentCount: writing.isHandshakeComplete ? writing.pipeline.count : 0, answers: answers,
      oldest: local.queue.first?.time)
  }

  /// The number of the current user's pending writes.
  var pendingWriteCount: Int { local.queue.count }

  func cancelWrite(_ id: BatchID) throws(DocumentStoreError) {
    guard local.queue[id] != nil else { return }
    try reject(id, RemoteError(.cancelled, "The write was cancelled."))
    if writing.lookup == id { writing.lookup = nil }
    removeHeldAnswer(id)
    if let place = writing.pipeline.firstIndex(where: { $0.id == id }) {
      writing.pipeline.remove(at: place)
      // The remote answers batches in the order in which they were sent. On this stream, the client would
      // therefore treat the answer to this batch as the answer to the next one.
      stopWrite()
    }
    try fillPipeline()
  }

  func wait(_ call: CallID) {
    guard let last = local.queue.last else { return effects.append(.finishWait(call, nil)) }
    waits.append((last.id, call))
  }

  // MARK: Answers

  /// Returns false, after pausing, if the disk is full. The batch then stays in the queue. `whenStored` is
  /// called after the answer was stored, and before listeners see its result.
  func acknowledge(
    _ batch: PendingBatch, _ version: SnapshotVersion, results: [WriteResult], token: [UInt8],
    whenStored: () -> Void = {}
  ) throws(DocumentStoreError) -> Bool {
    let changed = try stored { () throws(DocumentStoreError) in
      try local.acknowledge(batch.id, version, results: results, token: token)
    }
    guard let changed else { return false }
    noteStored()
    whenStored()
    answers.accepted += 1
    // The caller's completion runs before listeners see the result.
    complete(batch.id, nil)
    try emit(changed, nil)
    return true
  }

  func reject(_ id: BatchID, _ error: RemoteError) throws(DocumentStoreError) {
    guard let batch = local.queue[id] else { return }
    // Only a local cancellation has this code. The client treats a remote's `cancelled` as transient, so it
    // is never a rejection.
    let rejection =
      error.code == .cancelled
      ? nil
      : Rejection(batch, of: local.user, error: error, bytesMax: local.rejectionLimits.batchBytesMax)
    let droppedBefore = local.droppedRejectionCount
    let documents = try local.reject(id, keeping: rejection)
    if let rejection {
      answers.rejected += 1
      effects.append(.rejected(rejection, dropped: local.droppedRejectionCount - droppedBefore))
    } else {
      answers.cancelled += 1
    }
    // See `acknowledge`.
    complete(id, error)
    try emit(documents, nil)
  }

  private func complete(_ id: BatchID, _ error: RemoteError?) {
    if let call = completions[local.queueName]?.removeValue(forKey: id) {
      effects.append(.finishWrite(call, error))
    }
    // A cancelled batch may be in the middle of the queue. Callers that wait for this batch then wait for the
    // previous one.
    let before = local.queue.previous(before: id)
    for place in waits.indices where waits[place].batch == id {
      if let before {
        waits[place].batch = before
      } else {
        effects.append(.finishWait(waits[place].call, nil))
      }
    }
    waits.removeAll { $0.batch == id }
  }

  // MARK: Users

  /// Removes all pending writes of a user, as cancelled ones.
  func discardWrites(of user: String?) throws(DocumentStoreError) {
    let count = local.pendingBatches(of: user).count
    let documents = try local.discardWrites(of: user)
    let error = RemoteError(.cancelled, "The writes of the user were discarded.")
    let calls = completions.removeValue(forKey: "\(local.client)/\(CacheKeys.queueName(user))") ?? [:]
    storage.held[user] = nil
    if user == local.user {
      stopWrite()
      writing.pipeline = []
      writing.lookup = nil
      answers.cancelled += count
    }
    for (_, call) in calls.sorted(by: { $0.key < $1.key }) { effects.append(.finishWrite(call, error)) }
    guard user == local.user else { return }
    for wait in waits { effects.append(.finishWait(wait.call, nil)) }
    waits = []
    try emit(documents, nil)
    try fillPipeline()
  }

  /// Removes the pending writes that an export has, as cancelled ones.
  func discardWrites(in exported: ExportedWrites) throws(DocumentStoreError) {
    let (ids, documents) = try local.discardWrites(in: exported)
    discardedCount = ids.count
    guard !ids.isEmpty else { return }
    let discarded = Set(ids)
    let error = RemoteError(.cancelled, "The writes of the user were discarded.")
    let user = exported.user
    storage.held[user]?.removeAll { discarded.contains($0.batch.id) }
    if storage.held[user]?.isEmpty == true { storage.held[user] = nil }
    guard user == local.user else {
      let queue = "\(local.client)/\(CacheKeys.queueName(user))"
      for id in ids {
        guard let call = completions[queue]?.removeValue(forKey: id) else { continue }
        effects.append(.finishWrite(call, error))
      }
      return
    }
    answers.cancelled += ids.count
    if writing.lookup.map(discarded.contains) == true { writing.lookup = nil }
    // The remote answers batches in the order in which they were sent, and later batches may have changed.
    if writing.pipeline.contains(where: { discarded.contains($0.id) }) {
      stopWrite()
      writing.pipeline = []
    }
    for id in ids { complete(id, error) }
    try emit(documents, nil)
    try fillPipeline()
  }

  /// Imports exported writes.
  func importWrites(_ exported: ExportedWrites) throws(DocumentStoreError) {
    if let refusal = try local.refusal(of: exported) {
      importResult = .failure(refusal)
      return
    }
    let (count, documents) = try local.importWrites(exported)
    importResult = .success(count)
    try emit(documents, nil)
    try fillPipeline()
  }

  func changeUser(_ user: String?) throws(DocumentStoreError) {
    guard user != local.user else { return }
    let documents = try local.changeUser(user)
    let cancelled = RemoteError(
      .cancelled, "'waitForPendingWrites' promise is rejected due to a user change.")
    for wait in waits { effects.append(.finishWait(wait.call, cancelled)) }
    waits = []
    answers = QueueProgress.Answers()
    stopStreams()
    if isNetworkEnabled {
      online.set(.unknown)
      announceOnline()
    }
    try emit(documents, nil)
    _ = try storeHeldAnswers()
    try dropPins()
    if isNetworkEnabled { try startStreams() }
    try followPins()
  }
}
