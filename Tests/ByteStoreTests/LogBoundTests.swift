// Limits for the WAL and the memtable: flush thresholds, write throttling, and failing flushes.

import Foundation
import Harness
import Testing

@testable import ByteStore

@Suite struct BoundedLogsTests {
  // MARK: When a flush is due

  /// Regression: a flush started after every 64 MiB of log, and each flush writes the whole key directory.
  /// With thirty million keys, the flushes wrote ten bytes per byte of log.
  @Test func largeCheckpointRaisesTheFlushThreshold() throws {
    #expect(FlushPlan.logBytes(flushBytes: 64, checkpointBytes: 0) == 64)
    #expect(FlushPlan.logBytes(flushBytes: 64, checkpointBytes: 128) == 64)
    #expect(FlushPlan.logBytes(flushBytes: 64, checkpointBytes: 200) == 100)
    #expect(FlushPlan.logBytes(flushBytes: 64, checkpointBytes: .max) == 256)

    let machine = TestStore()
    var store = try open(machine, flushBytes: 8 << 10)
    var batch = Batch()
    for key in 0..<1500 { try batch.put([1], for: Array("key\(key)".utf8)) }
    try store.commit(batch)
    try store.flush()
    let checkpoint = try #require(store.statistics.checkpoint).bytes
    try #require(checkpoint / 2 > 16 << 10)
    let due = min(checkpoint / 2, 32 << 10)
    var bytes: [UInt64] = []
    var isDue: [Bool] = []
    for reopens in [false, true] {
      if reopens {
        try store.close()
        store = try open(machine, flushBytes: 8 << 10)
      }
      for number in 0..<20 where !store.isFlushDue { try store.put([2], for: "key\(number)") }
      bytes.append(store.statistics.logs.bytes)
      try store.flush()
      isDue.append(store.isFlushDue)
    }
    #expect(bytes.allSatisfy { (due..<due + 8192).contains($0) }, "\(bytes)")
    #expect(isDue == [false, false])
    try store.close()
  }

  private func open(
    _ machine: TestStore, flushBytes: UInt64, _ clock: SimulatedClock = SimulatedClock(),
    betweenFlushSteps: (@Sendable (FlushStep) -> Void)? = nil
  ) throws(ByteStoreError) -> ByteStore {
    var options = ByteStore.Options()
    options.betweenFlushSteps = betweenFlushSteps
    options.logBytesMin = 1 << 20
    options.flushBytes = flushBytes
    options.maintenance = .manual
    let seed = UInt64(machine.disk.counters.operations)
    var platform = machine.disk.platform(seed: seed)
    platform.clock = clock
    return try ByteStore.open(TestStore.path, options: options, platform: platform)
  }

  // MARK: Write throttling

  private static let flushBytes: UInt64 = 64 << 20

  /// Returns the delay in seconds when the log is `debt` times as large as the log that starts a flush.
  private func delay(_ debt: Double, _ bytes: Int, of all: Int = 0) -> Double {
    WriteThrottle.delay(
      forBytes: bytes, ofAll: all, logBytes: UInt64(debt * Double(Self.flushBytes)),
      flushBytes: Self.flushBytes)
  }

  @Test func aSmallCommitNeverWaitsLong() {
    #expect(delay(1, 4096) == 0 && delay(2, 16 << 20) == 0)
    #expect(delay(2.5, 4096) > 0 && delay(4, 4096) > delay(3, 4096))
    #expect(delay(3, 8192) == 2 * delay(3, 4096))
    #expect(delay(3, 4096, of: 64 << 10) == 16 * delay(3, 4096))
    func delays(_ debt: Double) -> [Double] { [1, 4096, 64 << 10].map { delay(debt, $0, of: 1 << 30) } }
    #expect(delays(4).allSatisfy { $0 <= 0.02 }, "\(delays(4))")
    // Regression: when the log was five times as large as the log that starts a flush, the delay was 96 ms,
    // in addition to all other waits of a commit.
    let long = [4.5, 5, 6].flatMap { delays($0) }
    #expect(long.allSatisfy { $0 <= 0.061 }, "\(long)")
    #expect(delays(7).allSatisfy { $0 > 0.3 }, "\(delays(7))")
    #expect(delay(1000, 4096) == 10 && delay(1000, 16 << 20) == 10)
  }

