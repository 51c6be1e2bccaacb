// The write stream: sends the first batches of the queue and processes their answers in order.

internal import DocumentStore

extension SyncEngine {
  private static let idleTime: Int64 = 60_000_000

  func fillPipeline() throws(DocumentStoreError) {
    guard isNetworkEnabled, writing.lookup == nil, mayWrite else { return }
    guard try acceptDropped() else { return }
    if writing.pipeline.isEmpty, let next = local.queues[local.user]?.first,
      writing.waitsForRegistration(next)
    {
      // The handshake of the next stream names the run.
      stopWrite()
    }
    while writing.pipeline.count < WriteSide.pipelineMax {
      guard let next = local.queues[local.user]?.next(after: writing.pipeline.last?.id),
        !waitsForAnswer(next), !writing.waitsForRegistration(next), !next.isDropped
      else { break }
      writing.pipeline.append(next)
      if writing.phase == .open, writing.isHandshakeComplete { try send(next) }
    }
    if writing.pipeline.isEmpty {
      guard writing.phase == .open, !writing.isIdleTimerRunning else { return }
      writing.isIdleTimerRunning = true
      effects.append(.startTimer(.writeIdle, microseconds: Self.idleTime))
    } else if !writing.phase.isStarted {
      startWrite()
    }
  }

  /// Accepts the first batches of the queue if the resolver has dropped all their writes, because there is
  /// nothing to send. Returns false if the disk is full.
  private func acceptDropped() throws(DocumentStoreError) -> Bool {
    while writing.pipeline.isEmpty, let batch = local.queue.first, batch.isDropped {
      guard try acknowledge(batch, .none, results: [], token: []) else {
        holdWrites()
        return false
      }
    }
    return true
  }

  /// Whether a batch has to wait for an answer. A batch that follows another batch gets its precondition from
  /// the answer to that batch. With a resolver, every batch waits for the earlier batches of its documents,
  /// because another client may write in between.
  private func waitsForAnswer(_ batch: PendingBatch) -> Bool {
    if writing.pipeline.contains(where: batch.follows) { return true }
    guard local.resolver != nil else { return false }
    let paths = Set(batch.paths)
    return writing.pipeline.contains { !paths.isDisjoint(with: $0.paths) }
  }

  private func send(_ batch: PendingBatch) throws(DocumentStoreError) {
    stopIdleTimer()
    // A run has its own record of what was answered.
    let first = writing.pipeline.first { $0.run == batch.run } ?? batch
    var write = RemoteWrite(
      id: WriteID(
        queue: batch.origin?.queue ?? local.queueName, run: batch.run, batch: batch.remoteID),
      mutations: batch.mutations.map(\.sent), firstOpen: first.remoteID, guards: try guards(of: batch))
    write.registration = local.registration(of: batch)
    effects.append(.send(write))
  }

  /// Returns the guards of a batch. A document with an earlier unanswered batch gets no guard, nor does one
  /// whose writes were dropped.
  private func guards(of batch: PendingBatch) throws(DocumentStoreError) -> [DocumentPath: Precondition] {
    guard local.resolver != nil else { return [:] }
    var guards: [DocumentPath: Precondition] = [:]
    for path in batch.paths
    where batch.writes(path) && local.queue.batches(about: path).first?.id == batch.id {
      guards[path] = try local.guardPrecondition(path)
    }
    return guards
  }

  // MARK: The stream

  private func startWrite() {
    let delay = writing.hasFailed ? writing.backoff.next() : 0
    if delay > 0 {
      writing.phase = .waiting
      effects.append(.startTimer(.writeBackoff, microseconds: delay))
    } else {
      openWrite()
    }
  }

  private func openWrite() {
    writing.phase = .opening
    writing.isHandshakeComplete = false
    writing.registersRuns = false
    effects.append(.openWrite(user: local.user))
  }

  func writeBackoffEnded() {
    guard writing.phase == .waiting else { return }
    if writing.pipeline.isEmpty { writing.phase = .stopped } else { openWrite() }
  }

  func writeOpened() {
    guard writing.phase == .opening else { return }
    writing.phase = .open
    let runs = local.registrations
    writing.namedRuns = Set(runs.map(\.run))
    effects.append(.handshake(token: local.streamToken, runs: runs))
  }

  /// Stores the tokens of the runs, before the first batch is sent under them.
  func registered(_ tokens: [RunID: [UInt8]]) throws(DocumentStoreError) {
    guard writing.phase == .open, !writing.isHandshakeComplete else { return }
    writing.registersRuns = true
    let isStored: Void? = try stored { () throws(DocumentStoreError) in
      try local.register(tokens.filter { RemoteLimits.isValid(registration: $0.value) })
    }
    // No batch may be sent before the tokens are stored.
    if isStored == nil { holdWrites() }
  }

  func handshakeComplete(_ token: [UInt8]) throws(DocumentStoreError) {
    guard writing.phase == .open, !writing.isHandshakeComplete else { return }
    writing.isHandshakeComplete = true
    if RemoteLimits.refusal(of: token) == nil { try local.setStreamToken(token) }
    // Batches that came into the pipeline after the handshake began may be of other runs.
    let held = writing.pipeline.firstIndex(where: writing.waitsForRegistration)
    if let held { writing.pipeline.removeSubrange(held...) }
    for batch in writing.pipeline { try send(batch) }
    if held != nil { try fillPipeline() }
  }

