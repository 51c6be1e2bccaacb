// The snapshot that reads of the present share.

import Authority
import DocumentStore
import FirestoreWire
import Testing

@testable import FirestoreService

@Suite struct CurrentSnapshotTests {
  @Test func readsShareASnapshotUntilTheNextCommit() throws {
    let database = try database()
    let first = try database.snapshotNow()
    #expect(try database.snapshotNow() === first)
    try set(1, in: database)
    let second = try database.snapshotNow()
    #expect(second !== first && second.readTime > first.readTime)
    #expect(try second.snapshot.documents(at: [Self.path]).first != nil)
  }

  @Test func aSnapshotIsDroppedWhenItWasNotUsedForASecond() throws {
    let clock = TestClock()
    let database = try database(clock)
    weak let snapshot = try database.snapshotNow()
    #expect(clock.timerCount == 1)
    clock.advance(seconds: 1)
    #expect(snapshot != nil, "it was used in this second")
    clock.advance(seconds: 1)
    #expect(snapshot == nil && clock.timerCount == 0)
    _ = try database.snapshotNow()
    #expect(clock.timerCount == 1)
  }

  private static let path = DocumentPath(unchecked: ["rooms", "a"])

  private func database(_ clock: TestClock = TestClock()) throws -> ServedDatabase {
    var options = ServiceOptions()
    options.clock = clock.service
    let store = try DocumentStore.openInMemory()
    return try ServedDatabase(DatabaseName(TestService.database), try .of(store), options: options)
  }

  private func set(_ number: Int64, in database: ServedDatabase) throws {
    _ = try database.authority.store?.commit([
      .set(Self.path, StoredMap([(name: "n", value: .integer(number))]))
    ])
  }
}
