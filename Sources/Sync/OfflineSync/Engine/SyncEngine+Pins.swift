// Pinned queries: targets that are watched without a listener.
//
// The pins of the current user are watched while the client runs, so the watch stream of a client with pins
// is never closed as idle. A pin has no view: its documents are only in the cache, and limbo documents are
// resolved when a listener comes.
//
// A pin that the remote refuses with an error that is not permanent is asked for again with the next stream.
// A stream that has no other target is replaced when it is idle.
//
// A pin whose documents exceed its budget is suspended: it is watched no longer, and its target is evicted
// like any target without a listener. The record of the pin says so until the pin is renewed or removed.

package import DocumentStore

/// The pins that are watched.
struct PinningSide {
  struct Followed {
    let query: StructuredQuery
    let budget: PinLimits
    /// The size of each document; nil until the sizes are first needed.
    var sizes: [DocumentPath: Int]?
    var bytes = 0
    /// The sizes of the documents that a first load has brought so far, and their sum.
    private var arrived: [DocumentPath: Int] = [:]
    private var arrivedBytes = 0

    init(query: StructuredQuery, budget: PinLimits) { (self.query, self.budget) = (query, budget) }

    mutating func set(_ path: DocumentPath, to size: Int?) {
      bytes += (size ?? 0) - (sizes?[path] ?? 0)
      sizes?[path] = size
    }

    /// Notes a document of a first load, or that one has left. Returns whether the documents exceed the
    /// budget. A document that arrives again counts once.
    mutating func note(_ path: DocumentPath, ofSize size: Int?, isFirst: Bool) -> Bool {
      guard budget != PinLimits() else { return false }
      if isFirst { forgetArrived() }
      arrivedBytes += (size ?? 0) - (arrived[path] ?? 0)
      arrived[path] = size
      return budget.isExceeded(byDocuments: arrived.count, bytes: arrivedBytes)
    }

    /// Whether the documents may exceed the budget after a change. An earlier process may have stored them,
    /// and not that they exceed it.
    func isDue(after change: TargetChange) -> Bool {
      change.hasDocumentChanges || (budget.bytesMax != nil && sizes == nil)
    }

    mutating func forgetArrived() { (arrived, arrivedBytes) = ([:], 0) }
  }

  var followed: [TargetID: Followed] = [:]
  /// The errors with which the remote has refused pins.
  var failures: [String: RemoteError] = [:]
}

/// A pin of the current user.
package struct PinState: Sendable, Equatable {
  package let pin: StoredPin
  /// The number of its documents in the cache.
  package let documentCount: Int
  /// The approximate size of these documents.
  package let byteCount: Int
  /// The error with which the remote has refused the query; nil if it did not.
  package let error: RemoteError?
}

extension SyncEngine {
  /// Pins a query for the current user, or renews its pin with another budget. A failure has no effect.
  package func pin(
    _ query: StructuredQuery, _ budget: PinLimits
  ) throws(DocumentStoreError) -> [SyncEffect] {
    try local.putPin(query, budget)
    guard let pin = local.pin(of: query) else { return takeEffects() }
    pinning.failures[pin.text] = nil
    try follow(pin)
    if let id = local.idsByText[pin.text] { try enforceBudget(of: id) }
    return takeEffects()
  }

  /// Removes a pin of the current user. A failure has no effect.
  package func unpin(_ query: StructuredQuery) throws(DocumentStoreError) -> [SyncEffect] {
    guard let pin = local.pin(of: query) else { return [] }
    try local.remove(pin)
    pinning.failures[pin.text] = nil
    if let id = local.idsByText[pin.text], pinning.followed[id] != nil { try unfollowPin(id) }
    return takeEffects()
  }

  /// The pins of the current user. Reads their documents, if their sizes are not known yet.
  package func pinStates() throws(DocumentStoreError) -> [PinState] {
    var states: [PinState] = []
    for pin in local.currentPins {
      let id = local.idsByText[pin.text]
      var bytes = 0
      if let id, pinning.followed[id]?.sizes != nil {
        bytes = pinning.followed[id]?.bytes ?? 0
      } else if let id {
        for path in try local.remoteKeys(of: id) { bytes += try local.byteCount(of: path) }
      }
      states.append(
        PinState(
          pin: pin,
          documentCount: try id.map { id throws(DocumentStoreError) in try local.remoteKeys(of: id).count }
            ?? 0, byteCount: bytes,
          error: pinning.failures[pin.text]))
    }
    return states
  }

  // MARK: Watching

  /// Watches the pins of the current user.
  func followPins() throws(DocumentStoreError) {
    for pin in local.currentPins where !pin.isOverBudget { try follow(pin) }
  }

