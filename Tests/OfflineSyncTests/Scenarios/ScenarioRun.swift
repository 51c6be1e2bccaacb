// Runs one scenario step by step against one client.

import DocumentStore
import Foundation
import OfflineSync

final class ScenarioRun {
  struct Event {
    var query: StructuredQuery
    var snapshot: ViewSnapshot?
    var error: RemoteError?
  }

  let scenario: Scenario
  let mode: Scenario.Mode
  private let directory: URL
  private var store: DocumentStore
  private(set) var engine: SyncEngine
  var streams = MockStreams()
  private var timers: Set<SyncTimer> = []
  private var user: String?
  private(set) var isNetworkEnabled = true
  /// Whether the client is shut down. While the client is shut down, no step takes effect until the next
  /// start.
  private(set) var isShutDown = false
  var bundles: [String: StoredTimestamp] = [:]
  private var listeners: [(id: ListenerID, query: StructuredQuery)] = []
  private var syncListeners: [ListenerID] = []
  private var lastNumber = 0
  private var outstanding: [String?: [[Mutation]]] = [:]
  private var paths: [CallID: [DocumentPath]] = [:]

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

  init(_ scenario: Scenario, _ mode: Scenario.Mode) throws {
    self.scenario = scenario
    self.mode = mode
    directory = FileManager.default.temporaryDirectory.appendingPathComponent("scenario-\(UUID())")
    store = try Self.open(mode, directory)
    engine = try Self.engine(store, scenario, mode, nil)
  }

  private static func open(_ mode: Scenario.Mode, _ directory: URL) throws -> DocumentStore {
    var options = DocumentStore.Options()
    options.durability = .buffered
    return mode == .memory
      ? try DocumentStore.openInMemory(options: options)
      : try DocumentStore.open(directory.path, options: options)
  }

  private static func engine(
    _ store: DocumentStore, _ scenario: Scenario, _ mode: Scenario.Mode, _ user: String?
  ) throws -> SyncEngine {
    let local = try LocalStore(
      store, user: user, collector: mode == .memory && scenario.isEager ? .eager : .lru, client: "client")
    var options = SyncEngine.Options()
    if let max = scenario.limboMax { options.limboMax = max }
    options.documentsName = "projects/test-project/databases/(default)/documents"
    return SyncEngine(local, options)
  }

  static func run(_ scenario: Scenario, _ mode: Scenario.Mode) throws {
    let run = try ScenarioRun(scenario, mode)
    defer { run.end() }
    run.perform(try run.engine.start())
    for (index, step) in scenario.steps.enumerated() {
      do {
        try run.take(step)
        try run.check(step)
      } catch let failure as ScenarioFailure {
        throw ScenarioFailure(step: index + 1, what: failure.what)
      } catch {
        throw ScenarioFailure(step: index + 1, what: "\(error)")
      }
    }
  }

  private func end() {
    if !isShutDown { try? store.close() }
    try? FileManager.default.removeItem(at: directory)
  }

  // MARK: Effects

  func send(_ event: SyncEvent) throws { perform(try engine.handle(event)) }

  private func perform(_ effects: [SyncEffect]) {
    var queue = effects[...]
    while let effect = queue.popFirst() {
      if let answers = streams.perform(effect) {
        for answer in answers {
          do {
            // Perform the new effects after the effects that were requested earlier.
            queue += try engine.handle(answer)
          } catch {
            lateError = lateError ?? error
          }
        }
      } else {
        note(effect)
      }
    }
  }

  private(set) var lateError: (any Error)?

  private func note(_ effect: SyncEffect) {
    switch effect {
    case .notify(let id, let snapshot):
      if let query = listeners.first(where: { $0.id == id })?.query {
        events.append(Event(query: query, snapshot: snapshot))
      }
    case .failListener(let id, let error):
      if let place = listeners.firstIndex(where: { $0.id == id }) {
        events.append(Event(query: listeners[place].query, error: error))
        listeners.remove(at: place)
      }
    case .notifySync: syncEvents += 1
    case .finishWrite(let call, let error):
      let names = (paths[call] ?? []).map(\.description)
      if error == nil { acknowledged += names } else { rejected += names }
    case .finishWait(_, let error): if error == nil { waitsDone += 1 }
    case .startTimer(let timer, _): timers.insert(timer)
    case .stopTimer(let timer): timers.remove(timer)
    default: break
    }
  }

  // MARK: Actions

  private func number() -> Int {
    lastNumber += 1
    return lastNumber
  }

  private func take(_ step: JSON) throws {
    for (action, payload) in (step.object ?? [:])
    where !action.hasPrefix("expected") && action != "clientIndex" {
      if try takeUserAction(action, payload) { return }
      if try takeRemoteAction(action, payload) { return }
      if try takeCircumstance(action, payload) { return }
      throw ScenarioFailure(step: 0, what: "unknown action \(action)")
    }
  }

