// The write stream: the first batches of the queue are on their way, and answered in their order.

internal import DocumentStore

extension SyncEngine {
  private static let idleTime: Int64 = 60_000_000

  func fillPipeline() throws(DocumentStoreError) {
    guard isNetworkEnabled else { return }
    while writing.pipeline.count < WriteSide.pipelineMax {
      guard let next = local.queues[local.user]?.next(after: writing.pipeline.last?.id) else { break }
      writing.pipeline.append(next)
      if writing.phase == .open, writing.isHandshakeComplete { send(next) }
    }
    if writing.pipeline.isEmpty {
      guard writing.phase == .open, !writing.isIdleTimerRunning else { return }
      writing.isIdleTimerRunning = true
      effects.append(.startTimer(.writeIdle, microseconds: Self.idleTime))
    } else if !writing.phase.isStarted {
      startWrite()
    }
  }

  private func send(_ batch: PendingBatch) {
    stopIdleTimer()
    let first = writing.pipeline.first?.id ?? batch.id
    effects.append(
      .send(
        RemoteWrite(
          id: WriteID(queue: local.queueName, run: batch.run, batch: batch.id),
          mutations: batch.mutations, firstOpen: first)))
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
    effects.append(.openWrite(user: local.user))
  }

  func writeWaited() {
    guard writing.phase == .waiting else { return }
    if writing.pipeline.isEmpty { writing.phase = .stopped } else { openWrite() }
  }

  func writeOpened() {
    guard writing.phase == .opening else { return }
    writing.phase = .open
    effects.append(.handshake(token: local.streamToken))
  }

  func handshakeComplete(_ token: [UInt8]) throws(DocumentStoreError) {
    guard writing.phase == .open, !writing.isHandshakeComplete else { return }
    writing.isHandshakeComplete = true
    try local.setStreamToken(token)
    for batch in writing.pipeline { send(batch) }
  }

  func writeAnswered(
    _ version: SnapshotVersion, _ results: [WriteResult], _ token: [UInt8]
  ) throws(DocumentStoreError) {
    guard writing.phase == .open, !writing.pipeline.isEmpty else { return }
    // A handshake does not show that the stream is well: the write itself may be what fails each time.
    writing.backoff.reset()
    writing.hasFailed = false
    let batch = writing.pipeline.removeFirst()
    try acknowledge(batch, version, results, token)
    try fillPipeline()
  }

  func writeClosed(_ error: RemoteError?) throws(DocumentStoreError) {
    guard writing.phase.isStarted else { return }
    let wasReady = writing.isHandshakeComplete
    stopIdleTimer()
    writing.phase = .stopped
    writing.isHandshakeComplete = false
    writing.hasFailed = error != nil
    if error?.code == .resourceExhausted { writing.backoff.wait() }
    if let error, !writing.pipeline.isEmpty {
      if wasReady, error.code.isPermanentForWrites {
        // It is the write that is wrong, not the connection.
        let batch = writing.pipeline.removeFirst()
        writing.backoff.reset()
        writing.hasFailed = false
        try reject(batch.id, error)
      } else if !wasReady, error.code.isPermanent {
        try local.setStreamToken([])
      }
    }
    try fillPipeline()
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
    writing.hasFailed = false
  }

  private func stopIdleTimer() {
    guard writing.isIdleTimerRunning else { return }
    writing.isIdleTimerRunning = false
    effects.append(.stopTimer(.writeIdle))
  }
}
