// A remote in the same process: another database is the authority, and the way to it is as bad as wanted.

internal import ByteStore
public import DocumentStore

/// An authority behind clients, in the same process. The database at its end is an ordinary one: what is committed
/// there directly reaches all clients after `refresh()`, or with the next write.
public final class LoopbackRemote: Remote, @unchecked Sendable {
  // All that changes is touched on the scheduler, one thing after the other.
  static let name = "projects/loopback/databases/(default)/documents"

  private let server: LoopbackServer
  let scheduler: any SyncScheduler
  private var faults: LoopbackFaults
  private var dice: SeededDice
  /// For what is asked outside the streams: how much that is makes no difference to what goes wrong on them.
  private var callDice: SeededDice
  private var isReachable = true
  private var watchEnds: [Int: LoopbackWatchEnd] = [:]
  private var writeEnds: [Int: LoopbackWriteEnd] = [:]
  /// How the calls that are under way are broken off.
  private var calls: [Int: () -> Void] = [:]
  private var lastNumber = 0
  private var isTellingDue = false

  /// `seed` decides what goes wrong.
  public convenience init(
    authority store: DocumentStore, faults: LoopbackFaults = LoopbackFaults(), seed: UInt64 = 0
  ) throws(DocumentStoreError) {
    try self.init(
      authority: store, faults: faults, seed: seed, on: QueueScheduler(label: "dugout.loopback"))
  }

  package init(
    authority store: DocumentStore, faults: LoopbackFaults, seed: UInt64, on scheduler: any SyncScheduler
  ) throws(DocumentStoreError) {
    server = try LoopbackServer(store)
    self.scheduler = scheduler
    self.faults = faults
    dice = SeededDice(seed: seed)
    callDice = SeededDice(seed: ~seed)
  }

  public var documentsName: String { Self.name }

  // MARK: What tests decide

  /// Breaks all connections, and lets none be made, until it is reachable again.
  public func setReachable(_ isReachable: Bool) {
    scheduler.run { [self] in
      self.isReachable = isReachable
      guard !isReachable else { return }
      breakOffWatching()
      for (_, end) in writeEnds.sorted(by: { $0.key < $1.key }) { end.breakOff() }
      for (_, breakOff) in calls.sorted(by: { $0.key < $1.key }) { breakOff() }
    }
  }

  /// In an order that is the same each time: dice are thrown for each.
  private func breakOffWatching() {
    for (_, end) in watchEnds.sorted(by: { $0.key < $1.key }) { end.breakOff() }
  }

  /// From now on this goes wrong on the way.
  public func setFaults(_ faults: LoopbackFaults) { scheduler.run { [self] in self.faults = faults } }

  /// From now on the authority refuses what these rules say.
  public func setRules(_ rules: LoopbackRules) { scheduler.run { [self] in server.rules = rules } }

  /// Tells clients what was committed at the authority directly.
  public func refresh() { scheduler.run { [self] in tellSessions() } }

  // MARK: The protocol

  public func openWatchStream(
    as user: String?, _ handler: @escaping @Sendable (WatchStreamEvent) -> Void
  ) -> any WatchStream {
    let end = LoopbackWatchEnd(self, user, handler)
    scheduler.run { [self] in open(end) }
    return end
  }

  public func openWriteStream(
    as user: String?, _ handler: @escaping @Sendable (WriteStreamEvent) -> Void
  ) -> any WriteStream {
    let end = LoopbackWriteEnd(self, user, handler)
    scheduler.run { [self] in open(end) }
    return end
  }

  public func documents(
    at paths: [DocumentPath], as user: String?,
    _ answer: @escaping @Sendable (Result<[RemoteDocument], RemoteError>) -> Void
  ) {
    ask(answer) { server throws(RemoteError) in try server.documents(at: paths, as: user) }
  }

  public func commit(
    _ mutations: [Mutation], as user: String?,
    _ answer: @escaping @Sendable (Result<SnapshotVersion, RemoteError>) -> Void
  ) {
    ask(answer, lossOfAnswer: .unanswered) { [self] server throws(RemoteError) in
      let version = try server.commit(mutations, as: user)
      tellSoon()
      return version
    }
  }

  public func aggregate(
    _ aggregates: [Aggregate], over query: StructuredQuery, as user: String?,
    _ answer: @escaping @Sendable (Result<[StoredValue], RemoteError>) -> Void
  ) {
    ask(answer) { server throws(RemoteError) in
      try server.aggregate(aggregates, over: query, as: user)
    }
  }

  private func ask<Value: Sendable>(
    _ answer: @escaping @Sendable (Result<Value, RemoteError>) -> Void,
    lossOfAnswer: RemoteError = LoopbackRemote.unreachable,
    _ body: @escaping @Sendable (LoopbackServer) throws(RemoteError) -> Value
  ) {
    let call = LoopbackCall(self, lossOfAnswer: lossOfAnswer, body, answer)
    scheduler.run { [self] in open(call) }
  }

  static let unreachable = RemoteError(.unavailable, "The authority cannot be reached.")

  // MARK: On the scheduler

  private func open(_ end: LoopbackWatchEnd) {
    guard !end.isClosed else { return }
    guard isReachable else { return end.refuse() }
    lastNumber += 1
    watchEnds[lastNumber] = end
    end.start(lastNumber, server)
  }

  private func open(_ end: LoopbackWriteEnd) {
    guard !end.isClosed else { return }
    guard isReachable else { return end.refuse() }
    lastNumber += 1
    writeEnds[lastNumber] = end
    end.start(lastNumber, server)
  }

  private func open<Value>(_ call: LoopbackCall<Value>) {
    guard isReachable else { return call.breakOff() }
    lastNumber += 1
    calls[lastNumber] = { call.breakOff() }
    call.start(lastNumber, server)
  }

  func forgetWatch(_ number: Int) { watchEnds[number] = nil }

  func forgetWrite(_ number: Int) { writeEnds[number] = nil }

  func forgetCall(_ number: Int) { calls[number] = nil }

  /// Behind what is being done, and once for all of it.
  func tellSoon() {
    guard !isTellingDue else { return }
    isTellingDue = true
    scheduler.run { [self] in
      isTellingDue = false
      tellSessions()
    }
  }

  private func tellSessions() {
    // If the authority's store fails, its clients cannot reach it.
    do throws(DocumentStoreError) { try server.catchUp() } catch { breakOffWatching() }
  }

  /// Rolls the dice: only on the scheduler.
  func latency() -> Int64 { latency(&dice) }

  func callLatency() -> Int64 { latency(&callDice) }

  private func latency(_ dice: inout SeededDice) -> Int64 {
    let range = faults.latency
    return range.lowerBound + Int64(dice.below(UInt64(range.upperBound - range.lowerBound + 1)))
  }

  enum Fate { case arrives, comesTwice, isLost }

  func fate() -> Fate {
    if dice.isOne(in: faults.lossOneIn) { return .isLost }
    return dice.isOne(in: faults.duplicationOneIn) ? .comesTwice : .arrives
  }

  func losesCall() -> Bool { callDice.isOne(in: faults.lossOneIn) }

  func refusesForNow() -> Bool { dice.isOne(in: faults.transientRejectionOneIn) }

  /// How many messages the next one may overtake.
  func overtakingMax() -> UInt64 { faults.reorders ? dice.below(8) : 0 }
}
