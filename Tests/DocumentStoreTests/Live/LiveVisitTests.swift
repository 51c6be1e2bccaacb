// The number of views that a commit visits.
//
// A commit does not visit a view whose conditions or window exclude the changed documents.

import ByteStore
import CAllocations
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
    let ids = Locked<[String]>([])
    _ = try store.listen(to: query, on: queue) { result in
      if case .success(let snapshot) = result { ids.withLock { $0 = snapshot.documents.map(\.path.id) } }
    }
    return ids
  }

  /// Returns the number of views that `body` visits.
  private func visits(_ body: () throws -> Void) rethrows -> Int {
    let before = store.live.visitCount
    try body()
    return store.live.visitCount - before
  }

  @Test func anUnrelatedCommitVisitsNoListener() throws {
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

  private static let allocationsForListenersMax = 16.0

  @Test(.enabled(if: allocations_are_counted()))
  func allocationsOfAnUnrelatedCommitDoNotGrowWithListeners() throws {
    func allocations() throws -> Double {
      let commits = 100
      for number in 0..<commits { try store.commit([set("m\(number)", 5)]) }
      let before = allocations_of_this_thread()
      for number in 0..<commits { try store.commit([set("m\(number)", 6)]) }
      return Double(allocations_of_this_thread() - before) / Double(commits)
    }
    let alone = try allocations()
    func addListeners(_ numbers: Range<Int>) throws {
      for number in numbers {
        let filter = FilterTree.field(field("k"), .equal, .integer(Int64(number)))
        _ = try listen(StructuredQuery(.collection(rooms)).filtered(by: filter))
      }
    }
    try addListeners(0..<1)
    #expect(try allocations() - alone <= Self.allocationsForListenersMax)
    try addListeners(1..<1000)
    let more = try allocations() - alone
    #expect(more <= Self.allocationsForListenersMax, "\(more) allocations more for each commit")
  }

  /// Guards against always choosing the first equality, which all listeners have in common.
  @Test func theMoreSelectiveEqualityFindsListeners() throws {
    for number in 0..<300 {
      let filter = FilterTree.all([
        .field(field("kind"), .equal, .string("message")),
        number % 2 == 0
          ? .field(field("user"), .equal, .integer(Int64(number)))
          : .field(field("readers"), .arrayContains, .integer(Int64(number))),
      ])
      _ = try listen(try StructuredQuery(.collection(rooms)).filtered(by: filter))
    }
    func message(_ id: String, _ user: Int64) -> Mutation {
      .set(path("rooms", id), StoredMap([("kind", .string("message")), ("user", .integer(user))]))
    }
    // The first view was registered under the condition that all views have in common, because no other view
    // existed at that time. Every message therefore visits it.
    #expect(try visits { try store.commit([message("a", 17)]) } == 1)
    #expect(try visits { try store.commit([message("b", 18)]) } == 2)
    let read = StoredMap([
      ("kind", .string("message")), ("readers", .array([.integer(5), .integer(7), .integer(8)])),
    ])
    #expect(try visits { try store.commit([.set(path("rooms", "c"), read)]) } == 3)
  }

  @Test func rangesOfNamesFindTheirListeners() throws {
    for number in 0..<200 {
      let (from, to) = ("m\(1000 + 2 * number)", "m\(1000 + 2 * number + 1)")
      let query = StructuredQuery(.collection(rooms))
      if number % 2 == 0 {
        _ = try listen(
          try query.filtered(
            by: .all([
              .field(.documentID, .greaterThanOrEqual, .string(from)),
              .field(.documentID, .lessThan, .string(to)),
            ])))
      } else {
        let ordered = try query.ordered(by: OrderBy(.documentID))
        _ = try listen(try ordered.starting(.before, [.string(from)]).ending(.after, [.string(to)]))
      }
    }
    #expect(try visits { try store.commit([set("m1", 1), set("m5", 1), set("x", 1)]) } == 0)
    let counts = try [0, 1, 57, 198, 199].map { number in
      try visits { try store.commit([set("m\(1000 + 2 * number)", 1)]) }
    }
    #expect(counts == [1, 1, 1, 1, 1])
    #expect(try visits { try store.commit([set("m1001", 1)]) } == 0, "the end is not included")
    #expect(try visits { try store.commit([set("m1003", 1)]) } == 1, "the end is within")
  }

  /// In the order of this query, documents without the field sort like documents whose field is null.
  @Test func missingFieldSortsWithNullIfTheOrderSaysSo() throws {
    var order = OrderBy(field("rank"))
    order.missing = .asNull
    let query = try StructuredQuery(.collection(rooms)).ordered(by: order)
    let first = try listen(try query.limited(to: .first(3)))
    let behind = try listen(try query.starting(.before, [.integer(10)]))
    let before = try listen(try query.ending(.after, [.integer(10)]))
    queue.sync {}
    #expect(first.withLock { $0 } == ["m100", "m101", "m102"])
    let ranked = { (id: String, rank: Int64) in
      Mutation.set(path("rooms", id), StoredMap([("rank", .integer(rank))]))
    }
    #expect(try visits { try store.commit([ranked("z", 20)]) } == 1)
    #expect(try visits { try store.commit([ranked("y", 5)]) } == 1)
    #expect(try visits { try store.commit([set("a", 1)]) } == 2)
    queue.sync {}
    #expect(first.withLock { $0 } == ["a", "m100", "m101"])
    #expect(behind.withLock { $0 } == ["z"])
    #expect(before.withLock { $0.count } == 62)
  }

  @Test func changesAfterALimitVisitNoView() throws {
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
    // The windows are reloaded, and the new windows end later.
    try store.commit((0..<20).map { .delete(path("rooms", "m\(100 + $0)")) })
    #expect(try visits { try store.commit([set("m121", 21)]) } == 0, "nothing is different")
    #expect(try visits { try store.commit([set("m121", 22)]) } == 2)
    #expect(try visits { try store.commit([set("m150", 31)]) } == 1, "it leaves the last ones")
    queue.sync {}
    let expected = try store.documents(try query.limited(to: .first(3))).map(\.path.id)
    #expect(first.withLock { $0 } == expected)
  }

  /// A page has a start cursor and a limit. Changes before or after the page do not visit its view.
  @Test func changesOutsideAPageVisitNoView() throws {
    let all = StructuredQuery(.collection(rooms))
    let pages = [
      try listen(
        try all.ordered(by: OrderBy(field("n"))).starting(.after, [.integer(10)]).limited(to: .first(3))),
      try listen(
        try all.filtered(by: .field(field("n"), .greaterThan, .integer(10))).limited(to: .first(3))),
      try listen(
        try all.ordered(by: OrderBy(.documentID)).starting(.after, [.string("m110")]).limited(to: .first(3))),
    ]
    queue.sync {}
    #expect(
      pages.map { page in page.withLock { $0 } } == Array(repeating: ["m111", "m112", "m113"], count: 3))
    #expect(try visits { try store.commit([set("m140", 41), .delete(path("rooms", "m141"))]) } == 0)
    #expect(try visits { try store.commit([set("m101", 2), set("m1", 1)]) } == 0)
    #expect(try visits { try store.commit([set("m112", 13)]) } == 3)
    #expect(try visits { try store.commit([.delete(path("rooms", "m111"))]) } == 3)
    queue.sync {}
    #expect(pages[2].withLock { $0 } == ["m112", "m113", "m114"])
    #expect(pages.map { page in page.withLock { $0.count } } == [3, 3, 3])
  }

  /// A window that contains all matches has no end. A window that becomes too large is cut, and then has an
  /// end.
  @Test func changesAfterTheEndOfACutWindowVisitNoView() throws {
    let few = path("few", "x").parent
    let place = { (number: Int64) in
      Mutation.set(path("few", "f\(100 + number)"), StoredMap([("n", .integer(number))]))
    }
    let ids = try listen(
      try StructuredQuery(.collection(few)).ordered(by: OrderBy(field("n"))).limited(to: .first(2)))
    for number in (0..<30).reversed() { try store.commit([place(Int64(number))]) }
    #expect(try visits { try store.commit([place(200)]) } == 0)
    #expect(try visits { try store.commit([place(-1)]) } == 1)
    queue.sync {}
    #expect(ids.withLock { $0 } == ["f99", "f100"])
  }

  @Test func aDeletionReadsItsDocumentOnlyIfThereAreListeners() throws {
    _ = try listen(StructuredQuery(.collection(path("halls", "x").parent)))
    try store.commit([.set(path("halls", "a"), StoredMap())])
    let isKnown = { (path: DocumentPath) in
      let inProgress = try store.begin([.delete(path)])
      try store.finish(inProgress)
      return inProgress.changes.map(\.isBeforeKnown)
    }
    // The collection `rooms` has no index and no listeners.
    #expect(try isKnown(path("rooms", "m100")) == [false])
    #expect(try isKnown(path("halls", "a")) == [true])
  }
}
