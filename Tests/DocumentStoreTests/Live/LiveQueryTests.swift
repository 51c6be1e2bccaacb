// The states that listeners receive, their order, and calls from within handlers.

import ByteStore
import Dispatch
import Harness
import Testing

@testable import DocumentStore

@Suite struct LiveQueryTests {
  private let store: DocumentStore
  private let queue = DispatchQueue(label: "listeners")
  private let rooms = path("rooms", "x").parent

  init() throws { store = try SimulatedStore().store }

  /// Records each received state as text, such as "a1 b2: +a@0 +b@1". The documents come first, followed by
  /// the changes with their old and new indexes.
  private final class Deliveries: Sendable {
    private let states = Locked<[String]>([])

    func handler(_ also: @escaping @Sendable () -> Void = {}) -> LiveHandler {
      { [self] result in
        let text: String
        switch result {
        case .success(let snapshot): text = Self.text(snapshot)
        case .failure(let error): text = "\(error)"
        }
        states.withLock { $0.append(text) }
        also()
      }
    }

    func take() -> [String] {
      states.withLock { states in
        defer { states = [] }
        return states
      }
    }

    private static func text(_ snapshot: LiveSnapshot) -> String {
      let documents = snapshot.documents.map(name).joined(separator: " ")
      let changes = snapshot.changes.map { change in
        switch change.kind {
        case .added: "+\(change.document.path.id)@\(change.newIndex ?? -1)"
        case .removed: "-\(name(change.document))@\(change.oldIndex ?? -1)"
        case .modified: "\(change.document.path.id)@\(change.oldIndex ?? -1)>\(change.newIndex ?? -1)"
        }
      }
      return ([documents + (snapshot.isFirst ? "!" : ":")] + changes).joined(separator: " ")
    }

    private static func name(_ document: StoredDocument) -> String {
      guard case .integer(let number) = document.fields["n"] else { return document.path.id }
      return "\(document.path.id)\(number)"
    }
  }

  private func set(_ id: String, _ number: Int64) -> Mutation {
    .set(path("rooms", id), StoredMap([("n", .integer(number))]))
  }

  private func delete(_ id: String) -> Mutation { .delete(path("rooms", id)) }

  private func byNumber(_ limit: StructuredQuery.Limit? = nil) throws -> StructuredQuery {
    let query = try StructuredQuery(.collection(rooms)).ordered(by: OrderBy(field("n")))
    return try limit.map { try query.limited(to: $0) } ?? query
  }

  /// Registers a listener. Returns the registration and a recorder of the states that the listener receives.
  private func listen(_ query: StructuredQuery) throws -> (Deliveries, LiveRegistration) {
    let deliveries = Deliveries()
    return (deliveries, try store.listen(to: query, on: queue, deliveries.handler()))
  }

  private func drain() { queue.sync {} }

  // MARK: States

  @Test func firstStateIsTheResultAndLaterStatesFollowCommits() throws {
    try store.commit([set("a", 1), set("b", 2)])
    let (deliveries, _) = try listen(byNumber())
    drain()
    #expect(deliveries.take() == ["a1 b2! +a@0 +b@1"])
    try store.commit([set("c", 0)])
    drain()
    #expect(deliveries.take() == ["c0 a1 b2: +c@0"])
    try store.commit([set("a", 3)])
    drain()
    #expect(deliveries.take() == ["c0 b2 a3: a@1>2"])
    try store.commit([delete("b"), .patch(path("rooms", "c"), StoredMap(), mask: FieldMask([field("n")]))])
    drain()
    #expect(deliveries.take() == ["a3: -c0@0 -b2@0"])
    try store.commit([set("a", 3)])
    try store.commit([.set(path("halls", "a"), StoredMap([("n", .integer(1))]))])
    drain()
    #expect(deliveries.take() == [], "nothing is different")
  }

  @Test func changesAreRemovalsThenAdditionsThenModifications() throws {
    try store.commit([set("a", 1), set("b", 2), set("c", 3), set("d", 4)])
    let (deliveries, _) = try listen(byNumber())
    drain()
    _ = deliveries.take()
    try store.commit([set("a", 5), set("e", 0), delete("b"), set("f", 9), delete("d"), set("c", 4)])
    drain()
    #expect(deliveries.take() == ["e0 c4 a5 f9: -b2@1 -d4@2 +e@0 +f@3 c@2>2 a@1>2"])
  }

