// A full disk: the client takes no changes from the remote until there is space again.
//
//   1. a change of the remote cannot be stored. The step has no effect, the watch stream is closed, and
//      listeners receive cached snapshots
//   2. an answer to a write that cannot be stored is held, and so are the answers after it. No more writes
//      are sent. A rejection is dropped: its write stays in the queue, and is sent and rejected again
//   3. a timer tries small writes, with a growing delay. When one succeeds, the held answers are stored and
//      the streams are opened. The watch stream resumes from the last stored change
//   4. the client counts as paused until a change or an answer is stored. If that fails, the delay grows on
//
// Writes of users are independent of this: each is queued, or fails alone.

internal import DocumentStore

/// Whether the client takes changes from its remote.
struct StorageSide {
  enum Phase {
    case possible
    /// The disk is full.
    case paused
    /// The streams are open again, and nothing was stored yet.
    case trying
  }

  /// An answer that could not be stored.
  struct HeldAnswer {
    let batch: PendingBatch
    let version: SnapshotVersion
    let results: [WriteResult]
    let token: [UInt8]
  }

  var phase = Phase.possible
  var backoff: Backoff
  /// Whether no more writes are sent.
  var holdsWrites = false
  /// The answers to the first batches of each user's queue, in order.
  var held: [String?: [HeldAnswer]] = [:]
}

extension SyncEngine {
  private static let delayMin: Int64 = 1_000_000

  /// Whether the disk was full when the client last stored something of the remote.
  package var isPausedByFullDisk: Bool { storage.phase != .possible }

  var isPaused: Bool { storage.phase == .paused }

  /// The current user's answers that could not be stored.
  var heldAnswers: [StorageSide.HeldAnswer] { storage.held[local.user] ?? [] }

  var mayWrite: Bool { !storage.holdsWrites && heldAnswers.isEmpty }

  /// Runs a step that stores something of the remote. Returns nil, after pausing, if the disk is full.
  func stored<Value>(
    _ body: () throws(DocumentStoreError) -> Value
  ) throws(DocumentStoreError) -> Value? {
    do throws(DocumentStoreError) {
      return try body()
    } catch {
      guard case .full = error else { throw error }
      pause(error)
      return nil
    }
  }

  /// Runs a step whose failure has no consequence but a larger cache.
  func unlessFull(_ body: () throws(DocumentStoreError) -> Void) throws(DocumentStoreError) {
    do throws(DocumentStoreError) { try body() } catch {
      guard case .full = error else { throw error }
    }
  }

  // MARK: Pausing

  private func pause(_ error: DocumentStoreError) {
    if storage.phase == .possible { effects.append(.paused(error)) }
    guard !isPaused else { return }
    storage.phase = .paused
    loading.isMinor = false
    stopWatch()
    restoreTargets()
    online.set(.offline)
    announceOnline()
    startStorageTimer()
  }

  private func startStorageTimer() {
    let delay = max(Self.delayMin, storage.backoff.next())
    effects.append(.startTimer(.storage, microseconds: delay))
  }

  /// The next stream resumes from what is stored, and not from what has been received.
  private func restoreTargets() {
    for (id, target) in watching.targets {
      var restored = TargetData(id, target.query, purpose: target.purpose)
      if let stored = local.targets[id] {
        restored.version = stored.version
        restored.resumeToken = stored.resumeToken
        restored.readTime = stored.readTime
        restored.purpose = .listen
      }
      watching.targets[id] = restored
      limbo.resolutions[id]?.isReceived = false
    }
  }

  /// Notes that something of the remote was stored.
  func noteStored() {
    guard storage.phase == .trying else { return }
    storage.phase = .possible
    loading.isMinor = false
    storage.backoff.reset()
    effects.append(.resumed)
  }

  // MARK: Trying again

  func retryStorage() throws(DocumentStoreError) {
    guard isPaused else { return }
    do throws(DocumentStoreError) {
      try local.probe()
      storage.phase = .trying
      storage.holdsWrites = false
      try refreshViews()
      guard try storeHeldAnswers() else { return }
    } catch {
      guard case .full = error else { throw error }
      return startStorageTimer()
    }
    guard isNetworkEnabled else { return noteStored() }
    if watching.targets.isEmpty, local.queue.isEmpty { noteStored() }
    if !watching.phase.isStarted { try startStreams() } else { try fillPipeline() }
  }

  /// Stores answers that were held. Returns false, after pausing, if the disk is full.
  func storeHeldAnswers() throws(DocumentStoreError) -> Bool {
    while let answer = heldAnswers.first {
      let batch = answer.batch
      guard local.queue[batch.id] != nil else {
        removeHeldAnswer(batch.id)
        continue
      }
      let isStored = try acknowledge(
        batch, answer.version, results: answer.results, token: answer.token,
        whenStored: { removeHeldAnswer(batch.id) })
      guard isStored else { return false }
    }
    return true
  }

  func removeHeldAnswer(_ id: BatchID) {
    storage.held[local.user]?.removeAll { $0.batch.id == id }
    if storage.held[local.user]?.isEmpty == true { storage.held[local.user] = nil }
  }

  /// Updates all views after a step that failed midway was repaired.
  func refreshViews() throws(DocumentStoreError) {
    guard local.takeUnseenChange() else { return }
    var paths: Set<DocumentPath> = []
    for known in views.values {
      paths.formUnion(known.view.storedDocuments.map(\.path))
      paths.formUnion(try local.documents(known.view.query).map(\.path))
    }
    var documents: [SyncedDocument] = []
    for path in paths.sorted(by: { ValueOrder.compare($0, $1) == .before }) {
      documents.append(try local.document(path))
    }
    try emit(documents, nil)
  }
}
