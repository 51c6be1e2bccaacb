// The sync engine of a client: a state machine that turns events into effects.
//
//   effects = handle(event)
//
// It has no clock, no thread and no connection. All persistent state is in the local store, and every change
// is written there before a call returns. Calls must not overlap.
//
// Invariants:
//   - The targets on an open watch stream are `watching.targets`.
//   - The held answers and then `writing.pipeline` are a prefix of the user's queue, in order. The pipeline
//     has at most `pipelineMax` batches.
//   - A client that is paused by a full disk has no watch stream.
//   - Each query with a listener has one view. Queries with equal targets share the remote's messages about
//     that target.

package import DocumentStore

package final class SyncEngine {
  package struct Options: Sendable {
    package var limboMax = 100
    package var documentsName = ""
    package var seed: UInt64 = 0
    /// The resolver to call if other clients have changed the base of pending writes. Without a resolver, the
    /// last write wins.
    package var resolver: ConflictResolver?
    /// The maximum cache size in bytes. A larger cache periodically loses its least recently used
    /// documents; nil means no limit.
    package var cacheBytesMax: UInt64?
    /// The maximum cache size of each of these collections, in bytes.
    package var budgets: [CollectionPath: UInt64] = [:]
    /// A time in microseconds. For pending reads, a remote that sends nothing for twice this time counts as
    /// unreachable.
    package var silenceInterval: Int64 = 5_000_000
    /// The monitor of the device's network. Without one, the remote's monitor is used, if it has any.
    package var networkMonitor: (any NetworkMonitor)?
    package var networkUse = NetworkUse.any

    package init() {}
  }

  struct QueryView {
    var view: SyncView
    let target: TargetID
  }

  package let local: LocalStore
  let options: Options
  /// The views, keyed by the canonical text of their queries.
  var views: [String: QueryView] = [:]
  /// The keys of `views`, in the order in which they were created.
  var viewOrder: [String] = []
  /// The keys of `views` by target; a target without views has no entry.
  var queryTextsByTarget: [TargetID: [String]] = [:]
  var events = EventManager()
  var syncListeners: [ListenerID] = []
  var online = OnlineTracker()
  var watching: WatchSide
  var writing: WriteSide
  var storage: StorageSide
  var limbo = LimboSide()
  var pinning = PinningSide()
  var loading = LoadingSide()
  var network = NetworkSide()
  /// Whether the client reports itself as offline to users.
  package var isOffline: Bool { online.state == .offline }
  var completions: [String: [BatchID: CallID]] = [:]
  var waits: [(batch: BatchID, call: CallID)] = []
  /// The counts of the current user's answered writes since the client last changed its user.
  var answers = QueueProgress.Answers()
  /// The number of writes that the last import has added, or the reason why it was refused.
  var importResult: Result<Int, DocumentStoreError> = .success(0)
  /// The number of batches that the last discarding of an export has removed.
  var discardedCount = 0
  var effects: [SyncEffect] = []

  package init(_ local: LocalStore, _ options: Options = Options()) {
    self.local = local
    self.options = options
    local.resolver = options.resolver
    network.use = options.networkUse
    watching = WatchSide(backoff: Backoff(seed: options.seed))
    writing = WriteSide(backoff: Backoff(seed: ~options.seed))
    storage = StorageSide(backoff: Backoff(seed: options.seed &+ 1))
  }

  /// Starts the engine and continues with the queue that an earlier run left.
  package func start() throws(DocumentStoreError) -> [SyncEffect] {
    if options.cacheBytesMax != nil || !options.budgets.isEmpty {
      effects.append(.startTimer(.collection, microseconds: Self.collectionDelay))
    }
    try fillPipeline()
    try followPins()
    return takeEffects()
  }

  /// Processes an event. Throws if the store fails. An event that fails because the disk is full has no
  /// effect, and so has a failed write of a user. After any other failure the client has to be opened again.
  package func handle(_ event: SyncEvent) throws(DocumentStoreError) -> [SyncEffect] {
    do throws(DocumentStoreError) {
      try refreshViews()
      try take(event)
    } catch {
      effects = []
      throw error
    }
    return takeEffects()
  }

  /// Queues several writes of users in order. All of them are durable when this function returns. For each
  /// write, returns its effects or the error that prevented it. Throws if the outcome of any write is
  /// unknown. The client then has to be opened again.
  package func take(
    _ writes: [UserWrite]
  ) throws(DocumentStoreError) -> [Result<[SyncEffect], DocumentStoreError>] {
    var results: [Result<[SyncEffect], DocumentStoreError>] = []
    var needsSync = false
    for (place, write) in writes.enumerated() {
      let isLast = place == writes.count - 1
      let written: LocalStore.Written
      do throws(DocumentStoreError) {
        // The fsync of the last write makes the earlier ones durable, too.
        written = try local.write(
          write.mutations, at: write.time, durability: isLast ? nil : .buffered,
          sendsAtOnce: writing.hasRegistered)
      } catch {
        results.append(.failure(error))
        continue
      }
      needsSync = !isLast
      do throws(DocumentStoreError) { try follow(written, write.call) } catch {
        effects = []
        throw error
      }
      results.append(.success(takeEffects()))
    }
    if needsSync { try local.store.sync() }
    return results
  }

  func takeEffects() -> [SyncEffect] {
    defer { effects = [] }
    return effects
  }

  private func take(_ event: SyncEvent) throws(DocumentStoreError) {
    noteProgress(of: event)
    switch event {
    case .listen(let id, let query, let rules): try listen(id, query, rules: rules)
    case .unlisten(let id): try unlisten(id)
    case .listenToSync(let id):
      syncListeners.append(id)
      effects.append(.notifySync(id))
    case .unlistenToSync(let id): syncListeners.removeAll { $0 == id }
    case .write(let mutations, let time, let call): try write(mutations, at: time, call: call)
    case .cancelWrite(let id): try cancelWrite(id)
    case .discardWrites(let user): try discardWrites(of: user)
    case .discardExported(let exported): try discardWrites(in: exported)
    case .importWrites(let exported): try importWrites(exported)
    case .rejectionSeen(let id, let user):
      try unlessFull { () throws(DocumentStoreError) in try local.removeRejection(id, of: user) }
    case .waitForPendingWrites(let call): wait(call)
    case .changeUser(let user): try changeUser(user)
    case .enableNetwork: try enableNetwork()
    case .disableNetwork: try disableNetwork()
    case .networkChanged(let status): try networkChanged(status)
    case .setNetworkUse(let use): try setNetworkUse(use)
    case .collect(let threshold, let percentile): try collect(threshold, percentile: percentile)
    case .load(let bundle): try emit(try local.load(bundle), nil)
    case .watchOpened: try watchOpened()
    case .watchChanged(let change, let version): try watchChanged(change, version)
    case .watchClosed(let error): try watchClosed(error)
    case .writeOpened: writeOpened()
    case .registered(let tokens): try registered(tokens)
    case .handshakeComplete(let token): try handshakeComplete(token)
    case .writeAnswered(let version, let results, let token):
      try writeAnswered(version, results, token: token)
    case .writeClosed(let error): try writeClosed(error)
    case .writeOvertaken: try writeOvertaken()
    case .lookedUp(let id, let result): try lookedUp(id, result)
    case .credentialsChanged: try credentialsChanged()
    case .timer(let timer): try fire(timer)
    }
  }

  private func fire(_ timer: SyncTimer) throws(DocumentStoreError) {
    switch timer {
    case .watchBackoff: try watchBackoffEnded()
    case .writeBackoff: writeBackoffEnded()
    case .watchIdle: try closeIdleWatch()
    case .writeIdle: closeIdleWrite()
    case .onlineState:
      online.timeOut()
      announceOnline()
    case .collection:
      try unlessFull { () throws(DocumentStoreError) in
        if let threshold = options.cacheBytesMax { try collect(threshold, percentile: 10) }
        try enforceBudgets(options.budgets)
      }
      effects.append(.startTimer(.collection, microseconds: Self.collectionPeriod))
    case .storage: try retryStorage()
    case .readSilence: break
    }
  }

  private static let collectionDelay: Int64 = 60_000_000
  private static let collectionPeriod: Int64 = 300_000_000

  private var activeTargets: Set<TargetID> { local.heldTargets.union(queryTextsByTarget.keys) }

  private func collect(_ threshold: UInt64, percentile: Int) throws(DocumentStoreError) {
    _ = try local.collect(threshold: threshold, percentile: percentile, active: activeTargets)
  }

  /// Evicts documents that have not changed since the given time, unless a view contains them or they have a
  /// pending write. Returns the number of evicted documents. A later read fetches them from the remote again.
  package func evict(
    _ query: StructuredQuery, before time: StoredTimestamp
  ) throws(DocumentStoreError) -> Int {
    try local.evict(query, before: SnapshotVersion(time), active: activeTargets, unless: isInView)
  }

  /// Evicts the least recently used documents of each collection that exceeds its size limit.
  package func enforceBudgets(_ budgets: [CollectionPath: UInt64]) throws(DocumentStoreError) {
    for (collection, bytesMax) in budgets {
      _ = try local.shrink(collection, to: bytesMax, active: activeTargets, unless: isInView)
    }
  }

  private func isInView(_ path: DocumentPath) -> Bool {
    views.values.contains { $0.view.document(path) != nil }
  }

  /// Applies documents that were looked up. Returns false if one of them was refused, or if the disk is full.
  func take(_ documents: [RemoteDocument]) throws(DocumentStoreError) -> Bool {
    var event = RemoteEvent(version: .none)
    var refusals: [RemoteRefusal] = []
    for document in documents {
      do throws(RemoteRefusal) {
        event.documents[document.path] = try document.admitted(at: document.path).synced
      } catch {
        refusals.append(error)
      }
    }
    let changed = try stored { () throws(DocumentStoreError) in try local.apply(event) }
    guard let changed else { return false }
    try emit(changed, nil)
    notify(refusals)
    return refusals.isEmpty
  }
}

