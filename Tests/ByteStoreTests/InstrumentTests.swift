// The events and measurements of a store: their order, their values, and that no lock is held during a call.

import Harness
import Testing

@testable import ByteStore

@Suite(.timeLimit(.minutes(1))) struct InstrumentTests {
  private let machine = TestStore()
  private let clock = SimulatedClock()
  private let instruments = RecordedInstruments()

  private func open(
    _ machine: TestStore, _ instruments: any Instruments,
    _ change: (inout ByteStore.Options) -> Void = { _ in }
  ) throws -> ByteStore {
    var options = ByteStore.Options()
    options.maintenance = .manual
    options.instruments = instruments
    change(&options)
    let random = SimulatedRandomSource(seed: UInt64(machine.disk.counters.operations))
    return try ByteStore.open(
      TestStore.path, options: options,
      platform: Platform(fileSystem: machine.disk, clock: clock, random: random))
  }

  private func open() throws -> ByteStore { try open(machine, instruments) }

  private func fill(_ store: ByteStore, _ keys: Range<Int>) throws {
    for key in keys { try store.put([UInt8](repeating: UInt8(key & 255), count: 3000), for: "key\(key)") }
  }

  // MARK: Order and values

  @Test func aStoresLifeIsReportedInOrder() throws {
    let store = try open()
    try store.put([1], for: "a")
    try store.put([2], for: "b")
    try store.flush()
    try store.close()
    #expect(
      instruments.eventNames == [
        .databaseOpened, .walRotated, .walRotated, .flushStarted, .flushFinished, .databaseClosed,
      ])
    let events = instruments.events
    #expect(events[0]["clean"] == .flag(true) && events[0]["commits"] == .integer(0))
    #expect(events[0]["losses"] == .integer(0) && events[0]["logs"] == .integer(0))
    #expect(events[1]["log"] == .integer(1) && events[2]["log"] == .integer(2))
    #expect(events[4]["commit"] == .integer(2) && events[4]["seconds"] == .seconds(0))
    #expect(events[4]["bytes"] == .integer(instruments.total(.flushBytes)))
    #expect(instruments.total(.flushBytes) > 8192)
    #expect(events[5]["clean"] == .flag(true) && events[5].level == .info)
    #expect(instruments.databases == [TestStore.path])
  }

  @Test func eachCommitIsCountedAndTimed() throws {
    let store = try open()
    var bytes = 0
    for key in 0..<5 {
      var batch = Batch()
      try batch.put([UInt8](repeating: 1, count: 10 * key), for: [UInt8(key)])
      bytes += batch.body.count
      try store.commit(batch)
    }
    #expect(instruments.total(.commits) == 5)
    #expect(instruments.total(.commitBytes) == bytes)
    #expect(instruments.total(.commitsFailed) == 0)
    #expect(instruments.times(.commit).count == 5 && instruments.times(.walWrite).count == 5)
    #expect(instruments.values(.walBytes).last == Double(store.statistics.logs.bytes))
    #expect(instruments.values(.memtableBytes).last == Double(store.statistics.memtableBytes))
    try store.flush()
    #expect(instruments.values(.walBytes).last == Double(store.statistics.logs.bytes))
    #expect(instruments.values(.memtableBytes).last == 0)
    #expect(instruments.times(.flush).count == 1)
    #expect(instruments.values(.snapshots) == [0] && instruments.values(.cacheBytes).count == 1)
  }

  @Test func aSlowCommitIsReportedWithItsTime() throws {
    let store = try open()
    try store.put([1], for: "a")
    instruments.forget()
    machine.disk.beforeNextSync { [clock] in clock.advance(nanoseconds: 499_000_000) }
    try store.put([1], for: "a")
    #expect(instruments.events == [])
    machine.disk.beforeNextSync { [clock] in clock.advance(nanoseconds: 2_000_000_000) }
    try store.put([1], for: "a")
    #expect(instruments.eventNames == [.commitSlow])
    let event = try #require(instruments.events.first)
    #expect(event["seconds"] == .seconds(2) && event["commits"] == .integer(1) && event.level == .warning)
    #expect(instruments.times(.commit) == [.milliseconds(499), .seconds(2)])
    #expect(instruments.times(.walWrite) == [.milliseconds(499), .seconds(2)])
    let latencies = store.health.latencies
    #expect(latencies.count == 3 && latencies.nanosecondsMax == 2_000_000_000)
    #expect(latencies.buckets.map(\.count) == [1, 1, 1])
  }

  @Test func theThresholdOfASlowCommitCanBeChanged() throws {
    let patient = RecordedInstruments(slowCommit: .seconds(3))
    let store = try open(machine, patient)
    machine.disk.beforeNextSync { [clock] in clock.advance(nanoseconds: 2_000_000_000) }
    try store.put([1], for: "a")
    #expect(patient.events(.commitSlow) == [])
  }

  @Test func aCompactionIsReportedWithItsSegments() throws {
    let store = try open()
    try fill(store, 0..<40)
    try store.flush()
    try fill(store, 0..<20)
    let segments = store.statistics.segments
    instruments.forget()
    try store.flush(.everything)
    let event = try #require(instruments.events(.compactionFinished).first)
    #expect(event["segments"] == .integer(segments.count))
    #expect(event["live"] == .integer(Int(segments.liveBytes)))
    guard case .integer(let bytes) = event["bytes"] else {
      Issue.record("\(event)")
      return
    }
    #expect(bytes >= Int(segments.dataBytes))
    #expect(instruments.eventNames.last == .flushFinished)
  }

  @Test func aDroppedTailIsReportedAfterTheOpen() throws {
    let store = try machine.open()
    for key in ["a", "b"] { try store.put([UInt8](repeating: 7, count: 3000), for: key) }
    let torn = try machine.withAllWritesDurable.changing(TestStore.firstLog) { $0[8192 + 1000] ^= 1 }
    let reopened = try open(torn, instruments)
    let loss = try #require(reopened.recoveryReport.losses.first)
    #expect(instruments.eventNames == [.databaseOpened, .recoveryDropped])
    let events = instruments.events
    #expect(events[0]["clean"] == .flag(false) && events[0]["losses"] == .integer(1))
    #expect(events[0]["commits"] == .integer(1) && events[0]["logs"] == .integer(1))
    #expect(events[1]["file"] == .text(TestStore.firstLog) && events[1]["reason"] == .text(loss.reason))
    #expect(events[1]["offset"] == .integer(Int(loss.offset)))
    #expect(events[1]["bytes"] == .integer(Int(loss.length)) && events[1].level == .warning)
  }

  // MARK: Failures

  @Test func aFullDiskIsReportedOnceAndSoIsItsEnd() throws {
    let store = try open()
    instruments.forget()
    machine.disk.failNext(.noSpace, isSticky: true)
    let before = clock.wallMicroseconds()
    #expect(throws: ByteStoreError.self) { try store.put([1], for: "a") }
    #expect(throws: ByteStoreError.self) { try store.put([1], for: "a") }
    #expect(instruments.eventNames == [.diskFull])
    #expect(instruments.events.first?.level == .error)
    #expect(instruments.total(.commitsFailed) == 2 && instruments.total(.commits) == 0)
    guard case .diskFull(let cause) = store.health.writing else {
      Issue.record("\(store.health.writing)")
      return
    }
    #expect(cause.isOutOfSpace && store.health.since == before)

    clock.advance(nanoseconds: 3_000_000_000)
    machine.disk.setFault(nil)
    #expect(store.health.writing != .possible, "no put has found room yet")
    try store.put([1], for: "a")
    #expect(instruments.eventNames == [.diskFull, .walRotated, .diskRecovered])
    #expect(instruments.events(.diskRecovered).first?["seconds"] == .seconds(3))
    #expect(store.health.writing == .possible && store.health.since == nil)
  }

  @Test func aPoisonedStoreIsReportedOnce() throws {
    let store = try open()
    try store.put([1], for: "a")
    instruments.forget()
    clock.advance(nanoseconds: 5_000_000_000)
    let time = clock.wallMicroseconds()
    machine.failSyncOfNextCommit()
    #expect(throws: ByteStoreError.self) { try store.put([2], for: "b") }
    clock.advance(nanoseconds: 5_000_000_000)
    #expect(throws: ByteStoreError.self) { try store.put([2], for: "c") }
    #expect(throws: ByteStoreError.self) { try store.flush() }
    #expect(instruments.eventNames == [.storePoisoned])
    #expect(instruments.total(.commitsFailed) == 1)
    guard case .poisoned(let cause) = store.health.writing else {
      Issue.record("\(store.health.writing)")
      return
    }
    #expect(instruments.events.first?["error"] == .text(cause.description))
    #expect(store.health.since == time)
    try store.close()
    #expect(instruments.eventNames == [.storePoisoned, .databaseClosed])
    #expect(instruments.events.last?["clean"] == .flag(false) && instruments.events.last?.level == .warning)
    #expect(store.health.writing == .closed && store.health.since == nil)
  }

  @Test func failedFlushesAreReportedAndCountedUntilOneSucceeds() throws {
    let store = try open()
    try fill(store, 0..<3)
    instruments.forget()
    #expect(store.health.flushes == StoreHealth.Flushes(succeeded: 0, failed: 0))
    let time = clock.wallMicroseconds()
    machine.disk.failNext(.tooManyOpenFiles, isSticky: true)
    #expect(throws: ByteStoreError.self) { try store.flush() }
    clock.advance(nanoseconds: 1_000_000_000)
    #expect(throws: ByteStoreError.self) { try store.flush() }
    #expect(instruments.events(.flushFailed).map { $0["failures"] } == [.integer(1), .integer(2)])
    var flushes = store.health.flushes
    #expect(flushes.failed == 2 && flushes.succeeded == 0 && flushes.failingSince == time)
    #expect(flushes.failure == store.statistics.flushFailure && flushes.failure != nil)
    machine.disk.setFault(nil)
    try store.flush()
    flushes = store.health.flushes
    #expect(flushes.failed == 2 && flushes.succeeded == 1)
    #expect(flushes.failure == nil && flushes.failingSince == nil)
    #expect(flushes.lastSuccess == clock.wallMicroseconds())
  }

  /// Flushes fail until the WAL reaches its limit, so the store refuses puts.
  @Test func putsThatAreRefusedAtTheLimitOfTheWALAreAReason() throws {
    let store = try open(machine, instruments) { options in
      options.logBytesMin = 1 << 20
      options.flushBytes = 8 << 10
    }
    try fill(store, 0..<1)
    let time = clock.wallMicroseconds()
    machine.disk.failNext(.tooManyOpenFiles, isSticky: true)
    for key in 0..<200 where store.health.writing == .possible {
      clock.advance(nanoseconds: 3_000_000_000)
      try? fill(store, key..<key + 1)
      try? store.flush()
    }
    guard case .flushImpossible(let error) = store.health.writing else {
      Issue.record("\(store.health.writing)")
      return
    }
    #expect(error.description.contains("flush"))
    let since = try #require(store.health.since)
    #expect(since > time && since < clock.wallMicroseconds())
    #expect(throws: ByteStoreError.self) { try fill(store, 0..<1) }
  }

  // MARK: Health

  @Test func healthAgreesWithTheStatistics() throws {
    var wrong: [String] = []
    func compare(_ store: ByteStore, _ step: String) {
      let (health, statistics) = (store.health, store.statistics)
      if health.walBytes != statistics.logs.bytes { wrong.append("\(step): WAL \(health.walBytes)") }
      if health.memtableBytes != statistics.memtableBytes { wrong.append("\(step): memtable") }
      if health.segments != statistics.segments { wrong.append("\(step): segments") }
      if health.snapshots != statistics.snapshots { wrong.append("\(step): snapshots") }
      if health.cache != statistics.cache { wrong.append("\(step): cache") }
    }
    let store = try open()
    compare(store, "new")
    try fill(store, 0..<10)
    compare(store, "filled")
    let snapshot = try store.snapshot()
    clock.advance(nanoseconds: 7_000_000_000)
    #expect(store.health.snapshots.oldest?.ageSeconds == 7)
    compare(store, "snapshot")
    snapshot.close()
    try store.flush()
    compare(store, "flushed")
    try fill(store, 5..<15)
    compare(store, "filled again")
    #expect(store.health.segments.deadBytes > 0)
    store.abandon()
    compare(try open(machine, instruments), "opened again")
    #expect(wrong == [])
  }

  /// The action runs while the leader holds the writer's lock.
  @Test func healthDoesNotWaitForASync() throws {
    let store = try open()
    try store.put([1], for: "a")
    let health = Locked<StoreHealth?>(nil)
    machine.disk.beforeNextSync { health.withLock { $0 = store.health } }
    try store.put([2], for: "b")
    let seen = try #require(health.withLock { $0 })
    #expect(seen.writing == .possible && seen.latencies.count == 1)
    #expect(store.health.latencies.count == 2)
  }

  @Test func aStoreForReadingOnlyCannotWrite() throws {
    let store = try open()
    try store.put([1], for: "a")
    try store.close()
    let reader = try open(machine, instruments) { $0.isReadOnly = true }
    #expect(reader.health.writing == .readOnly)
    try reader.close()
    #expect(instruments.events.last?.name == .databaseClosed)
    #expect(instruments.events.last?["clean"] == .flag(true))
  }

  // MARK: Locks and costs

  /// A call that finds a lock held would wait for itself forever.
  @Test func noLockIsHeldDuringACall() throws {
    let place = Locked<ByteStore?>(nil)
    let calls = Locked(0)
    let curious = RecordedInstruments {
      guard let store = place.withLock({ $0 }) else { return }
      _ = (store.statistics, store.health, store.count, store.commitsWaiting)
      calls.withLock { $0 += 1 }
    }
    let store = try open(machine, curious)
    place.withLock { $0 = store }
    try fill(store, 0..<40)
    try store.flush()
    try fill(store, 0..<20)
    try store.flush(.everything)
    try fill(store, 0..<1)
    machine.disk.failNext(.tooManyOpenFiles, isSticky: true)
    #expect(throws: ByteStoreError.self) { try store.flush() }
    machine.disk.setFault(nil)
    machine.failSyncOfNextCommit()
    #expect(throws: ByteStoreError.self) { try fill(store, 0..<20) }
    try store.close()
    place.withLock { $0 = nil }
    let expected: Set<InstrumentName> = [
      .walRotated, .flushStarted, .flushFinished, .flushFailed, .compactionFinished, .storePoisoned,
      .databaseClosed,
    ]
    #expect(expected.subtracting(curious.eventNames) == [])
    #expect(calls.withLock { $0 } > 200)
  }

  @Test func withoutInstrumentsNoEventIsBuilt() {
    let log = ProcessLog()
    let recorder = Recorder(nil, database: "/store", log: log)
    var built = 0
    func fields() -> [InstrumentEvent.Field] {
      built += 1
      return []
    }
    recorder.emit(.flushFinished, .info, fields: fields())
    #expect(built == 0 && recorder.measures == nil && !recorder.isActive)
    let listener = RecordedInstruments()
    log.set(listener)
    recorder.emit(.flushFinished, .info, fields: fields())
    #expect(built == 1 && recorder.measures == nil && recorder.isActive)
    log.set(nil)
    recorder.emit(.flushFinished, .info, fields: fields())
    #expect(built == 1 && !recorder.isActive)
    #expect(listener.eventNames == [.flushFinished])
  }

  /// The log reaches the stores that are open, and the stores that are opened later.
  @Test func theLogDoesNotKeepTheRecordersOfClosedStores() {
    let (log, listener) = (ProcessLog(), RecordedInstruments())
    let open = Recorder(nil, database: "/open", log: log)
    weak var released: Recorder?
    do {
      let closed = Recorder(nil, database: "/closed", log: log)
      released = closed
      closed.emit(.diskFull, .error)
    }
    #expect(released == nil)
    log.set(listener)
    open.emit(.diskFull, .error)
    Recorder(nil, database: "/later", log: log).emit(.diskFull, .error)
    #expect(listener.events.map(\.database) == ["/open", "/later"])
    log.set(nil)
    open.emit(.diskFull, .error)
    #expect(listener.events.count == 2 && !open.isActive)
  }

  @Test func theLogAndTheInstrumentsBothReceiveAnEvent() {
    let (log, listener) = (ProcessLog(), RecordedInstruments())
    log.set(listener)
    let recorder = Recorder(instruments, database: "/store", log: log)
    recorder.emit(.diskFull, .error, fields: [.init("error", .text("no room"))])
    recorder.count(.commits, by: 1)
    #expect(instruments.events == listener.events && listener.events.count == 1)
    #expect(instruments.total(.commits) == 1 && listener.total(.commits) == 0)
  }

  // MARK: Values

  @Test func anEventIsOneLine() {
    let event = InstrumentEvent(
      .flushFailed, .error, database: "/srv/my shop",
      fields: [
        .init("error", .text("no \"room\"\nat all")), .init("failures", .integer(3)),
        .init("seconds", .seconds(0.0123456)), .init("clean", .flag(false)), .init("file", .text("/a/b-1")),
      ])
    #expect(
      event.description == #"flush.failed database="/srv/my shop" error="no \"room\"\nat all" failures=3 "#
        + "seconds=0.012346 clean=false file=/a/b-1")
    #expect(event["failures"] == .integer(3) && event["missing"] == nil)
  }

  @Test func namesAreUniqueAndHaveOneForm() {
    let all = [
      InstrumentName.events, InstrumentName.counters, InstrumentName.timers, InstrumentName.gauges,
    ].flatMap { $0 }
    #expect(Set(all).count == all.count)
    let wrong = all.filter { $0.rawValue.contains { !($0.isLowercase && $0.isASCII) && $0 != "." } }
    #expect(wrong == [])
  }

  @Test func aDurationIsInTheBucketThatContainsIt() {
    var wrong: [UInt64] = []
    var random = SeededRandom(seed: 5)
    var durations: [UInt64] = []
    for exponent: UInt64 in 0..<64 {
      let power: UInt64 = 1 << exponent
      durations += [power - 1, power, power + power / 4]
    }
    for _ in 0..<2000 {
      let word = random.next()
      durations.append(word >> (random.next() % 64))
    }
    for nanoseconds in durations {
      var histogram = LatencyHistogram()
      histogram.record(nanoseconds)
      let buckets = histogram.buckets
      let isRight =
        switch buckets.first?.nanosecondsEnd {
        case nil: nanoseconds >= 1 << 37
        case .some(let end):
          nanoseconds < end && (end == 1024 || UInt64(Double(end) / 1.25) <= nanoseconds)
        }
      if buckets.count != 1 || buckets[0].count != 1 || !isRight { wrong.append(nanoseconds) }
    }
    #expect(wrong == [])
  }
}
