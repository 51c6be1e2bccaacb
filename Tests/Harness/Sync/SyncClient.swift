// One client of a history: its disk, store and driver, and the last result of each of its listeners.

import ByteStore
import DocumentStore
import OfflineSync

final class SyncClient: @unchecked Sendable {
  // The conformance is unchecked, because a history runs on one thread.
  let number: Int
  private let scheduler: any PlayedScheduler
  private let remote: any Remote
  private var disk = SimulatedDisk()
  private(set) var store: DocumentStore
  private(set) var driver: SyncDriver
  private(set) var user: String?
  private var openings: UInt64 = 0
  private var callsBefore = 0
  private let seed: UInt64
  /// The current result of each listener, computed from the changes that it received, by the canonical text
  /// of the query.
  private(set) var seen: [String: ListenerState] = [:]
  private(set) var failure: String?
  var isNetworkEnabled = true
  /// The number of calls in this process that still wait for pending writes.
  private(set) var waiting = 0
  /// For each wait for pending writes that ended without an error: its user, and the last write of that user
  /// at the time of the call.
  private var completedWaits: [(user: String?, last: BatchID?)] = []
  /// The number of times that listeners were notified of a refusal.
  private(set) var refusalCount = 0
  /// The number of restarts, plus the number of times the network was enabled again.
  private(set) var reconnects = 0
  /// The number of calls of the conflict resolver.
  private let conflicts: Locked<Int>
  /// Whether the process is set to fail at some disk call. The operation that runs at that call may or may
  /// not take effect.
  private(set) var hasDiskFault = false
  /// Whether the disk takes no writes.
  private(set) var hasFullDisk = false
  /// The number of calls that failed because the disk was full.
  private(set) var refusedCount = 0
  /// The pins that the client must have.
  private var pins = PinLedger()

  struct ListenerState {
    var query: StructuredQuery
    var id: ListenerID
    var documents: [StoredDocument] = []
    var isFromCache = true
    var hasReceivedState = false
  }

  init(_ number: Int, _ remote: any Remote, _ scheduler: any PlayedScheduler, seed: UInt64) throws {
    self.number = number
    self.remote = remote
    self.scheduler = scheduler
    self.seed = seed
    conflicts = Locked(0)
    (store, driver) = try Self.open(disk, seed, 0, number, remote, scheduler, nil, conflicts)
  }

  var conflictCount: Int { conflicts.withLock { $0 } }

  /// Whether the client keeps only documents that have listeners.
  var usesEagerGarbageCollection: Bool { number % 3 == 2 }

  private static func resolvesConflicts(_ number: Int) -> Bool { number % 2 == 1 }

  /// Whether a collection removes every document without a target. A client that collects at once keeps those
  /// of targets that it could not release.
  var collectsEverything: Bool { !usesEagerGarbageCollection }

  /// Whether most steps of the client exceed one commit.
  var hasSmallCommits: Bool { seed % 3 == 0 }

  private static func open(
    _ disk: SimulatedDisk, _ seed: UInt64, _ opening: UInt64, _ number: Int, _ remote: any Remote,
    _ scheduler: any PlayedScheduler, _ user: String?, _ conflicts: Locked<Int>
  ) throws -> (DocumentStore, SyncDriver) {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    let store = try DocumentStore.open(
      "/client", options: options, platform: disk.platform(seed: SeededRandom.seed(seed, opening)))
    let local = try LocalStore(
      store, user: user, collector: number % 3 == 2 ? .eager : .lru, client: "client\(number)",
      run: RunID(SeededRandom.seed(seed, ~opening)),
      sizes: seed % 3 == 0 ? CommitSizes(singleCommitBytesMax: 500, part: 150) : CommitSizes())
    var engine = SyncEngine.Options()
    engine.seed = SeededRandom.seed(seed, opening)
    if resolvesConflicts(number) {
      engine.resolver = { conflict in
        conflicts.withLock { $0 += 1 }
        return Self.resolution(conflict)
      }
    }
    return (store, SyncDriver(local, remote, options: engine, scheduler: scheduler))
  }

  /// Returns the resolution of a conflict, which depends on the document. Writes to the shared documents are
  /// never dropped.
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

  /// Calls `refused` if the disk is full, so that the write has no effect.
  func write(_ mutations: [Mutation], refused: @escaping @Sendable () -> Void = {}) {
    driver.write(mutations, .local) { [weak self] error in
      if let self, self.hasDiskFault { return }
      if case .store(.full)? = error {
        self?.refusedCount += 1
        return refused()
      }
      if let error { self?.failure = "client \(self?.number ?? 0): a write failed: \(error)" }
    }
  }

