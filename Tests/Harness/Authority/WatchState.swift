// The client's side of one watch stream, as Firestore's protocol describes it.
//
//   request    watch(id, token) or unwatch(id); each is answered in order: ADD or REMOVE
//   until a request is answered, messages about its target belong to an earlier request and are ignored
//   REMOVE     with a cause: the answer to a watch that is refused; an unwatch of such a target has no answer
//   ADD        the target starts: from the client's keys if the request had a token, else from no keys
//   document   enters or changes in `updated`, leaves `removed`
//   RESET      the target has no documents; they are sent again
//   CURRENT    all documents that matched when the target was added have been sent
//   NO_CHANGE  without ids and with a version: all targets of the stream show the documents of that time
//   filter     the number of documents in the target; if it differs, the Bloom filter says which have left,
//              and if it still differs, the client asks for the whole target again
//
// Changes become visible with the next snapshot, and only then are they kept with the token.

package import DocumentStore
package import OfflineSync

package struct WatchState {
  package enum Request: Equatable { case watch(mayBeRefused: Bool), unwatch }

  package struct Target {
    /// The requests that have no answer yet.
    package var requests: [Request] = []
    /// Whether the authority removes the target when it was sent once.
    package var isOnce = false
    /// Whether the last request had a token.
    package var isResumed = false
    package var keys: Set<DocumentPath> = []
    package var token: [UInt8] = []
    package var isCurrent = false

    package var isActive: Bool { requests.isEmpty }
    /// Whether the client wants the target.
    package var isWanted: Bool { requests.last != .unwatch }
  }

  /// The meaning of a message for the client.
  package enum Event {
    case snapshot(SnapshotVersion, left: [TargetID: Set<DocumentPath>])
    /// The client must ask for the whole target again.
    case mismatch(TargetID, WatchTarget.Purpose)
    case refused(TargetID, RemoteError)
    case nothing
  }

  /// The prefix of the names in Bloom filters.
  private let documentsName: String
  package private(set) var targets: [TargetID: Target] = [:]
  /// The documents received since the last snapshot.
  private var received: [DocumentPath: RemoteDocument] = [:]
  /// The documents that have left targets without their content since the last snapshot.
  private var leftWithoutContent: [TargetID: Set<DocumentPath>] = [:]
  private var version = SnapshotVersion.none

  package init(documentsName: String) { self.documentsName = documentsName }

  package mutating func noteWatch(_ request: WatchTarget, isResumed: Bool, mayBeRefused: Bool) {
    let id = request.id
    targets[id, default: Target()].requests.append(.watch(mayBeRefused: mayBeRefused))
    targets[id]?.isOnce = request.once
    targets[id]?.isResumed = isResumed
  }

  package mutating func noteUnwatch(_ id: TargetID) {
    targets[id, default: Target()].requests.append(.unwatch)
  }

  // MARK: Messages

  package mutating func take(
    _ change: WatchChange, _ version: SnapshotVersion, _ memory: ClientMemory
  ) throws -> Event {
    if case .target(.noChange, [], let token, let cause) = change {
      guard cause == nil else { throw Violation("a snapshot has a cause") }
      return try takeSnapshot(version, token)
    }
    guard version == .none else { throw Violation("a message other than a snapshot has a read time") }
    switch change {
    case .target(let state, let ids, let token, let cause):
      guard !ids.isEmpty else { throw Violation("\(state) names no target") }
      var event = Event.nothing
      for id in ids {
        guard targets[id] != nil else { throw Violation("\(state) names \(id), which was never requested") }
        if let refusal = try take(state, id, token, cause, memory) { event = .refused(id, refusal) }
      }
      return event
    case .document(let path, let document, let updated, let removed):
      try take(path, document, updated: updated, removed: removed)
      return .nothing
    case .existenceFilter(let id, let count, let filter):
      return try take(count, filter, of: id)
    }
  }

  private mutating func take(
    _ state: WatchChange.TargetState, _ id: TargetID, _ token: [UInt8], _ cause: RemoteError?,
    _ memory: ClientMemory
  ) throws -> RemoteError? {
    guard cause == nil || state == .removed else { throw Violation("\(state) of \(id) has a cause") }
    switch state {
    case .added, .removed:
      if let cause { return try refuse(id, cause) }
      try answer(id, isRemoval: state == .removed)
      guard targets[id]?.isActive == true else { return nil }
      if state == .removed { targets[id] = nil } else { start(id, token, memory) }
    case .reset, .current, .noChange:
      guard targets[id]?.isActive == true else { return nil }
      if state == .reset { targets[id]?.keys = [] }
      if state != .noChange { targets[id]?.isCurrent = state == .current }
      if !token.isEmpty { targets[id]?.token = token }
    }
    return nil
  }

  private mutating func start(_ id: TargetID, _ token: [UInt8], _ memory: ClientMemory) {
    guard var target = targets[id] else { return }
    target.isCurrent = false
    target.token = token
    target.keys = target.isResumed ? memory.targets[id]?.keys ?? [] : []
    targets[id] = target
  }

  /// Takes the answer to the oldest request.
  private mutating func answer(_ id: TargetID, isRemoval: Bool) throws {
    guard let target = targets[id] else { return }
    if isRemoval, target.isOnce, target.requests.first != .unwatch { return }
    guard let request = target.requests.first, (request == .unwatch) == isRemoval else {
      throw Violation("\(id) has an answer to no request")
    }
    targets[id]?.requests.removeFirst()
  }

  /// The authority refuses the oldest request. Requests to remove a target that does not exist have no
  /// answer.
  private mutating func refuse(_ id: TargetID, _ cause: RemoteError) throws -> RemoteError? {
    guard var target = targets[id] else { return nil }
    guard target.requests.first == .watch(mayBeRefused: true) else {
      throw Violation("\(id) is refused: \(cause)")
    }
    target.requests.removeFirst()
    while target.requests.first == .unwatch { target.requests.removeFirst() }
    targets[id] = target.isActive ? nil : target
    return target.isActive ? cause : nil
  }

  // MARK: Documents

  private mutating func take(
    _ path: DocumentPath, _ document: RemoteDocument?, updated: [TargetID], removed: [TargetID]
  ) throws {
    guard document == nil || document?.path == path else {
      throw Violation("\(document?.path.description ?? "") is sent as \(path)")
    }
    guard Set(updated).isDisjoint(with: removed) else {
      throw Violation("\(path) enters and leaves a target")
    }
    guard !updated.isEmpty || !removed.isEmpty else { throw Violation("\(path) is sent for no target") }
    guard updated.isEmpty || document?.fields != nil else {
      throw Violation("\(path) is in \(updated), and does not exist")
    }
    for id in updated + removed where targets[id] == nil {
      throw Violation("\(path) is sent for \(id), which was never requested")
    }
    let active = (updated + removed).filter { targets[$0]?.isActive == true }
    guard !active.isEmpty else { return }
    for id in updated where active.contains(id) { targets[id]?.keys.insert(path) }
    for id in removed where active.contains(id) {
      if targets[id]?.keys.remove(path) != nil, document == nil {
        leftWithoutContent[id, default: []].insert(path)
      }
    }
    if let document { received[path] = document }
  }

  // MARK: Existence filters

  private mutating func take(
    _ count: Int, _ parts: BloomFilter.Parts?, of id: TargetID
  ) throws -> Event {
    guard let target = targets[id] else {
      throw Violation("a filter is for \(id), which was never requested")
    }
    guard target.isActive, target.keys.count != count else { return .nothing }
    if let parts {
      guard let filter = BloomFilter(parts) else { throw Violation("the filter for \(id) is invalid") }
      targets[id]?.keys = target.keys.filter { filter.contains("\(documentsName)/\($0)") }
      if targets[id]?.keys.count == count { return .nothing }
    }
    return .mismatch(id, parts == nil ? .existenceFilterMismatch : .existenceFilterMismatchBloom)
  }

  // MARK: Snapshots

  private mutating func takeSnapshot(_ version: SnapshotVersion, _ token: [UInt8]) throws -> Event {
    for id in targets.keys where targets[id]?.isActive == true && !token.isEmpty {
      targets[id]?.token = token
    }
    guard version != .none else { return .nothing }
    guard version >= self.version else {
      throw Violation("the read time goes back from \(self.version.microseconds) to \(version.microseconds)")
    }
    self.version = version
    defer { leftWithoutContent = [:] }
    return .snapshot(version, left: leftWithoutContent)
  }

  /// Makes the changes of a snapshot part of what the client keeps. Returns the targets that are current.
  package mutating func keep(_ version: SnapshotVersion, in memory: inout ClientMemory) -> [TargetID] {
    for (path, document) in received {
      // A client ignores a version that is older than the one that it has.
      if let known = memory.documents[path], known.version > document.version { continue }
      memory.documents[path] = document
    }
    received = [:]
    memory.version = max(memory.version, version)
    for (id, target) in targets where target.isActive && memory.targets[id] != nil {
      memory.targets[id]?.keys = target.keys
      memory.targets[id]?.version = version
      if !target.token.isEmpty { memory.targets[id]?.token = target.token }
      if target.isCurrent { memory.targets[id]?.hasLostKeys = false }
    }
    return targets.filter { $0.value.isActive && $0.value.isCurrent }.keys.sorted()
  }
}