  func writeAnswered(
    _ version: SnapshotVersion, _ results: [WriteResult], token: [UInt8]
  ) throws(DocumentStoreError) {
    // Before the handshake nothing was sent, so there is nothing to answer.
    guard writing.phase == .open, writing.isHandshakeComplete, !writing.pipeline.isEmpty else { return }
    // The backoff is reset here and not at the handshake, because a write may break the stream each time it
    // is sent.
    writing.backoff.reset()
    writing.hasFailed = false
    let batch = writing.pipeline.removeFirst()
    let answer = RemoteLimits.admitted(version, results, token: token, of: batch.mutations.map(\.mutation))
    if heldAnswers.isEmpty {
      let isStored = try acknowledge(batch, answer.version, results: answer.results, token: answer.token)
      if !isStored { hold(batch, answer.version, results: answer.results, token: answer.token) }
    } else {
      hold(batch, answer.version, results: answer.results, token: answer.token)
    }
    notify(answer.refusals)
    try fillPipeline()
  }

  private func hold(
    _ batch: PendingBatch, _ version: SnapshotVersion, results: [WriteResult], token: [UInt8]
  ) {
    storage.held[local.user, default: []].append(
      StorageSide.HeldAnswer(batch: batch, version: version, results: results, token: token))
  }

  /// Sends no more writes until the disk has space.
  private func holdWrites() {
    storage.holdsWrites = true
    stopWrite()
    writing.pipeline = []
  }

  func writeClosed(_ error: RemoteError?) throws(DocumentStoreError) {
    guard writing.phase.isStarted else { return }
    let wasReady = writing.isHandshakeComplete
    stopIdleTimer()
    writing.phase = .stopped
    writing.isHandshakeComplete = false
    writing.registersRuns = false
    // See `watchClosed`.
    writing.hasFailed = true
    if error?.code == .resourceExhausted { writing.backoff.wait() }
    if let error, !writing.pipeline.isEmpty {
      if wasReady, error.code.isPermanentForWrites {
        // The remote rejects this write; the connection works.
        let batch = writing.pipeline.removeFirst()
        writing.backoff.reset()
        writing.hasFailed = false
        try takeRejection(of: batch.id, error)
      } else if !wasReady, error.code.isPermanent {
        try local.setStreamToken([])
      }
    }
    try fillPipeline()
  }

  // MARK: Conflicts

  /// Another client changed a document first. The pipeline stops until the current versions are known.
  func writeOvertaken() throws(DocumentStoreError) {
    guard writing.phase == .open, writing.isHandshakeComplete, let batch = writing.pipeline.first else {
      return
    }
    stopIdleTimer()
    writing.phase = .stopped
    writing.isHandshakeComplete = false
    writing.registersRuns = false
    writing.hasFailed = true
    writing.pipeline = []
    writing.lookup = batch.id
    // Only guarded documents have to be looked up. The resolver is not called for unguarded writes.
    let guarded = try guards(of: batch).keys.sorted { $0.description < $1.description }
    effects.append(.lookUp(batch.id, guarded.isEmpty ? batch.paths : guarded, user: local.user))
  }

  func lookedUp(
    _ id: BatchID, _ result: Result<[RemoteDocument], RemoteError>
  ) throws(DocumentStoreError) {
    guard writing.lookup == id else { return }
    writing.lookup = nil
    switch result {
    case .success(let documents):
      // If a document was refused, the lookup counts as unanswered and happens again.
      guard try take(documents) else { break }
      let changed = try stored { () throws(DocumentStoreError) in try local.resolve(id) }
      if let changed { try emit(changed, nil) }
    case .failure(let error) where error.code.isPermanentForWrites:
      // A user who may not read the other client's change cannot resolve the conflict.
      writing.backoff.reset()
      writing.hasFailed = false
      try takeRejection(of: id, error)
    case .failure:
      // The batch is sent and refused again, with a growing backoff.
      break
    }
    if isPaused { holdWrites() }
    try fillPipeline()
  }

  /// Handles a rejection by the remote. On a full disk, the batch stays in the queue. Behind held answers, it
  /// does too, because the batches before it have not left the queue.
  private func takeRejection(of id: BatchID, _ error: RemoteError) throws(DocumentStoreError) {
    guard heldAnswers.isEmpty else { return holdWrites() }
    let isStored: Void? = try stored { () throws(DocumentStoreError) in try reject(id, error) }
    if isStored == nil { holdWrites() } else { noteStored() }
  }

  func closeIdleWrite() {
    guard writing.isIdleTimerRunning, writing.pipeline.isEmpty else { return }
    stopWrite()
  }

  func stopWrite() {
    guard writing.phase.isStarted else { return }
    stopIdleTimer()
    if writing.phase == .waiting {
      effects.append(.stopTimer(.writeBackoff))
    } else {
      effects.append(.closeWrite)
    }
    writing.phase = .stopped
    writing.isHandshakeComplete = false
    writing.registersRuns = false
    writing.hasFailed = false
  }

  private func stopIdleTimer() {
    guard writing.isIdleTimerRunning else { return }
    writing.isIdleTimerRunning = false
    effects.append(.stopTimer(.writeIdle))
  }
}
