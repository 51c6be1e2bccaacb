// The progress of the sync: the connection, and how far each query is.

internal import DocumentStore

extension SyncEngine {
  /// The progress now. The cost is proportional to the number of queries.
  package var syncProgress: SyncProgressState {
    let queries = queryProgress
    return SyncProgressState(
      connection: connection, pause: pause, error: loading.error,
      version: queries.map(\.version).min() ?? .none,
      pendingCount: local.queue.count, oldest: local.queue.first?.time, queries: queries)
  }

  /// Returns whether only counts of documents have changed since the last call.
  func takeIsProgressMinor() -> Bool {
    defer { loading.isMinor = false }
    return loading.isMinor
  }

  /// A full disk comes first, because only the user can end it.
  private var pause: SyncProgressState.Pause? {
    if isPausedByFullDisk { return .diskFull }
    return isPausedByMeteredNetwork ? .meteredNetwork : nil
  }

  private var connection: SyncProgressState.Connection {
    if !network.isEnabled { return .disabled }
    if !isNetworkEnabled { return .offline }
    if watching.phase == .open && online.state == .online || writing.isHandshakeComplete { return .connected }
    if online.state == .offline { return .offline }
    if watching.phase.isStarted { return .connecting }
    switch writing.phase {
    case .stopped: return .idle
    case .waiting: return .offline
    case .opening, .open: return .connecting
    }
  }

  private var queryProgress: [QueryProgressState] {
    var states: [QueryProgressState] = []
    for (id, target) in watching.targets where limbo.resolutions[id] == nil {
      let texts = queryTextsByTarget[id] ?? []
      let pin = pinning.followed[id]
      guard let query = texts.first.flatMap({ views[$0]?.view.query }) ?? pin?.query else { continue }
      var state = QueryProgressState(
        query: query, text: local.targets[id]?.text ?? target.query.targetID, phase: .waiting)
      state.documentCount = local.keys[id]?.count ?? 0
      state.version = max(loading.versions[id] ?? .none, local.targets[id]?.version ?? .none)
      state.isListening = texts.contains { events.watchesRemote($0) }
      state.isPinned = pin != nil
      state.refusal = activeRefusals(of: id).first
      if let load = loading.loads[id] {
        state.receivedCount = load.receivedCount
        state.receivedBytes = load.receivedBytes
        state.expectedCount = load.expectedCount
        state.isResumed = load.isResumed
        if load.isAdded { state.phase = .loading }
        if let version = load.currentVersion { state.phase = .current(since: version) }
      }
      states.append(state)
    }
    return states.sorted { $0.text < $1.text }
  }

  // MARK: Counting

  /// Called before the engine processes the event.
  func noteProgress(of event: SyncEvent) {
    loading.isMinor = false
    switch event {
    case .watchChanged(let change, _):
      if watching.phase == .open { loading.note(change) }
    case .watchClosed(let error):
      loading.loads = [:]
      if let error { loading.error = error }
    case .writeClosed(let error?):
      // A rejection is an answer of a remote that is reached.
      let isAnswer =
        writing.isHandshakeComplete && !writing.pipeline.isEmpty && error.code.isPermanentForWrites
      if !isAnswer { loading.error = error }
    case .handshakeComplete: loading.error = nil
    default: break
    }
  }

  /// Called when a target is requested from the remote.
  func noteRequest(of target: WatchTarget) {
    let isResumed = !target.resumeToken.isEmpty || target.readTime != .none
    loading.loads[target.id] = LoadingSide.Load(isResumed: isResumed)
    if !isResumed { loading.versions[target.id] = nil }
  }

  /// Called when everything up to the version was applied.
  func noteProgress(at version: SnapshotVersion) {
    guard watching.phase == .open else { return }
    for id in watching.targets.keys where watching.aggregator.hasReceivedAll(id) {
      loading.versions[id] = version
      if loading.loads[id]?.currentVersion == nil { loading.loads[id]?.currentVersion = version }
    }
  }
}
