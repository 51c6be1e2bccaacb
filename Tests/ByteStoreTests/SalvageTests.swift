// The result of a salvage of stores with all kinds of damage.

import Harness
import Testing

@testable import ByteStore

@Suite struct RepairMatrixTests {
  @Test func checkFindsWhatAnOpenFindsAndSalvageKeepsTheRest() {
    let summary = RepairMatrix.run(flips: .random(10), sparing: 250, seed: 1)
    #expect(summary.failures == 0, "\(summary)")
    #expect(summary.salvaged > 10)
  }
}
