// Batches that an earlier release accepted are recognised, and its records are removed when they expire.

import DocumentStore
import Harness
import OfflineSync
import Testing

@testable import Authority

@Suite struct EarlierLedgerTests {
  private let path = DocumentPath(unchecked: ["rooms", "a"])
  private let counter = TestLedger.counter

  private func results(_ fields: StoredMap) throws -> [WriteResult] {
    let time = try #require(StoredTimestamp(microseconds: 10))
    let record = StoredDocument(path: path, createTime: time, updateTime: time, fields: fields)
    return EarlierLedger.results(record, [Mutation](repeating: .delete(path), count: 5))
  }

  private func integers(_ numbers: [Int64]) -> StoredValue { .array(numbers.map { .integer($0) }) }

  // MARK: The records

  @Test func recordsOfAllEarlierFormsAreRead() throws {
    let last = StoredMap([("b", integers([0, 4, 7, -6, 20])), ("v", integers([0, 0, 7, 0, 0]))])
    #expect(try results(last).map(\.version.microseconds) == [10, 10, 7, 10, 21])
    #expect(try results(last).map(\.versionBefore?.microseconds) == [0, 4, 7, 6, 20])
    let early = StoredMap([("o", integers([0, 4, 0, 0, 20])), ("v", integers([0, 0, 7, 0, 0]))])
    #expect(try results(early).map(\.version.microseconds) == [10, 10, 7, 10, 21])
    #expect(try results(early).allSatisfy { $0.versionBefore == nil })
    let first = StoredMap([("v", integers([0, 0, 7, 0, 0]))])
    #expect(try results(first).map(\.version.microseconds) == [10, 10, 7, 10, 10])
  }

  @Test func invalidRecordsAreReadWithoutATrap() throws {
    let numbers = integers([.min, .max, -1, 0, 1])
    var counts: [Int] = []
    for names in [["b"], ["o"], ["b", "v"], ["o", "v"]] {
      let kept = try results(StoredMap(names.map { ($0, numbers) }))
      counts.append(kept.count)
      for time in kept.compactMap(\.versionBefore) { _ = time.stored }
    }
    #expect(counts == [5, 5, 5, 5])
  }

  // MARK: The ledger

  /// A store in which an earlier release has accepted the batches 1 to 3 and 5 of a run. The outcome of the
  /// last one is kept.
  private func storeOfEarlierRelease() throws -> TestStore {
    let world = try TestStore()
    try world.store.commit([
      increment(counter, by: 4),
      .set(
        DocumentPath(unchecked: ["__writers__", "c%2f-:1"]),
        StoredMap([("a", integers([1, 3, 5, 5])), ("f", .integer(5)), ("k", integers([5]))])),
      .set(
        DocumentPath(unchecked: ["__writes__", "c%2f-:1:5"]),
        StoredMap([
          ("b", integers([7])), ("r", .array([.map(StoredMap([("v", integers([4]))]))])),
          ("v", integers([0])),
        ])),
    ])
    return world
  }

  @Test func aBatchThatAnEarlierReleaseAcceptedIsNotAppliedAgain() throws {
    let ledger = try TestLedger(try storeOfEarlierRelease())
    let last = try #require(try ledger.take(TestLedger.write(5)))
    #expect(last.results[0].transformResults == [.integer(4)])
    #expect(last.results[0].versionBefore == SnapshotVersion(microseconds: 7))
    // The records of the others do not say what they have written.
    for batch in 1...3 { #expect(ledger.isUnknown(TestLedger.write(Int64(batch)))) }
    #expect(throws: RemoteError.self) { try ledger.take(TestLedger.write(4)) }
    #expect(try ledger.count == 4)
    // The run continues in the new form, and both forms are known.
    _ = try ledger.register(1)
    #expect(try ledger.take(TestLedger.write(6))?.results[0].transformResults == [.integer(5)])
    for batch in [5, 6] { #expect(try ledger.take(TestLedger.write(Int64(batch))) != nil) }
    for batch in 1...3 { #expect(ledger.isUnknown(TestLedger.write(Int64(batch)))) }
    #expect(throws: RemoteError.self) { try ledger.take(TestLedger.write(4)) }
    #expect(try ledger.count == 5)
    let later = try TestLedger(try TestStore(on: ledger.world.copy, clock: ledger.world.clock, seed: 2))
    #expect(try later.take(TestLedger.write(5))?.results == last.results)
    #expect(try later.count == 5)
  }

  /// The earlier form did not know the user of a run, except by the name of the queue.
  @Test func anotherUserDoesNotSeeTheOutcome() throws {
    let ledger = try TestLedger(try storeOfEarlierRelease())
    #expect(try ledger.take(TestLedger.write(5), as: "ann")?.results[0].transformResults == [.integer(5)])
    #expect(try ledger.count == 5)
  }

  @Test func theRecordsExpire() throws {
    let world = try storeOfEarlierRelease()
    let ledger = try TestLedger(world)
    let query = StructuredQuery(.collectionGroup("__writers__"))
    world.pass(microseconds: 90 * TestStore.day)
    try ledger.ledger.removeExpired()
    #expect(try world.store.documents(query).count == 1)
    world.pass(microseconds: TestStore.day)
    try ledger.ledger.removeExpired()
    #expect(try world.store.documents(query).isEmpty)
    #expect(try world.store.documents(StructuredQuery(.collectionGroup("__writes__"))).isEmpty)
    #expect(try world.store.document(at: counter) != nil)
  }
}
