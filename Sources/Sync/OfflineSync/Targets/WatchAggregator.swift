// Combines the messages of a watch stream into events. Each event contains all changes up to one version.

internal import DocumentStore

/// The client state that the aggregator reads.
struct WatchContext {
  let targets: [TargetID: TargetData]
  /// Returns the documents that the client assumes to be in a target.
  let remoteKeys: (TargetID) -> Set<DocumentPath>
  let documentsName: String
}

/// The aggregator of one stream.
struct WatchAggregator {
  private var states: [TargetID: TargetMessages] = [:]
  private var updates: [DocumentPath: SyncedDocument] = [:]
  private var targetsOfDocuments: [DocumentPath: Set<TargetID>] = [:]
  /// For each document, the targets for which the remote has sent the document's content or its deletion.
  private var updaters: [DocumentPath: Set<TargetID>] = [:]
  private var mismatches: [TargetID: WatchTarget.Purpose] = [:]

  mutating func noteRequest(for id: TargetID) { states[id, default: TargetMessages()].noteRequest() }

  /// Whether the remote has sent the complete target on this stream, and no other request for it is
  /// unanswered.
  func hasReceivedAll(_ id: TargetID) -> Bool {
    states[id].map { $0.isDelivered && !$0.isPending && $0.refused.isEmpty } ?? false
  }

  mutating func remove(_ id: TargetID) { states[id] = nil }

  mutating func handle(_ change: WatchChange, _ context: WatchContext) {
    switch change {
    case .target(let state, let ids, let token, _): handle(state, of: ids, token: token, context: context)
    case .document(let path, let document, let updated, let removed):
      do throws(RemoteRefusal) {
        let admitted = try document?.admitted(at: path)
        handle(path, admitted, updated: updated, removed: removed, context: context)
      } catch {
        for id in updated where isActive(id, context) { states[id, default: TargetMessages()].note(error) }
        // The document has left the targets in `removed`, whatever its content is.
        handle(path, nil, updated: [], removed: removed, context: context)
      }
    case .existenceFilter(let id, let count, let filter): handle(count, filter, of: id, context: context)
    }
  }

  private mutating func handle(
    _ path: DocumentPath, _ document: RemoteDocument?, updated: [TargetID], removed: [TargetID],
    context: WatchContext
  ) {
    for id in updated {
      if let document, document.fields != nil {
        add(document.synced, to: id, context: context)
      } else {
        remove(path, document?.synced, from: id, context: context)
      }
    }
    for id in removed { remove(path, document?.synced, from: id, context: context) }
  }

  // MARK: Targets

  private mutating func handle(
    _ state: WatchChange.TargetState, of ids: [TargetID], token: [UInt8], context: WatchContext
  ) {
    let ids = ids.isEmpty ? states.keys.filter { isActive($0, context) }.sorted() : ids
    let refusal = RemoteLimits.refusal(of: token)
    let token = refusal == nil ? token : []
    // A target that was not requested on this stream has no state to change.
    for id in ids where states[id] != nil {
      if let refusal, isActive(id, context) { states[id]?.note(refusal) }
      switch state {
      case .added:
        states[id, default: TargetMessages()].noteResponse()
        // Earlier messages referred to an earlier watch of the target.
        if states[id]?.isPending == false { startOver(id, context) }
        states[id]?.take(token)
      case .removed:
        states[id, default: TargetMessages()].noteResponse()
        if states[id]?.isPending == false { states[id] = nil }
      case .noChange, .current, .reset:
        guard isActive(id, context) else { continue }
        if state == .current { states[id, default: TargetMessages()].markCurrent() }
        if state == .reset { reset(id, context) }
        states[id, default: TargetMessages()].take(token)
      }
    }
  }

  private func isActive(_ id: TargetID, _ context: WatchContext) -> Bool {
    context.targets[id] != nil && states[id]?.isPending != true
  }

  private mutating func startOver(_ id: TargetID, _ context: WatchContext) {
    states[id]?.startOver()
    // Without a token, the remote sends the whole target. The documents that it does not send have left the
    // target, and no message says so.
    guard let target = context.targets[id], target.resumeToken.isEmpty, target.readTime == .none else {
      return
    }
    for path in context.remoteKeys(id) { remove(path, nil, from: id, context: context) }
  }

  private mutating func reset(_ id: TargetID, _ context: WatchContext) {
    states[id] = TargetMessages()
    for path in context.remoteKeys(id) { remove(path, nil, from: id, context: context) }
  }

  // MARK: Documents

