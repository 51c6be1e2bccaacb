// Runs: registered with a dated token, finished, and forgotten. A batch whose outcome is no longer known is
// refused.

import ByteStore
import DocumentStore
import Harness
import OfflineSync
import Testing

@testable import Authority

@Suite struct RunTests {
  private let world: TestLedger

  init() throws { world = try TestLedger(try TestStore()) }

  private func write(_ batch: Int64, run: UInt64 = 1, firstOpen: Int64? = nil, _ token: [UInt8])
    -> RemoteWrite
  {
    var write = TestLedger.write(batch, run: run, firstOpen: firstOpen)
    write.registration = token
    return write
  }

  private func isUnknown(_ write: RemoteWrite, _ ledger: TestLedger? = nil) -> Bool {
    do throws(RemoteError) {
      _ = try (ledger ?? world).ledger.take(write, as: nil)
      return false
    } catch {
      return error == .outcomeUnknown
    }
  }

  private func seenDay(_ run: UInt64) throws -> StoredValue? {
    let path = RunName(user: nil, queue: "c/-", run: RunID(run)).path
    return try world.world.store.document(at: path)?.fields["d"]
  }

  // MARK: Registration

  @Test func aRegisteredRunHasOneTokenUntilItIsForgotten() throws {
    let token = try world.register(1)
    #expect(try world.register(1) == token)
    #expect(try world.register(1, token) == token)
    try world.take(write(1, token))
    #expect(try world.register(1, token) == token)
    let later = try TestLedger(try TestStore(on: world.world.copy, clock: world.world.clock, seed: 2))
    #expect(try later.register(1) == token)
    #expect(try later.take(write(1, token))?.results[0].transformResults == [.integer(1)])
    #expect(try later.count == 1)
  }