  /// Stops watching the pins of the previous user. Called between two users, while no stream is open.
  func dropPins() throws(DocumentStoreError) {
    let kept = Set(local.currentPins.filter { !$0.isOverBudget }.compactMap { local.idsByText[$0.text] })
    let dropped = pinning.followed.keys.filter { !kept.contains($0) }.sorted()
    for id in dropped { try unfollowPin(id) }
    pinning.failures = [:]
  }

  private func follow(_ pin: StoredPin) throws(DocumentStoreError) {
    let target = try local.allocate(pin.query)
    _ = try local.remoteKeys(of: target.id)
    var followed = PinningSide.Followed(query: pin.query, budget: pin.budget)
    if let known = pinning.followed[target.id] {
      (followed.sizes, followed.bytes) = (known.sizes, known.bytes)
    }
    pinning.followed[target.id] = followed
    // An earlier process may have stored the documents, and not that they exceed the budget. Their sizes are
    // read with the first event, because a start must not read all pinned documents.
    let count = try local.remoteKeys(of: target.id).count
    guard !pin.budget.isExceeded(byDocuments: count, bytes: 0) else { return try suspend(target.id) }
    try follow(TargetData(target, pin.query))
  }

  private func unfollowPin(_ id: TargetID) throws(DocumentStoreError) {
    pinning.followed[id] = nil
    try unwatchIfUnused(id)
    if queryTextsByTarget[id] == nil { try local.release(id) }
  }

  /// Releases a target after its last listener was removed. Returns whether a pin keeps it.
  func isKeptByPin(_ id: TargetID) throws(DocumentStoreError) -> Bool {
    guard pinning.followed[id] != nil else { return false }
    try local.releaseViews(of: id)
    return true
  }

  /// Notes that the remote has refused a target. After a permanent error, the pin is tried again at the next
  /// start.
  func notePinFailure(_ id: TargetID, _ error: RemoteError) {
    guard let pin = pinning.followed[id] else { return }
    pinning.failures[pin.query.targetID] = error
    if error.code.isPermanent { pinning.followed[id] = nil }
  }

  /// Watches pins again that the remote has refused for a reason that may be over.
  func retryPins() throws(DocumentStoreError) {
    for pin in local.currentPins where pinning.failures[pin.text]?.code.isPermanent == false {
      pinning.failures[pin.text] = nil
      try follow(pin)
    }
  }

  // MARK: Budgets

  /// Called before the engine processes a message. Stops a first load as soon as it exceeds the budget of a
  /// pin that has no listener.
  func enforceBudgets(on change: WatchChange) throws(DocumentStoreError) {
    guard case .document(let path, let document, let updated, let removed) = change else { return }
    let size = document?.fields?.recordBytesMax
    for id in updated + removed where pinning.followed[id] != nil {
      guard let load = loading.loads[id], load.isAdded, !load.isResumed, load.currentVersion == nil else {
        pinning.followed[id]?.forgetArrived()
        continue
      }
      let isExceeded = pinning.followed[id]?.note(
        path, ofSize: removed.contains(id) ? nil : size, isFirst: load.receivedCount <= 1)
      if isExceeded == true { try suspend(id) }
    }
  }

  /// Called after an event was applied.
  func enforceBudgets(after event: RemoteEvent) throws(DocumentStoreError) {
    for (id, change) in event.targetChanges.sorted(by: { $0.key < $1.key })
    where pinning.followed[id]?.isDue(after: change) == true {
      if pinning.followed[id]?.sizes != nil {
        for path in change.removed { pinning.followed[id]?.set(path, to: nil) }
        for path in change.added.union(change.modified) {
          pinning.followed[id]?.set(path, to: try local.byteCount(of: path))
        }
      }
      try enforceBudget(of: id)
    }
  }

  private func enforceBudget(of id: TargetID) throws(DocumentStoreError) {
    guard let budget = pinning.followed[id]?.budget else { return }
    let keys = try local.remoteKeys(of: id)
    if budget.bytesMax != nil, pinning.followed[id]?.sizes == nil {
      pinning.followed[id]?.sizes = [:]
      for path in keys { pinning.followed[id]?.set(path, to: try local.byteCount(of: path)) }
    }
    guard let bytes = pinning.followed[id]?.bytes,
      budget.isExceeded(byDocuments: keys.count, bytes: bytes)
    else { return }
    try suspend(id)
  }

  private func suspend(_ id: TargetID) throws(DocumentStoreError) {
    guard let query = pinning.followed[id]?.query, var pin = local.pin(of: query) else { return }
    pin.isOverBudget = true
    do throws(DocumentStoreError) { try local.put(pin) } catch {
      // Without the record, the next start finds out again.
      guard case .full = error else { throw error }
    }
    try unfollowPin(id)
  }
}
