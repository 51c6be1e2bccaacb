// Expectations after each step. If a step does not mention a value, the value must be absent or unchanged.

import DocumentStore
import OfflineSync

extension ScenarioRun {
  func check(_ step: JSON) throws {
    defer { forgetStep() }
    if let clientError { throw clientError }
    try remote.check(user: user)
    if !isShutDown, let broken = try engine.brokenInvariant() { throw failure("broken: \(broken)") }
    try checkEvents(step["expectedSnapshotEvents"]?.array ?? [])
    let state = step["expectedState"]
    try checkCounts(state)
    if let targets = state?["activeTargets"]?.object { expectedTargets = targets }
    if let limbo = state?["activeLimboDocs"]?.strings { expectedLimbo = Set(limbo) }
    if let limbo = state?["enqueuedLimboDocs"]?.strings { expectedEnqueued = Set(limbo) }
    try checkLimbo()
    try checkTargets()
    try require("snapshots in sync", syncEvents, step["expectedSnapshotsInSyncEvents"]?.integer ?? 0)
    try require("waits", waitsDone, step["expectedWaitForPendingWritesEvents"]?.integer ?? 0)
  }

  private func forgetStep() {
    events = []
    syncEvents = 0
    waitsDone = 0
    acknowledged = []
    rejected = []
  }

  private func failure(_ what: String) -> ScenarioFailure { ScenarioFailure(what) }

  private func require<Value: Equatable>(_ what: String, _ found: Value, _ expected: Value) throws {
    guard found == expected else { throw failure("\(what): \(found) in place of \(expected)") }
  }

  // MARK: Events

  private func checkEvents(_ expected: [JSON]) throws {
    let found = events.sorted { $0.query.canonicalID < $1.query.canonicalID }
    let wanted = try expected.map { (json: $0, query: try ($0["query"] ?? .null).query()) }
      .sorted { $0.query.canonicalID < $1.query.canonicalID }
    guard found.count == wanted.count else {
      throw failure("events: \(found.map(Self.text)) in place of \(wanted.count)")
    }
    for (found, wanted) in zip(found, wanted) {
      try require("the query of an event", found.query.canonicalID, wanted.query.canonicalID)
      try require(
        "the error of an event", Int64(found.error?.code.rawValue ?? 0),
        wanted.json["errorCode"]?.integer ?? 0)
      guard let snapshot = found.snapshot else { continue }
      try check(snapshot, wanted.json)
    }
  }

  private static func text(_ event: Event) -> String {
    guard let snapshot = event.snapshot else {
      return "\(event.query.canonicalID) \(String(describing: event.error))"
    }
    let changes = snapshot.changes.map {
      "\($0.kind) \($0.document.path)@\($0.document.version.microseconds)"
    }
    return
      "\(event.query.canonicalID) cache \(snapshot.isFromCache) pending \(snapshot.hasPendingWrites) \(changes)"
  }

  private func check(_ snapshot: ViewSnapshot, _ json: JSON) throws {
    try require("fromCache", snapshot.isFromCache, json["fromCache"]?.boolean ?? false)
    try require("hasPendingWrites", snapshot.hasPendingWrites, json["hasPendingWrites"]?.boolean ?? false)
    let kinds: [(String, ViewChange.Kind)] = [
      ("added", .added), ("modified", .modified), ("removed", .removed), ("metadata", .metadata),
    ]
    for (name, kind) in kinds {
      let found = snapshot.changes.filter { $0.kind == kind }.map { Self.text($0.document) }.sorted()
      try require(name, found, (json[name]?.array ?? []).map(Self.text).sorted())
    }
    try checkPlaces(snapshot)
  }

  /// Checks that the changes, applied in order, transform the old result into the new one.
  private func checkPlaces(_ snapshot: ViewSnapshot) throws {
    var list = snapshot.old.map(\.path)
    for placed in snapshot.placedChanges {
      let path = placed.change.document.path
      if let old = placed.oldIndex {
        guard list.indices.contains(old), list[old] == path else { throw failure("the old place of \(path)") }
        list.remove(at: old)
      }
      if let new = placed.newIndex { list.insert(path, at: new) }
    }
    try require("the documents after all changes", list, snapshot.documents.map(\.path))
  }