  @Test func anEmptyResultIsDelivered() throws {
    let (deliveries, _) = try listen(byNumber())
    drain()
    #expect(deliveries.take() == ["!"])
  }

  @Test func aLimitedViewIsFilledFromItsSpareDocuments() throws {
    try store.commit((0..<40).map { set("m\($0)", Int64($0)) })
    let (first, _) = try listen(byNumber(.first(2)))
    let (last, _) = try listen(byNumber(.last(2)))
    drain()
    #expect(first.take() == ["m00 m11! +m0@0 +m1@1"] && last.take() == ["m3838 m3939! +m38@0 +m39@1"])
    try store.commit([delete("m0"), delete("m39")])
    drain()
    #expect(first.take() == ["m11 m22: -m00@0 +m2@1"])
    #expect(last.take() == ["m3737 m3838: -m3939@1 +m37@0"])
    try store.commit((1..<20).map { delete("m\($0)") })
    drain()
    #expect(first.take() == ["m2020 m2121: -m11@0 -m22@0 +m20@0 +m21@1"])
    try store.commit([set("z", 3)])
    drain()
    #expect(first.take() == ["z3 m2020: -m2121@1 +z@0"])
    #expect(last.take() == [])
  }

  /// Guards against looking up entries by their address. New entries can reuse the addresses of freed
  /// entries.
  @Test(arguments: [StructuredQuery.Limit.first(3), .last(3)])
  func limitedViewFollowsEveryChange(limit: StructuredQuery.Limit) throws {
    let query = try byNumber(limit)
    let last = Locked<[StoredDocument]>([])
    _ = try store.listen(to: query, on: queue) { result in
      if case .success(let snapshot) = result { last.withLock { $0 = Array(snapshot.documents) } }
    }
    var random = SeededRandom(seed: 5)
    var wrong: [String] = []
    for step in 0..<600 {
      let mutations = (0...random.below(3)).map { _ in
        let id = "m\(random.below(9))"
        return random.oneIn(3) ? delete(id) : set(id, Int64(random.below(20)))
      }
      try store.commit(mutations)
      drain()
      let expected = try store.documents(query)
      let found = last.withLock { $0 }
      if found != expected { wrong.append("step \(step): \(found) instead of \(expected)") }
    }
    #expect(wrong == [])
  }

  @Test func documentListenerWorksForExistingAndMissingDocuments() throws {
    let (deliveries, _) = try listen(StructuredQuery(.document(path("rooms", "a"))))
    try store.commit([set("b", 1)])
    drain()
    #expect(deliveries.take() == ["!"])
    try store.commit([set("a", 1)])
    drain()
    #expect(deliveries.take() == ["a1: +a@0"])
    try store.commit([delete("a")])
    drain()
    #expect(deliveries.take() == [": -a1@0"])
  }

  @Test func listenersToOneQueryShareAViewAndStartWithItsState() throws {
    try store.commit([set("a", 1)])
    let (early, first) = try listen(byNumber())
    try store.commit([set("b", 2)])
    let (late, second) = try listen(byNumber())
    drain()
    #expect(store.live.viewCount == 1)
    #expect(early.take().last?.hasPrefix("a1 b2") == true)
    #expect(late.take() == ["a1 b2! +a@0 +b@1"])
    first.remove()
    try store.commit([delete("a")])
    drain()
    #expect(early.take() == [] && late.take() == ["b2: -a1@0"])
    second.remove()
    second.remove()
    #expect(store.live.viewCount == 0)
    #expect(!store.publications.isObserved)
  }

  // MARK: Pressure

  @Test func slowListenerGetsTheLastStateWithAllChanges() throws {
    try store.commit([set("a", 1), set("b", 2)])
    let (deliveries, _) = try listen(byNumber())
    drain()
    _ = deliveries.take()
    queue.suspend()
    try store.commit([set("c", 3), delete("a")])
    try store.commit([set("c", 0), set("d", 4)])
    try store.commit([delete("d"), set("a", 7)])
    queue.resume()
    drain()
    #expect(deliveries.take() == ["c0 b2 a7: +c@0 a@1>2"])
  }

  @Test func memoryForASlowListenerIsBounded() throws {
    try store.commit([set("a", 1)])
    let (deliveries, _) = try listen(byNumber())
    drain()
    _ = deliveries.take()
    queue.suspend()
    for number in 0..<20 {
      try store.commit((0..<100).map { set("m\(number)-\($0)", Int64($0)) })
      try store.commit((0..<100).map { delete("m\(number)-\($0)") })
    }
    try store.commit([set("b", 2)])
    queue.resume()
    drain()
    #expect(deliveries.take() == ["a1 b2: +b@1"])
  }

