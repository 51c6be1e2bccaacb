// Which views a commit looks at: none that it does not concern, as far as conditions and bounds tell.

import ByteStore
import Dispatch
import Harness
import Testing

@testable import DocumentStore

@Suite struct LiveVisitTests {
  private let store: DocumentStore
  private let queue = DispatchQueue(label: "listeners")
  private let rooms = path("rooms", "x").parent

  init() throws {
    store = try SimulatedStore().store
    try store.commit((0..<60).map { set("m\($0 + 100)", Int64($0)) })
  }

  private func set(_ id: String, _ number: Int64) -> Mutation {
    .set(path("rooms", id), StoredMap([("n", .integer(number))]))
  }

  private func listen(_ query: StructuredQuery) throws -> Locked<[String]> {
    let told = Locked<[String]>([])
    _ = try store.listen(to: query, on: queue) { result in
      if case .success(let snapshot) = result { told.withLock { $0 = snapshot.documents.map(\.path.id) } }
    }
    return told
  }

  /// By `body`, how many views were looked at.
  private func visits(_ body: () throws -> Void) rethrows -> Int {
    let before = store.live.visitCount
    try body()
    return store.live.visitCount - before
  }

  @Test func aCommitThatConcernsNobodyLooksAtNoneOfManyListeners() throws {
    for number in 0..<500 {
      let filter = { (filter: FilterTree) in try StructuredQuery(.collection(rooms)).filtered(by: filter) }
      let query: StructuredQuery
      switch number % 5 {
      case 0: query = try filter(.field(field("k"), .equal, .integer(Int64(number))))
      case 1: query = try filter(.field(field("n"), .greaterThan, .integer(Int64(10_000 + number))))
      case 2: query = StructuredQuery(.document(path("rooms", "other\(number)")))
      case 3: query = try filter(.field(field("tags"), .arrayContains, .integer(Int64(number))))
      default: query = StructuredQuery(.collection(path("halls\(number)", "x").parent))
      }
      _ = try listen(query)
    }
    #expect(
      try visits { try store.commit([set("m1", 5), set("m100", 7), .delete(path("rooms", "m101"))]) } == 0)
    #expect(try visits { try store.commit([.set(path("halls4", "a"), StoredMap())]) } == 1)
  }

  @Test func whatLiesBehindALimitLooksAtNoView() throws {
    let query = try StructuredQuery(.collection(rooms)).ordered(by: OrderBy(field("n")))
    let first = try listen(try query.limited(to: .first(3)))
    let last = try listen(try query.limited(to: .last(3)))
    let named = try listen(try StructuredQuery(.collection(rooms)).limited(to: .first(3)))
    #expect(try visits { try store.commit([set("m130", 31), .delete(path("rooms", "m131"))]) } == 0)
    #expect(try visits { try store.commit([set("m132", -1)]) } == 1)
    #expect(try visits { try store.commit([set("m133", 100)]) } == 1)
    #expect(try visits { try store.commit([set("a", 34)]) } == 1)
    queue.sync {}
    #expect(first.withLock { $0 } == ["m132", "m100", "m101"])
    #expect(last.withLock { $0 } == ["m158", "m159", "m133"])
    #expect(named.withLock { $0 } == ["a", "m100", "m101"])
    // The windows are filled up, and end later then.
    try store.commit((0..<20).map { .delete(path("rooms", "m\(100 + $0)")) })
    #expect(try visits { try store.commit([set("m121", 21)]) } == 0, "nothing is different")
    #expect(try visits { try store.commit([set("m121", 22)]) } == 2)
    #expect(try visits { try store.commit([set("m150", 31)]) } == 1, "it leaves the last ones")
    queue.sync {}
    let expected = try store.documents(try query.limited(to: .first(3))).map(\.path.id)
    #expect(first.withLock { $0 } == expected)
  }

  /// A window that had all is too large one day, and knows its end from then on.
  @Test func aLimitThatIsExceededStopsLookingBehindItsEnd() throws {
    let few = path("few", "x").parent
    let place = { (number: Int64) in
      Mutation.set(path("few", "f\(100 + number)"), StoredMap([("n", .integer(number))]))
    }
    let told = try listen(
      try StructuredQuery(.collection(few)).ordered(by: OrderBy(field("n"))).limited(to: .first(2)))
    for number in (0..<30).reversed() { try store.commit([place(Int64(number))]) }
    #expect(try visits { try store.commit([place(200)]) } == 0)
    #expect(try visits { try store.commit([place(-1)]) } == 1)
    queue.sync {}
    #expect(told.withLock { $0 } == ["f99", "f100"])
  }

  @Test func aRemovalReadsItsDocumentOnlyWhereSomeoneListens() throws {
    _ = try listen(StructuredQuery(.collection(path("halls", "x").parent)))
    try store.commit([.set(path("halls", "a"), StoredMap())])
    let isKnown = { (path: DocumentPath) in
      let underWay = try store.begin([.delete(path)])
      try store.finish(underWay)
      return underWay.changes.map(\.isBeforeKnown)
    }
    // Nothing has made an index of rooms; nobody listens to them.
    #expect(try isKnown(path("rooms", "m100")) == [false])
    #expect(try isKnown(path("halls", "a")) == [true])
  }
}
