// Flushes that nobody asks for.

import ByteStore
import Harness
import Testing

@Suite struct BackgroundFlushTests {
  /// The story: a commit during a flush saw that one was due, and noted that it was planned, though it was not,
  /// for one was running. No flush was ever planned again, and the logs grew without end.
  @Test func aFlushFollowsTheOneThatWasOvertaken() throws {
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
      // One that is planned gets its turn.
      WorkerThread.yield()
    }
    #expect(flushes.withLock { $0 } >= 3)
    openStore.withLock { $0 = nil }
    try store.close()
  }

  /// Indexes of 8 MiB, say.
  private struct Pages: LayerAbove, CheckpointPages {
    func freeze() -> any CheckpointPages { self }
    func regions() -> [(region: CheckpointRegion, pages: Int)] { [(.firstOfLayerAbove, 2048)] }
    func payload(_ region: CheckpointRegion, _ page: Int) -> [UInt8] { [UInt8](repeating: 1, count: 4088) }
    var leastPageBytes: UInt64 { 2048 * 4096 }
  }

  /// The story: the reserve is made before the log and the spare, when what the checkpoint will have of indexes is not
  /// known. The flush left it so where the old log was too small to become the spare, and each commit that began a log
  /// then made a part of what was missing.
  @Test func aFlushMakesTheReserveAsLargeAsTheNextLogWantsIt() throws {
    var options = ByteStore.Options()
    options.logBytesMin = 3 << 20
    options.maintenance = .inBackground(afterMilliseconds: 60_000)
    options.layerAbove = Pages()
    let disk = SimulatedDisk()
    let store = try ByteStore.open("/store", options: options, platform: disk.platform(seed: 1))
    func bytes(_ name: String) -> Int { disk.image.contents(of: "/store/\(name)")?.size ?? 0 }
    try store.put([], for: "begins a log of no more than that")
    try store.put([UInt8](repeating: 1, count: 2 << 20), for: "more than half of it")
    try store.flush()
    let reserve = bytes("RESERVE")
    #expect(reserve > 18 << 20)
    // The next logs have nothing left to do.
    for number in 0..<20 { try store.put([UInt8](repeating: 1, count: 1 << 20), for: "\(number)") }
    #expect(bytes("RESERVE") <= reserve + 64 << 10)
    try store.close()
  }
}
