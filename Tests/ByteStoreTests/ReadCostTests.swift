// Allocation counts of reads, which do not depend on the machine.

import CAllocations
import Foundation
import Harness
import Testing

@testable import ByteStore

@Suite struct ReadCostTests {
  private static let path = "\(NSTemporaryDirectory())dugout-read-cost"

  /// With a caller's buffer and cached pages, a read allocates only what the debug build itself allocates. A
  /// large incompressible value is read directly into the buffer once the buffer is large enough.
  @Test(.enabled(if: allocations_are_counted())) func aReadIntoABufferAllocatesNextToNothing() throws {
    let path = Self.path + "-\(UInt64.random(in: 0...(.max)))"
    defer { try? FileManager.default.removeItem(atPath: path) }
    var options = ByteStore.Options()
    options.maintenance = .manual
    let store = try ByteStore.open(path, options: options)
    var rng = SeededRandom(seed: 1)
    let large = rng.bytes(200_000)
    for key in 0..<100 { try store.put(Array("value \(key)".utf8), for: "key\(key)", .buffered) }
    try store.put(large, for: "large")
    try store.flush()
    var buffer = ReadBuffer()
    let largeKey = Array("large".utf8)
    let keys = (0..<100).map { Array("key\($0)".utf8) }
    var found = 0
    let small = try allocations(100) { if try store.read(keys[$0], into: &buffer) { found += 1 } }
    #expect(small <= Self.allocationsOfSmallMax, "\(small) allocations for a small value")
    let one = try allocations(10) { _ in
      if try store.read(largeKey, into: &buffer), buffer.bytes.byteCount == large.count { found += 1 }
    }
    #expect(found == 220)
    #expect(one <= Self.allocationsOfLargeMax, "\(one) allocations for a large value")
    #expect(try store.value(for: "large") == large)
    try store.close()
  }

  // Tests are built without optimisation, and such builds allocate more.
  private static let allocationsOfSmallMax = 4.0
  private static let allocationsOfLargeMax = 8.0

  private func allocations(_ calls: Int, _ body: (Int) throws -> Void) throws -> Double {
    for index in 0..<calls { try body(index) }
    let before = allocations_of_this_thread()
    for index in 0..<calls { try body(index) }
    return Double(allocations_of_this_thread() - before) / Double(calls)
  }
}
