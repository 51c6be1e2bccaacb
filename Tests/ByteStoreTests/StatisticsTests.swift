// The statistics of a store.

import Harness
import Testing

@testable import ByteStore

struct StatisticsTests {
  private let machine = TestStore()

  private func fill(_ store: ByteStore, _ keys: Range<Int>) throws {
    for key in keys { try store.put([UInt8](repeating: UInt8(key & 255), count: 3000), for: "key\(key)") }
  }

  @Test func commitsAreInMemtableAndWALUntilAFlush() throws {
    let store = try machine.open()
    #expect(store.statistics.logs == Statistics.Logs(count: 0, bytes: 0))
    try fill(store, 0..<10)
    let before = store.statistics
    #expect(before.keys == 10)
    #expect(before.lastCommit == SequenceNumber(10))
    #expect(before.memtableBytes > 30_000)
    #expect(before.logs.count == 1 && before.logs.bytes > 30_000)
    #expect(before.segments == Statistics.Segments() && before.checkpoint == nil)
    #expect(before.writing == .possible)

    try store.flush()
    let after = store.statistics
    #expect(after.keys == 10 && after.memtableBytes == 0)
    #expect(after.segments.count == 1)
    #expect(after.segments.liveBytes > 0 && after.segments.liveBytes <= after.segments.dataBytes)
    #expect(after.checkpoint?.sequence == SequenceNumber(10))
    #expect(after.logs.bytes < before.logs.bytes)
  }

  /// Regression: after a crash, the open replayed the log, but the statistics counted this log as empty.
  @Test func logThatWasNotClosedCleanlyCounts() throws {
    let store = try machine.open()
    try fill(store, 0..<10)
    let bytes = store.statistics.logs.bytes
    store.abandon()
    #expect(try machine.open().statistics.logs == Statistics.Logs(count: 1, bytes: bytes))
  }

  @Test func deadBytesCountAsDataButNotAsLive() throws {
    let store = try machine.open()
    try fill(store, 0..<10)
    try store.flush()
    let before = store.statistics.segments
    try fill(store, 0..<5)
    let after = store.statistics.segments
    #expect(after.dataBytes == before.dataBytes)
    #expect(after.liveBytes < before.liveBytes)
  }

  @Test func directoryBytesMatchTheFiles() throws {
    let store = try machine.open()
    try fill(store, 0..<40)
    store.performMaintenance()
    try store.flush()
    try fill(store, 40..<60)
    let image = machine.disk.image
    let files = image.paths.filter { $0 != "/store/LOCK" }
    let onDisk = files.reduce(0) { $0 + (image.contents(of: $1)?.size ?? 0) }
    #expect(store.statistics.directoryBytes == UInt64(onDisk), "\(files)")
  }

  @Test func leakedSnapshotIsReported() throws {
    let clock = SimulatedClock()
    let platform = Platform(fileSystem: machine.disk, clock: clock, random: SimulatedRandomSource(seed: 1))
    var options = ByteStore.Options()
    options.maintenance = .manual
    let store = try ByteStore.open(TestStore.path, options: options, platform: platform)
    try fill(store, 0..<20)
    try store.flush()
    #expect(store.statistics.snapshots == Statistics.Snapshots())
    let held = store.statistics.segments.dataBytes

    var forgotten: Snapshot? = try store.snapshot()
    clock.advance(nanoseconds: 90_000_000_000)
    try fill(store, 0..<20)
    let younger = try store.snapshot()
    clock.advance(nanoseconds: 10_000_000_000)
    try store.flush(.everything)
    let statistics = store.statistics.snapshots
    #expect(statistics.count == 2)
    #expect(statistics.oldest?.ageSeconds == 100)
    #expect(statistics.open.map(\.sequence) == [forgotten?.sequence, younger.sequence])
    #expect(statistics.deletedBytesHeld >= held)
    #expect(try forgotten?.value(for: Array("key1".utf8)) == [UInt8](repeating: 1, count: 3000))

    forgotten = nil
    #expect(store.statistics.snapshots.oldest?.sequence == younger.sequence)
    // The younger snapshot pins that segment too: the segment's keys were put before the snapshot was taken
    // and flushed after it.
    younger.close()
    #expect(store.statistics.snapshots == Statistics.Snapshots())
  }

  @Test func failedFlushIsReportedUntilOneSucceeds() throws {
    let store = try machine.open()
    try fill(store, 0..<3)
    machine.disk.failNext(.tooManyOpenFiles, isSticky: true)
    #expect(throws: ByteStoreError.self) { try store.flush() }
    guard case .system = store.statistics.flushFailure else {
      Issue.record("\(String(describing: store.statistics.flushFailure))")
      return
    }
    #expect(store.statistics.writing == .possible)
    machine.disk.setFault(nil)
    try store.flush()
    #expect(store.statistics.flushFailure == nil)
  }

  @Test func poisonedWriterSaysWhy() throws {
    let store = try machine.open()
    try fill(store, 0..<1)
    machine.disk.setFault(FaultPlan(.inputOutput, at: machine.disk.counters.operations + 1))
    #expect(throws: ByteStoreError.self) { try fill(store, 1..<2) }
    guard case .poisoned(let cause) = store.statistics.writing else {
      Issue.record("\(store.statistics.writing)")
      return
    }
    #expect(cause.operation == "fdatasync")
    try store.close()
    #expect(store.statistics.writing == .closed)
  }

  @Test func damagedSegmentIsReportedAfterAFlush() throws {
    let store = try machine.open()
    var random = SeededRandom(seed: 1)
    for key in 10..<30 { try store.put(random.bytes(3000), for: "key\(key)") }
    try store.close()
    try machine.open().flush()
    let segment = try #require(machine.disk.image.paths.first { $0.contains("/segment-") })
    // Damages the last page with entries. Only the run table follows this page, and the table is empty.
    let damaged = try machine.changing(segment) { $0[$0.count - 200] ^= 1 }
    let reopened = try damaged.open()
    #expect(reopened.statistics.damagedSegments.isEmpty)
    for key in 10..<15 { try reopened.put([1], for: "key\(key)") }
    try reopened.flush(.everything)
    let found = reopened.statistics.damagedSegments
    #expect(reopened.health.damagedSegments == 1)
    #expect(found.map(\.file) == [segment])
    guard case .corrupted = found.first?.error else {
      Issue.record("\(found)")
      return
    }
  }

  @Test func cacheStatisticsCountHitsAndMisses() throws {
    let store = try machine.open()
    try fill(store, 0..<3)
    try store.flush()
    for _ in 0..<2 { _ = try store.value(for: "key1") }
    let cache = store.statistics.cache
    #expect(cache.misses == 1 && cache.hits == 1)
    #expect(cache.bytesUsed == SegmentFormat.pageBytes && cache.bytesMax > 0)
  }
}
