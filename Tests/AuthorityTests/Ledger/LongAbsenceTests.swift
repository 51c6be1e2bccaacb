// Clients that stay away until the authority has forgotten their runs.

import ByteStore
import DocumentStore
import Harness
import OfflineSync
import Testing

@testable import Authority

@Suite struct LongAbsenceTests {
  private let ledger: TestLedger
  private let remote: LedgerRemote
  private let scheduler = VirtualScheduler()
  private let counter = TestLedger.counter

  init() throws {
    ledger = try TestLedger(try TestStore())
    remote = LedgerRemote(ledger.ledger, on: scheduler)
  }

  /// Opens a client on a disk, as another run.
  private func client(
    on disk: SimulatedDisk, run: UInt64, registrationsMax: Int = 1000
  ) throws -> SyncDriver {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    let store = try DocumentStore.open("/client", options: options, platform: disk.platform(seed: 1))
    let local = try LocalStore(store, user: nil, collector: .lru, client: "client", run: RunID(run))
    local.registrationsMax = registrationsMax
    return SyncDriver(local, remote, options: SyncEngine.Options(), scheduler: scheduler)
  }

  @Test func anAppChoosesHowLongRunsAreRemembered() throws {
    let world = try TestStore()
    var options = AuthorityOptions()
    #expect(options.runLifetimeDays == 90)
    options.runLifetimeDays = 2
    let authority = try Authority.of(world.store, options: options)
    let run = RunRegistration(queue: "c/-", run: RunID(1))
    var write = TestLedger.write(1)
    write.registration = try authority.ledger.register(run, as: nil)
    let first = try authority.take(write, as: nil)
    world.pass(microseconds: TestStore.day)
    #expect(try authority.take(write, as: nil)?.version == first?.version)
    world.pass(microseconds: 4 * TestStore.day)
    try authority.ledger.removeExpired()
    #expect(throws: RemoteError.outcomeUnknown) { try authority.take(write, as: nil) }
  }

  private func pass() { scheduler.play(for: 100_000_000) }

  private func passDays(_ count: Int64) throws {
    ledger.world.pass(microseconds: count * TestStore.day)
    try ledger.ledger.removeExpired()
  }

  private func pending(_ client: SyncDriver) -> Int {
    let count = Locked(0)
    client.inspect { engine in
      let pending = engine.pendingBatches.count
      count.withLock { $0 = pending }
    }
    scheduler.play(for: 0)
    return count.withLock { $0 }
  }

  private func increment(_ client: SyncDriver, times: Int = 1) {
    for _ in 0..<times { client.write([Harness.increment(counter)], .local) { _ in } }
    pass()
  }

  private func errors(heardBy client: SyncDriver) -> Locked<[RemoteError]> {
    let errors = Locked<[RemoteError]>([])
    _ = client.listenToRejections { result in
      if case .success(let rejection) = result { errors.withLock { $0.append(rejection.error) } }
    }
    return errors
  }

  @Test func writesThatWereNeverSentAreAcceptedAfterAnyTime() throws {
    let disk = SimulatedDisk()
    let first = try client(on: disk, run: 1)
    increment(first)
    #expect(try ledger.count == 1)
    first.send(.disableNetwork)
    increment(first, times: 3)
    first.abandon()
    try passDays(100)
    let later = try client(on: SimulatedDisk(disk.image(after: .kill)), run: 2)
    let rejected = errors(heardBy: later)
    pass()
    #expect(rejected.withLock { $0 } == [])
    #expect(try ledger.count == 4)
    #expect(pending(later) == 0)
  }

  @Test func theOpenClientSendsItsWritesAfterAnyTime() throws {
    let client = try client(on: SimulatedDisk(), run: 1)
    increment(client)
    client.send(.disableNetwork)
    increment(client, times: 2)
    try passDays(100)
    let rejected = errors(heardBy: client)
    client.send(.enableNetwork)
    pass()
    #expect(rejected.withLock { $0 } == [])
    #expect(try ledger.count == 3)
  }

  /// The authority has accepted the first batch, and the client does not know it. The other two were created
  /// later and never sent.
  @Test func aWriteWhoseAnswerWasLostIsReportedAsUnknown() throws {
    let disk = SimulatedDisk()
    let first = try client(on: disk, run: 1)
    remote.setFault(.losesAnswers)
    increment(first)
    #expect(try ledger.count == 1)
    first.send(.disableNetwork)
    increment(first, times: 2)
    first.abandon()
    remote.setFault(.none)
    try passDays(100)
    let later = try client(on: SimulatedDisk(disk.image(after: .kill)), run: 2)
    let rejected = errors(heardBy: later)
    pass()
    #expect(rejected.withLock { $0 } == [.outcomeUnknown])
    #expect(try ledger.count == 3, "the first is not applied twice, and the others are accepted")
    #expect(pending(later) == 0)
  }

  /// The batch never arrived, but the client cannot know that.
  @Test func aWriteThatMayHaveBeenSentIsReportedAsUnknown() throws {
    let disk = SimulatedDisk()
    let first = try client(on: disk, run: 1)
    remote.setFault(.losesWrites)
    increment(first)
    first.abandon()
    remote.setFault(.none)
    try passDays(100)
    let later = try client(on: SimulatedDisk(disk.image(after: .kill)), run: 2)
    let rejected = errors(heardBy: later)
    pass()
    #expect(rejected.withLock { $0 } == [.outcomeUnknown])
    #expect(try ledger.count == 0)
    increment(later)
    #expect(try ledger.count == 1)
  }

