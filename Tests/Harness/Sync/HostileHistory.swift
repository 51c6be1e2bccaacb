// A history of clients whose remote sends invalid data at first, and only valid data at the end.
//
//   1. Clients write, listen, look up, crash and restart, while some messages are invalid.
//   2. After each step, no listener, write or store has failed, and the engine's invariants hold.
//   3. The remote sends only valid data, and the processes restart. Each store must be sound, and everything
//      in it can be read and written.
//   4. Each client must have the authority's documents, and each accepted write was applied exactly once.

import Authority
import ByteStore
import DocumentStore
import OfflineSync
import StoreTools

struct HostileHistory {
  private var random: SeededRandom
  private let seed: UInt64
  private let scheduler = VirtualScheduler()
  private let authority: DocumentStore
  private let loopback: LoopbackRemote
  private let remote: HostileRemote
  private var clients: [SyncClient] = []
  private var increments = 0

  private static let counter = DocumentPath(unchecked: ["rooms", "counter"])
  private static let rooms = StructuredQuery(.collection(CollectionPath(unchecked: ["rooms"])))

  private init(seed: UInt64) throws {
    self.seed = seed
    random = SeededRandom(seed: seed)
    var options = DocumentStore.Options()
    options.maintenance = .manual
    authority = try DocumentStore.open(
      "/authority", options: options, platform: SimulatedDisk().platform(seed: seed))
    loopback = try LoopbackRemote(
      authority: authority, faults: LoopbackFaults(), seed: random.next(), on: scheduler)
    remote = HostileRemote(loopback, seed: random.next())
    for number in 0..<2 { clients.append(try SyncClient(number, remote, scheduler, seed: random.next())) }
  }

  static func run(seed: UInt64) -> HostileCampaign.Result {
    var result = HostileCampaign.Result()
    do {
      var history = try HostileHistory(seed: seed)
      defer { history.releaseAll() }
      result.failure = try history.run().map { "seed \(seed): \($0)" }
      result.invalidCounts = history.remote.sentCounts
      result.refusals = history.clients.reduce(0) { $0 + $1.refusalCount }
    } catch {
      result.failure = "seed \(seed): \(error)"
    }
    return result
  }

  private func releaseAll() {
    for client in clients { client.driver.abandon() }
    scheduler.play(for: 0)
    scheduler.clear()
  }

  // MARK: Lies

  private mutating func run() throws -> String? {
    var faults = LoopbackFaults()
    faults.latency = 0...Int64(1 + random.below(20_000))
    loopback.setFaults(faults)
    remote.invalidOneIn = 1 + random.below(5)
    for client in clients { client.listen(to: Self.rooms) }
    for _ in 0..<12 + random.below(12) {
      try act()
      scheduler.play(for: Int64(random.below(2_000_000)))
      if let failure = currentFailure() { return failure }
    }
    return try syncAndCompare()
  }

  private mutating func act() throws {
    let client = clients[random.below(clients.count)]
    switch random.below(12) {
    case 0...2:
      try authority.commit([.set(path(random.below(4)), fields())])
      loopback.refresh()
    case 3: try authority.commit([.delete(path(random.below(4)))])
    case 4, 5: write(client)
    case 6: client.write([.set(path(random.below(4)), fields())])
    case 7: client.listen(to: query(random.below(4)))
    case 8:
      if let text = client.seen.keys.sorted().randomElement(using: &random) { client.unlisten(text) }
    case 9: client.setNetwork(!client.isNetworkEnabled)
    case 10: try client.kill(.kill)
    default:
      loopback.setReachable(false)
      scheduler.play(for: 100_000)
      loopback.setReachable(true)
    }
  }

  /// Commits a write that increments a counter and sets a server timestamp.
  private mutating func write(_ client: SyncClient) {
    increments += 1
    client.write([
      .patch(
        Self.counter, StoredMap(), mask: FieldMask([]),
        transforms: [
          FieldTransform(StoredFieldPath(unchecked: ["n"]), .increment(.integer(1))),
          FieldTransform(StoredFieldPath(unchecked: ["at"]), .serverTimestamp),
        ])
    ])
  }

  private func path(_ number: Int) -> DocumentPath { DocumentPath(unchecked: ["rooms", "\(number)"]) }

  private mutating func fields() -> StoredMap {
    StoredMap([("n", .integer(Int64(random.below(10)))), ("s", .string("\(random.below(100))"))])
  }

  private func query(_ number: Int) -> StructuredQuery {
    let field = StoredFieldPath(unchecked: ["n"])
    return switch number {
    case 0: (try? Self.rooms.filtered(by: .field(field, .greaterThan, .integer(4)))) ?? Self.rooms
    case 1: (try? Self.rooms.ordered(by: OrderBy(field, .ascending)).limited(to: .first(2))) ?? Self.rooms
    case 2: StructuredQuery(.document(path(0)))
    default: StructuredQuery(.document(Self.counter))
    }
  }

  private func currentFailure() -> String? {
    for client in clients {
      if let failure = client.failure { return failure }
      let broken = client.ask { engine in
        do throws(DocumentStoreError) { return try engine.brokenInvariant() } catch { return "\(error)" }
      }
      if let broken = broken ?? "its engine cannot be queried" { return "client \(client.number): \(broken)" }
    }
    return nil
  }

  // MARK: Truth

  private mutating func syncAndCompare() throws -> String? {
    remote.invalidOneIn = nil
    loopback.setReachable(true)
    for client in clients {
      try client.kill(random.oneIn(2) ? .kill : .powerLoss(.nothing, seed: random.next()))
      if let failure = try unreadableDocument(of: client) { return "client \(client.number): \(failure)" }
      write(client)
      for number in 0..<4 { client.listen(to: query(number)) }
      client.listen(to: Self.rooms)
    }
    loopback.refresh()
    scheduler.play(for: 400_000_000)
    if let failure = currentFailure() { return failure }
    for client in clients {
      let pending = client.ask { $0.pendingBatches.count } ?? -1
      if pending != 0 { return "client \(client.number) has \(pending) writes left" }
      for seen in client.seen.values {
        let expected = try authority.documents(seen.query)
        let isSame =
          seen.documents.map(\.path) == expected.map(\.path)
          && seen.documents.map(\.fields) == expected.map(\.fields)
        guard isSame, seen.hasReceivedState, !seen.isFromCache else {
          return
            "client \(client.number): \(seen.query.canonicalID) has \(seen.documents) and the authority \(expected)"
        }
      }
      if let failure = try unreadableDocument(of: client) { return "client \(client.number): \(failure)" }
    }
    let number = try authority.document(at: Self.counter)?.fields["n"] ?? .integer(0)
    return number == .integer(Int64(increments)) ? nil : "\(number) in place of \(increments)"
  }

  /// Returns a description of the first unreadable document in a client's store; nil if all documents are
  /// readable.
  private func unreadableDocument(of client: SyncClient) throws -> String? {
    let report = try client.store.check()
    if !report.isSound { return "a check finds \(report)" }
    for number in 0..<4 {
      _ = try client.store.document(at: path(number))
      _ = try client.store.documents(query(number))
    }
    _ = try client.store.documents(StructuredQuery(.collectionGroup("rooms")))
    return nil
  }
}