  private static func text(_ document: SyncedDocument) -> String {
    let fields = document.fields.map { text(.map($0)) } ?? "none"
    return "\(document.path) @\(document.version.microseconds) \(document.pending) \(fields)"
  }

  /// Equal values have one text, however maps keep their fields.
  private static func text(_ value: StoredValue) -> String {
    switch value {
    case .map(let map): "{\(map.entries.map { "\($0.name): \(text($0.value))" }.joined(separator: ", "))}"
    case .array(let values): "[\(values.map(text).joined(separator: ", "))]"
    default: "\(value)"
    }
  }

  private static func text(_ json: JSON) -> String {
    let options = json["options"]
    let pending: SyncedDocument.Pending =
      options?["hasLocalMutations"]?.boolean == true
      ? .local : options?["hasCommittedMutations"]?.boolean == true ? .committed : .none
    let fields = json["value"].map { text(.map($0.map)) } ?? "none"
    // Here, version 0 means a pending write. A remote document with version 0 therefore gets version 1.
    let version = max(json["version"]?.integer ?? 0, pending == .local || fields == "none" ? 0 : 1)
    return "\(json["key"]?.string ?? "") @\(version) \(pending) \(fields)"
  }

  // MARK: State

  private func checkCounts(_ state: JSON?) throws {
    if let isExpected = state?["isShutdown"]?.boolean { try require("shut down", isShutDown, isExpected) }
    let callbacks = state?["userCallbacks"]
    try require("acknowledged", acknowledged, callbacks?["acknowledgedDocs"]?.strings ?? [])
    try require("rejected", rejected, callbacks?["rejectedDocs"]?.strings ?? [])
    if let count = state?["numOutstandingWrites"]?.integer {
      try require("outstanding writes", Int64(engine.outstandingCount), count)
    }
    if let count = state?["writeStreamRequestCount"]?.integer {
      try require("write requests", remote.writeRequestCount, count)
    }
    if let count = state?["watchStreamRequestCount"]?.integer {
      try require("watch requests", remote.watchRequestCount, count)
    }
  }

  private func checkLimbo() throws {
    let active = isShutDown ? [:] : engine.activeLimbo
    try require("active limbo", Set(active.keys.map(\.description)), expectedLimbo)
    let enqueued = isShutDown ? [] : engine.enqueuedLimbo
    try require("enqueued limbo", Set(enqueued.map(\.description)), expectedEnqueued)
    guard isNetworkEnabled else { return }
    for id in active.values where expectedTargets["\(id)"] == nil {
      throw failure("limbo target \(id) is not expected")
    }
  }

  private func checkTargets() throws {
    guard isNetworkEnabled else {
      return try require("targets without a network", remote.targets.keys.sorted(), [])
    }
    try require("targets", Set(remote.targets.keys.map(\.description)), Set(expectedTargets.keys))
    for (name, expected) in expectedTargets {
      guard let id = Int32(name), let found = remote.targets[TargetID(id)] else { continue }
      let query = try (expected["queries"]?.array?.first ?? .null).query()
      try require("the query of target \(name)", found.query.targetID, query.targetID)
      try require(
        "the purpose of target \(name)", "\(found.purpose)",
        Self.purposes[expected["targetPurpose"]?.string ?? ""] ?? "listen")
      let token = expected["resumeToken"]?.string ?? ""
      try require("the token of target \(name)", String(decoding: found.resumeToken, as: UTF8.self), token)
      if token.isEmpty {
        try require(
          "the read time of target \(name)", found.readTime.microseconds, expected["readTime"]?.integer ?? 0)
      }
      if let count = expected["expectedCount"]?.integer {
        try require("the expected count of target \(name)", found.expectedCount.map(Int64.init), count)
      }
    }
  }

  private static let purposes = [
    "TargetPurposeExistenceFilterMismatch": "existenceFilterMismatch",
    "TargetPurposeExistenceFilterMismatchBloom": "existenceFilterMismatchBloom",
    "TargetPurposeLimboResolution": "limboResolution",
  ]
}