  /// Regression: no commit waited longer than 20 ms, whatever its size. Eight threads with batches of 1
  /// MiB wrote several times as fast as the flush, and the WAL and the memtable grew without limit.
  @Test(arguments: [1, 8, 64], [150e6, 30e6, 8e6])
  func writersAreThrottledToTheSpeedOfTheFlush(writers: Int, flushBytesPerSecond: Double) {
    let batchBytes = (16 << 20) / writers
    let flushBytes = Double(Self.flushBytes)
    let step = 0.01
    let seconds = 30.0
    var waitEnded = [Double](repeating: 0, count: writers)
    var (log, logMax, written) = (0.0, 0.0, 0.0)
    var flush: (bytes: Double, end: Double)?
    for tick in 0..<Int(seconds / step) {
      let now = Double(tick) * step
      // A device cannot write more than ten megabytes per 10 ms.
      var budget = 10e6
      let wait = delay(log / flushBytes, batchBytes, of: writers * batchBytes)
      for writer in waitEnded.indices {
        if waitEnded[writer] >= wait, budget > 0 {
          log += Double(batchBytes)
          written += Double(batchBytes)
          budget -= Double(batchBytes)
          waitEnded[writer] = 0
        } else {
          waitEnded[writer] += step
        }
      }
      if let running = flush, now >= running.end {
        log -= running.bytes
        flush = nil
      }
      if flush == nil, log >= flushBytes { flush = (log, now + 0.2 + log / flushBytesPerSecond) }
      logMax = max(logMax, log)
    }
    #expect(logMax < 6 * flushBytes, "\(logMax / flushBytes) times the log that starts a flush")
    // No writer is stopped for a whole flush.
    #expect(written / seconds > flushBytesPerSecond * 0.7, "\(written / seconds) bytes a second")
  }

  /// The flush is held while the writer continues. Write throttling alone would let the writer pass.
  @Test func aWriterStopsAtTwiceTheFlushSizeUnderAMemoryBudget() throws {
    struct Gate {
      var isReached = false
      var isOpen = false
    }
    let gate = Locked(Gate())
    let batchBytes: UInt64 = 16 << 10
    var options = ByteStore.Options()
    options.logBytesMin = 1 << 20
    options.flushBytes = 64 << 10
    options.memoryBudget = MemoryBudget(bytesMax: MemoryBudget.bytesMin, origin: .settings)
    options.betweenFlushSteps = { step in
      guard step == .frozen else { return }
      gate.withLock { $0.isReached = true }
      gate.wakeAll()
      gate.withLock(when: { $0.isOpen }) { _ in }
    }
    let store = try ByteStore.open(
      TestStore.path, options: options, platform: TestStore().disk.platform(seed: 1))
    #expect(store.walBytesDue == options.flushBytes)
    @Sendable func write(_ number: Int) throws(ByteStoreError) {
      try store.put([UInt8](repeating: 7, count: 15_000), for: "key\(number)")
    }
    for number in 0..<4 { try write(number) }
    gate.withLock(when: { $0.isReached }) { _ in }

    let written = Locked(4)
    let progress = Signal()
    let writer = WorkerThread {
      for number in 4..<40 {
        do throws(ByteStoreError) { try write(number) } catch { Issue.record(error) }
        written.withLock { $0 += 1 }
        progress.wake()
      }
    }
    // The writer has stopped if it makes no progress for a while.
    var count = 0
    while true {
      let next = written.withLock(wokenBy: progress, within: 300_000_000, when: { $0 > count }) { $0 }
      if next == count || next == 40 { break }
      count = next
    }
    #expect(store.health.walBytes > options.flushBytes && count < 40)
    #expect(store.health.walBytes <= 2 * options.flushBytes + batchBytes, "\(count) commits")
    gate.withLock { $0.isOpen = true }
    gate.wakeAll()
    writer.join()
    #expect(store.count == 40)
    try store.close()
  }

  // MARK: Failed flushes

  /// Regression: a failed flush was retried only after the log had grown by the same amount again, however
  /// long that took.
  @Test(arguments: [DiskFault.noSpace, .tooManyOpenFiles])
  func failedFlushIsRetriedAfterAWhile(fault: DiskFault) throws {
    let clock = SimulatedClock()
    let machine = TestStore()
    let store = try open(machine, flushBytes: 64 << 10, clock)
    for number in 0..<8 { try store.put([UInt8](repeating: 7, count: 15_000), for: "key\(number)") }
    machine.disk.failNext(fault, isSticky: true)
    store.performMaintenance()
    #expect(store.statistics.flushFailure != nil)
    machine.disk.setFault(nil)
    try store.put([1], for: "too soon")
    store.performMaintenance()
    #expect(store.statistics.flushFailure != nil)
    clock.advance(nanoseconds: 3_000_000_000)
    try store.put([1], for: "in time")
    store.performMaintenance()
    #expect(store.statistics.flushFailure == nil)
    #expect(store.statistics.logs.bytes < 8 << 10)
    try store.close()
  }