  private func takeUserAction(_ action: String, _ payload: JSON) throws -> Bool {
    switch action {
    case "userListen": try listen(payload)
    case "userUnlisten":
      let query = try (payload.array?[1] ?? .null).query()
      // If there are several listeners of the query, remove the most recent listener.
      guard let place = listeners.lastIndex(where: { $0.query == query }) else {
        throw ScenarioFailure(step: 0, what: "there is no listener to \(query.canonicalID)")
      }
      try send(.unlisten(listeners.remove(at: place).id))
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
      syncListeners.append(ListenerID(number()))
      try send(.listenToSync(ListenerID(lastNumber)))
    case "removeSnapshotsInSyncListener":
      if let last = syncListeners.popLast() { try send(.unlistenToSync(last)) }
    case "loadBundle":
      guard let text = payload.string else { return false }
      try load(bundle: text)
    case "waitForPendingWrites": try send(.waitForPendingWrites(CallID(number())))
    case "changeUser":
      user = payload.string
      try send(.changeUser(user))
    default: return false
    }
    return true
  }

  private func listen(_ payload: JSON) throws {
    let query = try (payload["query"] ?? .null).query()
    let id = ListenerID(number())
    listeners.append((id, query))
    let options = payload["options"]
    try send(
      .listen(
        id, query,
        ListenRules(
          includesMetadataChanges: true,
          waitsForSync: options?["waitForSyncWhenOnline"]?.boolean ?? false,
          isCacheOnly: options?["source"]?.string == "cache")))
    let target = engine.target(of: query)
    guard target?.value == payload["targetId"]?.integer.map(Int32.init) else {
      throw ScenarioFailure(step: 0, what: "the target is \(target?.description ?? "none")")
    }
  }

  private func write(_ mutation: Mutation) throws {
    outstanding[user, default: []].append([mutation])
    let call = CallID(number())
    paths[call] = [mutation.path]
    guard let now = StoredTimestamp(microseconds: Int64(Date().timeIntervalSince1970 * 1_000_000)) else {
      return
    }
    try send(.write([mutation], at: now, call))
  }

  private func takeRemoteAction(_ action: String, _ payload: JSON) throws -> Bool {
    switch action {
    case "watchAck": try notify(.target(.added, payload.targetIDs))
    case "watchCurrent":
      guard let parts = payload.array, parts.count == 2 else { return false }
      try notify(.target(.current, parts[0].targetIDs, resumeToken: parts[1].token))
    case "watchRemove":
      let ids = payload["targetIds"]?.targetIDs ?? []
      let cause = payload["cause"]?.error
      if cause != nil {
        for id in ids where streams.targets.removeValue(forKey: id) == nil {
          throw ScenarioFailure(step: 0, what: "target \(id) is not followed")
        }
      }
      try notify(.target(.removed, ids, cause: cause))
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
        ids.isEmpty ? payload["version"]?.version ?? .none : .none)
    case "watchStreamClose":
      streams.closeWatch()
      try send(.watchClosed(payload["error"]?.error))
    case "writeAck":
      _ = try takeOldestWrite(keeps: payload["keepInQueue"]?.boolean ?? false)
      let version = payload["version"]?.version ?? .none
      try send(.writeAnswered(version, [WriteResult(version: version)], token: []))
    case "failWrite":
      _ = try takeOldestWrite(keeps: payload["keepInQueue"]?.boolean ?? false)
      streams.closeWrite()
      try send(.writeClosed(payload["error"]?.error))
    default: return false
    }
    return true
  }

  private func notify(_ change: WatchChange, _ version: SnapshotVersion = .none) throws {
    try send(.watchChanged(change, version))
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

  private func takeOldestWrite(keeps: Bool) throws -> RemoteWrite {
    guard let expected = outstanding[user]?.first else {
      throw ScenarioFailure(step: 0, what: "no write is outstanding")
    }
    if !keeps { outstanding[user]?.removeFirst() }
    guard let sent = streams.takeSent() else { throw ScenarioFailure(step: 0, what: "no write was sent") }
    guard sent.mutations == expected else {
      throw ScenarioFailure(step: 0, what: "sent was \(sent.mutations), not \(expected)")
    }
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
      let due = payload.string == "all" ? Array(timers) : names[payload.string ?? ""].map { [$0] } ?? []
      for timer in due where timers.remove(timer) != nil { try send(.timer(timer)) }
    // The set of indexes does not affect results.
    case "drainQueue", "setIndexConfiguration": break
    case "restart": try restart()
    case "shutdown": try shutDown()
    case "clearPersistence":
      guard isShutDown else { throw ScenarioFailure(step: 0, what: "the client is running") }
      bundles = [:]
      try? FileManager.default.removeItem(at: directory)
    case "triggerLruGC":
      try send(.collect(threshold: UInt64(max(0, payload.integer ?? 0)), percentile: 100))
    default: return false
    }
    return true
  }

  private func shutDown() throws {
    try store.close()
    streams.closeWatch()
    streams.closeWrite()
    timers = []
    isShutDown = true
  }

  private func restart() throws {
    if !isShutDown { try store.close() }
    isShutDown = false
    if mode == .memory { bundles = [:] }
    store = try Self.open(mode, directory)
    streams = MockStreams()
    timers = []
    listeners = []
    syncListeners = []
    isNetworkEnabled = true
    engine = try Self.engine(store, scenario, mode, user)
    perform(try engine.start())
  }
}
