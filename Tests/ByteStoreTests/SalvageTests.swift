// What is left after a salvage, of stores that were damaged in every way.

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
