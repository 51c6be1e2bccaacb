// A remote in this process: another database is the authority, and the connection injects faults.

internal import ByteStore
public import DocumentStore
public import OfflineSync

/// A remote in this process whose authority is an ordinary database. Commits to that database reach all
/// clients, whether clients or the app make them. Several remotes can have one authority.
///
/// ```swift
/// import DocumentStore
///
/// let store = try DocumentStore.openInMemory()
/// let phone = try LoopbackRemote(authority: store)
/// let tablet = try LoopbackRemote(authority: store)
/// ```
public final class LoopbackRemote: Remote, @unchecked Sendable {
  // The conformance is unchecked, because all mutable state is only accessed on the scheduler, which is
  // serial.
  static let name = Authority.documentsName

  private let authority: Authority
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
  /// Receives a line for each thing that happens to a connection or a message.
  private let log: (@Sendable (String) -> Void)?

  /// Creates a remote to the authority of a store. `seed` determines which faults occur. Throws the errors of
  /// `Authority.of`.
  public convenience init(
    authority store: DocumentStore, faults: LoopbackFaults = LoopbackFaults(), seed: UInt64 = 0
  ) throws(DocumentStoreError) {
    self.init(authority: try Authority.of(store), faults: faults, seed: seed)
  }

  /// Creates a remote to an authority. `seed` determines which faults occur.
  public convenience init(
    authority: Authority, faults: LoopbackFaults = LoopbackFaults(), seed: UInt64 = 0
  ) {
    self.init(
      authority: authority, faults: faults, seed: seed, on: QueueScheduler(label: "dugout.loopback"))
  }

  package convenience init(
    authority store: DocumentStore, faults: LoopbackFaults, seed: UInt64, on scheduler: any SyncScheduler
  ) throws(DocumentStoreError) {
    self.init(authority: try Authority.of(store), faults: faults, seed: seed, on: scheduler)
  }

  /// In a simulation, the schedulers of all remotes to one authority must be serial together.
  package init(
    authority: Authority, faults: LoopbackFaults = LoopbackFaults(), seed: UInt64,
    on scheduler: any SyncScheduler, log: (@Sendable (String) -> Void)? = nil
  ) {
    self.authority = authority
    self.scheduler = scheduler
    self.faults = faults
    rng = SplitMix64(seed: seed)
    callRNG = SplitMix64(seed: ~seed)
    self.log = log
  }

  /// Adds a line to the log. The line is only composed if there is a log.
  func note(_ line: @autoclosure () -> String) { log?(line()) }

  public var documentsName: String { Self.name }

  // MARK: Decisions of tests

  /// Sets whether the authority is reachable. While it is not, all connections are broken and new ones fail.
  public func setReachable(_ isReachable: Bool) {
    scheduler.run { [self] in
      self.isReachable = isReachable
      note(isReachable ? "is connected" : "is cut off")
      guard !isReachable else { return }
      // In a fixed order, because breaking a stream consumes random numbers.
      for (_, end) in watchEnds.sorted(by: { $0.key < $1.key }) { end.breakConnection() }
      for (_, end) in writeEnds.sorted(by: { $0.key < $1.key }) { end.breakConnection() }
      for (_, breakConnection) in calls.sorted(by: { $0.key < $1.key }) { breakConnection() }
    }
  }

  /// Changes the faults from now on.
  public func setFaults(_ faults: LoopbackFaults) { scheduler.run { [self] in self.faults = faults } }

  /// Whether the authority is reachable. Called on the scheduler.
  package var canReachAuthority: Bool { isReachable }

  /// Changes the rules of the authority from now on, also for its other remotes.
  public func setRules(_ rules: LoopbackRules) { scheduler.run { [self] in authority.setRules(rules) } }

  /// Tells all clients of the authority its present time, even if nothing has changed for them. Changes
  /// reach them without it.
  public func refresh() { scheduler.run { [self] in authority.tellTime() } }

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
    ask(answer) { authority throws(RemoteError) in try authority.documents(at: paths, as: user) }
  }

  public func commit(
    _ mutations: [Mutation], as user: String?,
    _ answer: @escaping @Sendable (Result<SnapshotVersion, RemoteError>) -> Void
  ) {
    ask(answer, lossOfAnswer: .unanswered) { authority throws(RemoteError) in
      try authority.commit(mutations, as: user).version
    }
  }

  public func aggregate(
    _ aggregates: [Aggregate], over query: StructuredQuery, as user: String?,
    _ answer: @escaping @Sendable (Result<[StoredValue], RemoteError>) -> Void
  ) {
    ask(answer) { authority throws(RemoteError) in
      try authority.aggregate(aggregates, over: query, as: user)
    }
  }

  private func ask<Value: Sendable>(
    _ answer: @escaping @Sendable (Result<Value, RemoteError>) -> Void,
    lossOfAnswer: RemoteError = LoopbackRemote.unreachable,
    _ body: @escaping @Sendable (Authority) throws(RemoteError) -> Value
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
    end.start(lastNumber, authority)
  }

  private func open(_ end: LoopbackWriteStream) {
    guard !end.isClosed else { return }
    guard isReachable else { return end.refuse() }
    lastNumber += 1
    writeEnds[lastNumber] = end
    end.start(lastNumber, authority)
  }

  private func open<Value>(_ call: LoopbackCall<Value>) {
    guard isReachable else { return call.breakConnection() }
    lastNumber += 1
    calls[lastNumber] = { call.breakConnection() }
    call.start(lastNumber, authority)
  }

  func forgetWatch(_ number: Int) { watchEnds[number] = nil }

  func forgetWrite(_ number: Int) { writeEnds[number] = nil }

  func forgetCall(_ number: Int) { calls[number] = nil }

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
