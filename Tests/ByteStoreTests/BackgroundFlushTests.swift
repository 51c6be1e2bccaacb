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
}
