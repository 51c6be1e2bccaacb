// A random history of clients and an authority over a faulty connection. At the end, all of them must agree.
//
// Clients write, listen, disconnect, crash and restart. Each counted write adds one to a number and a word to
// a list in one batch. At the end, the authority's number must equal the number of its words, and the words
// must be exactly those of the writes that were not rejected. The word itself determines whether the write is
// rejected. The expected result therefore does not depend on which answers a client received before it
// crashed. The disk of a client may be full for a while. A write then either fails and has no effect, or is
// queued. The client may not fail.
//
// Clients also pin queries. Before or after the listeners are compared, the pinned queries of each user are
// compared without listeners (SyncHistory+Pins.swift).
//
// A client may be doomed: from some disk call on, which may be in the middle of any operation, all its calls
// fail. Writes that it issues after it is doomed may be lost, but must not be applied twice.

import ByteStore
import DocumentStore
import OfflineSync

package struct SyncHistory {
  var rng: SeededRandom
  private let seed: UInt64
  let world: any SyncWorld
  var clients: [SyncClient] = []
  private var words: Set<String> = []
  private var rejectedWords: Set<String> = []
  /// The words that may or may not be in the final list: those of doomed clients, and those of cancelled
  /// writes that were sent.
  private var uncertainWords: Set<String> = []
  /// For each word that a client wrote while it was offline, the client's value of `reconnects` at that time.
  private var writtenOffline: [String: Int] = [:]
  /// The words whose writes had no effect, because the disk of their client was full.
  private let refusedWords = Locked<Set<String>>([])
  private var counts: [SyncCampaign.Kind: Int] = [:]
  private var failure: String?

  static let documents = 5
  static let queryCount = 6

  private init(
    seed: UInt64, _ makeWorld: (inout SeededRandom) throws -> any SyncWorld
  ) throws {
    self.seed = seed
    rng = SeededRandom(seed: seed)
    world = try makeWorld(&rng)
    world.setRule { mutations in
      mutations.contains(where: Self.isRejected) ? RemoteError(.permissionDenied, "by rule") : nil
    }
    for number in 0..<2 + rng.below(3) {
      clients.append(try SyncClient(number, world.makeRemote(), world.scheduler, seed: rng.next()))
    }
    counts[.eagerClients] = clients.count(where: \.usesEagerGarbageCollection)
    counts[.clientsInParts] = clients.count(where: \.hasSmallCommits)
  }

  package struct Result: Equatable {
    package var counts: [SyncCampaign.Kind: Int] = [:]
    /// A hash of the history; equal runs have equal traces.
    package var trace: UInt64 = 0
    package var failure: String?
  }

  /// Runs a history with an authority in this process.
  package static func run(seed: UInt64) -> Result {
    run(seed: seed) { random in try LoopbackSyncWorld(seed: seed, random: &random) }
  }

  package static func run(
    seed: UInt64, in makeWorld: (inout SeededRandom) throws -> any SyncWorld
  ) -> Result {
    var result = Result()
    do {
      var history = try SyncHistory(seed: seed, makeWorld)
      defer { history.releaseAll() }
      result.failure = try history.run().map { "seed \(seed): \($0)" }
      result.counts = history.counts
      result.trace = history.trace
    } catch {
      result.failure = "seed \(seed): \(error)"
    }
    return result
  }

  var scheduler: any PlayedScheduler { world.scheduler }
  var authority: DocumentStore { world.authority }

  /// Releases all objects. Otherwise scheduled work and open streams would retain them.
  private func releaseAll() {
    for client in clients { client.driver.abandon() }
    scheduler.play(for: 0)
    scheduler.end()
    world.close()
  }

  /// A fingerprint of the amount of work, the time and the disk calls.
  private var trace: UInt64 {
    let numbers = [UInt64(scheduler.jobCount), UInt64(scheduler.now())] + clients.map { UInt64($0.calls) }
    return numbers.reduce(seed) { SeededRandom.seed($0, $1) }
  }

  private mutating func run() throws -> String? {
    world.chooseFaults(&rng)
    for client in clients { client.listen(to: query(0)) }
    for _ in 0..<20 + rng.below(30) {
      try act()
      scheduler.play(for: Int64(rng.below(400_000)))
      for client in clients where client.hasDiskFailed { try kill(client) }
      if let failure = try currentFailure() { return failure }
    }
    return try syncAndCompare()
  }

  // MARK: Acts

  private mutating func act() throws {
    let client = clients[rng.below(clients.count)]
    switch rng.below(33) {
    case 0..<6: writeWord(client)
    case 6..<10: writeDocument(client)
    case 10, 11:
      count(.listeners)
      client.listen(to: query(rng.below(Self.queryCount)))
    case 12:
      if let text = client.seen.keys.sorted().randomElement(using: &rng) { client.unlisten(text) }
    case 13, 14:
      count(.offlinePeriods)
      client.setNetwork(!client.isNetworkEnabled)
    case 15: try kill(client)
    case 16:
      count(.doomed)
      if !client.hasDiskFault { client.failDisk(afterCalls: rng.below(40)) }
    case 17:
      count(.userChanges)
      client.changeUser([nil, "ann", "bob"][rng.below(3)])
    case 18:
      world.setReachable(false)
      try world.restartIfDue()
      scheduler.play(for: Int64(rng.below(300_000)))
      world.setReachable(true)
    case 19: world.chooseFaults(&rng)
    case 20:
      count(.writesAtTheAuthority)
      _ = try? authority.commit([.set(path(rng.below(Self.documents)), fields())])
      world.refresh()
    case 21:
      count(.collections)
      client.driver.send(.collect(threshold: 0, percentile: 50))
    case 22: evict(client)
    case 23: load(client)
    case 24, 25:
      count(.waits)
      client.waitForWrites()
    case 26, 27:
      guard !client.hasDiskFault else { return }
      if !client.hasFullDisk { count(.fullDisks) }
      client.setFullDisk(!client.hasFullDisk)
    case 28, 29: pin(client)
    case 30: unpin(client)
    default: cancel(client)
    }
  }

  private mutating func evict(_ client: SyncClient) {
    count(.evictions)
    let (rooms, isBudget) = (query(0), rng.oneIn(2))
    guard let later = StoredTimestamp(seconds: 1 << 32, nanoseconds: 0) else { return }
    let error = client.ask { engine in
      do throws(DocumentStoreError) {
        if isBudget {
          try engine.enforceBudgets([CollectionPath(unchecked: ["rooms"]): 200])
        } else {
          _ = try engine.evict(rooms, before: later)
        }
        return nil as String?
      } catch {
        return "client \(client.number): \(error)"
      }
    }
    // In a doomed process, every operation fails from some point on, so its errors are ignored.
    if !client.hasDiskFault, !client.hasFullDisk, let error = error ?? nil { failure = failure ?? error }
  }

  /// Loads the authority's documents into a client as a bundle. The bundle may be outdated when the client
  /// processes it.
  private mutating func load(_ client: SyncClient) {
    count(.bundles)
    guard let time = (try? authority.snapshot())?.time, let found = try? authority.documents(query(0)) else {
      return
    }
    var bundle = BundleContents(id: "rooms\(rng.below(2))", createTime: time)
    bundle.queries = [BundledQuery(name: "rooms", text: "", query: query(0), readTime: time)]
    bundle.documents = found.map {
      BundledDocument(
        path: $0.path, fields: $0.fields, version: $0.updateTime, byteCount: 100, queries: ["rooms"])
    }
    scheduler.play(for: Int64(rng.below(200_000)))
    client.driver.send(.load(bundle))
  }

  /// Cancels a pending write. If the write was already sent, it may still be applied.
  private mutating func cancel(_ client: SyncClient) {
    guard let batches = client.ask({ $0.pendingBatches }), let batch = batches.randomElement(using: &rng)
    else { return }
    count(.cancels)
    for word in batch.mutations.flatMap({ Self.words(of: $0.mutation) }) where words.remove(word) != nil {
      // A write that was cancelled before it was sent must never be applied.
      let isUnsent =
        !client.isNetworkEnabled && !client.hasDiskFault && !client.hasFullDisk
        && writtenOffline[word] == client.reconnects
      if isUnsent { count(.unsentCancels) }
      _ = isUnsent ? rejectedWords.insert(word) : uncertainWords.insert(word)
    }
    client.driver.send(.cancelWrite(batch.id))
  }

  private mutating func kill(_ client: SyncClient) throws {
    count(client.hasDiskFailed ? .killsAtACall : .kills)
    try client.kill(rng.oneIn(2) ? .kill : .powerLoss(.nothing, seed: rng.next()))
  }

  private mutating func writeWord(_ client: SyncClient) {
    let isRejected = rng.oneIn(6)
    let number = words.count + rejectedWords.count + uncertainWords.count
    let word = "\(isRejected ? "no" : "yes")-\(number)"
    if isRejected {
      rejectedWords.insert(word)
    } else if client.hasDiskFault {
      uncertainWords.insert(word)
    } else {
      words.insert(word)
      if !client.isNetworkEnabled { writtenOffline[word] = client.reconnects }
    }
    count(isRejected ? .rejections : .words)
    let one = FieldTransform(StoredFieldPath(unchecked: ["n"]), .increment(.integer(1)))
    let list = FieldTransform(StoredFieldPath(unchecked: ["words"]), .arrayUnion([.string(word)]))
    let none = FieldMask([])
    let refused = refusedWords
    client.write(
      [
        .patch(Self.counter, StoredMap(), mask: none, transforms: [one]),
        .patch(Self.list, StoredMap(), mask: none, transforms: [list]),
      ], refused: { refused.withLock { _ = $0.insert(word) } })
  }

  private mutating func writeDocument(_ client: SyncClient) {
    let path = path(rng.below(Self.documents))
    let field = StoredFieldPath(unchecked: ["n"])
    count(.writes)
    switch rng.below(6) {
    case 0: client.write([.delete(path)])
    case 1:
      client.write([
        .patch(path, fields(), mask: FieldMask([field]), precondition: .exists(true))
      ])
    case 2:
      client.write([
        .patch(
          path, StoredMap(), mask: FieldMask([]),
          transforms: [FieldTransform(StoredFieldPath(unchecked: ["at"]), .serverTimestamp)])
      ])
    case 3: client.write([.set(path, fields()), .set(self.path(rng.below(Self.documents)), fields())])
    default: client.write([.set(path, fields())])
    }
  }

  mutating func count(_ kind: SyncCampaign.Kind, by amount: Int = 1) { counts[kind, default: 0] += amount }

  // MARK: What is written and asked

  private static let counter = DocumentPath(unchecked: ["counters", "all"])
  private static let list = DocumentPath(unchecked: ["lists", "all"])

  func path(_ number: Int) -> DocumentPath { DocumentPath(unchecked: ["rooms", "\(number)"]) }

  mutating func fields() -> StoredMap {
    StoredMap([("n", .integer(Int64(rng.below(10)))), ("s", .string("\(rng.below(100))"))])
  }

  private static func isRejected(_ mutation: Mutation) -> Bool {
    words(of: mutation).contains { $0.hasPrefix("no") }
  }

  private static func words(of mutation: Mutation) -> [String] {
    mutation.transforms.flatMap { transform -> [String] in
      guard case .arrayUnion(let words) = transform.operation else { return [] }
      return words.compactMap { if case .string(let word) = $0 { word } else { nil } }
    }
  }

  func query(_ number: Int) -> StructuredQuery {
    let rooms = StructuredQuery(.collection(CollectionPath(unchecked: ["rooms"])))
    let field = StoredFieldPath(unchecked: ["n"])
    let ordered = try? rooms.ordered(by: OrderBy(field, .ascending))
    return switch number {
    case 0: rooms
    case 1: (try? ordered?.limited(to: .first(2))) ?? rooms
    case 2: (try? ordered?.limited(to: .last(2))) ?? rooms
    case 3: (try? rooms.filtered(by: .field(field, .greaterThan, .integer(4)))) ?? rooms
    case 4: StructuredQuery(.document(path(0)))
    default: StructuredQuery(.document(Self.list))
    }
  }

  // MARK: What must be

  func currentFailure() throws -> String? {
    if let failure { return failure }
    for client in clients {
      if let failure = client.failure ?? client.prematureWaitProblem() { return failure }
      // The inspection itself may run into the failing disk call.
      if client.hasDiskFault { continue }
      let broken = client.ask { engine in
        do throws(DocumentStoreError) { return try engine.brokenInvariant() } catch { return "\(error)" }
      }
      if let broken = broken ?? "its engine cannot be queried" { return "client \(client.number): \(broken)" }
      if let problem = pinRecordProblem(client) { return "client \(client.number): \(problem)" }
    }
    return nil
  }

  private mutating func syncAndCompare() throws -> String? {
    world.endFaults()
    world.setReachable(true)
    for client in clients where client.hasDiskFault { try kill(client) }
    for client in clients where client.hasFullDisk { client.setFullDisk(false) }
    for client in clients where !client.isNetworkEnabled { client.setNetwork(true) }
    // Each user becomes active once, because a client sends only the queue of its active user.
    for user in ["ann", "bob", nil] {
      for client in clients {
        client.changeUser(user)
        client.waitForWrites()
      }
      world.play(for: 400_000_000) { clients.allSatisfy { $0.waiting == 0 } }
      if let client = clients.first(where: { $0.waiting > 0 }) {
        return "client \(client.number) has \(client.waiting) waits that never end"
      }
    }
    let comparesPinsFirst = rng.oneIn(2)
    if comparesPinsFirst, let failure = try pinProblem() { return failure }
    for client in clients { for number in 0..<Self.queryCount { client.listen(to: query(number)) } }
    world.refresh()
    world.play(for: 400_000_000) { (try? firstDifference() ?? wrongWords()) == .some(nil) }
    if let failure = try currentFailure() { return failure }
    if let client = clients.first(where: { $0.driver.isPausedByFullDisk }) {
      return "client \(client.number) has not noticed that its disk has space"
    }
    counts[.refusedCalls] = clients.reduce(0) { $0 + $1.refusedCount }
    counts[.conflicts] = clients.reduce(0) { $0 + $1.conflictCount }
    if let failure = try firstDifference() ?? wrongWords() { return failure }
    return comparesPinsFirst ? nil : try pinProblem()
  }

  private func firstDifference() throws -> String? {
    for client in clients {
      let pending = client.ask { $0.pendingBatches.count } ?? -1
      if pending != 0 { return "client \(client.number) has \(pending) writes left" }
      for seen in client.seen.values {
        let expected = try authority.documents(seen.query)
        let name = "client \(client.number): \(seen.query.canonicalID)"
        guard seen.hasReceivedState, !seen.isFromCache else { return "\(name) is not in sync" }
        // A listener is not notified if only the times of a document changed, so only the fields are
        // compared.
        let isSame =
          seen.documents.map(\.path) == expected.map(\.path)
          && seen.documents.map(\.fields) == expected.map(\.fields)
        guard isSame else {
          return "\(name) has \(seen.documents) and the authority \(expected)"
        }
      }
    }
    return nil
  }

  private func wrongWords() throws -> String? {
    let number = try authority.document(at: Self.counter)?.fields["n"] ?? .integer(0)
    var listed: [String] = []
    if case .array(let values)? = try authority.document(at: Self.list)?.fields["words"] {
      listed = values.compactMap { if case .string(let word) = $0 { word } else { nil } }
    }
    if listed.count != Set(listed).count { return "a word is listed twice" }
    let words = words.subtracting(refusedWords.withLock { $0 })
    let uncertainWords = uncertainWords.subtracting(refusedWords.withLock { $0 })
    let strange = Set(listed).subtracting(words).subtracting(uncertainWords)
    if !words.isSubset(of: listed) || !strange.isEmpty {
      return "lost: \(words.subtracting(listed)), strange: \(strange)"
    }
    return number == .integer(Int64(listed.count)) ? nil : "\(number) in place of \(listed.count)"
  }
}
