// Reads at one point in time.

import ByteStore
import Harness
import Testing

@testable import DocumentStore

@Suite struct StoreSnapshotTests {
  private func setting(_ id: Int, _ number: Int) -> Mutation {
    .set(path("rooms", "\(id)"), StoredMap([("n", .integer(Int64(number)))]))
  }

  private func query(from number: Int) throws -> StructuredQuery {
    try StructuredQuery(.collection(path("rooms", "x").parent))
      .filtered(by: .field(field("n"), .greaterThanOrEqual, .integer(Int64(number))))
  }

  @Test(arguments: [true, false]) func aSnapshotIsUnaffectedByCommits(createsIndexes: Bool) throws {
    var options = DocumentStore.Options()
    options.createsIndexes = createsIndexes
    options.scanMax = 0
    let directory = TemporaryDirectory()
    let store = try DocumentStore.open(directory.path, options: options)
    let time = try store.commit((0..<50).map { setting($0, $0) })
    let snapshot = try store.snapshot()
    let expected = try store.documents(query(from: 20))
    try store.commit(
      (0..<50).map { setting($0, 100 - $0) } + [.delete(path("rooms", "30")), setting(99, 20)])
    try store.compact()
    #expect(snapshot.time == time)
    #expect(snapshot.count == 50)
    // The first query uses an index that the store has, and the second an index that does not exist.
    #expect(try snapshot.documents(query(from: 20)) == expected)
    let descending = try query(from: 20).ordered(by: OrderBy(field("n"), .descending))
    #expect(try snapshot.documents(descending) == expected.reversed())
    #expect(try snapshot.documents(descending.limited(to: .last(3))) == expected.prefix(3).reversed())
    #expect(try snapshot.count(query(from: 20)) == 30)
    #expect(try snapshot.aggregate([.sum(field("n"))], over: query(from: 49)) == [.integer(49)])
    #expect(try snapshot.document(at: path("rooms", "30"))?.fields["n"] == .integer(30))
    #expect(try snapshot.document(at: path("rooms", "99")) == nil)
    #expect(store.statistics.snapshots.count == 1)
    snapshot.close()
    #expect(store.statistics.snapshots.count == 0)
    guard case .closed = failure(of: { try snapshot.documents(query(from: 0)) }),
      case .closed = failure(of: { try snapshot.document(at: path("rooms", "1")) })
    else {
      Issue.record("a closed snapshot was read")
      return
    }
    try store.close()
  }

  @Test func aSnapshotOfAClosedStoreCannotBeRead() throws {
    let store = try SimulatedStore().store
    try store.commit([setting(1, 1)])
    let snapshot = try store.snapshot()
    try store.close()
    guard case .closed = failure(of: { try snapshot.document(at: path("rooms", "1")) }) else {
      Issue.record("a closed store was read")
      return
    }
  }

  @Test func severalQueriesOfOneSnapshotAreOfOneCommit() throws {
    let store = try SimulatedStore().store
    let isDone = Locked(false)
    let writer = WorkerThread {
      for number in 0..<300 {
        _ = try? store.commit([setting(1, number), setting(2, -number)])
      }
      isDone.withLock { $0 = true }
    }
    var compared = 0
    var wrong: [String] = []
    var isLast = false
    repeat {
      isLast = isDone.withLock { $0 }
      let snapshot = try store.snapshot()
      let one = try snapshot.document(at: path("rooms", "1"))?.fields["n"]
      WorkerThread.yield()
      let two = try snapshot.documents(StructuredQuery(.collection(path("rooms", "x").parent)))
      guard case .integer(let number)? = one else { continue }
      compared += 1
      let expected: [StoredValue?] = [.integer(number), .integer(-number)]
      let found = two.map { $0.fields["n"] }
      if found != expected { wrong.append("\(found) instead of \(expected)") }
    } while !isLast
    writer.join()
    #expect(compared > 0)
    #expect(wrong == [])
  }
}
