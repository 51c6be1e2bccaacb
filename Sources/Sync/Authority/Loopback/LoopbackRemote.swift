// A remote in this process: another database is the authority, and the connection injects faults.

internal import ByteStore
public import DocumentStore
public import OfflineSync

/// A remote in this process whose authority is an ordinary database. Direct commits to that database
/// reach all clients after `refresh()`, or with the next write of a client.
public final class LoopbackRemote: Remote, @unchecked Sendable {
  // The conformance is unchecked, because all mutable state is only accessed on the scheduler, which is
  // serial.
  static let name = "projects/loopback/databases/(default)/documents"

  private let server: LoopbackServer
  let scheduler: any SyncScheduler
  private var faults: LoopbackFaults
  private var rng: SplitMix64
  /// A second random source for calls outside the streams, so that their number does not change the
  /// faults on streams.
  private var callRNG: SplitMix64
  private var isReachable = true
  private var watchEnds: [Int: LoopbackWatchStream] = [:]
  private var writeEnds: [Int: LoopbackWriteStream] = [:]
  /// Actions that end the calls in transit with an error.
  private var calls: [Int: () -> Void] = [:]
  private var lastNumber = 0
  private var isDeliveryScheduled = false
  /// Receives a line for each thing that happens to a connection or a message.
  private let log: (@Sendable (String) -> Void)?

  /// Creates a remote. `seed` determines which faults occur.
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
    rng = SplitMix64(seed: seed)
    callRNG = SplitMix64(seed: ~seed)
    log = nil
  }

  /// Creates another way to the authority of `other`, with its own faults and connections. Clients of both
  /// remotes are notified of each other's writes. `scheduler` must be serial together with that of `other`.
  package init(
    sharing other: LoopbackRemote, seed: UInt64, on scheduler: any SyncScheduler,
    log: @escaping @Sendable (String) -> Void
  ) {
    server = other.server
    self.scheduler = scheduler
    faults = LoopbackFaults()
    rng = SplitMix64(seed: seed)
    callRNG = SplitMix64(seed: ~seed)
    self.log = log
  }

  /// Adds a line to the log. The line is only composed if there is a log.
  func note(_ line: @autoclosure () -> String) { log?(line()) }

  public var documentsName: String { Self.name }

  // MARK: What tests decide

  /// Sets whether the authority is reachable. While it is not, all connections are broken and new ones fail.
  public func setReachable(_ isReachable: Bool) {
    scheduler.run { [self] in
      self.isReachable = isReachable
      note(isReachable ? "is connected" : "is cut off")
      guard !isReachable else { return }
      breakWatchStreams()
      for (_, end) in writeEnds.sorted(by: { $0.key < $1.key }) { end.breakConnection() }
      for (_, breakConnection) in calls.sorted(by: { $0.key < $1.key }) { breakConnection() }
    }
  }

  /// Breaks streams in a fixed order, because breaking a stream consumes random numbers.
  private func breakWatchStreams() {
    for (_, end) in watchEnds.sorted(by: { $0.key < $1.key }) { end.breakConnection() }
  }

  /// Changes the faults from now on.
  public func setFaults(_ faults: LoopbackFaults) { scheduler.run { [self] in self.faults = faults } }

  /// Whether the authority is reachable. Called on the scheduler.
  package var canReachAuthority: Bool { isReachable }

  /// Changes the rules of the authority from now on.
  public func setRules(_ rules: LoopbackRules) { scheduler.run { [self] in server.rules = rules } }

  /// Delivers commits that were made directly to the authority.
  public func refresh() { scheduler.run { [self] in deliverChanges() } }

  // MARK: The protocol

  public func openWatchStream(
    as user: String?, _ handler: @escaping @Sendable (WatchStreamEvent) -> Void
  ) -> any WatchStream {
    let end = LoopbackWatchStream(self, user, handler)
    scheduler.run { [self] in open(end) }
    return end
  }

  public func openWriteStream(
    as user: String?, _ handler: @escaping @Sendable (WriteStreamEvent) -> Void
  ) -> any WriteStream {
    let end = LoopbackWriteStream(self, user, handler)
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
      scheduleDelivery()
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

  private func open(_ end: LoopbackWatchStream) {
    guard !end.isClosed else { return }
    guard isReachable else { return end.refuse() }
    lastNumber += 1
    watchEnds[lastNumber] = end
    end.start(lastNumber, server)
  }

  private func open(_ end: LoopbackWriteStream) {
    guard !end.isClosed else { return }
    guard isReachable else { return end.refuse() }
    lastNumber += 1
    writeEnds[lastNumber] = end
    end.start(lastNumber, server)
  }

  private func open<Value>(_ call: LoopbackCall<Value>) {
    guard isReachable else { return call.breakConnection() }
    lastNumber += 1
    calls[lastNumber] = { call.breakConnection() }
    call.start(lastNumber, server)
  }

  func forgetWatch(_ number: Int) { watchEnds[number] = nil }

  func forgetWrite(_ number: Int) { writeEnds[number] = nil }

  func forgetCall(_ number: Int) { calls[number] = nil }

  /// Schedules one delivery that runs after the current operation and delivers all changes until then.
  func scheduleDelivery() {
    guard !isDeliveryScheduled else { return }
    isDeliveryScheduled = true
    scheduler.run { [self] in
      isDeliveryScheduled = false
      deliverChanges()
    }
  }

  private func deliverChanges() {
    // Clients see a failed authority store as a broken connection.
    do throws(DocumentStoreError) { try server.catchUp() } catch { breakWatchStreams() }
  }

  /// Returns a random latency. Called on the scheduler alone.
  func latency() -> Int64 { latency(&rng) }

  func callLatency() -> Int64 { latency(&callRNG) }

  private func latency(_ rng: inout SplitMix64) -> Int64 {
    let range = faults.latency
    return range.lowerBound + Int64(rng.below(UInt64(range.upperBound - range.lowerBound + 1)))
  }

  enum Delivery { case arrives, isDuplicated, isLost }

  func nextDelivery() -> Delivery {
    if rng.isOne(in: faults.lossOneIn) { return .isLost }
    return rng.isOne(in: faults.duplicationOneIn) ? .isDuplicated : .arrives
  }

  func losesCall() -> Bool { callRNG.isOne(in: faults.lossOneIn) }

  func rejectsTransiently() -> Bool { rng.isOne(in: faults.transientRejectionOneIn) }

  /// Returns the number of messages that the next one may overtake.
  func overtakingMax() -> UInt64 { faults.reorders ? rng.below(8) : 0 }
}
