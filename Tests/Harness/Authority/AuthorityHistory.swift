// A random history of an authority, model clients that watch it, and queues that write to it.
//
// After every snapshot, each current target of the client must show the authority's documents at the time of
// the snapshot. Each accepted write must count once: its queue's counter equals the number of its words.
// The history has one thread, and its seed determines it.

import Authority
import DocumentStore
import OfflineSync

package struct AuthorityHistory {
  var random: SeededRandom
  var generator: AuthorityGenerator
  let host: AuthorityHost
  /// Another database, whose tokens must not be followed.
  let stranger: AuthorityHost
  var truth = AuthorityTruth()
  /// The beginning of the authority's life when a copy of its files was put in place. As long as the life is
  /// the same, the authority does not know that it was set back.
  var floorOfCopy: SnapshotVersion?
  var clients: [ModelClient] = []
  /// The state of each client at some earlier time, for example as a backup of its device.
  var savedMemories: [Int: ClientMemory] = [:]
  var writers: [ModelWriter] = []
  var ledger = LedgerModel()
  /// How often things have happened that let an authority forget a run.
  struct PointInHistory {
    var copiesPutInPlace = 0
    var longPauses = 0
  }

  var point = PointInHistory()
  /// The point at which each registration of a run was first received.
  var registrationTimes: [[UInt8]: PointInHistory] = [:]
  /// Earlier states of the store, with what its ledger had accepted, and the points of the copies.
  var copies: [(copy: AuthorityHost.Copy, ledger: LedgerModel, point: PointInHistory)] = []
  /// Tokens of the other database.
  var foreignTokens: [[UInt8]] = []
  let log = HistoryLog()
  private(set) var counts: [AuthorityCampaign.Kind: Int] = [:]

  package struct Result {
    package var counts: [AuthorityCampaign.Kind: Int] = [:]
    package var trace: UInt64 = 0
    package var failure: String?
  }

  package static func run(seed: UInt64) -> Result {
    var result = Result()
    do {
      var history = try AuthorityHistory(seed: seed)
      do {
        try history.run()
      } catch {
        result.failure = "seed \(seed): \(error)\n\(history.log.text)"
      }
      result.counts = history.counts
      result.trace = history.log.fingerprint
    } catch {
      result.failure = "seed \(seed): \(error)"
    }
    return result
  }

  private init(seed: UInt64) throws {
    random = SeededRandom(seed: seed)
    generator = AuthorityGenerator(seed: random.next(), documentsMax: random.oneIn(4) ? 200 : 12)
    host = try AuthorityHost(seed: random.next(), rules: Self.rules)
    stranger = try AuthorityHost(seed: random.next(), rules: AuthorityRules())
    for number in 0..<1 + random.below(3) {
      clients.append(ModelClient(number, user: [nil, "ann", "bob"][random.below(3)]))
    }
    for number in 0..<1 + random.below(3) {
      writers.append(
        ModelWriter(
          queue: "queue \(number)", user: [nil, "ann", "bob"][random.below(3)], run: RunID(random.next())))
      host.note([.delete(writers[number].counter)])
    }
  }

  // MARK: Rules

  /// The field that no write may have.
  static let forbiddenField = "forbidden"

  /// Bob must not read the collection group d, and no one may write a document with the forbidden field.
  private static var rules: AuthorityRules {
    var rules = AuthorityRules()
    rules.mayRead = { user, query in
      isForbidden(query, to: user) ? RemoteError(.permissionDenied, "by rule") : nil
    }
    rules.mayWrite = { _, mutations in
      mutations.contains(where: isForbidden) ? RemoteError(.permissionDenied, "by rule") : nil
    }
    return rules
  }

  static func isForbidden(_ query: StructuredQuery, to user: String?) -> Bool {
    user == "bob" && query.scope == .collectionGroup("d")
  }

  private static func isForbidden(_ mutation: Mutation) -> Bool {
    if case .set(let fields, _) = mutation.change { fields[forbiddenField] != nil } else { false }
  }

  // MARK: Acts

  mutating func count(_ kind: AuthorityCampaign.Kind, _ number: Int = 1) {
    counts[kind, default: 0] += number
  }

  private mutating func run() throws {
    try prepare()
    for _ in 0..<80 + random.below(120) { try act() }
    try converge()
    for client in clients { count(.mismatches, client.mismatches) }
  }

  private mutating func prepare() throws {
    for _ in 0..<random.below(20) { try commit() }
    try prepareStranger()
    for client in clients.indices {
      connect(client)
      for _ in 0..<1 + random.below(4) { addTarget(client) }
    }
  }

  private mutating func act() throws {
    host.clock.advance(nanoseconds: UInt64(random.below(50_000_000)))
    let client = random.below(clients.count)
    switch random.below(64) {
    case 0..<12: try commit()
    case 12..<24: try actOfWriter(random.below(writers.count))
    case 24..<36: try actOfClient(client)
    case 36..<58: try deliver(client)
    case 58: try readDirectly()
    case 59: try burst()
    case 60: try passDays()
    case 61: try upkeep()
    case 62: try saveCopy()
    default: try actOfMachine()
    }
  }
}
