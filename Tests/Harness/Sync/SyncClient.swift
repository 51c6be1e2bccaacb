// One client of a history: its disk, store and driver, and the last states of its listeners.

import ByteStore
import DocumentStore
import OfflineSync

final class SyncClient: @unchecked Sendable {
  // Unchecked, because a history runs on one thread.
  let number: Int
  private let scheduler: VirtualScheduler
  private let remote: any Remote
  private var disk = SimulatedDisk()
  private(set) var store: DocumentStore
  private(set) var driver: SyncDriver
  private(set) var user: String?
  private var openings: UInt64 = 0
  private var callsBefore = 0
  private let seed: UInt64
  /// The last result that each listener has, built from the changes that it received; keyed by the
  /// query's canonical text.
  private(set) var seen: [String: Seen] = [:]
  private(set) var failure: String?
  var isNetworkEnabled = true
  /// The number of calls that wait for pending writes and were not answered in this process.
  private(set) var waiting = 0
  /// For each answered wait for pending writes, its user and that user's last write at the call.
  private var answered: [(user: String?, last: BatchID?)] = []
  /// How many times listeners were notified of a refusal.
  private(set) var refusalCount = 0
  /// The number of restarts, plus the number of times the network was enabled again.
  private(set) var returns = 0
  /// How many times the conflict resolver was called.
  private let conflicts: Locked<Int>
  /// Whether the process fails at some disk call; its current operation may then have happened or not.
  private(set) var isDoomed = false

  struct Seen {
    var query: StructuredQuery
    var id: ListenerID
    var documents: [StoredDocument] = []
    var isFromCache = true
    var isTold = false
  }

  init(_ number: Int, _ remote: any Remote, _ scheduler: VirtualScheduler, seed: UInt64) throws {
    self.number = number
    self.remote = remote
    self.scheduler = scheduler
    self.seed = seed
    conflicts = Locked(0)
    (store, driver) = try Self.open(disk, seed, 0, number, remote, scheduler, nil, conflicts)
  }

  var conflictCount: Int { conflicts.withLock { $0 } }

  /// Whether the client only keeps documents with listeners.
  var hasEagerCollection: Bool { number % 3 == 2 }

  /// Whether most of its steps exceed one commit.
  var hasSmallCommits: Bool { seed % 3 == 0 }

  private static func open(
    _ disk: SimulatedDisk, _ seed: UInt64, _ opening: UInt64, _ number: Int, _ remote: any Remote,
    _ scheduler: VirtualScheduler, _ user: String?, _ conflicts: Locked<Int>
  ) throws -> (DocumentStore, SyncDriver) {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    let store = try DocumentStore.open(
      "/client", options: options, platform: disk.platform(seed: SeededRandom.seed(seed, opening)))
    let local = try LocalStore(
      store, user: user, collector: number % 3 == 2 ? .eager : .lru, client: "client\(number)",
      run: RunID(SeededRandom.seed(seed, ~opening)),
      sizes: seed % 3 == 0 ? CommitSizes(wholeMax: 500, part: 150) : CommitSizes())
    var engine = SyncEngine.Options()
    engine.seed = SeededRandom.seed(seed, opening)
    if number % 2 == 1 {
      engine.resolver = { conflict in
        conflicts.withLock { $0 += 1 }
        return Self.resolution(conflict)
      }
    }
    return (store, SyncDriver(local, remote, engine, scheduler))
  }

  /// Each document has its own resolution; writes to the shared documents are never dropped.
  private static func resolution(_ conflict: WriteConflict) -> ConflictResolution {
    guard conflict.path.parent.id == "rooms" else { return .keepWrites }
    switch conflict.path.id {
    case "0": return .dropWrites
    case "1", "2":
      var merged = conflict.remote?.fields ?? StoredMap()
      merged["merged"] = .boolean(true)
      return .replaceWrites(.set(conflict.path, merged))
    default: return .keepWrites
    }
  }

  // MARK: What happens to it

  func write(_ mutations: [Mutation]) {
    driver.write(mutations, .local) { [weak self] error in
      if let self, self.isDoomed { return }
      if let error { self?.failure = "client \(self?.number ?? 0): a write failed: \(error)" }
    }
  }

