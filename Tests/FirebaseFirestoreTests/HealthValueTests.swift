// The health and the statistics of a store on a simulated disk that fails, is full or is damaged.

import ByteStore
import DocumentStore
import Foundation
import Harness
import Testing

@testable import FirebaseFirestore

@Suite(.timeLimit(.minutes(1))) struct HealthValueTests {
  private let disk = SimulatedDisk()
  private let clock = SimulatedClock()

  private var now: Date { Date(timeIntervalSince1970: Double(clock.wallMicroseconds()) / 1e6) }

  private func open(_ disk: SimulatedDisk, seed: UInt64 = 1) throws -> DocumentStore {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    let random = SimulatedRandomSource(seed: seed)
    return try DocumentStore.open(
      "/store", options: options, platform: Platform(fileSystem: disk, clock: clock, random: random))
  }

  private func open() throws -> DocumentStore { try open(disk) }

  private func write(_ numbers: Range<Int>, to store: DocumentStore) throws {
    let text = StoredValue.string(String(repeating: "t", count: 3000))
    for number in numbers {
      try store.commit([.set(try DocumentPath(["c", "d\(number)"]), StoredMap([("text", text)]))])
    }
  }

  private func health(of store: DocumentStore) -> FirestoreHealth { health(store.health, of: store) }

  private func health(_ health: StoreHealth, of store: DocumentStore) -> FirestoreHealth {
    FirestoreHealth(health, of: store, pendingWriteCount: 5, listenerCount: 6)
  }

  // MARK: Writing

  @Test func aFullDiskIsTheReasonUntilAWriteFindsRoom() throws {
    let store = try open()
    disk.failNext(.noSpace, isSticky: true)
    let time = now
    #expect(throws: DocumentStoreError.self) { try write(0..<1, to: store) }
    clock.advance(nanoseconds: 5_000_000_000)
    #expect(throws: DocumentStoreError.self) { try write(0..<1, to: store) }
    let full = health(of: store)
    #expect(full.writing == .diskFull && !full.canWrite && !full.isPoisoned)
    #expect(full.since == time && full.reason?.contains("/store") == true)
    #expect(try FirestoreStatistics(of: store).writing == .diskFull)
    disk.setFault(nil)
    try write(0..<1, to: store)
    let recovered = health(of: store)
    #expect(recovered.canWrite && recovered.since == nil && recovered.reason == nil)
    #expect(recovered.pendingWriteCount == 5 && recovered.listenerCount == 6)
    try store.close()
  }

  @Test func aPoisonedStoreReportsItsCauseAndTime() throws {
    let store = try open()
    try write(0..<1, to: store)
    clock.advance(nanoseconds: 5_000_000_000)
    let time = now
    disk.setFault(FaultPlan(.inputOutput, at: disk.counters.operations + 1))
    #expect(throws: DocumentStoreError.self) { try write(1..<2, to: store) }
    clock.advance(nanoseconds: 5_000_000_000)
    let poisoned = health(of: store)
    #expect(poisoned.writing == .poisoned && poisoned.isPoisoned && !poisoned.canWrite)
    #expect(poisoned.since == time && poisoned.reason?.contains("fdatasync") == true)
    #expect(try FirestoreStatistics(of: store).writing == .poisoned)
    try store.close()
    #expect(health(of: store).writing == .terminated)
  }

  @Test func eachReasonHasItsNameAndItsSentence() throws {
    let store = try open()
    let failure = SystemFailure(operation: "create", path: "/store/segment-1", code: 24)
    let error = ByteStoreError.flushImpossible(directory: "/store", cause: "create failed.", failure: failure)
    let reasons: [(StoreHealth.Writing, FirestoreHealth.Writing, String?)] = [
      (.possible, .possible, nil), (.diskFull(failure), .diskFull, failure.description),
      (.flushImpossible(error), .flushImpossible, error.description),
      (.poisoned(failure), .poisoned, failure.description), (.closed, .terminated, nil),
    ]
    var wrong: [String] = []
    for (writing, name, reason) in reasons {
      var values = store.health
      values.writing = writing
      let health = health(values, of: store)
      if health.writing != name || health.reason != reason { wrong.append("\(writing): \(health)") }
    }
    #expect(wrong == [])
    try store.close()
  }

  // MARK: Flushes

  @Test func flushesAreCountedWithTheLastFailureAndItsTime() throws {
    let store = try open()
    try write(0..<2, to: store)
    #expect(health(of: store).flushes.lastSuccess == nil)
    let first = now
    disk.failNext(.tooManyOpenFiles, isSticky: true)
    #expect(throws: ByteStoreError.self) { try store.bytes.flush() }
    clock.advance(nanoseconds: 5_000_000_000)
    #expect(throws: ByteStoreError.self) { try store.bytes.flush() }
    let failed = health(of: store).flushes
    #expect(failed.failureCount == 2 && failed.successCount == 0 && failed.lastSuccess == nil)
    #expect(failed.failingSince == first && failed.failure == store.statistics.flushFailure?.description)
    #expect(failed.failure != nil && health(of: store).canWrite)
    disk.setFault(nil)
    try store.bytes.flush()
    let flushed = health(of: store).flushes
    #expect(flushed.failureCount == 2 && flushed.successCount == 1 && flushed.lastSuccess == now)
    #expect(flushed.failure == nil && flushed.failingSince == nil)
    try store.close()
  }

  @Test func aFlushMovesTheMemtableAndOverwritesBecomeDebt() throws {
    let store = try open()
    try write(0..<20, to: store)
    let filled = health(of: store)
    #expect(filled.memtableByteCount > 60_000 && filled.walByteCount > 60_000)
    #expect(filled.walByteCount == store.statistics.logs.bytes)
    try store.bytes.flush()
    let flushed = health(of: store)
    #expect(flushed.memtableByteCount == 0 && flushed.walByteCount < filled.walByteCount)
    // A commit that changes nothing would write nothing.
    try store.commit(
      (0..<10).map { .set(try DocumentPath(["c", "d\($0)"]), StoredMap([("text", .string("new"))])) })
    let overwritten = health(of: store)
    #expect(overwritten.compactionDebtByteCount > flushed.compactionDebtByteCount)
    #expect(overwritten.compactionDebtByteCount == store.statistics.segments.deadBytes)
    try store.close()
  }

  @Test func damagedSegmentsAreCounted() throws {
    let store = try open()
    var values = store.health
    #expect(health(values, of: store).damagedSegmentCount == 0)
    values.damagedSegments = 2
    #expect(health(values, of: store).damagedSegmentCount == 2)
    try store.close()
  }

  // MARK: Memory

  @Test func readsCountAsHitsAndMisses() throws {
    let store = try open()
    try write(0..<3, to: store)
    try store.bytes.flush()
    let before = health(of: store).cache
    for _ in 0..<2 { #expect(try store.document(at: DocumentPath(["c", "d1"])) != nil) }
    let after = health(of: store).cache
    #expect(after.missCount > before.missCount && after.hitCount > before.hitCount)
    #expect(after.byteCount > 0 && after.byteCount <= after.byteCountMax)
    try store.close()
  }

  @Test func snapshotsAreListedWithTheirAges() throws {
    let store = try open()
    try write(0..<1, to: store)
    let old = try store.snapshot()
    clock.advance(nanoseconds: 7_000_000_000)
    try write(1..<2, to: store)
    let young = try store.snapshot()
    clock.advance(nanoseconds: 1_500_000_000)
    typealias Held = FirestoreStatistics.Snapshot
    #expect(
      health(of: store).snapshots == [Held(ageSeconds: 8.5, commit: 1), Held(ageSeconds: 1.5, commit: 2)])
    old.close()
    #expect(health(of: store).snapshots == [Held(ageSeconds: 1.5, commit: 2)])
    young.close()
    #expect(health(of: store).snapshots == [])
    try store.close()
  }

  // MARK: Times of commits

  @Test func commitsAreInTheBucketsOfTheirTimes() throws {
    let store = try open()
    #expect(health(of: store).commitLatency.seconds(atFraction: 0.5) == nil)
    try write(0..<1, to: store)
    disk.beforeNextSync { [clock] in clock.advance(nanoseconds: 2_000_000_000) }
    try write(1..<2, to: store)
    let latency = health(of: store).commitLatency
    #expect(latency.count == 2 && latency.secondsMax == 2 && latency.buckets.map(\.count) == [1, 1])
    let end = try #require(latency.buckets.last?.secondsEnd)
    #expect(end > 2 && end <= 2.5)
    let half = try #require(latency.seconds(atFraction: 0.5))
    #expect(half < 0.000_01 && latency.seconds(atFraction: 1) == 2)
    try store.close()
  }

  @Test func percentilesAreUpperBoundsOfBuckets() {
    typealias Latency = FirestoreHealth.Latency
    let latency = Latency(
      count: 100, secondsMax: 9,
      buckets: [
        .init(secondsEnd: 0.001, count: 98), .init(secondsEnd: 1, count: 1), .init(secondsEnd: nil, count: 1),
      ])
    let fractions = [0, 0.5, 0.98, 0.981, 0.99, 0.995, 1, 2]
    #expect(fractions.map { latency.seconds(atFraction: $0) } == [0.001, 0.001, 0.001, 1, 1, 9, 9, 9])
    let short = Latency(count: 1, secondsMax: 0.5, buckets: [.init(secondsEnd: 0.6, count: 1)])
    #expect(short.seconds(atFraction: 0.5) == 0.5, "no duration is longer than the longest")
    #expect(Latency(count: 0, secondsMax: 0, buckets: []).seconds(atFraction: 0.5) == nil)
  }

  // MARK: The open

  @Test func whatTheOpenDroppedIsListed() throws {
    let store = try open()
    try write(0..<2, to: store)
    var image = disk.image(after: .powerLoss(.everything, seed: 0))
    store.bytes.abandon()
    let log = "/store/log-0000000001"
    var bytes = try #require(image.contents(of: log)).bytes
    for place in bytes.indices where place >= 8192 + 100 { bytes[place] = 0 }
    image.replace(log, with: PagedBytes(bytes))
    let reopened = try open(SimulatedDisk(image), seed: 2)
    let recovery = try #require(health(of: reopened).recovery)
    #expect(!recovery.wasClosedCleanly && recovery.logCount == 1 && recovery.commitCount == 1)
    let loss = try #require(reopened.recoveryReport.losses.first)
    #expect(
      recovery.losses == [
        .init(file: log, offset: loss.offset, byteCount: loss.length, reason: loss.reason)
      ])
    #expect(try FirestoreStatistics(of: reopened).recovery == recovery)
    try reopened.close()
  }

  @Test func theDurabilityIsThatOfTheFileSystem() throws {
    let reports: [(DurabilityReport, Bool?)] = [
      (DurabilityReport(fileSystem: "simulated", medium: .device, sync: .fdatasync), true),
      (.linux(type: 0x0102_1994), false),
    ]
    var wrong: [String] = []
    for (report, survives) in reports {
      var options = SimulatedDisk.Options()
      options.durability = report
      let store = try open(SimulatedDisk(options: options))
      let durability = health(of: store).durability
      if durability?.survivesPowerLoss != survives || durability?.fileSystem != report.fileSystem
        || durability?.text != report.description
      {
        wrong.append("\(report): \(String(describing: durability))")
      }
      try store.close()
    }
    #expect(wrong == [])
  }

  // MARK: The call

  /// The health is read while the leader of a commit group holds the writer's lock.
  @Test func theCallNeitherWaitsForASyncNorUsesTheDisk() throws {
    let store = try open()
    try write(0..<3, to: store)
    try store.bytes.flush()
    let snapshot = try store.snapshot()
    try write(1..<2, to: store)
    let before = disk.counters.operations
    _ = health(of: store)
    #expect(disk.counters.operations == before)
    let seen = Locked<FirestoreHealth?>(nil)
    disk.beforeNextSync { seen.withLock { $0 = health(of: store) } }
    try write(2..<3, to: store)
    #expect(seen.withLock { $0 }?.commitLatency.count == 4)
    #expect(health(of: store).commitLatency.count == 5)
    snapshot.close()
    try store.close()
  }

  @Test func valuesAreTheSameAfterEncodingAndDecoding() throws {
    let store = try open()
    try write(0..<3, to: store)
    disk.setFault(FaultPlan(.inputOutput, at: disk.counters.operations + 1))
    #expect(throws: DocumentStoreError.self) { try write(1..<2, to: store) }
    let (health, statistics) = (health(of: store), try FirestoreStatistics(of: store))
    let (encoder, decoder) = (JSONEncoder(), JSONDecoder())
    let bytes = try encoder.encode(health)
    #expect(try decoder.decode(FirestoreHealth.self, from: bytes) == health)
    #expect(String(decoding: bytes, as: UTF8.self).contains("\"writing\":\"poisoned\""))
    #expect(try decoder.decode(FirestoreStatistics.self, from: encoder.encode(statistics)) == statistics)
    try store.close()
  }

  // MARK: Statistics

  @Test func statisticsHaveTheValuesThatStatPrints() throws {
    let store = try open()
    try write(0..<5, to: store)
    try store.bytes.flush()
    try write(3..<7, to: store)
    let snapshot = try store.snapshot()
    let (statistics, engine) = (try FirestoreStatistics(of: store), store.statistics)
    #expect(statistics.documentCount == 7 && statistics.recordCount == engine.keys)
    #expect(statistics.lastCommit == 9 && statistics.commitsSinceFlush == 4)
    #expect(statistics.storeID == store.storeID.description && statistics.byteCount == engine.directoryBytes)
    #expect(statistics.memtableByteCount == engine.memtableBytes && engine.memtableBytes > 0)
    #expect(statistics.segments == FirestoreStatistics.Segments(engine.segments))
    #expect(statistics.segments.deadByteCount > 0)
    #expect(statistics.log.fileCount == engine.logs.count && statistics.log.byteCount == engine.logs.bytes)
    #expect(
      statistics.checkpoint?.commit == 5 && statistics.checkpoint?.byteCount == engine.checkpoint?.bytes)
    #expect(statistics.snapshots.map(\.commit) == [9] && statistics.deletedByteCountHeld == 0)
    #expect(statistics.contents == FirestoreStatistics.Contents(count: 0, fileCount: 0))
    #expect(statistics.flushFailure == nil && statistics.damagedSegments == [] && !statistics.isCacheOfRemote)
    #expect(statistics.unreadableExpiredCounts == [:] && statistics.writing == .possible)
    snapshot.close()
    disk.failNext(.tooManyOpenFiles, isSticky: true)
    #expect(throws: ByteStoreError.self) { try store.bytes.flush() }
    disk.setFault(nil)
    #expect(try FirestoreStatistics(of: store).flushFailure == store.statistics.flushFailure?.description)
    #expect(store.statistics.flushFailure != nil)
    try store.close()
  }
}
