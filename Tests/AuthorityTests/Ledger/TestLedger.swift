// A ledger over a store, and batches for it.

import ByteStore
import DocumentStore
import Harness
import OfflineSync

@testable import Authority

struct TestLedger {
  let world: TestStore
  let life: AuthorityLife
  let ledger: WriteLedger
  private let rules = Locked(AuthorityRules())
  /// The tokens of the runs that were registered, by user and queue.
  private let tokens = Locked<[String: [RunID: [UInt8]]]>([:])

  static let counter = DocumentPath(unchecked: ["counters", "all"])

  init(_ world: TestStore) throws {
    self.world = world
    life = try AuthorityLife(of: try EmbeddedBackend(world.store))
    let (clock, rules) = (world.clock, rules)
    var options = WriteLedger.Options()
    options.now = { clock.wallMicroseconds() }
    ledger = try WriteLedger(of: life, options: options) { rules.withLock { $0 } }
  }

  /// From here on, the rules refuse all writes.
  func refuse() {
    setRules { $0.mayWrite = { _, _ in RemoteError(.permissionDenied, "The rules say no.") } }
  }

  func setRules(_ change: (inout AuthorityRules) -> Void) { rules.withLock { change(&$0) } }

  /// A batch that increments the counter.
  static func write(
    _ batch: Int64, run: UInt64 = 1, firstOpen: Int64? = nil, _ mutations: [Mutation] = [increment(counter)]
  ) -> RemoteWrite {
    RemoteWrite(
      id: WriteID(queue: "c/-", run: RunID(run), batch: BatchID(batch)), mutations: mutations,
      firstOpen: BatchID(firstOpen ?? batch))
  }

  /// Registers the run of the batch, unless the batch has a token.
  @discardableResult func take(
    _ write: RemoteWrite, as user: String? = nil
  ) throws -> WriteLedger.Answer? { try ledger.take(try registered(write, as: user), as: user) }

  /// The batch with the token of its run. All runs of the queue so far stay open.
  func registered(_ write: RemoteWrite, as user: String? = nil) throws -> RemoteWrite {
    guard write.registration.isEmpty else { return write }
    let key = "\(user ?? "-") \(user == nil) \(write.id.queue)"
    var known = tokens.withLock { $0[key] ?? [:] }
    if known[write.id.run] == nil {
      let earlier = known.sorted { $0.key.value < $1.key.value }.map {
        RunRegistration(queue: write.id.queue, run: $0.key, token: $0.value)
      }
      let present = RunRegistration(queue: write.id.queue, run: write.id.run)
      known = try ledger.register(earlier + [present], as: user)
      tokens.withLock { [known] in $0[key] = known }
    }
    var write = write
    write.registration = known[write.id.run] ?? []
    return write
  }

  /// Whether the outcome of a batch is answered as unknown.
  func isUnknown(_ write: RemoteWrite) -> Bool {
    do {
      try take(write)
      return false
    } catch {
      return error as? RemoteError == .outcomeUnknown
    }
  }

  /// The number in the counter.
  var count: Int64 {
    get throws {
      guard case .integer(let count)? = try world.store.document(at: Self.counter)?.fields["n"] else {
        return 0
      }
      return count
    }
  }

  var runs: Int {
    get throws { try world.store.documents(StructuredQuery(.collectionGroup(RunName.runs))).count }
  }

  func register(_ run: UInt64, _ token: [UInt8] = []) throws -> [UInt8] {
    let token = try ledger.register(RunRegistration(queue: "c/-", run: RunID(run), token: token), as: nil)
    tokens.withLock { $0["- true c/-"] = [RunID(run): token] }
    return token
  }

  func register(runs: ClosedRange<UInt64>) throws {
    let registrations = runs.map { RunRegistration(queue: "c/-", run: RunID($0)) }
    let known = try ledger.register(registrations, as: nil)
    tokens.withLock { $0["- true c/-"] = known }
  }
}