  func waitForWrites() {
    let (opening, user) = (openings, user)
    let last = ask { $0.pendingBatches.last?.id } ?? nil
    waiting += 1
    driver.waitForPendingWrites { [weak self] error in
      guard let self, openings == opening else { return }
      waiting -= 1
      if error == nil { answered.append((user, last)) }
      // A change of user ends the wait with an error, and so does the end of a doomed process.
      if let error, !isDoomed, self.user == user {
        failure = "client \(number): a wait for writes failed: \(error)"
      }
    }
  }

  /// Returns a description of a write that a wait covered and that is still pending, or nil.
  func unansweredWaitProblem() -> String? {
    let pending = ask { $0.pendingBatches.map(\.id) } ?? []
    defer { answered = [] }
    for (user, last) in answered where user == self.user {
      if let last, let first = pending.first, first <= last {
        return "batch \(first) was waited for, and waits"
      }
    }
    return nil
  }

  /// Calls the body with the engine now.
  func ask<Value: Sendable>(_ body: @escaping @Sendable (SyncEngine) -> Value) -> Value? {
    let found = Locked<Value?>(nil)
    driver.inspect { engine in
      let value = body(engine)
      found.withLock { $0 = value }
    }
    scheduler.play(for: 0)
    return found.withLock { $0 }
  }

  func listen(to query: StructuredQuery) {
    guard seen[query.canonicalID] == nil else { return }
    let text = query.canonicalID
    let opening = openings
    let id = driver.listen(to: query, ListenRules(includesMetadataChanges: true)) { [weak self] result in
      // Notifications to a dead process do not count.
      if self?.openings == opening { self?.take(result, text) }
    }
    seen[text] = Seen(query: query, id: id)
  }

  func unlisten(_ text: String) {
    if let gone = seen.removeValue(forKey: text) { driver.unlisten(gone.id) }
  }

  func setNetwork(_ isEnabled: Bool) {
    isNetworkEnabled = isEnabled
    if isEnabled { returns += 1 }
    driver.send(isEnabled ? .enableNetwork : .disableNetwork)
  }

  func changeUser(_ user: String?) {
    self.user = user
    driver.send(.changeUser(user))
  }

  /// Lets every disk call fail after `count` more calls, until the process is killed.
  func doom(afterCalls count: Int) {
    isDoomed = true
    disk.setFault(FaultPlan(.inputOutput, at: disk.counters.operations + count, isSticky: true))
  }

  /// The number of disk calls in all lives.
  var calls: Int { callsBefore + disk.counters.operations }

  /// Whether the fault has occurred.
  var isStruck: Bool { isDoomed && disk.counters.faults > 0 }

  /// Kills the process, possibly with a power loss, and restarts it without listeners.
  func kill(_ crash: Crash) throws {
    driver.abandon()
    isDoomed = false
    let image = disk.image(after: crash)
    openings += 1
    let queries = seen.sorted { $0.key < $1.key }.map(\.value.query)
    callsBefore += disk.counters.operations
    seen = [:]
    isNetworkEnabled = true
    waiting = 0
    answered = []
    returns += 1
    disk = SimulatedDisk(image)
    (store, driver) = try Self.open(disk, seed, openings, number, remote, scheduler, user, conflicts)
    for query in queries { listen(to: query) }
  }

  private func take(_ result: Result<ViewSnapshot, OfflineSyncError>, _ text: String) {
    guard var known = seen[text] else { return }
    switch result {
    case .failure where isDoomed: break
    // The listener stays registered.
    case .failure(.refused): refusalCount += 1
    case .failure(let error): failure = "client \(number): \(text): \(error)"
    case .success(let snapshot):
      for placed in snapshot.placedChanges {
        if let old = placed.oldIndex {
          guard known.documents.indices.contains(old),
            known.documents[old].path == placed.change.document.path
          else {
            failure = "client \(number): \(text): \(placed.change.document.path) was not at \(old)"
            return
          }
          known.documents.remove(at: old)
        }
        if let new = placed.newIndex, let document = placed.change.document.stored {
          known.documents.insert(document, at: min(new, known.documents.count))
        }
      }
      if known.documents.map(\.path) != snapshot.documents.map(\.path) {
        failure = "client \(number): \(text): the changes do not lead to the documents"
      }
      known.isFromCache = snapshot.isFromCache
      known.isTold = true
      seen[text] = known
    }
  }
}