  /// A write that is created on an open connection is sent at once, and so it counts as sent from the start.
  @Test func aWriteOnAnOpenConnectionCountsAsSent() throws {
    let disk = SimulatedDisk()
    let first = try client(on: disk, run: 1)
    increment(first)
    remote.setFault(.losesAnswers)
    first.write([Harness.increment(counter)], .local) { _ in }
    scheduler.play(for: 1000)
    #expect(try ledger.count == 2)
    first.abandon()
    remote.setFault(.none)
    try passDays(100)
    let later = try client(on: SimulatedDisk(disk.image(after: .kill)), run: 2)
    let rejected = errors(heardBy: later)
    pass()
    #expect(rejected.withLock { $0 } == [.outcomeUnknown])
    #expect(try ledger.count == 2)
  }

  @Test func withinNinetyDaysALostAnswerIsGivenAgain() throws {
    let disk = SimulatedDisk()
    let first = try client(on: disk, run: 1)
    remote.setFault(.losesAnswers)
    increment(first)
    first.abandon()
    remote.setFault(.none)
    try passDays(90)
    let later = try client(on: SimulatedDisk(disk.image(after: .kill)), run: 2)
    let rejected = errors(heardBy: later)
    pass()
    #expect(rejected.withLock { $0 } == [])
    #expect(try ledger.count == 1)
    #expect(pending(later) == 0)
  }

  /// Regression: batches of the runs that the handshake did not name were sent without a registration.
  @Test(arguments: [2, 3, 5]) func moreRunsThanAHandshakeNamesAreRegisteredInParts(_ max: Int) throws {
    var disk = SimulatedDisk()
    for run in 1...7 as ClosedRange<UInt64> {
      let client = try client(on: disk, run: run)
      client.send(.disableNetwork)
      increment(client, times: 2)
      client.abandon()
      disk = SimulatedDisk(disk.image(after: .kill))
    }
    let last = try client(on: disk, run: 8, registrationsMax: max)
    let rejected = errors(heardBy: last)
    pass()
    increment(last)
    #expect(remote.registrations.allSatisfy { $0.count <= max })
    #expect(remote.registrations.count > 7 / max)
    #expect(remote.writes.allSatisfy { !$0.registration.isEmpty })
    #expect(remote.writes.map(\.id.batch) == (1...15).map { BatchID($0) })
    #expect(rejected.withLock { $0 } == [])
    #expect(try ledger.count == 15)
    #expect(pending(last) == 0)
  }

  // MARK: Other authorities

  /// The authority was restored from a backup that does not have the run. Its batches are lost, and the
  /// client sends them again.
  @Test func aRestoredAuthorityTakesWhatItLost() throws {
    let disk = SimulatedDisk()
    let copy = ledger.world.copy
    ledger.world.pass(microseconds: 1000)
    let client = try client(on: disk, run: 1)
    remote.setFault(.losesAnswers)
    increment(client)
    #expect(try ledger.count == 1)
    let restored = try TestLedger(try TestStore(on: copy, clock: ledger.world.clock, seed: 2))
    remote.setLedger(restored.ledger)
    remote.setFault(.none)
    let rejected = errors(heardBy: client)
    pass()
    #expect(rejected.withLock { $0 } == [])
    #expect(try restored.count == 1)
    #expect(restored.life.floor != nil)
  }

  /// A remote of another maker has no registrations.
  @Test func aRemoteThatIgnoresRunsWorksAsBefore() throws {
    let disk = SimulatedDisk()
    remote.ignoreRuns()
    let first = try client(on: disk, run: 1)
    increment(first)
    remote.setFault(.losesAnswers)
    increment(first)
    first.abandon()
    remote.setFault(.none)
    let later = try client(on: SimulatedDisk(disk.image(after: .kill)), run: 2)
    let rejected = errors(heardBy: later)
    pass()
    #expect(rejected.withLock { $0 } == [])
    #expect(try ledger.count == 2)
    #expect(remote.writes.allSatisfy { $0.registration.isEmpty })
  }

  /// Two copies of one client use the same queue. Neither finishes the runs of the other for good.
  @Test func copiesOfAClientRepeatNothingAndLoseNothing() throws {
    let disk = SimulatedDisk()
    let original = try client(on: disk, run: 1)
    original.send(.disableNetwork)
    increment(original, times: 2)
    let image = disk.image(after: .kill)
    original.send(.enableNetwork)
    pass()
    increment(original, times: 2)
    #expect(try ledger.count == 4)
    let copy = try client(on: SimulatedDisk(image), run: 2)
    let rejected = [errors(heardBy: original), errors(heardBy: copy)]
    pass()
    #expect(try ledger.count == 4)
    for _ in 0..<3 {
      increment(copy)
      increment(original)
    }
    // The streams were closed in between, so each handshake named one run only.
    pass()
    increment(original)
    #expect(try ledger.count == 11)
    #expect(rejected.allSatisfy { $0.withLock { $0.isEmpty } })
    #expect(pending(copy) == 0 && pending(original) == 0)
  }
}
