// The network: whether the client uses it, and what happens when it changes.
//
//   1. the app disables the network, or the network is metered and the app wants none of that kind: the
//      streams are closed, and listeners receive cached snapshots. Both have to end before the client
//      continues
//   2. the device's path to the network changes: the streams are closed and opened again without a delay, and
//      their backoffs start from the beginning
//   3. the device loses its network: listeners receive cached snapshots. The streams are opened again as in
//      step 2, and their attempts fail or succeed like any others. A monitor can be wrong about the remote,
//      so it never keeps the client from trying
//   4. the credentials change: streams that wait after a failure are opened at once, and the backoffs start
//      from the beginning

internal import DocumentStore

/// The network as the app and the device describe it.
struct NetworkSide {
  /// Whether the app has not disabled the network.
  var isEnabled = true
  var use = NetworkUse.any
  /// The status of the device's network; nil if no monitor has reported one.
  var status: NetworkStatus?

  /// Whether the client pauses because the network is metered.
  var isPaused: Bool { use == .unmetered && status?.path?.cost == .metered }
}

extension SyncEngine {
  /// Whether the client uses the network.
  package var isNetworkEnabled: Bool { network.isEnabled && !network.isPaused }

  /// Whether the client pauses because the network is metered. The app may have disabled it, too.
  package var isPausedByMeteredNetwork: Bool { network.isPaused }

  func disableNetwork() throws(DocumentStoreError) { try changeNetwork { $0.isEnabled = false } }

  func enableNetwork() throws(DocumentStoreError) { try changeNetwork { $0.isEnabled = true } }

  func setNetworkUse(_ use: NetworkUse) throws(DocumentStoreError) { try changeNetwork { $0.use = use } }

  private func changeNetwork(_ change: (inout NetworkSide) -> Void) throws(DocumentStoreError) {
    let wasEnabled = isNetworkEnabled
    change(&network)
    guard isNetworkEnabled != wasEnabled else { return }
    if isNetworkEnabled { return try startStreams() }
    stopStreams()
    online.set(.offline)
    announceOnline()
  }

  func networkChanged(_ status: NetworkStatus) throws(DocumentStoreError) {
    let previous = network.status
    let wasEnabled = isNetworkEnabled
    // The first report says on which path the client already is.
    let isOther = previous.map { $0.path?.name != status.path?.name } ?? (status == .unavailable)
    if isOther { effects.append(.renewConnections) }
    try changeNetwork { $0.status = status }
    guard isOther, wasEnabled, isNetworkEnabled else { return }
    stopStreams()
    online.set(.unknown)
    try startStreams()
  }

  /// Opens the streams that wait after a failure, because the remote may have refused the credentials of
  /// before. Open streams are the concern of the remote.
  func credentialsChanged() throws(DocumentStoreError) {
    watching.backoff.reset()
    writing.backoff.reset()
    if watching.phase == .waiting {
      effects.append(.stopTimer(.watchBackoff))
      try watchBackoffEnded()
    }
    if writing.phase == .waiting {
      effects.append(.stopTimer(.writeBackoff))
      writeBackoffEnded()
    }
  }

  func stopStreams() {
    stopWrite()
    stopWatch()
    writing.pipeline = []
    writing.lookup = nil
    writing.backoff.reset()
    watching.backoff.reset()
  }

  func startStreams() throws(DocumentStoreError) {
    if watching.targets.isEmpty {
      online.set(.unknown)
      announceOnline()
    } else if !watching.phase.isStarted {
      // A document in limbo may have opened the stream already.
      startWatch()
    }
    try retryPins()
    try fillPipeline()
  }
}
