// A client that keeps what a session sends, as the protocol prescribes, and checks each snapshot.

import Authority
import ByteStore
import DocumentStore
import Harness
import OfflineSync

final class ModelClient {
  /// The client's knowledge of a target. It stays when the session ends.
  struct Target {
    let request: WatchTarget
    var documents: [DocumentPath: SnapshotVersion] = [:]
    var token: [UInt8] = []
    /// The requests that are not answered. Until then, messages are about an earlier one.
    var pending = 0
    var isCurrent = false
    var isWanted = false
  }

  private(set) var targets: [TargetID: Target] = [:]
  /// Messages that arrived and are not processed.
  private let arrived = Locked<[(WatchChange, SnapshotVersion)]>([])
  private var session: WatchSession?
  private let authority: Authority
  private let scheduler: VirtualScheduler
  private var lastVersion = SnapshotVersion.none
  /// The number of checked states of targets, and of mismatches that filters revealed.
  private(set) var checks = 0
  private(set) var mismatches = 0
  private(set) var failure: String?
  /// Returns the documents of a target at a time, with their update times.
  private let expected: (WatchTarget, SnapshotVersion) -> [DocumentPath: SnapshotVersion]

  init(
    _ authority: Authority, _ scheduler: VirtualScheduler,
    expected: @escaping (WatchTarget, SnapshotVersion) -> [DocumentPath: SnapshotVersion]
  ) {
    self.authority = authority
    self.scheduler = scheduler
    self.expected = expected
  }

  // MARK: Requests

  func connect() {
    let (scheduler, arrived) = (scheduler, arrived)
    arrived.withLock { $0 = [] }
    lastVersion = .none
    session = authority.openWatchSession(
      as: nil, enqueue: { scheduler.run($0) },
      send: { change, version in arrived.withLock { $0.append((change, version)) } })
    for id in targets.keys.sorted() {
      targets[id]?.pending = 0
      targets[id]?.isCurrent = false
      if targets[id]?.isWanted == true { send(id, countsDocuments: true) }
    }
  }

  func disconnect() {
    session?.close()
    session = nil
  }

  func watch(_ request: WatchTarget, countsDocuments: Bool) {
    if targets[request.id] == nil { targets[request.id] = Target(request: request) }
    guard targets[request.id]?.isWanted == false else { return }
    targets[request.id]?.isWanted = true
    send(request.id, countsDocuments: countsDocuments)
  }

  func unwatch(_ id: TargetID) {
    guard targets[id]?.isWanted == true else { return }
    targets[id]?.isWanted = false
    targets[id]?.isCurrent = false
    guard let session else { return }
    targets[id]?.pending += 1
    session.unwatch(id)
  }

  private func send(_ id: TargetID, countsDocuments: Bool) {
    guard let session, var target = targets[id] else { return }
    target.pending += 1
    if target.token.isEmpty { target.documents = [:] }
    targets[id] = target
    var request = target.request
    request.resumeToken = target.token
    if countsDocuments, !target.token.isEmpty { request.expectedCount = target.documents.count }
    session.watch(request)
  }

  func advance() { session?.advance() }

  // MARK: Messages

  func receive() {
    let messages = arrived.withLock { messages in
      defer { messages = [] }
      return messages
    }
    for (change, version) in messages { receive(change, version) }
  }

  private func isActive(_ id: TargetID) -> Bool {
    targets[id].map { $0.isWanted && $0.pending == 0 } ?? false
  }

  private func receive(_ change: WatchChange, _ version: SnapshotVersion) {
    switch change {
    case .target(.noChange, [], let token, _):
      for id in targets.keys where isActive(id) { targets[id]?.token = token }
      check(version)
    case .target(let state, let ids, let token, let cause):
      if let cause { failure = failure ?? "\(ids) were removed: \(cause)" }
      for id in ids { receive(state, id, token) }
    case .document(let path, let document, let updated, let removed):
      for id in updated where isActive(id) { targets[id]?.documents[path] = document?.version }
      for id in removed where isActive(id) { targets[id]?.documents[path] = nil }
    case .existenceFilter(let id, let count, let filter): receive(count, filter, id)
    }
  }

  private func receive(_ state: WatchChange.TargetState, _ id: TargetID, _ token: [UInt8]) {
    if state == .added || state == .removed { targets[id]?.pending -= 1 }
    guard isActive(id) else { return }
    if state == .reset { targets[id]?.documents = [:] }
    if state == .current { targets[id]?.isCurrent = true }
    if !token.isEmpty { targets[id]?.token = token }
  }

  private func receive(_ count: Int, _ filter: BloomFilter.Parts?, _ id: TargetID) {
    guard isActive(id), let target = targets[id], target.documents.count != count else { return }
    mismatches += 1
    if let bloom = filter.flatMap({ BloomFilter($0) }) {
      let kept = target.documents.filter { bloom.contains("\(Authority.documentsName)/\($0.key)") }
      targets[id]?.documents = kept
      if kept.count == count { return }
    }
    targets[id]?.token = []
    targets[id]?.documents = [:]
    unwatch(id)
    watch(target.request, countsDocuments: false)
  }

  private func check(_ version: SnapshotVersion) {
    guard version >= lastVersion else {
      failure = failure ?? "the time went back from \(lastVersion) to \(version)"
      return
    }
    lastVersion = version
    for (id, target) in targets.sorted(by: { $0.key < $1.key }) where target.isCurrent && isActive(id) {
      checks += 1
      let expected = expected(target.request, version)
      guard target.documents != expected else { continue }
      failure =
        failure
        ?? "\(id) \(target.request.query.canonicalID) at \(version.microseconds): \(target.documents), not \(expected)"
    }
  }
}
