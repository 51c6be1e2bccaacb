// Stores with many shapes that lose one or two files. `campaign repair` tests more stores.

import Harness
import Testing

@Suite struct LostFilesTests {
  @Test(arguments: 1...3) func dataInTheOtherFilesIsRecovered(seed: UInt64) {
    let summary = LostFiles.run(stores: 3, seed: seed)
    #expect(summary.failures == 0, "\(summary)")
    #expect(summary.losses > 10, "\(summary)")
  }
}
