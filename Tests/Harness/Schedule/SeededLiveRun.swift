// A deterministic run of live queries under commits. Threads are scheduled from a seed, and all received
// states are compared.
//
// A seed reproduces the run. The states that each listener received are compared with the query results after
// each commit.

import ByteStore
package import DocumentStore

package final class SeededLiveRun: Sendable {
  private static let writers = 4
  private static let commitsPerWriter = 10
  private static let listeners = 24
  private static let queues = 3

  private let seed: UInt64
  private let turns: SeededTurns
  private let state = Locked(State())

  private struct State {
    var commits: [(time: StoredTimestamp, mutations: [Mutation])] = []
    var mirrors: [LiveMirror] = []
    /// The pending deliveries of each queue.
    var queues: [[@Sendable () -> Void]] = Array(repeating: [], count: SeededLiveRun.queues)
    var activeWriters = SeededLiveRun.writers
    var failure: String?
  }

  package init(seed: UInt64) {
    self.seed = seed
    turns = SeededTurns(seed: seed)
  }

  package var trace: [String] { turns.trace }
  package var reached: Set<StorePoint> { turns.reached }

  /// Runs the threads. Returns a description of the failure, or nil.
  package func run() -> String? {
    do { return try runThreads() } catch { return "seed \(seed): \(error)" }
  }

  private func runThreads() throws -> String? {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    options.scanMax = seed % 2 == 0 ? 0 : 64
    options.pauses = turns
    let disk = SimulatedDisk()
    let store = try DocumentStore.open("/store", options: options, platform: disk.platform(seed: seed))
    var world = LiveGenerator(seed: seed)
    for _ in 0..<60 { try commit(world.mutations(), to: store) }
    let naive = replay(NaiveModel([])).world
    for _ in 0..<Self.listeners / 2 { try listen(world.query(), to: store) }
    let writers: [@Sendable () -> Void] = (0..<Self.writers).map { number in
      { [self] in attempt { try write(UInt64(number), store) } }
    }
    let listening: @Sendable () -> Void = { [self] in attempt { try listen(store) } }
    let queues: [@Sendable () -> Void] = (0..<Self.queues).map { number in { [self] in deliver(number) } }
    turns.run(writers + [listening] + queues)
    for number in 0..<Self.queues { deliver(number) }
    let mirrors = state.withLock { $0.mirrors }
    let commits = replay(naive).commits
    for (number, mirror) in mirrors.enumerated() {
      var answer = NaiveResult(mirror.query, of: naive)
      var answers = [answer.documents]
      for changes in commits where answer.take(changes) == true { answers.append(answer.documents) }
      if let difference = mirror.difference(from: answers) {
        return "seed \(seed): the listener \(number) to \(mirror.query.canonicalID): \(difference)"
      }
    }
    try store.checkInvariants()
    try store.close()
    return state.withLock { $0.failure }
  }

  private func attempt(_ body: () throws -> Void) {
    do { try body() } catch { state.withLock { $0.failure = $0.failure ?? "seed \(seed): \(error)" } }
  }

  private func replay(
    _ world: NaiveModel
  ) -> (world: NaiveModel, commits: [[NaiveModel.Change]]) {
    var world = world
    let commits = state.withLock { state in
      defer { state.commits = [] }
      return state.commits.sorted { $0.time < $1.time }
    }
    let changes = commits.map { world.commit($0.mutations, at: $0.time) }
    return (world, changes)
  }

  // MARK: Threads

  private func commit(_ mutations: [Mutation], to store: DocumentStore) throws {
    let time = try store.commit(mutations)
    turns.note("committed \(mutations.map { "\($0.path)" }.joined(separator: " ")) at \(time.microseconds)")
    state.withLock { $0.commits.append((time, mutations)) }
  }

  private func write(_ number: UInt64, _ store: DocumentStore) throws {
    defer { state.withLock { $0.activeWriters -= 1 } }
    var world = LiveGenerator(seed: SeededRandom.seed(seed, number))
    for _ in 0..<Self.commitsPerWriter {
      try commit(world.mutations(), to: store)
      turns.pause(at: .outside)
    }
  }

  private func listen(_ store: DocumentStore) throws {
    var world = LiveGenerator(seed: SeededRandom.seed(seed, 50))
    for _ in 0..<Self.listeners / 2 {
      try listen(world.query(), to: store)
      turns.pause(at: .outside)
    }
  }

  private func listen(_ query: StructuredQuery, to store: DocumentStore) throws {
    let number = state.withLock { $0.mirrors.count }
    let mirror = LiveMirror(query) { [turns] in turns.note("told \(number)") }
    state.withLock { $0.mirrors.append(mirror) }
    let queue = number % Self.queues
    try mirror.listen(to: store) { [self] delivery in state.withLock { $0.queues[queue].append(delivery) } }
  }

  /// Acts as a serial queue until all writers have ended: runs the deliveries of this queue in order.
  private func deliver(_ queue: Int) {
    while true {
      let (delivery, isOver) = state.withLock { state in
        (
          state.queues[queue].isEmpty ? nil : state.queues[queue].removeFirst(),
          state.activeWriters == 0 && state.queues[queue].isEmpty
        )
      }
      delivery?()
      if delivery == nil, isOver { return }
      turns.pause(at: delivery == nil ? .waiting : .outside)
    }
  }
}
