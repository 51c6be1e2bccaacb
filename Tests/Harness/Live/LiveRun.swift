// One run of the live query campaign: rounds of commits, each followed by a comparison.
//
//   1. Commit from eight threads at once, while handlers commit, and add and remove listeners.
//   2. Wait until the queues have delivered everything.
//   3. Apply the commits of the round to a naive model, in the order of their commit times. For each affected
//      listener and ten others per commit, record the expected result after each commit (NaiveResult).
//   4. Compare. Each received state must be the expected result after some commit, no state may be older than
//      the one before it, and the last state must be current. Every thousand commits, compare all listeners.

import ByteStore
import Dispatch
import DocumentStore

final class LiveRun: Sendable {
  private static let tasks = 8
  private static let commitsPerBurst = 25
  private static let commitsBetweenFullComparisons = 1000

  let store: DocumentStore
  let seed: UInt64
  /// The queues on which the handlers run. The last queue is concurrent, but even there the handlers of one
  /// listener never run concurrently.
  let queues: [DispatchQueue]
  let scopes = LiveScopes()
  let state: Locked<State>

  struct State {
    var listeners: [ListenerUnderTest] = []
    var world = NaiveModel([])
    /// The commits since the last replay.
    var commits: [(time: StoredTimestamp, mutations: [Mutation])] = []
    var summary = LiveCampaign.Summary()
  }

  init(listeners: Int, seed: UInt64, pauses: (any StorePauses)?, in directory: String) throws {
    self.seed = seed
    var options = DocumentStore.Options()
    options.pauses = pauses
    store = try DocumentStore.open(directory, options: options)
    queues =
      (0..<7).map { DispatchQueue(label: "live \($0)") } + [
        DispatchQueue(label: "live", attributes: .concurrent)
      ]
    state = Locked(State())
    var world = LiveGenerator(seed: seed)
    for _ in 0..<100 { try commit(world.mutations()) }
    _ = replay()
    var queries: [StructuredQuery] = []
    for number in 0..<listeners {
      if number % 20 == 19 {
        queries.append(queries[world.random.below(queries.count)])
        count(.sharedQueries)
      } else {
        queries.append(world.query())
      }
    }
    for (number, query) in queries.enumerated() { try place(query, at: number) }
  }

  private func place(_ query: StructuredQuery, at number: Int) throws(DocumentStoreError) {
    // The handlers of some listeners perform operations themselves.
    let acts = number % 97 == 5
    let mirror = LiveMirror(query, isSlow: number % 17 == 0) { [self] in if acts { act(number) } }
    // The listener's first state may already contain commits of this round, or the listener may receive them
    // later.
    let answer = state.withLock { NaiveResult(query, of: $0.world) }
    state.withLock { state in
      let place = ListenerUnderTest(
        mirror: mirror, scope: scopes.number(of: query.scope), answer: answer)
      if number < state.listeners.count {
        state.listeners[number] = place
      } else {
        state.listeners.append(place)
      }
    }
    try mirror.listen(to: store, on: queues[number % queues.count])
  }

  func count(_ kind: LiveCampaign.Kind, _ more: Int = 1) {
    state.withLock { $0.summary.counts[kind, default: 0] += more }
  }

  func fail(_ what: String) {
    state.withLock { state in
      let text = "seed \(seed), after \(state.summary.commits) commits: \(what)"
      state.summary.failure = state.summary.failure ?? text
    }
  }

  private var hasFailed: Bool { state.withLock { $0.summary.failure != nil } }

  // MARK: Rounds

  func run(commits: Int, _ progress: (Int) -> Void) -> LiveCampaign.Summary {
    var round: UInt64 = 0
    while !hasFailed {
      let done = state.withLock { $0.summary.commits }
      guard done < commits else { break }
      progress(done)
      let isFull =
        done % Self.commitsBetweenFullComparisons >= Self.commitsBetweenFullComparisons - 8 * Self.tasks
      commit(round, each: isFull ? Self.commitsPerBurst : 1)
      if isFull {
        count(.bursts)
        dropIndexes(round)
      }
      drain()
      compare(round, all: isFull || done + Self.tasks >= commits)
      round += 1
    }
    for place in state.withLock({ $0.listeners }) {
      for (kind, number) in place.mirror.counts { count(kind, number) }
      count(.statesOfSingleCommits, place.mirror.comparedStates)
      place.mirror.remove()
    }
    do {
      try store.checkInvariants()
      try store.close()
    } catch {
      fail("\(error)")
    }
    // Breaks a reference cycle through the handlers.
    return state.withLock { state in
      state.listeners = []
      return state.summary
    }
  }

  func inParallel(_ body: @escaping @Sendable (Int) throws -> Void) {
    let threads = (0..<Self.tasks).map { task in
      WorkerThread { [self] in
        do { try body(task) } catch { fail("\(error)") }
      }
    }
    for thread in threads { thread.join() }
  }

  private func commit(_ round: UInt64, each commits: Int) {
    inParallel { [self] task in
      var world = LiveGenerator(seed: SeededRandom.seed(seed, round, UInt64(task)))
      for _ in 0..<commits {
        try commit(world.mutations())
        state.withLock { $0.summary.commits += 1 }
      }
      if world.random.oneIn(100) { try replaceListener(task, &world) }
    }
  }

  private func commit(_ mutations: [Mutation]) throws {
    let time = try store.commit(mutations)
    state.withLock { $0.commits.append((time, mutations)) }
  }

  /// Replaces one of the listeners that only this task replaces.
  private func replaceListener(_ task: Int, _ world: inout LiveGenerator) throws {
    let listeners = state.withLock { $0.listeners }
    let number = world.random.below(listeners.count / Self.tasks) * Self.tasks + task
    listeners[number].mirror.remove()
    for (kind, number) in listeners[number].mirror.counts { count(kind, number) }
    try place(world.query(), at: number)
    count(.replacedListeners)
  }

  /// Called in a handler: commits, adds and removes a listener, or does nothing.
  private func act(_ number: Int) {
    let commits = state.withLock { UInt64($0.summary.commits) }
    var world = LiveGenerator(seed: SeededRandom.seed(seed, UInt64(number), commits))
    do {
      switch world.random.below(40) {
      case 0:
        try commit([.delete(world.path())])
        count(.commitsOfHandlers)
      case 1:
        let other = LiveMirror(world.query())
        try other.listen(to: store, on: queues[number % queues.count])
        other.remove()
        count(.listenersOfHandlers)
      default: break
      }
    } catch {
      fail("in a handler: \(error)")
    }
  }

  /// Drops the indexes of some active queries.
  private func dropIndexes(_ round: UInt64) {
    var random = SeededRandom(seed: SeededRandom.seed(seed, round, 77))
    for index in store.indexList where random.oneIn(10) {
      if store.dropIndex(index.definition) { count(.droppedIndexes) }
    }
  }

  /// Waits until the queues have delivered everything, including the results of commits that handlers made.
  private func drain() {
    var commits = -1
    while commits != state.withLock({ $0.commits.count }) {
      commits = state.withLock { $0.commits.count }
      for queue in queues { queue.sync(flags: .barrier) {} }
    }
    for queue in queues { queue.sync(flags: .barrier) {} }
  }
}

/// A listener and its expected results.
final class ListenerUnderTest: Sendable {
  let mirror: LiveMirror
  let scope: Int
  let answer: Locked<NaiveResult>

  init(mirror: LiveMirror, scope: Int, answer: NaiveResult) {
    self.mirror = mirror
    self.scope = scope
    self.answer = Locked(answer)
  }
}