  /// Regression: a flush that took half a minute and failed was retried after ten minutes, although
  /// writes were refused meanwhile.
  @Test func slowFailedFlushIsRetriedSoonWhileWritesAreRefused() throws {
    let clock = SimulatedClock()
    let machine = TestStore()
    let disk = machine.disk
    let store = try open(machine, flushBytes: 64 << 10, clock) { step in
      guard step == .frozen else { return }
      clock.advance(nanoseconds: 30_000_000_000)
      disk.failNext(.tooManyOpenFiles, isSticky: true)
    }
    let bytes = [UInt8](repeating: 7, count: 15_000)
    func failFlush() {
      #expect(throws: ByteStoreError.self) { try store.flush() }
      disk.setFault(nil)
    }
    for number in 0..<8 { try store.put(bytes, for: "key\(number)") }
    #expect(store.isFlushDue)
    failFlush()
    clock.advance(nanoseconds: 29_000_000_000)
    #expect(!store.isFlushDue)
    clock.advance(nanoseconds: 2_000_000_000)
    #expect(store.isFlushDue)

    for number in 8..<20 { try store.put(bytes, for: "key\(number)") }
    failFlush()
    #expect(throws: ByteStoreError.self) { try store.put(bytes, for: "refused") }
    clock.advance(nanoseconds: 1_000_000_000)
    #expect(!store.isFlushDue)
    clock.advance(nanoseconds: 2_000_000_000)
    #expect(store.isFlushDue)
    try store.close()
  }

  /// Regression: the growth was limited only if flushes failed because of damage. When every flush failed for
  /// lack of a file descriptor, commits kept filling the WAL and the memtable.
  @Test func logsAreBoundedWhileFlushesFail() throws {
    let clock = SimulatedClock()
    let machine = TestStore()
    let store = try open(machine, flushBytes: 64 << 10, clock)
    let bytes = [UInt8](repeating: 7, count: 15_000)
    try store.put(bytes, for: "first")
    machine.disk.failNext(.tooManyOpenFiles, isSticky: true)
    var written = ["first"]
    var refusal: ByteStoreError?
    var early: [String] = []
    while refusal == nil, written.count < 60 {
      let shouldWaitForFlush = store.state.withLock { store.shouldWaitForFlush($0) }
      let key = "more\(written.count)"
      do throws(ByteStoreError) {
        try store.put(bytes, for: key)
        if !shouldWaitForFlush { early.append(key) }
        written.append(key)
      } catch {
        refusal = error
      }
      store.performMaintenance()
    }
    #expect(early == [])
    guard case .flushImpossible(_, let cause, let failure?) = try #require(refusal) else {
      Issue.record("\(String(describing: refusal))")
      return
    }
    #expect(failure.code == EMFILE)
    // Regression: a commit waited several seconds for the WAL to shrink and was then refused.
    #expect(store.state.withLock { !store.shouldWaitForFlush($0) })
    #expect(cause.contains(failure.description))
    #expect((16...24).contains(written.count), "\(written.count) commits of a page less than 16 KiB")
    #expect(try written.filter { try store.value(for: $0) != bytes } == [])

    // Once descriptors are available, a refused commit triggers a retry, but not every refused commit
    // does.
    machine.disk.setFault(nil)
    #expect(throws: ByteStoreError.self) { try store.put(bytes, for: "too soon") }
    store.performMaintenance()
    #expect(store.statistics.flushFailure != nil)
    clock.advance(nanoseconds: 3_000_000_000)
    #expect(throws: ByteStoreError.self) { try store.put(bytes, for: "the one that asks") }
    store.performMaintenance()
    #expect(store.statistics.flushFailure == nil)
    #expect(store.state.withLock { store.shouldWaitForFlush($0) })
    try store.put(bytes, for: "again")
    written.append("again")
    #expect(try written.filter { try store.value(for: $0) != bytes } == [])
    #expect(store.count == written.count)
    try store.close()
  }
}
