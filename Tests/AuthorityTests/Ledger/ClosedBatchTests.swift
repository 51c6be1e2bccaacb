// A batch whose request was lost is closed: it was applied before, or is never applied.

import ByteStore
import DocumentStore
import Harness
import OfflineSync
import Testing

@testable import Authority

@Suite struct ClosedBatchTests {
  private let world: TestLedger

  init() throws { world = try TestLedger(try TestStore()) }

  private func close(
    _ write: RemoteWrite, _ ledger: TestLedger? = nil, as user: String? = nil
  ) throws -> WriteLedger.ClosedBatch {
    let closed = Locked<Result<WriteLedger.ClosedBatch, RemoteError>?>(nil)
    (ledger ?? world).ledger.close(write, as: user) { result in
      closed.withLock { $0 = result }
      closed.wakeAll()
    }
    return try #require(closed.withLock(when: { $0 != nil }) { $0 }).get()
  }

  /// A batch as a client asks for it: without its writes.
  private func asked(_ batch: Int64, run: UInt64 = 1, firstOpen: Int64? = nil) throws -> RemoteWrite {
    try world.registered(TestLedger.write(batch, run: run, firstOpen: firstOpen, []))
  }

  private func error(_ write: RemoteWrite, _ ledger: TestLedger? = nil) -> RemoteError? {
    do {
      _ = try close(write, ledger)
      return nil
    } catch {
      return error as? RemoteError
    }
  }

  @Test func aBatchThatWasNotAppliedIsNeverApplied() throws {
    for _ in 0..<2 { #expect(try close(asked(1)).isClosed) }
    let late = try world.registered(TestLedger.write(1))
    do throws(RemoteError) {
      _ = try world.ledger.take(late, as: nil)
      Issue.record("a closed batch was applied")
    } catch { #expect(error.code == .invalidArgument) }
    #expect(try world.count == 0)
    #expect(try world.take(TestLedger.write(2))?.results[0].transformResults == [.integer(1)])
    #expect(try close(asked(1)).isClosed)
  }

  @Test func aBatchThatWasAppliedHasItsOutcome() throws {
    let answer = try #require(try world.take(TestLedger.write(1)))
    for _ in 0..<2 {
      let applied = try #require(try close(asked(1)).answer)
      #expect(applied.version == answer.version && applied.results == answer.results)
    }
    #expect(try world.take(TestLedger.write(1))?.version == answer.version)
    #expect(try world.count == 1)
  }

  @Test func aClosedBatchStaysClosedWhenTheStoreWasOpenedAgain() throws {
    _ = try close(asked(1))
    let later = try TestLedger(try TestStore(on: world.world.copy, clock: world.world.clock, seed: 2))
    #expect(try close(asked(1), later).isClosed)
    #expect(throws: RemoteError.self) { try later.take(TestLedger.write(1)) }
    #expect(try later.count == 0)
  }

  @Test func anOutcomeThatWasDroppedRevealsNothing() throws {
    try world.take(TestLedger.write(1))
    try world.take(TestLedger.write(2))
    let applied = try #require(try close(asked(1)).answer)
    #expect(applied.results.isEmpty)
    #expect(applied.version < SnapshotVersion(try #require(world.world.store.lastCommitTime)))
  }

  /// Without its digest, the ledger does not know whether a batch was applied or closed.
  @Test func aBatchOfLongAgoHasAnUnknownOutcome() throws {
    _ = try close(asked(1))
    for batch in 2...40 { try world.take(TestLedger.write(Int64(batch))) }
    #expect(error(try asked(1)) == .outcomeUnknown)
    #expect(error(try asked(2)) == .outcomeUnknown)
    #expect(throws: RemoteError.self) { try world.take(TestLedger.write(1)) }
    #expect(try world.count == 39)
  }

  @Test func aBatchNeedsTheTokenOfItsRun() throws {
    #expect(error(TestLedger.write(1, [])) == WriteLedger.unregistered)
    var forged = TestLedger.write(1, [])
    forged.registration = [1, 2, 3]
    #expect(error(forged) == .outcomeUnknown)
    let other = try TestLedger(try TestStore(seed: 7))
    #expect(error(try asked(1), other) == .outcomeUnknown)
    let own = try asked(1)
    do {
      _ = try close(own, as: "ann")
      Issue.record("the token of another user was accepted")
    } catch { #expect(error as? RemoteError == .outcomeUnknown) }
    #expect(try world.take(TestLedger.write(1)) != nil, "nothing was closed")
  }

  @Test func aForgottenRunHasUnknownOutcomes() throws {
    let first = try asked(1)
    try world.take(TestLedger.write(1))
    world.world.pass(microseconds: 92 * TestStore.day)
    try world.ledger.removeExpired()
    #expect(error(first) == .outcomeUnknown)
  }

  /// The writes of the request are neither applied nor compared, and the rules are not asked for them.
  @Test func writesOfTheRequestAreNotLookedAt() throws {
    world.refuse()
    #expect(try close(world.registered(TestLedger.write(1))).isClosed)
    #expect(try world.count == 0)
  }

  @Test func aRequestAndItsEndThatArriveAtOnceAgree() throws {
    for batch in 1...40 {
      let write = try world.registered(TestLedger.write(Int64(batch)))
      let (isApplied, isClosed) = (Locked(false), Locked(false))
      let (ledger, before) = (world.ledger, try world.count)
      concurrently(2) { number in
        if number == 0 {
          if (try? ledger.take(write, as: nil)) != nil { isApplied.withLock { $0 = true } }
        } else if let closed = try? close(write) {
          isClosed.withLock { $0 = closed.isClosed }
        }
      }
      #expect(isApplied.withLock { $0 } != isClosed.withLock { $0 })
      #expect(try world.count - before == (isApplied.withLock { $0 } ? 1 : 0))
    }
  }

  @Test func extremeNumbersAreAnsweredWithoutATrap() throws {
    for batch in [Int64.min, .min + 1, -1, 0, 1, .max - 1, .max] {
      for firstOpen in [Int64.min, 0, .max] { _ = try? close(asked(batch, firstOpen: firstOpen)) }
    }
    for batch in [Int64.min, 0, .max] { _ = try? world.take(TestLedger.write(batch)) }
    #expect(try world.count == 0)
  }
}

extension WriteLedger.ClosedBatch {
  fileprivate var isClosed: Bool { if case .closed = self { true } else { false } }
  fileprivate var answer: WriteLedger.Answer? { if case .applied(let answer) = self { answer } else { nil } }
}
