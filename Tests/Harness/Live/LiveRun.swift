// The campaign at work: rounds of commits, then of comparisons.

import ByteStore
import Dispatch
import DocumentStore

final class LiveRun: Sendable {
  private static let tasks = 8
  private static let commitsOfBurst = 25
  private static let commitsBetweenFull = 1000

  private let store: DocumentStore
  private let seed: UInt64
  /// Handlers of one listener never run at once, on the last one neither.
  private let queues: [DispatchQueue]
  private let state: Locked<State>

  private struct State {
    var mirrors: [LiveMirror] = []
    var documents: [DocumentPath: StoredDocument] = [:]
    var touched: Set<DocumentPath> = []
    var summary = LiveCampaign.Summary()
  }

  init(listeners: Int, seed: UInt64, in directory: String) throws {
    self.seed = seed
    store = try DocumentStore.open(directory)
    queues =
      (0..<7).map { DispatchQueue(label: "live \($0)") } + [
        DispatchQueue(label: "live", attributes: .concurrent)
      ]
    state = Locked(State())
    var world = LiveWorld(seed: seed)
    for _ in 0..<100 { try store.commit(world.mutations()) }
    for document in try store.documents(StructuredQuery(.collectionGroup("messages")))
      + store.documents(StructuredQuery(.collectionGroup("users")))
    {
      state.withLock { $0.documents[document.path] = document }
    }
    var queries: [StructuredQuery] = []
    for number in 0..<listeners {
      if number % 20 == 19 {
        queries.append(queries[world.random.below(queries.count)])
        count(.sharedQueries)
      } else {
        queries.append(world.query())
      }
    }
    for (number, query) in queries.enumerated() { try addMirror(query, at: number) }
  }

  private func addMirror(_ query: StructuredQuery, at place: Int) throws(DocumentStoreError) {
    let mirror = LiveMirror(query, isSlow: place % 17 == 0)
    try mirror.listen(to: store, on: queues[place % queues.count])
    state.withLock { state in
      if place < state.mirrors.count { state.mirrors[place] = mirror } else { state.mirrors.append(mirror) }
    }
  }

  private func count(_ kind: LiveCampaign.Kind, _ more: Int = 1) {
    state.withLock { $0.summary.counts[kind, default: 0] += more }
  }

  private func fail(_ what: String) {
    state.withLock { state in
      let text = "seed \(seed), after \(state.summary.commits) commits: \(what)"
      state.summary.failure = state.summary.failure ?? text
    }
  }

  private var hasFailed: Bool { state.withLock { $0.summary.failure != nil } }

  // MARK: Rounds

  func run(commits: Int) -> LiveCampaign.Summary {
    var round: UInt64 = 0
    while !hasFailed {
      let done = state.withLock { $0.summary.commits }
      guard done < commits else { break }
      let isFull = done % Self.commitsBetweenFull >= Self.commitsBetweenFull - 8 * Self.tasks
      commit(round, each: isFull ? Self.commitsOfBurst : 1)
      if isFull { count(.bursts) }
      drain()
      compare(round, all: isFull || done + Self.tasks >= commits)
      round += 1
    }
    let mirrors = state.withLock { $0.mirrors }
    for mirror in mirrors {
      for (kind, number) in mirror.counts { count(kind, number) }
      mirror.remove()
    }
    do {
      try store.checkInvariants()
      try store.close()
    } catch {
      fail("\(error)")
    }
    return state.withLock { $0.summary }
  }

  private func inParallel(_ body: @escaping @Sendable (Int) throws -> Void) {
    let threads = (0..<Self.tasks).map { task in
      WorkerThread { [self] in
        do { try body(task) } catch { fail("\(error)") }
      }
    }
    for thread in threads { thread.join() }
  }

  private func commit(_ round: UInt64, each commits: Int) {
    inParallel { [self] task in
      var world = LiveWorld(seed: SeededRandom.seed(seed, round, UInt64(task)))
      for _ in 0..<commits {
        let mutations = world.mutations()
        try store.commit(mutations)
        state.withLock { state in
          state.touched.formUnion(mutations.map(\.path))
          state.summary.commits += 1
        }
      }
      if world.random.oneIn(100) { try replaceListener(task, &world) }
    }
  }

  /// One of the task's own.
  private func replaceListener(_ task: Int, _ world: inout LiveWorld) throws {
    let mirrors = state.withLock { $0.mirrors }
    let place = world.random.below(mirrors.count / Self.tasks) * Self.tasks + task
    mirrors[place].remove()
    for (kind, number) in mirrors[place].counts { count(kind, number) }
    try addMirror(world.query(), at: place)
    count(.replacedListeners)
  }

  /// Whatever was put on the queues has been told.
  private func drain() {
    for queue in queues { queue.sync(flags: .barrier) {} }
  }

  // MARK: Comparing

  private struct Change: Sendable {
    var before: StoredDocument?
    var after: StoredDocument?

    func concerns(_ query: StructuredQuery) -> Bool {
      before.map(query.matches) ?? false || after.map(query.matches) ?? false
    }
  }

  private func compare(_ round: UInt64, all: Bool) {
    let mirrors = state.withLock { $0.mirrors }
    let changes: [Change]
    do { changes = try takeChanges() } catch { return fail("\(error)") }
    var random = SeededRandom(seed: SeededRandom.seed(seed, round, 99))
    let others = Set((0..<10).map { _ in random.below(mirrors.count) })
    inParallel { [self] task in
      var comparisons = 0
      var concerned = 0
      for place in stride(from: task, to: mirrors.count, by: Self.tasks) {
        let query = mirrors[place].query
        let isConcerned = changes.contains { $0.concerns(query) }
        if isConcerned { concerned += 1 }
        guard all || isConcerned || others.contains(place) else { continue }
        comparisons += 1
        if let difference = mirrors[place].difference(from: try store.documents(query)) {
          return fail("the listener \(place) to \(query.canonicalID): \(difference)")
        }
      }
      state.withLock { [comparisons, concerned] in
        $0.summary.comparisons += comparisons
        $0.summary.counts[.concerned, default: 0] += concerned
      }
    }
    count(.others, others.count)
    if all { count(.comparisonsOfAll) }
  }

  private func takeChanges() throws(DocumentStoreError) -> [Change] {
    let touched = state.withLock { state in
      defer { state.touched = [] }
      return state.touched
    }
    var changes: [Change] = []
    for path in touched {
      let after = try store.document(at: path)
      let before = state.withLock { state in
        let before = state.documents[path]
        state.documents[path] = after
        return before
      }
      if before != after { changes.append(Change(before: before, after: after)) }
    }
    return changes
  }
}
