// Flushes that the store starts itself.

import ByteStore
import Harness
import Testing

@Suite struct BackgroundFlushTests {
  /// Regression: a commit during a flush saw that another flush was due and recorded it as scheduled. In fact
  /// it was not scheduled, because a flush was still running. No flush was ever scheduled again, and the WAL
  /// grew without limit.
  @Test func flushDueDuringAFlushIsScheduledAfterIt() throws {
    let flushes = Locked(0)
    let openStore = Locked<ByteStore?>(nil)
    var options = ByteStore.Options()
    options.logBytesMin = 16 << 10
    options.logBytesMax = 16 << 10
    options.flushBytes = 64 << 10
    options.maintenance = .inBackground(afterMilliseconds: 50)
    options.betweenFlushSteps = { step in
      guard step == .frozen, let store = openStore.withLock({ $0 }) else { return }
      flushes.withLock { $0 += 1 }
      _ = try? store.put([0], for: "during")
    }
    let store = try ByteStore.open("/store", options: options, platform: SimulatedDisk().platform(seed: 1))
    openStore.withLock { $0 = store }
    for number in 0..<5_000 where flushes.withLock({ $0 }) < 3 {
      try store.put([UInt8](repeating: 1, count: 1000), for: "key\(number % 10)")
      // Lets a scheduled flush run.
      WorkerThread.yield()
    }
    #expect(flushes.withLock { $0 } >= 3)
    openStore.withLock { $0 = nil }
    try store.close()
  }

  /// Simulates indexes of 8 MiB.
  private struct Pages: UpperLayer, CheckpointPages {
    func freeze() -> any CheckpointPages { self }
    func regions() -> [(region: CheckpointRegion, pages: Int)] { [(.firstOfUpperLayer, 2048)] }
    func payload(_ region: CheckpointRegion, _ page: Int) -> [UInt8] { [UInt8](repeating: 1, count: 4088) }
    var essentialPageBytes: UInt64 { 2048 * 4096 }
  }

  /// Regression: the reserve is created before the log and the recycled log file, when the size of the
  /// indexes in the checkpoint is still unknown. If the old log was too small to be recycled, the flush did
  /// not enlarge the reserve. Each commit that started a log then had to write a part of the reserve.
  @Test func aFlushGrowsTheReserveForTheNextLog() throws {
    var options = ByteStore.Options()
    options.logBytesMin = 3 << 20
    options.maintenance = .inBackground(afterMilliseconds: 60_000)
    options.upperLayer = Pages()
    let disk = SimulatedDisk()
    let store = try ByteStore.open("/store", options: options, platform: disk.platform(seed: 1))
    func bytes(_ name: String) -> Int { disk.image.contents(of: "/store/\(name)")?.size ?? 0 }
    try store.put([], for: "begins a log of no more than that")
    try store.put([UInt8](repeating: 1, count: 2 << 20), for: "more than half of it")
    try store.flush()
    let reserve = bytes("RESERVE")
    #expect(reserve > 18 << 20)
    // The reserve is already large enough for the next logs.
    for number in 0..<20 { try store.put([UInt8](repeating: 1, count: 1 << 20), for: "\(number)") }
    #expect(bytes("RESERVE") <= reserve + 64 << 10)
    try store.close()
  }
}