  /// Regression: such a batch was applied, and once more after its run was forgotten.
  @Test func aBatchWithoutARegistrationIsRefused() throws {
    let token = try world.register(1)
    try world.take(write(1, token))
    for (batch, run) in [(2, 1), (1, 2)] as [(Int64, UInt64)] {
      do throws(RemoteError) {
        _ = try world.ledger.take(TestLedger.write(batch, run: run), as: nil)
        Issue.record("a batch without a registration was accepted")
      } catch { #expect(error == WriteLedger.unregistered) }
    }
    #expect(WriteLedger.unregistered.code.isPermanentForWrites)
    // A batch that was accepted is recognised without a token.
    #expect(try world.ledger.take(TestLedger.write(1), as: nil)?.results[0].transformResults == [.integer(1)])
    #expect(try world.count == 1)
  }

  @Test func aRunOfAnotherUserHasAnotherToken() throws {
    let token = try world.register(1)
    let run = RunRegistration(queue: "c/-", run: RunID(1), token: token)
    let other = try world.ledger.register(run, as: "ann")
    #expect(other != token)
    do throws(RemoteError) {
      _ = try world.ledger.take(write(1, token), as: "ann")
      Issue.record("the token of another user was accepted")
    } catch { #expect(error == .outcomeUnknown) }
    #expect(try world.ledger.take(write(1, other), as: "ann") != nil)
  }

  @Test func oneRegistrationNamesRunsOfOneQueueAndNotTooMany() throws {
    let mixed = ["c/-", "d/-"].map { RunRegistration(queue: $0, run: RunID(1)) }
    #expect(throws: RemoteError.self) { try world.ledger.register(mixed, as: nil) }
    let many = (0...1000).map { RunRegistration(queue: "c/-", run: RunID($0)) }
    #expect(throws: RemoteError.self) { try world.ledger.register(many, as: nil) }
    #expect(try world.ledger.register(Array(many.dropLast()), as: nil).count == 1000)
    #expect(try world.ledger.register([], as: nil).isEmpty)
    let twice = [RunRegistration](repeating: RunRegistration(queue: "e/-", run: RunID(1)), count: 2)
    #expect(try world.ledger.register(twice, as: nil).count == 1)
  }

  // MARK: Expiry

  @Test func aRunIsForgottenNinetyDaysAfterItWasLastSeen() throws {
    let token = try world.register(1)
    try world.take(write(1, token))
    for _ in 0..<3 {
      world.world.pass(microseconds: 60 * TestStore.day)
      #expect(try world.take(write(1, token)) != nil)
      #expect(try world.register(1, token) == token, "a registration counts as seen")
    }
    world.world.pass(microseconds: 90 * TestStore.day)
    try world.ledger.removeExpired()
    #expect(try world.runs == 1)
    world.world.pass(microseconds: TestStore.day)
    try world.ledger.removeExpired()
    #expect(try world.runs == 0)
    #expect(isUnknown(write(1, token)))
    #expect(try world.count == 1)
  }

  /// Nothing calls for the removal, except the batches of others.
  @Test func expiredRunsAreRemovedOnceADay() throws {
    try world.register(runs: 1...500)
    for run in 1...500 { try world.take(TestLedger.write(1, run: UInt64(run))) }
    world.world.pass(microseconds: 91 * TestStore.day)
    for batch in 1...3 as ClosedRange<Int64> {
      let id = WriteID(queue: "d/-", run: RunID(1), batch: BatchID(batch))
      try world.take(RemoteWrite(id: id, mutations: [], firstOpen: BatchID(batch)))
    }
    #expect(try world.runs == 1)
    let later = try TestLedger(try TestStore(on: world.world.copy, clock: world.world.clock, seed: 2))
    #expect(try later.runs == 1)
  }

  @Test func expiredRunsAreRemovedWhenTheLedgerIsOpened() throws {
    try world.register(runs: 1...300)
    for run in 1...300 { try world.take(TestLedger.write(1, run: UInt64(run))) }
    world.world.pass(microseconds: 91 * TestStore.day)
    let later = try TestLedger(try TestStore(on: world.world.copy, clock: world.world.clock, seed: 2))
    #expect(try later.runs == 0)
  }

  /// The batches that were never sent belong to the new registration, and are accepted.
  @Test func aForgottenRunIsRegisteredAgainForItsNewBatches() throws {
    let old = try world.register(1)
    try world.take(write(1, old))
    world.world.pass(microseconds: 100 * TestStore.day)
    try world.ledger.removeExpired()
    let new = try world.register(1, old)
    #expect(new != old)
    #expect(isUnknown(write(1, old)))
    #expect(isUnknown(write(2, old)))
    #expect(try world.take(write(3, new))?.results[0].transformResults == [.integer(2)])
    #expect(isUnknown(write(2, old)))
    #expect(try world.take(write(3, new))?.results[0].transformResults == [.integer(2)])
    #expect(try world.count == 2)
  }

  @Test func aForgedTokenDoesNotMakeABatchNew() throws {
    let token = try world.register(1)
    try world.take(write(1, token))
    for place in token.indices {
      var forged = token
      forged[place] ^= 1
      #expect(isUnknown(write(2, forged)))
    }
    #expect(isUnknown(write(2, [1])))
    #expect(isUnknown(write(2, [UInt8](repeating: 7, count: 100_000))))
    let stranger = try TestLedger(try TestStore(seed: 9))
    #expect(isUnknown(write(2, try stranger.register(1))))
    #expect(try world.take(write(2, token)) != nil)
    #expect(try world.count == 2)
  }

  // MARK: Finished runs

  /// The client opens its store again, and has no unanswered batch of the earlier run.
  @Test func aRunIsFinishedWhenALaterRunIsRegisteredWithoutIt() throws {
    let first = try world.register(1)
    for batch in 1...3 { try world.take(write(Int64(batch), firstOpen: 1, first)) }
    let both = ["1": first, "2": []].map { name, token in
      RunRegistration(queue: "c/-", run: RunID(UInt64(name) ?? 0), token: token)
    }
    _ = try world.ledger.register(both, as: nil)
    #expect(try world.runs == 2, "the first run still has unanswered batches")
    _ = try world.register(3)
    #expect(try world.runs == 1)
    // A copy of the client may still have the batches. The run does not leave their digests.
    #expect(isUnknown(write(2, first)))
    #expect(try world.count == 3)
    #expect(try world.register(1, first) == first)
    #expect(try world.take(write(4, first))?.results[0].transformResults == [.integer(4)])
    #expect(isUnknown(write(3, first)))
    #expect(try world.count == 4)
  }

  @Test func manyRunsOfAQueueLeaveAFewBytes() throws {
    for run in 1...200 {
      _ = try world.register(UInt64(run))
      try world.take(TestLedger.write(Int64(run), run: UInt64(run)))
    }
    #expect(try world.runs == 1)
    let queue = try #require(try world.world.store.document(at: RunName.path(ofQueue: "c/-", of: nil)))
    #expect(queue.record.count < 5_000)
    #expect(try world.take(TestLedger.write(200, run: 200)) != nil)
    for run in [137, 199] { #expect(world.isUnknown(TestLedger.write(Int64(run), run: UInt64(run)))) }
    #expect(try world.count == 200)
    world.world.pass(microseconds: 91 * TestStore.day)
    try world.ledger.removeExpired()
    #expect(try world.world.store.document(at: queue.path) == nil)
  }

  @Test func registrationsAndBatchesAtOnceLoseNothing() throws {
    let ledger = world.ledger
    concurrently(4) { thread in
      for batch in 1...15 {
        let run = UInt64(thread + 1) * 100 + UInt64(batch) / 3
        let registration = RunRegistration(queue: "c/-", run: RunID(run))
        guard let token = try? ledger.register(registration, as: nil) else { continue }
        var write = TestLedger.write(Int64(batch) + Int64(thread) * 100, run: run)
        write.registration = token
        for _ in 0..<2 { _ = try? ledger.take(write, as: nil) }
      }
    }
    #expect(try world.count == 60)
  }

  /// A finished run continues, and its queue still has the older record when the run expires.
  @Test func anExpiredRunIsNotKnownByItsOlderRecord() throws {
    let first = try world.register(1)
    try world.take(write(1, first))
    _ = try world.register(2)
    world.world.pass(microseconds: 10 * TestStore.day)
    try world.take(write(2, first))
    world.world.pass(microseconds: 85 * TestStore.day)
    #expect(try world.take(write(2, first)) != nil)
    let path = RunName(user: nil, queue: "c/-", run: RunID(1)).path
    try world.world.store.commit([.delete(path)])
    #expect(isUnknown(write(2, first)), "the queue knows the first batch only")
    #expect(try world.count == 2)
  }

  // MARK: A store that was set back

  /// The batches of a run that was registered after the copy are certainly lost, so they are applied again.
  @Test func batchesThatWereLostWithTheStoreAreAppliedAgain() throws {
    let before = try world.register(1)
    try world.take(write(1, before))
    let copy = world.world.copy
    world.world.pass(microseconds: 1000)
    try world.take(write(2, before))
    let after = try world.register(2)
    try world.take(write(3, run: 2, after))
    #expect(try world.count == 3)

    world.world.pass(microseconds: 1000)
    let restored = try TestLedger(try TestStore(on: copy, clock: world.world.clock, seed: 2))
    #expect(try restored.count == 1)
    #expect(try restored.take(write(3, run: 2, after)) != nil)
    #expect(restored.life.floor != nil)
    #expect(try restored.take(write(2, before)) != nil)
    #expect(try restored.take(write(1, before)) != nil, "the copy has it")
    #expect(try restored.count == 3)
    for again in [write(1, before), write(2, before), write(3, run: 2, after)] {
      #expect(try restored.take(again) != nil)
    }
    #expect(try restored.count == 3)
  }

  @Test func aBackupKnowsItsBatches() throws {
    let token = try world.register(1)
    let first = try #require(try world.take(write(1, token)))
    try world.world.store.backup(to: "/backup")
    let restored = try TestLedger(
      try TestStore(on: world.world.disk, clock: world.world.clock, seed: 2, path: "/backup"))
    let again = try #require(try restored.take(write(1, token)))
    let floor = try #require(restored.life.floor)
    #expect(again.version == floor && floor > first.version, "it is told as of the restore")
    #expect(again.results[0].version == floor)
    let next = try restored.register(1, token)
    let second = try #require(try restored.take(write(2, next)))
    #expect(second.version > floor)
    #expect(second.results[0].versionBefore == floor)
    #expect(try restored.count == 2)
  }

  /// A client has seen the document with the version of the floor, and requires it.
  @Test func aWriteThatRequiresTheVersionOfTheFloorIsAccepted() throws {
    try world.take(TestLedger.write(1))
    try world.world.store.backup(to: "/backup")
    let restored = try TestLedger(
      try TestStore(on: world.world.disk, clock: world.world.clock, seed: 2, path: "/backup"))
    let floor = try #require(restored.life.floor)
    let patch = Mutation.patch(
      TestLedger.counter, StoredMap([("m", .integer(1))]),
      mask: FieldMask([StoredFieldPath(unchecked: ["m"])]),
      precondition: .updateTime(floor.stored))
    #expect(try restored.take(TestLedger.write(1, run: 5, [patch])) != nil)
    #expect(throws: RemoteError.self) { try restored.take(TestLedger.write(2, run: 5, [patch])) }
    var guarded = TestLedger.write(3, run: 5)
    guarded.guards = [TestLedger.counter: .updateTime(floor.stored)]
    #expect(try restored.take(guarded) == nil)
  }
}