  private mutating func add(_ document: SyncedDocument, to id: TargetID, context: WatchContext) {
    guard isActive(id, context) else { return }
    let isKnown = context.remoteKeys(id).contains(document.path)
    states[id, default: TargetMessages()].note(isKnown ? .modified : .added, of: document.path)
    states[id]?.endRefusal(of: document.path)
    updates[document.path] = document
    updaters[document.path, default: []].insert(id)
    targetsOfDocuments[document.path, default: []].insert(id)
  }

  /// Removes a document from a target. If `document` is nil, the cached version stays.
  private mutating func remove(
    _ path: DocumentPath, _ document: SyncedDocument?, from id: TargetID, context: WatchContext
  ) {
    guard isActive(id, context) else { return }
    let isKnown = context.remoteKeys(id).contains(path)
    states[id, default: TargetMessages()].note(isKnown ? .removed : nil, of: path)
    states[id]?.endRefusal(of: path)
    targetsOfDocuments[path, default: []].insert(id)
    guard let document else { return }
    updates[path] = document
    updaters[path, default: []].insert(id)
  }

  // MARK: Existence filters

  private mutating func handle(
    _ count: Int, _ filter: BloomFilter.Parts?, of id: TargetID, context: WatchContext
  ) {
    guard let target = context.targets[id], isActive(id, context) else { return }
    if let refusal = RemoteLimits.refusal(of: count) {
      states[id, default: TargetMessages()].note(refusal)
      return
    }
    if count == 0, let path = target.document {
      return remove(path, SyncedDocument(path, .absent), from: id, context: context)
    }
    guard self.count(of: id, context) != count else { return }
    let bloom = filter.flatMap { BloomFilter($0) }
    if let bloom {
      for path in context.remoteKeys(id) where !bloom.contains("\(context.documentsName)/\(path)") {
        remove(path, nil, from: id, context: context)
      }
      if self.count(of: id, context) == count { return }
    }
    reset(id, context)
    mismatches[id] = bloom == nil ? .existenceFilterMismatch : .existenceFilterMismatchBloom
  }

  private func count(of id: TargetID, _ context: WatchContext) -> Int {
    let changes = (states[id]?.documents ?? [:]).values
    let known = context.remoteKeys(id)
    // The remote's count includes documents that this client has refused.
    let refused = (states[id]?.refused ?? []).subtracting(known)
    return known.count + refused.count + changes.count { $0 == .added } - changes.count { $0 == .removed }
  }

  // MARK: Refusals

  /// Records a refusal for every active target.
  mutating func note(_ refusal: RemoteRefusal, _ context: WatchContext) {
    for id in states.keys where isActive(id, context) { states[id]?.note(refusal) }
  }

  /// Returns the refusals that listeners have not received yet.
  mutating func takeRefusals(_ context: WatchContext) -> [TargetID: [RemoteRefusal]] {
    var refusals: [TargetID: [RemoteRefusal]] = [:]
    for id in states.keys where isActive(id, context) {
      if let new = states[id]?.takeRefusals(), !new.isEmpty { refusals[id] = new }
    }
    return refusals
  }

  /// Returns the refusals of a target that listeners have received.
  func refusals(of id: TargetID) -> [RemoteRefusal] { states[id]?.refusalsInForce ?? [] }

  // MARK: Events

  /// Returns all changes up to `version` and clears them.
  mutating func takeEvent(_ version: SnapshotVersion, _ context: WatchContext) -> RemoteEvent {
    var event = RemoteEvent(version: version)
    for id in states.keys.sorted() {
      guard let target = context.targets[id], isActive(id, context) else { continue }
      // The remote has sent the complete target without the target's document, so the document does not
      // exist. Messages for other targets do not count, because they do not show whether the remote found the
      // document for this target. After a mismatch, the answer to the new request will show it.
      if states[id]?.isComplete == true, mismatches[id] == nil, let path = target.document,
        updaters[path]?.contains(id) != true,
        !context.remoteKeys(id).contains(path)
      {
        remove(path, SyncedDocument(path, .absent, version: version), from: id, context: context)
      }
      states[id]?.noteEvent()
      guard let state = states[id], state.hasChanges else { continue }
      event.targetChanges[id] = state.change
      states[id]?.clearChanges()
    }
    for (path, ids) in targetsOfDocuments
    where ids.allSatisfy({ context.targets[$0].map { $0.purpose == .limboResolution } ?? true }) {
      event.resolvedLimbo.insert(path)
    }
    event.mismatches = mismatches
    event.documents = updates
    event.refusals = takeRefusals(context)
    updates = [:]
    updaters = [:]
    targetsOfDocuments = [:]
    mismatches = [:]
    return event
  }
}