// MARK: - Invariants between two events

extension SyncEngine {
  /// Returns the target of a query that has a listener.
  package func target(of query: StructuredQuery) -> TargetID? { views[query.canonicalID]?.target }

  /// The limbo documents that have a target.
  package var activeLimbo: [DocumentPath: TargetID] { limbo.active }
  package var enqueuedLimbo: [DocumentPath] { limbo.enqueued.all }

  /// Returns a description of a violated invariant, or nil. Checks everything that listeners see and runs
  /// their queries again.
  package func brokenInvariant() throws(DocumentStoreError) -> String? {
    let queue = local.queue
    if let broken = queue.brokenInvariant() { return broken }
    let held = heldAnswers.map(\.batch.id)
    let front = Array(queue.ids.prefix(held.count + writing.pipeline.count))
    if held + writing.pipeline.map(\.id) != front { return "the pipeline is not the front of the queue" }
    if isPaused, watching.phase != .stopped { return "a paused client has a watch stream" }
    if writing.pipeline.count > WriteSide.pipelineMax { return "the pipeline is too long" }
    // Before its repair, a step that a full disk interrupted has left documents that the queue does not make.
    for path in local.needsRepair ? [] : Array(queue.paths) {
      let expected = try local.composedDocument(path)
      if try local.document(path) != expected { return "\(path) is not read as the queue makes it" }
      let seen = try local.store.document(at: path)
      if seen != expected.stored { return "\(path) is not what the queue makes of it" }
    }
    for (text, known) in views where queryTextsByTarget[known.target]?.contains(text) != true {
      return "the views of target \(known.target)"
    }
    for known in views.values {
      if let broken = known.view.brokenInvariant() { return broken }
    }
    return nil
  }
}
