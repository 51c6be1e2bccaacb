// The encoding of batches, and their effect on documents.

import DocumentStore
import Testing

@testable import OfflineSync

@Suite struct BatchCodecTests {
  private let time = StoredTimestamp(seconds: 1000, nanoseconds: 0)!

  private func path(_ id: String) throws -> DocumentPath { try DocumentPath(["rooms", id]) }

  private func batch(_ mutations: [Mutation]) throws -> PendingBatch {
    PendingBatch(
      id: BatchID(7), run: RunID(9), time: time, base: [PendingMutation(.delete(try path("base")))],
      mutations: mutations.map { PendingMutation($0) })
  }

  @Test func everyKindOfMutationRoundTrips() throws {
    let field = try StoredFieldPath(["a", "b.c"])
    var deep = StoredValue.integer(1)
    for _ in 0..<19 { deep = .map(StoredMap([("m", deep)])) }
    let batch = try batch([
      .set(path("a"), StoredMap([("deep", deep)]), precondition: .exists(false)),
      .patch(
        path("b"), StoredMap([("n", .double(.nan))]), mask: FieldMask([StoredFieldPath(["n"]), field]),
        transforms: [
          FieldTransform(field, .serverTimestamp), FieldTransform(field, .increment(.double(0.5))),
          FieldTransform(field, .minimum(.integer(1))), FieldTransform(field, .maximum(.integer(2))),
          FieldTransform(field, .arrayUnion([.null, .string("x")])), FieldTransform(field, .arrayRemove([])),
        ], precondition: .updateTime(time)),
      .delete(path("c"), precondition: .exists(true)), .verify(path("d"), .exists(false)),
    ])
    let bytes = BatchCodec.encode(batch)
    #expect(BatchCodec.decode(bytes) == batch)
    #expect(bytes.indices.filter { BatchCodec.decode(Array(bytes[..<$0])) != nil } == [])
  }

  /// Queues of earlier releases contain these update times.
  @Test func preconditionsOnPendingWritesAreEncodedAsUpdateTimes() throws {
    let cases: [(PendingPrecondition, Int64)] = [
      (.afterPendingWrites, 0), (.impossible, -1), (.updateTime(time), time.microseconds),
    ]
    var wrong: [String] = []
    for (precondition, microseconds) in cases {
      let path = try path("a")
      let batch = PendingBatch(
        id: BatchID(7), run: RunID(9), time: time, base: [.ground(of: path, precondition)],
        mutations: [PendingMutation(.delete(path), requiring: precondition)])
      let bytes = BatchCodec.encode(batch)
      if BatchCodec.decode(bytes) != batch { wrong.append("\(precondition): no round trip") }
      var encoded: [UInt8] = [3]
      for shift in 0..<8 { encoded.append(UInt8(truncatingIfNeeded: microseconds >> Int64(8 * shift))) }
      let count = bytes.indices.count { bytes[$0...].starts(with: encoded) }
      if count != 2 { wrong.append("\(precondition): encoded \(count) times") }
      let sent = try #require(StoredTimestamp(microseconds: microseconds))
      let mutations = batch.mutations.map(\.mutation)
      if mutations != [.delete(path, precondition: .updateTime(sent))] {
        wrong.append("\(precondition): \(mutations)")
      }
    }
    #expect(wrong == [])
  }

  @Test func anIncrementIsAppliedOnceToAChangedRemoteValue() throws {
    let field = try StoredFieldPath(["n"])
    let increment = PendingMutation(
      .patch(
        try path("a"), StoredMap(), mask: FieldMask([]),
        transforms: [FieldTransform(field, .increment(.integer(1)))]))
    let before = SyncedDocument(
      try path("a"), .found(StoredMap([("n", .integer(5))])), version: SnapshotVersion(microseconds: 1))
    let base = try PendingBatch.base(of: [increment]) { _ throws(DocumentStoreError) in before }
    let batch = PendingBatch(id: BatchID(1), run: RunID(9), time: time, base: base, mutations: [increment])
    #expect(batch.applied(to: before).fields?["n"] == .integer(6))
    // The watch stream delivered the result before the answer, so the value is already 6.
    let after = SyncedDocument(
      try path("a"), .found(StoredMap([("n", .integer(6))])), version: SnapshotVersion(microseconds: 2))
    #expect(batch.applied(to: after).fields?["n"] == .integer(6))
  }

  @Test func aPendingTimestampKeepsTheLastRealValue() throws {
    let field = try StoredFieldPath(["at"])
    let stamp = PendingMutation(
      .patch(
        try path("a"), StoredMap(), mask: FieldMask([]), transforms: [FieldTransform(field, .serverTimestamp)]
      )
    )
    let before = SyncedDocument(
      try path("a"), .found(StoredMap([("at", .string("once"))])), version: SnapshotVersion(microseconds: 1))
    let batch = PendingBatch(id: BatchID(1), run: RunID(9), time: time, base: [], mutations: [stamp, stamp])
    let local = batch.applied(to: before)
    #expect(local.fields?["at"] == .pendingTimestamp(time, previous: .string("once")))
    #expect(local.pending == .local && local.version == .none)
  }

  @Test func aBloomFilterContainsInsertedNames() throws {
    var filter = BloomFilter(count: 100)
    for number in 0..<100 { filter.insert("rooms/\(number)") }
    #expect((0..<100).allSatisfy { filter.contains("rooms/\($0)") })
    #expect((100..<1100).count { filter.contains("rooms/\($0)") } < 50)
    #expect(BloomFilter(BloomFilter.Parts(bitmap: [1], padding: 8, hashCount: 1)) == nil)
    #expect(BloomFilter(BloomFilter.Parts(bitmap: [], padding: 0, hashCount: 0)) == nil)
  }
}
