// Stores of many shapes without one of their files, or two, as `campaign repair` has more of.

import Harness
import Testing

@Suite struct LostFilesTests {
  @Test(arguments: 1...3) func whatLiesInTheOtherFilesIsThere(seed: UInt64) {
    let summary = LostFiles.run(stores: 3, seed: seed)
    #expect(summary.failures == 0, "\(summary)")
    #expect(summary.losses > 10, "\(summary)")
  }
}
