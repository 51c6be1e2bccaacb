// What reads cost while many writes are pending: the local view is what the store has, so that queries are answered
// from the same indexes, with the same work, as those of a database without a remote.

import DocumentStore
import OfflineSync
import Testing

@Suite struct PendingReadsTests {
  private static let documents = 3000
  private static let pending = 300

  private func path(_ number: Int) -> DocumentPath { DocumentPath(unchecked: ["rooms", "\(number)"]) }

  private func fields(_ number: Int, _ n: Int) -> StoredMap {
    StoredMap([("n", .integer(Int64(n))), ("kind", .string(number % 3 == 0 ? "a" : "b"))])
  }

  /// A cache of a remote's documents, some of which have writes that wait.
  private func client() throws -> LocalStore {
    let local = try LocalStore(
      try DocumentStore.openInMemory(), user: nil, collector: .lru, client: "client")
    for start in stride(from: 0, to: Self.documents, by: 500) {
      var event = RemoteEvent(version: SnapshotVersion(microseconds: Int64(start) + 1))
      for number in start..<start + 500 {
        event.documents[path(number)] = SyncedDocument(
          path(number), .found(fields(number, number)), version: event.version, createTime: event.version)
      }
      _ = try local.apply(event)
    }
    let time = try #require(StoredTimestamp(microseconds: 1))
    for number in 0..<Self.pending {
      _ = try local.write([.set(path(number * 10), fields(number * 10, -number))], at: time)
    }
    return local
  }

  private func standalone() throws -> DocumentStore {
    let store = try DocumentStore.openInMemory()
    for start in stride(from: 0, to: Self.documents, by: 500) {
      try store.commit(
        (start..<start + 500).map {
          .set(path($0), fields($0, $0 % 10 == 0 && $0 / 10 < Self.pending ? -($0 / 10) : $0))
        })
    }
    return store
  }

  private func queries() throws -> [StructuredQuery] {
    let rooms = StructuredQuery(.collection(CollectionPath(unchecked: ["rooms"])))
    let n = StoredFieldPath(unchecked: ["n"])
    let kind = try rooms.filtered(
      by: .field(StoredFieldPath(unchecked: ["kind"]), .equal, .string("a")))
    return [
      try rooms.filtered(by: .field(n, .lessThan, .integer(-250))),
      try rooms.ordered(by: OrderBy(n, .descending)).limited(to: .first(20)),
      try rooms.ordered(by: OrderBy(n, .ascending)).limited(to: .last(5)),
      try kind.ordered(by: OrderBy(n, .ascending)).limited(to: .first(10)),
      try rooms.filtered(by: .field(n, .isIn, .array([.integer(-3), .integer(7), .integer(30)]))),
    ]
  }

  @Test func queriesOverPendingWritesTakeTheIndexesAndTheWorkThatOthersTake() throws {
    let (local, other) = (try client(), try standalone())
    var pendingFound = 0
    for query in try queries() {
      let found = try local.documents(query)
      #expect(found.map(\.path) == (try other.documents(query).map(\.path)))
      pendingFound += found.count { $0.pending == .local }
      let (here, there) = (try local.store.explain(query), try other.explain(query))
      #expect(here.plan == there.plan)
      #expect(here.documentsRead == there.documentsRead && here.entriesRead == there.entriesRead)
      #expect(here.documentsRead < 100)
    }
    #expect(local.queue.count == Self.pending && pendingFound > 50)
  }
}
