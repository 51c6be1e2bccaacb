// Runs one scenario step by step against one client.

import DocumentStore
import Foundation
import Harness

@testable import OfflineSync

final class ScenarioRun: @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: one thread runs the client and the scenario.
  struct Event {
    var query: StructuredQuery
    var snapshot: ViewSnapshot?
    var error: RemoteError?
  }

  let scenario: Scenario
  let mode: Scenario.Mode
  private let connection: Scenario.Connection
  private let directory: URL
  /// Its time stands still, so timers fire only if the scenario says so.
  private let scheduler = VirtualScheduler()
  private var store: DocumentStore
  private(set) var remote: any ScenarioRemote
  private var driver: SyncDriver
  var engine: SyncEngine { driver.engine }
  private(set) var user: String?
  private(set) var isNetworkEnabled = true
  /// Whether the client is shut down. While the client is shut down, no step takes effect until the next
  /// start.
  private(set) var isShutDown = false
  var bundles: [String: StoredTimestamp] = [:]
  private var listeners: [(id: ListenerID, query: StructuredQuery, number: Int)] = []
  private var listenerCount = 0
  private var syncListeners: [ListenerID] = []
  private var outstanding: [String?: [[Mutation]]] = [:]
  private var lateError: OfflineSyncError?

  // The observations since the last step.
  var events: [Event] = []
  var syncEvents: Int64 = 0
  var waitsDone: Int64 = 0
  var acknowledged: [String] = []
  var rejected: [String] = []
  // Expectations that hold until a step changes them.
  var expectedTargets: [String: JSON] = [:]
  var expectedLimbo: Set<String> = []
  var expectedEnqueued: Set<String> = []

  init(_ scenario: Scenario, _ mode: Scenario.Mode, _ connection: Scenario.Connection) throws {
    self.scenario = scenario
    self.mode = mode
    self.connection = connection
    directory = FileManager.default.temporaryDirectory.appendingPathComponent("scenario-\(UUID())")
    store = try Self.open(mode, directory)
    remote = Self.remote(connection, scheduler)
    driver = try Self.driver(store, remote, scheduler, scenario, mode, user: nil)
  }

  private static func open(_ mode: Scenario.Mode, _ directory: URL) throws -> DocumentStore {
    var options = DocumentStore.Options()
    options.durability = .buffered
    return mode == .memory
      ? try DocumentStore.openInMemory(options: options)
      : try DocumentStore.open(directory.path, options: options)
  }

  private static func remote(
    _ connection: Scenario.Connection, _ scheduler: VirtualScheduler
  ) -> any ScenarioRemote {
    switch connection {
    case .direct: DirectRemote(scheduler)
    case .webChannel: WebChannelRemote(scheduler)
    }
  }

  private static func driver(
    _ store: DocumentStore, _ remote: any ScenarioRemote, _ scheduler: VirtualScheduler, _ scenario: Scenario,
    _ mode: Scenario.Mode, user: String?
  ) throws -> SyncDriver {
    let local = try LocalStore(
      store, user: user, collector: mode == .memory && scenario.isEager ? .eager : .lru, client: "client")
    var options = SyncEngine.Options()
    if let max = scenario.limboMax { options.limboMax = max }
    return SyncDriver(local, remote.client, options: options, scheduler: scheduler)
  }

  static func run(_ scenario: Scenario, _ mode: Scenario.Mode, _ connection: Scenario.Connection) throws {
    let run = try ScenarioRun(scenario, mode, connection)
    defer { run.end() }
    try run.runDue()
    for (index, step) in scenario.steps.enumerated() {
      do {
        try run.take(step)
        try run.check(step)
      } catch var failure as ScenarioFailure {
        failure.step = index + 1
        throw failure
      } catch {
        var failure = ScenarioFailure("\(error)")
        failure.step = index + 1
        throw failure
      }
    }
  }

  private func end() {
    if !isShutDown {
      driver.abandon()
      try? store.close()
    }
    scheduler.clear()
    try? FileManager.default.removeItem(at: directory)
  }

  // MARK: The client

  func send(_ event: SyncEvent) throws {
    driver.send(event)
    try runDue()
  }

  /// Runs everything that is due now. A pause before another attempt takes no time.
  private func runDue() throws {
    scheduler.play(for: 0)
    var pauses = 0
    while let timer = [SyncTimer.watchBackoff, .writeBackoff].first(where: driver.driver.isRunning) {
      pauses += 1
      guard pauses < 100 else { throw ScenarioFailure("the client opens streams without an end") }
      fire(timer)
    }
  }

  private func fire(_ timer: SyncTimer) {
    driver.driver.stop(timer)
    driver.send(.timer(timer))
    scheduler.play(for: 0)
  }

  /// The error that has stopped the client or failed a listener.
  var clientError: OfflineSyncError? { isShutDown ? nil : driver.failure ?? lateError }

  // MARK: Actions

  private func take(_ step: JSON) throws {
    for (action, payload) in (step.object ?? [:])
    where !action.hasPrefix("expected") && action != "clientIndex" {
      if try takeUserAction(action, payload) { return }
      if try takeRemoteAction(action, payload) { return }
      if try takeCircumstance(action, payload) { return }
      throw ScenarioFailure("unknown action \(action)")
    }
  }

  private func takeUserAction(_ action: String, _ payload: JSON) throws -> Bool {
    switch action {
    case "userListen": try listen(payload)
    case "userUnlisten":
      let query = try (payload.array?[1] ?? .null).query()
      // If there are several listeners of the query, remove the most recent listener.
      guard let place = listeners.lastIndex(where: { $0.query == query }) else {
        throw ScenarioFailure("there is no listener to \(query.canonicalID)")
      }
      driver.unlisten(listeners.remove(at: place).id)
      try runDue()
    case "userSet":
      guard let path = payload.array?[0].path, let fields = payload.array?[1].map else { return false }
      try write(.set(path, fields))
    case "userPatch":
      guard let path = payload.array?[0].path, let fields = payload.array?[1].object else { return false }
      var changes: [(field: StoredFieldPath, change: Mutation.FieldChange)] = []
      for (name, value) in fields {
        changes.append(
          (
            try StoredFieldPath(dotted: name),
            value.string == "<DELETE>" ? .delete : .set(value.value)
          ))
      }
      try write(try Mutation.update(path, changes))
    case "userDelete":
      guard let path = payload.path else { return false }
      try write(.delete(path))
    case "addSnapshotsInSyncListener":
      syncListeners.append(driver.listenToSync { [self] in syncEvents += 1 })
      try runDue()
    case "removeSnapshotsInSyncListener":
      if let last = syncListeners.popLast() { driver.unlistenToSync(last) }
      try runDue()
    case "loadBundle":
      guard let text = payload.string else { return false }
      try load(bundle: text)
    case "waitForPendingWrites":
      driver.waitForPendingWrites { [self] error in if error == nil { waitsDone += 1 } }
      try runDue()
    case "changeUser":
      user = payload.string
      try send(.changeUser(user))
    default: return false
    }
    return true
  }

  private func listen(_ payload: JSON) throws {
    let query = try (payload["query"] ?? .null).query()
    let options = payload["options"]
    let rules = ListenRules(
      includesMetadataChanges: true, waitsForSync: options?["waitForSyncWhenOnline"]?.boolean ?? false,
      isCacheOnly: options?["source"]?.string == "cache")
    let number = listenerCount
    listenerCount += 1
    let id = driver.listen(to: query, rules) { [self] in receive($0, query, number) }
    listeners.append((id, query, number))
    try runDue()
    let target = engine.target(of: query)
    guard target?.value == payload["targetId"]?.integer.map(Int32.init) else {
      throw ScenarioFailure("the target is \(target?.description ?? "none")")
    }
  }

  private func receive(
    _ result: Result<ViewSnapshot, OfflineSyncError>, _ query: StructuredQuery, _ number: Int
  ) {
    switch result {
    case .success(let snapshot): events.append(Event(query: query, snapshot: snapshot))
    case .failure(.remote(let error)):
      events.append(Event(query: query, error: error))
      listeners.removeAll { $0.number == number }
    // The listener stays.
    case .failure(.refused): break
    case .failure(let error): lateError = error
    }
  }

  private func write(_ mutation: Mutation) throws {
    outstanding[user, default: []].append([mutation])
    driver.write([mutation]) { [self] error in
      // The end of the client is no answer to its writes.
      guard !isShutDown else { return }
      let path = mutation.path.description
      if error == nil { acknowledged.append(path) } else { rejected.append(path) }
    }
    try runDue()
  }

  private func takeRemoteAction(_ action: String, _ payload: JSON) throws -> Bool {
    switch action {
    case "watchAck": try notify(.target(.added, payload.targetIDs))
    case "watchCurrent":
      guard let parts = payload.array, parts.count == 2 else { return false }
      try notify(.target(.current, parts[0].targetIDs, resumeToken: parts[1].token))
    case "watchRemove":
      let ids = payload["targetIds"]?.targetIDs ?? []
      try notify(.target(.removed, ids, cause: payload["cause"]?.error))
    case "watchReset": try notify(.target(.reset, payload.targetIDs))
    case "watchEntity": try tellEntity(payload)
    case "watchFilter":
      guard let id = payload["targetIds"]?.targetIDs.first else { return false }
      try notify(
        .existenceFilter(id, count: payload["keys"]?.array?.count ?? 0, payload["bloomFilter"]?.filter))
    case "watchSnapshot":
      let ids = payload["targetIds"]?.targetIDs ?? []
      try notify(
        .target(.noChange, ids, resumeToken: payload["resumeToken"]?.token ?? []),
        payload["version"]?.version ?? .none)
    case "watchStreamClose":
      try remote.endWatch(payload["error"]?.error)
      try runDue()
    case "writeAck":
      let batch = try takeOldestWrite(keeps: payload["keepInQueue"]?.boolean ?? false)
      try remote.accept(batch, at: payload["version"]?.version ?? .none)
      try runDue()
    case "failWrite":
      _ = try takeOldestWrite(keeps: payload["keepInQueue"]?.boolean ?? false)
      try remote.endWrite(payload["error"]?.error)
      try runDue()
    default: return false
    }
    return true
  }

  private func notify(_ change: WatchChange, _ version: SnapshotVersion = .none) throws {
    try remote.send(change, at: version)
    try runDue()
  }

  private func tellEntity(_ payload: JSON) throws {
    let updated = payload["targets"]?.targetIDs ?? []
    let removed = payload["removedTargets"]?.targetIDs ?? []
    let documents = (payload["docs"]?.array ?? []) + (payload["doc"].map { [$0] } ?? [])
    for document in documents.compactMap(\.remoteDocument) {
      try notify(.document(document.path, document, updated: updated, removed: removed))
    }
    if documents.isEmpty, let path = payload["key"]?.path {
      try notify(.document(path, nil, updated: updated, removed: removed))
    }
  }

  private func takeOldestWrite(keeps: Bool) throws -> [Mutation] {
    guard let expected = outstanding[user]?.first else {
      throw ScenarioFailure("no write is outstanding")
    }
    if !keeps { outstanding[user]?.removeFirst() }
    let sent = try remote.takeBatch()
    guard sent == expected else { throw ScenarioFailure("sent was \(sent), not \(expected)") }
    return sent
  }

  private func takeCircumstance(_ action: String, _ payload: JSON) throws -> Bool {
    switch action {
    case "enableNetwork":
      isNetworkEnabled = payload.boolean ?? true
      try send(isNetworkEnabled ? .enableNetwork : .disableNetwork)
    case "runTimer":
      let names: [String: SyncTimer] = [
        "listen_stream_idle": .watchIdle, "write_stream_idle": .writeIdle,
        "online_state_timeout": .onlineState,
      ]
      let due = payload.string == "all" ? SyncTimer.allCases : names[payload.string ?? ""].map { [$0] } ?? []
      for timer in due where driver.driver.isRunning(timer) { fire(timer) }
      try runDue()
    // The set of indexes does not affect results.
    case "drainQueue", "setIndexConfiguration": break
    case "restart": try restart()
    case "shutdown": try shutDown()
    case "clearPersistence":
      guard isShutDown else { throw ScenarioFailure("the client is running") }
      bundles = [:]
      try? FileManager.default.removeItem(at: directory)
    case "triggerLruGC":
      try send(.collect(threshold: UInt64(max(0, payload.integer ?? 0)), percentile: 100))
    default: return false
    }
    return true
  }

  private func shutDown() throws {
    isShutDown = true
    driver.stop()
    scheduler.play(for: 0)
    try store.close()
  }

  private func restart() throws {
    if !isShutDown {
      driver.abandon()
      scheduler.play(for: 0)
      try store.close()
    }
    isShutDown = false
    if mode == .memory { bundles = [:] }
    store = try Self.open(mode, directory)
    scheduler.clear()
    remote = Self.remote(connection, scheduler)
    listeners = []
    syncListeners = []
    isNetworkEnabled = true
    driver = try Self.driver(store, remote, scheduler, scenario, mode, user: user)
    try runDue()
  }
}
