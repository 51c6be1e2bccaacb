// Streams against a model: after each delivery, all queries of a stream equal their results at the time of
// the delivery, computed from every document.

import ByteStore
import Dispatch
import Harness
import Testing

@testable import DocumentStore

/// All states of a store by commit time.
final class StreamHistory: Sendable {
  struct State: Sendable {
    var time: StoredTimestamp?
    var position: FeedPosition?
    var documents: [DocumentPath: StoredDocument] = [:]
  }

  private let states = Locked<[State]>([State()])

  func add(_ state: State) { states.withLock { $0.append(state) } }

  /// The state after the last commit up to a time.
  func state(at time: StoredTimestamp?) -> State {
    states.withLock { states in
      guard let time else { return states[0] }
      return states.last { $0.time.map { $0 <= time } ?? true } ?? State()
    }
  }

  /// The states of one document after all commits in a range of times.
  func states(of path: DocumentPath, after start: StoredTimestamp?, through end: StoredTimestamp?)
    -> [StoredDocument?]
  {
    states.withLock { states in
      states.filter { state in
        guard let time = state.time else { return start == nil }
        return (start.map { time > $0 } ?? true) && (end.map { time <= $0 } ?? false)
      }.map { $0.documents[path] }
    }
  }
}

/// The states of a consumer's queries, from the snapshots that it has received.
struct StreamView {
  struct Query {
    let query: StructuredQuery
    var documents: [DocumentPath: StoredDocument] = [:]
    var order: [DocumentPath]?
  }

  private let history: StreamHistory
  var queries: [Int32: Query] = [:]
  private var time: StoredTimestamp?
  private var position: FeedPosition?
  private(set) var departures = 0
  private(set) var snapshots = 0

  init(_ history: StreamHistory) { self.history = history }

  /// Takes a snapshot. Returns a description of the first contradiction.
  mutating func take(_ snapshot: StreamSnapshot) -> String? {
    snapshots += 1
    if let time, snapshot.time.map({ $0 < time }) ?? true { return "the time goes back" }
    if let position, snapshot.position.map({ $0 < position }) ?? true { return "the position goes back" }
    let state = history.state(at: snapshot.time)
    for (id, result) in snapshot.queries {
      guard let query = queries[id] else { return "query \(id) was removed" }
      guard case .success(let news) = result else { return "query \(id) failed" }
      if let problem = take(news, of: query, id, at: snapshot.time) { return "query \(id): \(problem)" }
    }
    for (id, query) in queries {
      guard let order = query.order else { continue }
      let expected = query.query.answer(from: state.documents.values)
      guard order == expected.map(\.path), expected.allSatisfy({ query.documents[$0.path] == $0 }) else {
        return
          "query \(id) \(query.query.canonicalID) shows \(order), and \(expected.map(\.path)) at its time"
      }
    }
    if state.position != snapshot.position {
      return "the position is \(String(describing: snapshot.position))"
    }
    if let problem = contradiction(in: snapshot) { return problem }
    (time, position) = (snapshot.time, snapshot.position)
    return nil
  }

  private mutating func take(
    _ news: LiveQueryState, of query: Query, _ id: Int32, at now: StoredTimestamp?
  ) -> String? {
    var query = query
    guard news.isFirst == (query.order == nil) else { return "isFirst is \(news.isFirst)" }
    if news.isFirst {
      for document in news.documents { query.documents[document.path] = document }
    } else if news.changes.isEmpty {
      return "there is no change"
    }
    for change in news.changes {
      guard change.old == query.documents[change.path], change.old != change.new else {
        return "the change of \(change.path) begins with another state"
      }
      query.documents[change.path] = change.new
      guard (change.departure != nil) == (change.new == nil) else { return "a departure without departing" }
      guard let old = change.old, let departure = change.departure else { continue }
      departures += 1
      let states = history.states(of: change.path, after: time, through: now)
      switch departure {
      case .deleted: guard states.contains(nil) else { return "\(change.path) was not deleted" }
      case .changed(let document):
        guard states.contains(document), document != old else { return "\(change.path) never was so" }
      case .displaced:
        guard history.state(at: now).documents[change.path] == old || states.contains(old) else {
          return "\(change.path) has changed"
        }
      }
    }
    query.order = news.documents.map(\.path)
    guard Set(query.documents.keys) == Set(news.documents.map(\.path)) else {
      return "the changes lead elsewhere"
    }
    queries[id] = query
    return nil
  }

  /// In one snapshot, a document has one state.
  private func contradiction(in snapshot: StreamSnapshot) -> String? {
    var known: [DocumentPath: StoredDocument?] = [:]
    for case .success(let news) in snapshot.queries.values {
      for change in news.changes {
        let state: StoredDocument?
        switch change.departure {
        case nil: state = change.new
        case .deleted: state = nil
        case .changed(let document): state = document
        case .displaced: state = change.old
        }
        if let other = known[change.path], other != state { return "\(change.path) has two states" }
        known[change.path] = .some(state)
      }
    }
    return nil
  }
}

/// Random commits and queries.
struct StreamScript {
  var rng: SeededRNG

  mutating func mutations() -> [Mutation] {
    (0...rng.roll(rng.oneIn(8) ? 25 : 3)).map { _ in
      let path = path(rng.oneIn(5) ? "halls" : "rooms", "m\(rng.roll(30))")
      return rng.oneIn(3)
        ? .delete(path)
        : .set(path, StoredMap([("n", .integer(Int64(rng.roll(40)))), ("k", .integer(Int64(rng.roll(3))))]))
    }
  }

