// Each batch is applied once, however often it arrives, and nothing is told about documents that a client
// has not received before.

import ByteStore
import Harness
import OfflineSync
import Testing

@testable import Authority
@testable import DocumentStore

@Suite struct WriteLedgerTests {
  private let world: TestLedger
  private let counter = TestLedger.counter

  init() throws { world = try TestLedger(try TestStore()) }

  private func rejects(_ code: RemoteError.Code, _ write: RemoteWrite, as user: String? = nil) -> Bool {
    do {
      try world.take(write, as: user)
      return false
    } catch {
      return (error as? RemoteError)?.code == code
    }
  }

  // MARK: Once

  @Test func aBatchThatComesAgainHasTheSameAnswer() throws {
    let writes = [
      increment(counter),
      .set(
        DocumentPath(unchecked: ["rooms", "a"]), StoredMap(),
        transforms: [
          FieldTransform(StoredFieldPath(unchecked: ["t"]), .serverTimestamp),
          FieldTransform(StoredFieldPath(unchecked: ["l"]), .arrayUnion([.integer(1)])),
        ]), .delete(DocumentPath(unchecked: ["rooms", "b"])),
    ]
    let write = TestLedger.write(1, writes)
    let first = try #require(try world.take(write))
    try world.world.put("a", 5)
    world.world.pass(microseconds: 1_000_000)
    for _ in 0..<3 {
      let again = try #require(try world.take(write))
      #expect(again.version == first.version && again.results == first.results)
    }
    #expect(try world.count == 1)
    #expect(first.results.map(\.version) == [first.version, first.version, first.version])
    #expect(
      first.results.map(\.versionBefore) == [
        SnapshotVersion.none, SnapshotVersion.none, SnapshotVersion.none,
      ])
    #expect(first.results[0].transformResults == [.integer(1)])
    #expect(first.results[1].transformResults == [.timestamp(first.version.stored), .null])
  }

  @Test func acceptedBatchesAreKnownAfterTheStoreWasOpenedAgain() throws {
    let write = TestLedger.write(1)
    let first = try #require(try world.take(write))
    let later = try TestLedger(try TestStore(on: world.world.copy, clock: world.world.clock, seed: 2))
    let again = try #require(try later.take(write))
    #expect(again.version == first.version && again.results == first.results)
    #expect(try later.count == 1)
    #expect(try later.take(TestLedger.write(2))?.results[0].transformResults == [.integer(2)])
  }

  /// The commit has the batch and the record of it, or neither.
  @Test func aBatchAndItsRecordAreOneCommit() throws {
    let answer = try #require(try world.take(TestLedger.write(1)))
    let record = try world.world.store.document(at: RunName(user: nil, queue: "c/-", run: RunID(1)).path)
    #expect(record.map { SnapshotVersion($0.updateTime) } == answer.version)
  }

  @Test func duplicatesThatArriveAtOnceAreAppliedOnce() throws {
    let ledger = world.ledger
    for batch in 1...20 {
      let write = try world.registered(TestLedger.write(Int64(batch)))
      let answers = Locked<[SnapshotVersion]>([])
      concurrently(4) { _ in
        let answer = try? ledger.take(write, as: nil)
        answers.withLock { $0 += [answer?.version].compactMap(\.self) }
      }
      #expect(answers.withLock { $0.count } == 4)
      #expect(Set(answers.withLock { $0 }).count == 1)
    }
    #expect(try world.count == 20)
  }

  @Test func otherWritesUnderTheSameNumberAreRefused() throws {
    try world.take(TestLedger.write(1))
    #expect(rejects(.invalidArgument, TestLedger.write(1, [increment(counter, by: 2)])))
    #expect(rejects(.invalidArgument, TestLedger.write(1, [])))
    #expect(rejects(.invalidArgument, TestLedger.write(1, [increment(counter), increment(counter)])))
    #expect(try world.count == 1)
  }

  @Test func theRunAndTheUserBelongToTheIdentity() throws {
    try world.take(TestLedger.write(1))
    try world.take(TestLedger.write(1, run: 2))
    try world.take(TestLedger.write(1), as: "ann")
    try world.take(TestLedger.write(1), as: "")
    #expect(try world.count == 4)
  }

  // MARK: Rules

  @Test func rulesAreNotAppliedAgainToAnAcceptedBatch() throws {
    let first = try #require(try world.take(TestLedger.write(1)))
    world.refuse()
    #expect(try world.take(TestLedger.write(1))?.version == first.version)
    #expect(rejects(.permissionDenied, TestLedger.write(2)))
    #expect(rejects(.permissionDenied, TestLedger.write(1), as: "ann"))
    #expect(try world.count == 1)
  }

  /// Regression: guards passed the rules by, so a client could ask about documents that it may not read.
  @Test func guardsAndVerificationsAreReads() throws {
    let (secret, own) = (DocumentPath(unchecked: ["secrets", "a"]), DocumentPath(unchecked: ["rooms", "a"]))
    try world.world.store.commit([.set(secret, StoredMap())])
    world.setRules { rules in
      rules.mayRead = { _, query in
        query.scope == .document(own) ? nil : RemoteError(.permissionDenied, "Not yours.")
      }
    }
    for exists in [true, false] {
      var guarded = TestLedger.write(1)
      guarded.guards = [own: .exists(false), secret: .exists(exists)]
      #expect(rejects(.permissionDenied, guarded))
      let verified = TestLedger.write(1, [increment(counter), .verify(secret, .exists(exists))])
      #expect(rejects(.permissionDenied, verified))
    }
    var life = TestLedger.write(1)
    life.guards = [LifeRecord.path: .exists(true)]
    #expect(rejects(.invalidArgument, life))
    // The batch may write the counter, so a guard on it says no more than a precondition.
    var allowed = TestLedger.write(1)
    allowed.guards = [own: .exists(false), counter: .exists(false)]
    #expect(try world.take(allowed) != nil)
    #expect(try world.count == 1)
  }

  @Test func noBatchWritesWhatBelongsToTheDatabase() throws {
    for path in [LifeRecord.path, RunName.path(ofQueue: "c/-", of: nil)] {
      #expect(rejects(.invalidArgument, TestLedger.write(1, [.delete(path)])))
    }
    #expect(try world.world.store.document(at: LifeRecord.path) != nil)
  }

  // MARK: Outcomes that were dropped

  /// Regression: other writes under the number of such a batch were answered as accepted, and were lost.
  @Test func otherWritesUnderTheNumberOfADroppedOutcomeAreRefused() throws {
    for batch in 1...40 { try world.take(TestLedger.write(Int64(batch))) }
    let known = Int64(40 - RunRecord.digestsMax)
    for batch in [known, 39] {
      #expect(rejects(.invalidArgument, TestLedger.write(batch, [increment(counter, by: 2)])))
      #expect(try world.take(TestLedger.write(batch)) != nil)
    }
    // The digest of an earlier batch is forgotten, so its writes cannot be compared.
    #expect(world.isUnknown(TestLedger.write(known - 1)))
    #expect(world.isUnknown(TestLedger.write(known - 1, [increment(counter, by: 2)])))
    let later = try TestLedger(try TestStore(on: world.world.copy, clock: world.world.clock, seed: 2))
    #expect(throws: RemoteError.self) { try later.take(TestLedger.write(39, [])) }
    #expect(try later.take(TestLedger.write(39)) != nil)
    #expect(try world.count == 40)
  }

  /// Regression: the answer to such a batch had the present values of its documents, which the sender may not
  /// be allowed to read.
  @Test func anOutcomeThatWasDroppedRevealsNothing() throws {
    let secret = StoredValue.integer(777)
    try world.take(TestLedger.write(1))
    try world.take(TestLedger.write(2, [.set(counter, StoredMap([("n", secret)]))]))
    let known = try #require(try world.world.store.document(at: counter))
    let again = try #require(try world.take(TestLedger.write(1)))
    #expect(again.results.map(\.transformResults) == [[.null]])
    #expect(again.version < SnapshotVersion(known.updateTime))
    #expect(again.results[0].version == again.version && again.results[0].versionBefore == again.version)
    #expect(try world.world.store.document(at: counter) == known)
  }

  @Test func outcomesAreKeptUntilTheClientHasReceivedThem() throws {
    for batch in 1...10 { try world.take(TestLedger.write(Int64(batch), firstOpen: 1)) }
    for batch in 1...10 {
      let again = try #require(try world.take(TestLedger.write(Int64(batch))))
      #expect(again.results[0].transformResults == [.integer(Int64(batch))])
    }
    try world.take(TestLedger.write(11, firstOpen: 6))
    #expect(try world.take(TestLedger.write(5))?.results[0].transformResults == [.null])
    #expect(try world.take(TestLedger.write(6))?.results[0].transformResults == [.integer(6)])
  }

  /// A client that never reports what it has received cannot make the record grow.
  @Test func theRecordOfARunStaysSmall() throws {
    for batch in 1...200 { try world.take(TestLedger.write(Int64(batch) * 2, firstOpen: 1)) }
    let run = RunName(user: nil, queue: "c/-", run: RunID(1))
    let size = try #require(try world.world.store.document(at: run.path)).record.count
    #expect(size < 10_000)
    #expect(world.isUnknown(TestLedger.write(2)))
    #expect(try world.take(TestLedger.write(320))?.results[0].transformResults == [.null])
    #expect(try world.take(TestLedger.write(400))?.results[0].transformResults == [.integer(200)])
    #expect(try world.count == 200)
  }

  @Test func aBatchOfManyWritesIsAcceptedOnce() throws {
    let mutations = (0..<20_000).map { Mutation.delete(DocumentPath(unchecked: ["rooms", "\($0)"])) }
    let first = try #require(try world.take(TestLedger.write(1, mutations)))
    #expect(first.results.count == 20_000)
    #expect(try world.take(TestLedger.write(1, mutations))?.results == first.results)
  }

  /// The outcome of the batch is larger than the record of a run may be.
  @Test func anOutcomeThatIsTooLargeIsDroppedAtOnce() throws {
    let time = try #require(StoredTimestamp(microseconds: 10))
    let text = StoredValue.string(String(repeating: "x", count: 1000))
    func outcome(_ batch: Int64, values: Int) -> KeptOutcome {
      let write = CommitOutcome.Write(
        updateTime: time, previousUpdateTime: nil,
        transformResults: [StoredValue](repeating: text, count: values))
      return KeptOutcome(
        BatchID(batch), [.delete(counter)], digest: [UInt8](repeating: 1, count: 16),
        outcome: CommitOutcome(time: time, writes: [write]))
    }
    var record = RunRecord(lastDay: 1)
    record.take(outcome(1, values: 600), firstOpen: BatchID(1))
    #expect(record.accepted.contains(BatchID(1)) && record.outcome(of: BatchID(1)) == nil)
    #expect(record.digest(of: BatchID(1)) != nil)
    for batch in 2...4 { record.take(outcome(Int64(batch), values: 250), firstOpen: BatchID(1)) }
    #expect((1...4).map { record.outcome(of: BatchID($0)) != nil } == [false, false, true, true])
    #expect(RunRecord(record.fields) == record)
  }

  @Test func aBatchWithoutWritesIsAcceptedOnce() throws {
    let first = try #require(try world.take(TestLedger.write(1, [])))
    #expect(first.results.isEmpty)
    #expect(try world.take(TestLedger.write(1, []))?.version == first.version)
  }

  // MARK: Batches that were rejected

  @Test func aDelayedDuplicateOfARejectedBatchIsNotApplied() throws {
    let bad = TestLedger.write(
      1, [.patch(counter, StoredMap(), mask: FieldMask([]), precondition: .exists(true))])
    #expect(rejects(.notFound, bad))
    try world.take(TestLedger.write(2))
    #expect(rejects(.failedPrecondition, bad), "the document exists now, but the client was told otherwise")
    #expect(rejects(.failedPrecondition, TestLedger.write(1)))
    #expect(try world.count == 1)
  }

  @Test func aRejectedBatchLeavesNoRecord() throws {
    #expect(rejects(.notFound, TestLedger.write(1, [.delete(counter, precondition: .exists(true))])))
    let run = RunName(user: nil, queue: "c/-", run: RunID(1))
    #expect(try world.ledger.record(of: run)?.accepted.ranges == [])
    #expect(try world.take(TestLedger.write(1)) != nil)
  }

  // MARK: Guards

  @Test func aBatchWithAGuardThatDoesNotHoldIsNotApplied() throws {
    let before = try #require(try world.take(TestLedger.write(1))).version
    var write = TestLedger.write(2)
    write.guards = [counter: .updateTime(before.stored)]
    let other = try world.take(TestLedger.write(1, run: 2))
    #expect(try world.take(write) == nil)
    #expect(try world.count == 2)
    write.guards = [counter: .updateTime(try #require(other).version.stored)]
    let taken = try #require(try world.take(write))
    #expect(taken.results[0].transformResults == [.integer(3)])
    // The guard does not hold any more, but the batch was accepted.
    #expect(try world.take(write)?.results == taken.results)
    var absent = TestLedger.write(3)
    absent.guards = [DocumentPath(unchecked: ["rooms", "x"]): .exists(true)]
    #expect(try world.take(absent) == nil)
  }

  /// Several writers increment a counter, and each requires that it is as it was read.
  @Test func noIncrementUnderAGuardIsLost() throws {
    let (ledger, store) = (world.ledger, world.world.store)
    try world.take(TestLedger.write(1, run: 99))
    let first = try (1...4).map { try world.registered(TestLedger.write(1, run: $0)) }
    concurrently(4) { thread in
      var batch: Int64 = 0
      while batch < 10 {
        guard let time = try? store.document(at: TestLedger.counter)?.updateTime else { return }
        var write = TestLedger.write(batch + 1, run: UInt64(thread) + 1)
        write.registration = first[thread].registration
        write.guards = [TestLedger.counter: .updateTime(time)]
        if let answer = try? ledger.take(write, as: nil), answer.results.count == 1 { batch += 1 }
      }
    }
    #expect(try world.count == 41)
  }

  // MARK: Hostile identities

  @Test func extremeNumbersAreAnsweredWithoutATrap() throws {
    for batch in [Int64.min, .min + 1, -1, 0, 1, .max - 1, .max] {
      _ = try? world.take(TestLedger.write(batch, firstOpen: .min))
    }
    #expect(try world.count == 7)
    for firstOpen in [Int64.max, .min] {
      _ = try? world.take(TestLedger.write(5, firstOpen: firstOpen))
    }
    for batch in [Int64.min, .max] { _ = try world.take(TestLedger.write(batch)) }
    #expect(try world.count == 8)
  }

  @Test func namesOfAnyFormAreKeptApart() throws {
    let names = [
      "", "/", ":", "%", "-", "=", "=-", "a:b", "__x__", ".", "..", "\u{0}",
      String(repeating: "é", count: 900),
    ]
    var count: Int64 = 0
    for queue in names {
      for user in [nil] + names.map(Optional.some) {
        let id = WriteID(queue: queue, run: RunID(.max), batch: BatchID(1))
        try world.take(RemoteWrite(id: id, mutations: [increment(counter)], firstOpen: BatchID(1)), as: user)
        count += 1
      }
    }
    #expect(try world.count == count)
    let long = WriteID(queue: String(repeating: "q", count: 40_000), run: RunID(1), batch: BatchID(1))
    #expect(rejects(.invalidArgument, RemoteWrite(id: long, mutations: [], firstOpen: BatchID(1))))
  }
}

/// Runs a body on several threads, and returns when all of them have returned.
func concurrently(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
  let threads = (0..<count).map { number in WorkerThread { body(number) } }
  for thread in threads { thread.join() }
}