  @Test func changesAreDroppedOnceTheyOutnumberBothStates() throws {
    try store.commit([set("x", 1)])
    let document = try #require(try store.document(at: path("rooms", "x")))
    func kept(_ changes: Int, documents: Int) -> Int? {
      var difference = LiveDifference.of([:])
      for number in 0..<changes {
        let entry = LiveEntry([], Array("\(number)".utf8), document: document)
        difference.add([LiveDifference.Change(old: nil, new: entry)], documents: documents)
      }
      guard case .of(let changes) = difference else { return nil }
      return changes.count
    }
    #expect(kept(1024, documents: 2) == 1024)
    #expect(kept(1025, documents: 2) == nil)
    #expect(kept(2000, documents: 1000) == 2000)
    #expect(kept(2001, documents: 1000) == nil)
  }

  @Test func stateIsQueuedBeforeTheCommitReturns() throws {
    let order = Locked<[String]>([])
    let registration = try store.listen(to: byNumber(), on: queue) { result in
      guard case .success(let snapshot) = result else { return }
      order.withLock { $0.append("state \(snapshot.documents.count)") }
    }
    let commits = (0..<200).map { number in
      WorkerThread { [store, queue] in
        _ = try? store.commit([.set(path("rooms", "\(number)"), StoredMap([("n", .integer(1))]))])
        queue.async { order.withLock { $0.append("commit") } }
      }
    }
    for commit in commits { commit.join() }
    drain()
    var known = 0
    var acknowledged = 0
    var late: [String] = []
    for event in order.withLock({ $0 }) {
      if event == "commit" { acknowledged += 1 } else { known = Int(event.dropFirst(6)) ?? 0 }
      if known < acknowledged { late.append("\(acknowledged) acknowledged, \(known) known") }
    }
    #expect(late == [])
    #expect(known == 200)
    registration.remove()
  }

  // MARK: Calls from handlers

  @Test func removalInsideAHandlerStopsFurtherCalls() throws {
    let registration = Locked<LiveRegistration?>(nil)
    let deliveries = Deliveries()
    queue.suspend()
    let newRegistration = try store.listen(
      to: byNumber(), on: queue, deliveries.handler { registration.withLock { $0 }?.remove() })
    registration.withLock { $0 = newRegistration }
    queue.resume()
    drain()
    try store.commit([set("a", 1)])
    drain()
    #expect(deliveries.take() == ["!"])
  }

  @Test func aHandlerMayListenAndCommit() throws {
    let outer = Deliveries()
    let inner = Deliveries()
    let hasListened = Locked(false)
    let store = store, queue = queue
    let query = try byNumber()
    _ = try store.listen(
      to: query, on: queue,
      outer.handler {
        let isFirst = hasListened.withLock { hasListened in
          defer { hasListened = true }
          return !hasListened
        }
        guard isFirst else { return }
        _ = try? store.commit([.set(path("rooms", "h"), StoredMap([("n", .integer(5))]))])
        _ = try? store.listen(to: query, on: queue, inner.handler())
      })
    drain()
    drain()
    #expect(outer.take() == ["!", "h5: +h@0"])
    #expect(inner.take() == ["h5! +h@0"])
  }

  @Test func aClosedStoreNotifiesNoListener() throws {
    let (deliveries, registration) = try listen(byNumber())
    drain()
    _ = deliveries.take()
    try store.close()
    registration.remove()
    drain()
    #expect(deliveries.take() == [])
    guard case .closed = failure(of: { try listen(byNumber()) }) else {
      Issue.record("a closed store was listened to")
      return
    }
  }

  @Test func aQueryThatCannotRunIsRefusedAtOnce() throws {
    var query = StructuredQuery(.collection(rooms))
    query.limit = .last(3)
    #expect(failure { try listen(query) }?.complaint != nil)
    #expect(store.live.viewCount == 0)
  }

  @Test func removedDocumentLeavesViewsEvenIfNotReadBefore() throws {
    try store.commit([set("a", 1), set("b", 2)])
    // This commit gets its position before any listener or index exists.
    let removal = try store.begin([delete("a")])
    let (deliveries, _) = try listen(StructuredQuery(.collection(rooms)))
    drain()
    try store.finish(removal)
    drain()
    #expect(deliveries.take().last?.hasPrefix("b2: -a1@0") == true)
  }
}