  mutating func query() throws -> StructuredQuery {
    var query = StructuredQuery(
      rng.oneIn(6)
        ? .collectionGroup("rooms") : .collection(path(rng.oneIn(6) ? "halls" : "rooms", "x").parent))
    if rng.oneIn(3) {
      query = try query.filtered(by: .field(field("k"), .equal, .integer(Int64(rng.roll(3)))))
    }
    if rng.oneIn(3) {
      query = try query.filtered(by: .field(field("n"), .lessThan, .integer(Int64(rng.roll(40)))))
    }
    if rng.oneIn(2) {
      query = try query.ordered(by: OrderBy(field("n"), rng.pick([.ascending, .descending])))
    }
    if !rng.oneIn(3) {
      let count = 1 + rng.roll(5)
      let isLast = rng.oneIn(3) && !query.explicitOrders.isEmpty
      query = try query.limited(to: isLast ? .last(count) : .first(count))
    }
    return rng.oneIn(4) ? try query.skipping(1 + rng.roll(3)) : query
  }
}

@Suite struct LiveStreamModelTests {
  /// One thread: commits, listens, removals and deliveries in random order, with consumers of any speed.
  @Test(arguments: 1...8 as ClosedRange<UInt64>)
  func eachSnapshotEqualsTheQueriesAtItsTime(seed: UInt64) throws {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    options.scanMax = seed % 2 == 0 ? 0 : 64
    let store = try DocumentStore.open(
      "/store", options: options, platform: SimulatedDisk().platform(seed: seed))
    if seed % 3 != 0 { _ = try store.feedConsumer("reader") }
    let history = StreamHistory()
    var script = StreamScript(rng: SeededRNG(seed: seed))
    var state = StreamHistory.State()
    func commit(_ mutations: [Mutation]) throws {
      let time = try store.commit(mutations)
      for path in Set(mutations.map(\.path)) { state.documents[path] = try store.document(at: path) }
      state.time = time
      state.position = seed % 3 == 0 ? nil : try store.feedRange().newest
      history.add(state)
    }
    for _ in 0..<script.rng.roll(3) { try commit(script.mutations()) }
    if state.time == nil, let time = try store.snapshot().time {
      state.time = time
      state.position = .start
      history.add(state)
    }
    let consumers = (0..<3).map { _ in StreamConsumer(store) }
    var views = consumers.map { _ in StreamView(history) }
    let listener = try store.listen(to: script.query(), on: DispatchQueue(label: "listener")) { _ in }
    for step in 0..<250 {
      let number = script.rng.roll(consumers.count)
      let (stream, id) = (consumers[number].stream, Int32(script.rng.roll(6)))
      switch script.rng.roll(10) {
      case 0:
        guard views[number].queries[id] == nil else { break }
        let query = try script.query()
        views[number].queries[id] = StreamView.Query(query: query)
        try stream.listen(id, to: query)
      case 1:
        guard script.rng.oneIn(2) else { break }
        stream.remove(id)
        views[number].queries[id] = nil
      case 2: stream.advance()
      case 3, 4, 5:
        for snapshot in consumers[number].run() {
          guard let problem = views[number].take(snapshot) else { continue }
          Issue.record("seed \(seed), step \(step), stream \(number): \(problem)")
          return
        }
      default: try commit(script.mutations())
      }
    }
    #expect(views.map(\.snapshots).reduce(0, +) > 30 && views.map(\.departures).reduce(0, +) > 15)
    for (consumer, view) in zip(consumers, views) {
      consumer.stream.advance()
      var view = view
      for snapshot in consumer.run() { #expect(view.take(snapshot) == nil) }
      consumer.stream.close()
    }
    listener.remove()
    #expect(store.live.viewCount == 0)
  }

  /// Several threads commit, while the consumers' queues deliver. The snapshots are compared afterwards, when
  /// the order of the commits is known.
  @Test(.timeLimit(.minutes(3)), arguments: [1, 2] as [UInt64])
  func snapshotsAreConsistentWhileThreadsCommit(seed: UInt64) throws {
    let store = try SimulatedStore().store
    var script = StreamScript(rng: SeededRNG(seed: seed))
    let queue = DispatchQueue(label: "consumer")
    let snapshots = Locked<[StreamSnapshot]>([])
    let history = StreamHistory()
    var view = StreamView(history)
    let stream = LiveStream(of: store) { body in
      queue.async { body() }
    } handler: { snapshot in
      snapshots.withLock { $0.append(snapshot) }
    }
    for id in 0..<8 as Range<Int32> {
      let query = try script.query()
      view.queries[id] = StreamView.Query(query: query)
      try stream.listen(id, to: query)
    }
    let commits = Locked<[(time: StoredTimestamp, mutations: [Mutation])]>([])
    DispatchQueue.concurrentPerform(iterations: 4) { thread in
      var script = StreamScript(rng: SeededRNG(seed: seed * 100 + UInt64(thread)))
      for _ in 0..<100 {
        let mutations = script.mutations()
        guard let time = try? store.commit(mutations) else { continue }
        commits.withLock { $0.append((time, mutations)) }
      }
    }
    stream.advance()
    queue.sync {}
    var state = StreamHistory.State()
    for (time, mutations) in commits.withLock({ $0 }).sorted(by: { $0.time < $1.time }) {
      for mutation in mutations {
        let base = state.documents[mutation.path]
        state.documents[mutation.path] = try mutation.apply(to: base, at: time)
      }
      state.time = time
      history.add(state)
    }
    let seen = snapshots.withLock { $0 }
    for (number, snapshot) in seen.enumerated() {
      guard let problem = view.take(snapshot) else { continue }
      Issue.record("seed \(seed), snapshot \(number) of \(seen.count): \(problem)")
      return
    }
    #expect(commits.withLock { $0.count } == 400 && seen.last?.time == state.time && seen.count > 1)
    stream.close()
  }
}
