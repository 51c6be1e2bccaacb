// The watch stream: the targets that are watched, and the remote's messages about them.

internal import DocumentStore

extension SyncEngine {
  private static let idleTime: Int64 = 60_000_000

  var context: WatchContext {
    WatchContext(
      targets: watching.targets, remoteKeys: { [unowned self] in remoteKeys(of: $0) },
      documentsName: options.documentsName)
  }

  // MARK: Targets

  func follow(_ target: TargetData) throws(DocumentStoreError) {
    guard watching.targets[target.id] == nil else { return }
    watching.targets[target.id] = target
    guard isNetworkEnabled else { return }
    if watching.isIdleTimerRunning {
      watching.isIdleTimerRunning = false
      effects.append(.stopTimer(.watchIdle))
    }
    if !watching.phase.isStarted {
      startWatch()
    } else if watching.phase == .open {
      send(target)
    }
  }

  func unfollow(_ id: TargetID) throws(DocumentStoreError) {
    guard watching.targets.removeValue(forKey: id) != nil else { return }
    loading.remove(id)
    if watching.phase == .open { sendUnwatch(of: id) }
    guard watching.targets.isEmpty else { return }
    if watching.phase == .open {
      startIdleTimerIfUnused()
    } else if isNetworkEnabled {
      online.set(.unknown)
      announceOnline()
    }
  }

  func startIdleTimerIfUnused() {
    guard watching.targets.isEmpty, watching.phase == .open, !watching.isIdleTimerRunning else { return }
    watching.isIdleTimerRunning = true
    effects.append(.startTimer(.watchIdle, microseconds: Self.idleTime))
  }

  private func send(_ target: TargetData) {
    watching.aggregator.noteRequest(for: target.id)
    var request = WatchTarget(
      target.id, target.query, purpose: target.purpose, resumeToken: target.resumeToken)
    if !target.resumeToken.isEmpty {
      request.expectedCount = remoteKeys(of: target.id).count
    } else {
      request.readTime = target.readTime
    }
    noteRequest(of: request)
    effects.append(.watch(request))
  }

  private func sendUnwatch(of id: TargetID) {
    watching.aggregator.noteRequest(for: id)
    effects.append(.unwatch(id))
  }

  // MARK: The stream

  func startWatch() {
    guard !isPaused else {
      online.set(.offline)
      return announceOnline()
    }
    watching.aggregator = WatchAggregator()
    let delay = watching.hasFailed ? watching.backoff.next() : 0
    if delay > 0 {
      watching.phase = .waiting
      effects.append(.startTimer(.watchBackoff, microseconds: delay))
    } else {
      openWatch()
    }
    if network.status == .unavailable { online.lose() }
    if online.begin() {
      effects.append(.startTimer(.onlineState, microseconds: OnlineTracker.timeout))
    }
    announceOnline()
  }

  private func openWatch() {
    watching.phase = .opening
    effects.append(.openWatch(user: local.user))
  }

  func watchBackoffEnded() throws(DocumentStoreError) {
    guard watching.phase == .waiting else { return }
    if watching.targets.isEmpty { watching.phase = .stopped } else { openWatch() }
  }

  func watchOpened() throws(DocumentStoreError) {
    guard watching.phase == .opening else { return }
    watching.phase = .open
    for target in watching.targets.values.sorted(by: { $0.id < $1.id }) { send(target) }
    // The last target may have gone while the stream was opened.
    startIdleTimerIfUnused()
  }

  func watchClosed(_ error: RemoteError?) throws(DocumentStoreError) {
    guard watching.phase.isStarted else { return }
    stopWatchTimers()
    watching.phase = .stopped
    // A remote may end each stream as soon as it is open, also without an error.
    watching.hasFailed = true
    // The remote is overloaded, or sends a message that cannot be read and will come again.
    if error?.code == .resourceExhausted || error?.code == .dataLoss { watching.backoff.wait() }
    guard isNetworkEnabled, !watching.targets.isEmpty else {
      online.set(.unknown)
      announceOnline()
      return try retryPins()
    }
    online.fail()
    announceOnline()
    startWatch()
    try retryPins()
  }

  func closeIdleWatch() throws(DocumentStoreError) {
    guard watching.isIdleTimerRunning, watching.targets.isEmpty, watching.phase == .open else { return }
    stopWatch()
    online.set(.unknown)
    announceOnline()
    try retryPins()
  }

  func stopWatch() {
    guard watching.phase.isStarted else { return }
    stopWatchTimers()
    loading.loads = [:]
    if watching.phase != .waiting { effects.append(.closeWatch) }
    watching.phase = .stopped
    watching.hasFailed = false
  }

  private func stopWatchTimers() {
    if watching.phase == .waiting { effects.append(.stopTimer(.watchBackoff)) }
    if watching.isIdleTimerRunning {
      watching.isIdleTimerRunning = false
      effects.append(.stopTimer(.watchIdle))
    }
  }

  // MARK: Messages

  func watchChanged(_ change: WatchChange, _ version: SnapshotVersion) throws(DocumentStoreError) {
    guard watching.phase == .open else { return }
    watching.backoff.reset()
    watching.hasFailed = false
    online.set(.online)
    announceOnline()
    if case .target(.removed, let ids, _, let cause?) = change {
      for id in ids where watching.targets[id] != nil && !isPaused { try rejectListen(id, cause) }
      return
    }
    watching.aggregator.handle(change, context)
    try enforceBudgets(on: change)
    if let refusal = RemoteLimits.refusal(ofSnapshotAt: version) {
      // The listeners are notified immediately, because no later snapshot may follow that would deliver the
      // refusal.
      watching.aggregator.note(refusal, context)
      return notify(watching.aggregator.takeRefusals(context))
    }
    if version != .none, version >= local.lastRemoteVersion { try raise(version) }
  }

  private func raise(_ version: SnapshotVersion) throws(DocumentStoreError) {
    let event = watching.aggregator.takeEvent(version, context)
    for (id, change) in event.targetChanges where !change.resumeToken.isEmpty {
      watching.targets[id]?.resumeToken = change.resumeToken
      watching.targets[id]?.version = version
    }
    for (id, purpose) in event.mismatches.sorted(by: { $0.key < $1.key }) {
      guard var target = watching.targets[id] else { continue }
      target.resumeToken = []
      target.readTime = .none
      watching.targets[id] = target
      // The target restarts without a token, because the local documents may differ from the remote's in
      // any way.
      sendUnwatch(of: id)
      target.purpose = purpose
      send(target)
    }
    try apply(event)
    try enforceBudgets(after: event)
    noteProgress(at: version)
  }
}
