// The client of a remote, as a machine that is told what happens and answers what is to be done:
//
//   effects = handle(event)
//
// It has no clock, no thread and no connection. What it keeps for later is in the local store; a call returns when
// that has it. One call at a time.
//
// Invariants:
//   - The targets on an open watch stream are `watching.targets`.
//   - `writing.pipeline` is the front of the user's queue, no longer than `pipelineMax`, in order.
//   - Of each query that someone listens to there is one view; queries with the same target share what the remote
//     says of it.

package import DocumentStore

package final class SyncEngine {
  package struct Options: Sendable {
    package var limboMax = 100
    package var documentsName = ""
    package var seed: UInt64 = 0
    /// Asked when others have changed what writes build on; without one, the last write wins.
    package var resolver: ConflictResolver?
    /// A larger cache loses what was used longest ago, now and then; nil for one that keeps everything.
    package var cacheBytesMax: UInt64?
    /// The same for single collections.
    package var budgets: [CollectionPath: UInt64] = [:]
    /// Microseconds. A remote that says nothing for twice as long leaves reads to what is here.
    package var silence: Int64 = 5_000_000

    package init() {}
  }

  struct QueryView {
    var view: SyncView
    let target: TargetID
  }

  package let local: LocalStore
  let options: Options
  /// By the identity of the query.
  var views: [String: QueryView] = [:]
  /// In the order in which they came.
  var viewOrder: [String] = []
  /// The same by target, and none without a view.
  var textsOfTargets: [TargetID: [String]] = [:]
  var events = EventManager()
  var syncListeners: [ListenerID] = []
  var online = OnlineTracker()
  var watching: WatchSide
  var writing: WriteSide
  var limbo = LimboSide()
  package internal(set) var isNetworkEnabled = true
  /// As far as users are told.
  package var isOffline: Bool { online.state == .offline }
  var completions: [String: [BatchID: CallID]] = [:]
  var waits: [(batch: BatchID, call: CallID)] = []
  /// Of the current user's writes, since the user came.
  var answers = QueueProgress.Answers()
  var effects: [SyncEffect] = []

  package init(_ local: LocalStore, _ options: Options = Options()) {
    self.local = local
    self.options = options
    local.resolver = options.resolver
    watching = WatchSide(backoff: Backoff(seed: options.seed))
    writing = WriteSide(backoff: Backoff(seed: ~options.seed))
  }

  /// Takes up what an earlier run has left in the queue.
  package func start() throws(DocumentStoreError) -> [SyncEffect] {
    if options.cacheBytesMax != nil || !options.budgets.isEmpty {
      effects.append(.startTimer(.collection, microseconds: Self.collectionDelay))
    }
    try fillPipeline()
    return takeEffects()
  }

  /// Throws if the store fails. After a write of a user nothing has changed then; after anything else, the client has
  /// to be opened again.
  package func handle(_ event: SyncEvent) throws(DocumentStoreError) -> [SyncEffect] {
    do throws(DocumentStoreError) {
      try take(event)
    } catch {
      effects = []
      throw error
    }
    return takeEffects()
  }

  /// Writes of users one after the other, all of them durable when this returns. Of each what is to be done, or why it did
  /// not happen. Throws if it is not known which of them are there: the client has then to be opened again.
  package func take(
    _ writes: [UserWrite]
  ) throws(DocumentStoreError) -> [Result<[SyncEffect], DocumentStoreError>] {
    var results: [Result<[SyncEffect], DocumentStoreError>] = []
    var needsSync = false
    for (place, write) in writes.enumerated() {
      let isLast = place == writes.count - 1
      let written: LocalStore.Written
      do throws(DocumentStoreError) {
        // The last one takes those before it along.
        written = try local.write(write.mutations, at: write.time, isLast ? nil : .buffered)
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

  private func takeEffects() -> [SyncEffect] {
    defer { effects = [] }
    return effects
  }

  private func take(_ event: SyncEvent) throws(DocumentStoreError) {
    switch event {
    case .listen(let id, let query, let rules): try listen(id, query, rules)
    case .unlisten(let id): try unlisten(id)
    case .listenToSync(let id):
      syncListeners.append(id)
      effects.append(.tellSync(id))
    case .unlistenToSync(let id): syncListeners.removeAll { $0 == id }
    case .write(let mutations, let time, let call): try write(mutations, at: time, call)
    case .cancelWrite(let id): try cancelWrite(id)
    case .waitForPendingWrites(let call): wait(call)
    case .changeUser(let user): try changeUser(user)
    case .enableNetwork: try enableNetwork()
    case .disableNetwork: try disableNetwork()
    case .collect(let threshold, let percentile): try collect(threshold, percentile: percentile)
    case .load(let bundle): try emit(try local.load(bundle), nil)
    case .watchOpened: try watchOpened()
    case .watchChanged(let change, let version): try watchChanged(change, version)
    case .watchClosed(let error): try watchClosed(error)
    case .writeOpened: writeOpened()
    case .handshakeComplete(let token): try handshakeComplete(token)
    case .writeAnswered(let version, let results, let token): try writeAnswered(version, results, token)
    case .writeClosed(let error): try writeClosed(error)
    case .writeOvertaken: try writeOvertaken()
    case .lookedUp(let id, let result): try lookedUp(id, result)
    case .timer(let timer): try fire(timer)
    }
  }

  private func fire(_ timer: SyncTimer) throws(DocumentStoreError) {
    switch timer {
    case .watchBackoff: try watchWaited()
    case .writeBackoff: writeWaited()
    case .watchIdle: try closeIdleWatch()
    case .writeIdle: closeIdleWrite()
    case .onlineState:
      online.timeOut()
      announceOnline()
    case .collection:
      if let threshold = options.cacheBytesMax { try collect(threshold, percentile: 10) }
      try keepBudgets(options.budgets)
      effects.append(.startTimer(.collection, microseconds: Self.collectionPeriod))
    case .readSilence: break
    }
  }

  private static let collectionDelay: Int64 = 60_000_000
  private static let collectionPeriod: Int64 = 300_000_000

  private var activeTargets: Set<TargetID> { Set(textsOfTargets.keys) }

  private func collect(_ threshold: UInt64, percentile: Int) throws(DocumentStoreError) {
    _ = try local.collect(threshold: threshold, percentile: percentile, active: activeTargets)
  }

  /// Forgets documents that nobody has changed since, unless a listener sees them or a write of them is pending. How
  /// many; whoever asks for them again gets them from the remote.
  package func evict(
    _ query: StructuredQuery, before time: StoredTimestamp
  ) throws(DocumentStoreError) -> Int {
    try local.evict(query, before: SnapshotVersion(time), active: activeTargets, unless: isSeen)
  }

  /// Has collections that take more of the cache than they may lose what was used longest ago.
  package func keepBudgets(_ budgets: [CollectionPath: UInt64]) throws(DocumentStoreError) {
    for (collection, bytesMax) in budgets {
      _ = try local.shrink(collection, to: bytesMax, active: activeTargets, unless: isSeen)
    }
  }

  private func isSeen(_ path: DocumentPath) -> Bool {
    views.values.contains { $0.view.document(path) != nil }
  }

  /// Applies documents that were looked up. Returns false if one of them was refused.
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
    try emit(try local.apply(event), nil)
    tell(refusals)
    return refusals.isEmpty
  }
}