  func waitForWrites() {
    // A change of user that the full disk refuses is only known after the question.
    let last = ask { $0.pendingBatches.last?.id } ?? nil
    let (opening, user) = (openings, user)
    waiting += 1
    driver.waitForPendingWrites { [weak self] error in
      guard let self, openings == opening else { return }
      waiting -= 1
      if error == nil { completedWaits.append((user, last)) }
      // A wait also ends with an error if the user changes or if a doomed process fails.
      if let error, !hasDiskFault, self.user == user {
        failure = "client \(number): a wait for writes failed: \(error)"
      }
    }
  }

  /// Returns a description of a write that is still pending although a wait for it has ended; nil if there is
  /// none.
  func prematureWaitProblem() -> String? {
    let pending = ask { $0.pendingBatches.map(\.id) } ?? []
    defer { completedWaits = [] }
    for (user, last) in completedWaits where user == self.user {
      if let last, let first = pending.first, first <= last {
        return "batch \(first) was waited for, and is still pending"
      }
    }
    return nil
  }

  /// Calls the body with the engine at once. Returns the body's result.
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
      // Notifications that belong to a killed process are ignored.
      if self?.openings == opening { self?.take(result, text) }
    }
    seen[text] = ListenerState(query: query, id: id)
  }

  func unlisten(_ text: String) {
    if let gone = seen.removeValue(forKey: text) { driver.unlisten(gone.id) }
  }

  func unlistenAll() {
    for text in seen.keys.sorted() { unlisten(text) }
  }

  /// Pins a query of the current user within a budget. Without a budget, removes the pin.
  func setPin(_ query: StructuredQuery, _ budget: PinLimits?) {
    let user = user
    let before = pins.begin(budget, of: query, user)
    let outcome = Locked<OfflineSyncError??>(nil)
    let done: SyncDriver.Completion = { error in outcome.withLock { $0 = .some(error) } }
    if let budget {
      driver.pin(query, budget, completion: done)
    } else {
      driver.unpin(query, completion: done)
    }
    scheduler.play(for: 0)
    switch outcome.withLock({ $0 }) {
    case .some(nil): pins.end([budget], of: query, user)
    case .some(.store(.full)?):
      refusedCount += 1
      pins.end(before, of: query, user)
    case let outcome where !hasDiskFault:
      failure = "client \(number): a pin was not set: \(String(describing: outcome))"
    default: break
    }
  }

  /// The users who may have pins.
  var pinUsers: Set<String?> { pins.users }

  /// Takes the pins of the current user as they were read. Returns a description of a pin that cannot be.
  func takePins(_ found: [StoredPin]) -> String? { pins.take(found, of: user) }

  func setNetwork(_ isEnabled: Bool) {
    isNetworkEnabled = isEnabled
    if isEnabled { reconnects += 1 }
    driver.send(isEnabled ? .enableNetwork : .disableNetwork)
  }

  func changeUser(_ user: String?) {
    let before = self.user
    self.user = user
    let opening = openings
    driver.send(.changeUser(user)) { [weak self] error in
      guard let self, openings == opening, case .store(.full)? = error else { return }
      refusedCount += 1
      self.user = before
    }
  }

  /// Fills the disk, or gives it space.
  func setFullDisk(_ isFull: Bool) {
    hasFullDisk = isFull
    if isFull { store.fill(disk) } else { disk.setCapacity(nil) }
  }

  /// Makes every disk call fail after `count` more calls, until the process is killed.
  func failDisk(afterCalls count: Int) {
    hasDiskFault = true
    hasFullDisk = false
    disk.setCapacity(nil)
    disk.setFault(FaultPlan(.inputOutput, at: disk.counters.operations + count, isSticky: true))
  }

  /// The total number of disk calls in all processes of the client so far.
  var calls: Int { callsBefore + disk.counters.operations }

  /// Whether the fault of a doomed process has occurred.
  var hasDiskFailed: Bool { hasDiskFault && disk.counters.faults > 0 }

  /// Kills the process, possibly with a power loss, and restarts it without listeners.
  func kill(_ crash: Crash) throws {
    driver.abandon()
    hasDiskFault = false
    hasFullDisk = false
    let image = disk.image(after: crash)
    openings += 1
    let queries = seen.sorted { $0.key < $1.key }.map(\.value.query)
    callsBefore += disk.counters.operations
    seen = [:]
    isNetworkEnabled = true
    waiting = 0
    completedWaits = []
    reconnects += 1
    disk = SimulatedDisk(image)
    (store, driver) = try Self.open(disk, seed, openings, number, remote, scheduler, user, conflicts)
    for query in queries { listen(to: query) }
  }

  private func take(_ result: Result<ViewSnapshot, OfflineSyncError>, _ text: String) {
    guard var known = seen[text] else { return }
    switch result {
    case .failure where hasDiskFault: break
    // After a refusal the listener stays registered.
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
      known.hasReceivedState = true
      seen[text] = known
    }
  }
}
