// The results of a commit, and the record that it writes about itself.

import ByteStore
import Harness
import Testing

@testable import DocumentStore

@Suite struct CommitOutcomeTests {
  private let place = path("rooms", "eros")
  private let other = path("rooms", "psyche")
  private let note = path("notes", "last")

  /// A record of the commit time, the number of writes, and the sums that they computed.
  private var record: CommitRecord {
    CommitRecord(path: note) { outcome in
      StoredMap([
        ("time", .timestamp(outcome.time)), ("count", .integer(Int64(outcome.writes.count))),
        ("results", .array(outcome.writes.flatMap(\.transformResults))),
      ])
    }
  }

  private func number(_ path: DocumentPath, _ number: Int64) -> Mutation {
    .set(path, StoredMap([("n", .integer(number))]))
  }

  // MARK: Results

  @Test func eachMutationHasAResultInOrder() throws {
    let store = try SimulatedStore().store
    let before = try store.commit([number(place, 4)])
    let outcome = try store.commit(
      [increment(place), number(other, 1), .delete(place), .verify(other, .exists(true))], recording: nil)
    #expect(
      outcome.writes == [
        .init(updateTime: outcome.time, previousUpdateTime: before, transformResults: [.integer(5)]),
        .init(updateTime: outcome.time, previousUpdateTime: nil),
        .init(updateTime: nil, previousUpdateTime: before),
        .init(updateTime: outcome.time, previousUpdateTime: nil),
      ])
    #expect(try store.document(at: other)?.updateTime == outcome.time)
  }

  @Test func aWriteThatChangesNothingKeepsTheUpdateTime() throws {
    let store = try SimulatedStore().store
    let before = try store.commit([number(place, 4)])
    let outcome = try store.commit([number(place, 4), .delete(other)], recording: nil)
    #expect(
      outcome.writes == [
        .init(updateTime: before, previousUpdateTime: before),
        .init(updateTime: nil, previousUpdateTime: nil),
      ])
    #expect(outcome.time > before)
  }

  /// A plain commit deletes a document without reading it.
  @Test func aDeletionKnowsTheTimeOfTheDeletedDocument() throws {
    let store = try SimulatedStore().store
    let before = try store.commit([number(place, 4)])
    let pending = try store.beginCommit([number(other, 1)], recording: nil)
    let deletion = try store.beginCommit([.delete(place), .delete(other)], recording: nil)
    let created = try store.finishCommit(pending)
    #expect(try store.finishCommit(deletion).writes.map(\.previousUpdateTime) == [before, created.time])
  }

  @Test func transformsOfArraysHaveNullAsResult() throws {
    let store = try SimulatedStore().store
    let transforms = [
      FieldTransform(field("tags"), .arrayUnion([.integer(1)])),
      FieldTransform(field("at"), .serverTimestamp),
      FieldTransform(field("n"), .maximum(.double(2.5))),
    ]
    let outcome = try store.commit(
      [
        .set(place, StoredMap(), transforms: transforms),
        .patch(other, StoredMap(), mask: FieldMask([]), transforms: transforms),
      ],
      recording: nil)
    let results: [StoredValue] = [.null, .timestamp(outcome.time), .double(2.5)]
    #expect(outcome.writes.map(\.transformResults) == [results, results])
  }

  @Test func theResultsAreThoseOfACommitWithoutThem() throws {
    let (plain, collecting) = (try SimulatedStore().store, try SimulatedStore().store)
    var rng = SeededRNG(seed: 5)
    for _ in 0..<200 {
      let mutations = (0..<rng.roll(4)).map { _ -> Mutation in
        let target = path("rooms", "r\(rng.roll(5))")
        return switch rng.roll(4) {
        case 0: .delete(target)
        case 1: number(target, Int64(rng.roll(3)))
        case 2:
          .patch(
            target, StoredMap([("m", .integer(1))]), mask: FieldMask(leavesOf: StoredMap([("m", .null)])))
        default: increment(target)
        }
      }
      try plain.commit(mutations)
      let before = try mutations.map { try collecting.document(at: $0.path)?.updateTime }
      let outcome = try collecting.commit(mutations, recording: nil)
      #expect(outcome.writes.map(\.previousUpdateTime) == before)
      for (mutation, write) in zip(mutations, outcome.writes).reversed() {
        guard mutations.last(where: { $0.path == mutation.path }) == mutation else { continue }
        #expect(try collecting.document(at: mutation.path)?.updateTime == write.updateTime)
      }
    }
    let all = StructuredQuery(.collection(place.parent))
    let (left, right) = (try plain.documents(all), try collecting.documents(all))
    #expect(
      left.map(\.fields) == right.map(\.fields) && left.map(\.path) == right.map(\.path) && left.count > 1)
  }

  // MARK: Records

  @Test func theRecordIsWrittenWithTheCommitThatItIsAbout() throws {
    let machine = try SimulatedStore()
    let outcome = try machine.store.commit([increment(place), increment(place)], recording: record)
    let written = try machine.afterPowerLoss().store.document(at: note)
    #expect(
      written?.fields
        == StoredMap([
          ("time", .timestamp(outcome.time)), ("count", .integer(2)),
          ("results", .array([.integer(1), .integer(2)])),
        ]))
    #expect(written?.updateTime == outcome.time)
    try machine.store.checkInvariants()
  }

  @Test func aCommitThatFailsWritesNoRecord() throws {
    let store = try SimulatedStore().store
    let error = failure { try store.commit([increment(place, .exists(true))], recording: record) }
    #expect(error == .notFound("No document to update: rooms/eros"))
    #expect(try store.document(at: note) == nil)
  }

  @Test func aRecordBeyondTheLimitsRefusesTheCommit() throws {
    let store = try SimulatedStore().store
    let large = CommitRecord(path: note) { _ in
      StoredMap([("b", .bytes([UInt8](repeating: 1, count: 1 << 20)))])
    }
    let error = failure { try store.commit([increment(place)], recording: large) }
    #expect(error?.complaint?.contains("the limit is") == true)
    #expect(try store.document(at: place) == nil && store.document(at: note) == nil)
  }

  /// Both commits are in progress, and the second record depends on the first one as a mutation would.
  @Test func recordsOfOneDocumentDependOnEachOther() throws {
    let store = try SimulatedStore().store
    let first = try store.beginCommit([increment(place)], recording: record)
    let second = try store.beginCommit([increment(place)], recording: record)
    try store.finishCommit(second)
    try store.finishCommit(first)
    #expect(try store.document(at: note)?.fields["results"] == .array([.integer(2)]))
    try store.checkInvariants()
  }

  /// The dependent commit only deletes, which a full disk allows, because its record stays as it is.
  @Test func aRecordIsComputedAgainIfItsCommitDependsOnARefusedOne() throws {
    let machine = try SimulatedStore(kibibytes: 1500)
    let store = machine.store
    let created = try store.commit([increment(other), number(note, 1)])
    try machine.fillDisk()
    let refused = try store.begin([increment(other)])
    let outcomes = Locked<[CommitOutcome]>([])
    let record = CommitRecord(path: note) { outcome in
      outcomes.withLock { $0.append(outcome) }
      return StoredMap([("n", .integer(1))])
    }
    let deletion = try store.beginCommit([.delete(other)], recording: record)
    guard case .full = failure(of: { try store.finish(refused) }) else {
      Issue.record("a put went to a full disk")
      return
    }
    let outcome = try store.finishCommit(deletion)
    #expect(outcome.writes == [.init(updateTime: nil, previousUpdateTime: created)])
    #expect(
      outcomes.withLock { $0 } == [
        CommitOutcome(
          time: deletion.time, writes: [.init(updateTime: nil, previousUpdateTime: refused.time)]),
        outcome,
      ])
    #expect(outcome.time > deletion.time)
    try store.checkInvariants()
  }

  // MARK: Transactions

  @Test func aTransactionReturnsItsResultsAndWritesItsRecord() throws {
    let store = try SimulatedStore().store
    let transaction = try store.beginTransaction()
    try transaction.write(increment(place))
    let outcome = try #require(try transaction.commit(recording: record))
    #expect(
      outcome.writes == [
        .init(updateTime: outcome.time, previousUpdateTime: nil, transformResults: [.integer(1)])
      ])
    #expect(try store.document(at: note)?.fields["count"] == .integer(1))
    let empty = try store.beginTransaction()
    #expect(try empty.commit(recording: CommitRecord(path: other) { _ in StoredMap() }) == nil)
    #expect(try store.document(at: other) == nil)
  }
}
