// Pinned queries in a history: they are pinned and unpinned at any time, and compared without listeners.

import DocumentStore
import OfflineSync

extension SyncHistory {
  /// A query that a client has pinned, as the client sees it.
  private struct SeenPin: Sendable {
    let state: PinState
    let progress: QueryProgressState?
    /// The fields of the documents at the paths that were asked for.
    let fields: [StoredMap?]
    /// The result of the query in the cache.
    let cached: [SyncedDocument]
    /// The paths of the documents that its target has, in order.
    let keys: [String]
  }

  /// The paths of the documents that the target of a query has. Its result may also be in the cache because
  /// of documents without a target, until these are collected.
  private static func keys(
    of query: StructuredQuery, in store: DocumentStore
  ) throws(DocumentStoreError) -> [String] {
    func documents(_ path: String...) throws(DocumentStoreError) -> [StoredDocument] {
      try store.documents(StructuredQuery(.collection(CollectionPath(unchecked: path))))
    }
    for target in try documents("__targets__") where target.fields["q"] == .string(query.targetID) {
      return try documents("__targets__", target.path.id, "__keys__").map(\.path.id).sorted()
    }
    return []
  }

  // MARK: Acts

  mutating func pin(_ client: SyncClient) {
    count(.pins)
    let number = rng.below(Self.queryCount)
    let budget =
      switch rng.below(4) {
      case 0: PinLimits(documentsMax: rng.below(Self.documents + 1))
      case 1: PinLimits(bytesMax: rng.below(400))
      default: PinLimits()
      }
    client.setPin(query(number), budget)
  }

  mutating func unpin(_ client: SyncClient) {
    count(.unpins)
    client.setPin(query(rng.below(Self.queryCount)), nil)
  }

  /// Compares the records of the pins with the calls that were made.
  func pinRecordProblem(_ client: SyncClient) -> String? {
    guard let pins = client.ask({ $0.local.currentPins }) else { return "its pins cannot be queried" }
    for pin in pins where pin.isOverBudget && !canExceed(pin) { return "\(pin) cannot be over its budget" }
    return client.takePins(pins)
  }

  private func canExceed(_ pin: StoredPin) -> Bool {
    if pin.budget.bytesMax != nil { return true }
    guard let most = pin.budget.documentsMax else { return false }
    switch pin.query.limit {
    case .first(let limit)?, .last(let limit)?: return most < limit
    case nil: break
    }
    if case .document = pin.query.scope { return most < 1 }
    return most < Self.documents
  }

  // MARK: The end

  /// Compares the pinned queries of all users with the authority. No client has listeners or pending writes
  /// then, so only the pins can bring the documents.
  mutating func pinProblem() throws -> String? {
    for client in clients { client.unlistenAll() }
    for user in ["ann", "bob", nil] where clients.contains(where: { $0.pinUsers.contains(user) }) {
      for client in clients {
        // A power loss could bring writes back that have their answers.
        if rng.oneIn(3) {
          count(.kills)
          try client.kill(.kill)
        }
        client.changeUser(user)
      }
      scheduler.play(for: Int64(rng.below(200_000)))
      for number in 0..<Self.documents where rng.oneIn(3) {
        let mutation = rng.oneIn(4) ? Mutation.delete(path(number)) : .set(path(number), fields())
        _ = try authority.commit([mutation])
      }
      world.refresh()
      world.play(for: 400_000_000) { (try? pinDifference(isCollected: false)) == .some(nil) }
      if let failure = try currentFailure() ?? pinDifference(isCollected: false) { return failure }
      for client in clients { client.driver.send(.collect(threshold: 0, percentile: 100)) }
      scheduler.play(for: 0)
      if let failure = try currentFailure() ?? pinDifference(isCollected: true) { return failure }
      try countPins()
    }
    for client in clients { client.changeUser(nil) }
    return nil
  }

  private mutating func countPins() throws {
    for client in clients {
      for pin in client.ask({ $0.local.currentPins }) ?? [] {
        let documents = pin.isOverBudget ? 0 : try authority.documents(pin.query).count
        count(.pinnedDocuments, by: documents)
        if pin.isOverBudget { count(.suspendedPins) }
      }
    }
  }

  private func pinDifference(isCollected: Bool) throws -> String? {
    for client in clients {
      if let problem = try pinDifference(client, isCollected: isCollected) {
        return "client \(client.number), pins of \(client.user ?? "nobody"): \(problem)"
      }
    }
    return nil
  }

  private func pinDifference(_ client: SyncClient, isCollected: Bool) throws -> String? {
    guard let progress = client.ask({ $0.syncProgress.queries }),
      let states = client.ask({ try? $0.pinStates() }) ?? nil
    else { return "they cannot be queried" }
    let watched = Set(states.filter { !$0.pin.isOverBudget }.map(\.pin.query.targetID))
    if let strange = progress.first(where: { !watched.contains($0.text) || !$0.isPinned || $0.isListening }) {
      return "\(strange.text) is watched"
    }
    var kept: Set<DocumentPath> = []
    for state in states where !state.pin.isOverBudget {
      let query = state.pin.query
      let expected = try authority.documents(query)
      kept.formUnion(expected.map(\.path))
      let seen = client.ask { engine in
        try? SeenPin(
          state: state, progress: progress.first { $0.text == query.targetID },
          fields: expected.map { try engine.local.document($0.path).fields },
          cached: engine.local.documents(query), keys: Self.keys(of: query, in: engine.local.store))
      }
      guard let seen = seen ?? nil else { return "they cannot be read" }
      let isExact = isCollected && client.collectsEverything
      if let problem = difference(seen, expected, isExact: isExact) { return "\(query.targetID): \(problem)" }
    }
    guard isCollected, client.collectsEverything else { return nil }
    let rooms = query(0)
    guard let cached = client.ask({ try? $0.local.documents(rooms).map(\.path) }) ?? nil else {
      return "the cache cannot be read"
    }
    let left = Set(cached).subtracting(kept)
    return left.isEmpty ? nil : "\(left) is left in the cache"
  }

  private func difference(_ seen: SeenPin, _ expected: [StoredDocument], isExact: Bool) -> String? {
    if let error = seen.state.error { return "it was refused: \(error)" }
    guard let progress = seen.progress, progress.isCurrent else { return "it is not in sync" }
    let newest = expected.map { SnapshotVersion($0.updateTime) }.max() ?? .none
    if progress.version == .none || progress.version < newest {
      return "it is synced up to \(progress.version), and has a document of \(newest)"
    }
    let limits = seen.state.pin.budget
    if expected.count > limits.documentsMax ?? .max || seen.state.byteCount > limits.bytesMax ?? .max {
      return "\(seen.state) is within its budget"
    }
    let isSame =
      seen.state.documentCount == expected.count && seen.fields == expected.map(\.fields)
      && seen.keys == expected.map { $0.path.segments.joined(separator: "%2f") }.sorted()
      && (!isExact
        || seen.cached.map(\.path) == expected.map(\.path)
          && seen.cached.map(\.fields) == expected.map(\.fields))
    if isSame { return nil }
    let cached = seen.cached.map { "\($0.path)@\($0.version)" }
    return "\(cached) is in the cache, \(seen.keys) are of the pin, and the authority has "
      + "\(expected.map { "\($0.path)@\($0.updateTime)" })"
  }
}
