// Stores with many shapes that lose one or two files. `campaign repair` tests more stores.

import Harness
import Testing

@Suite struct LostFilesTests {
  @Test func dataInTheOtherFilesIsRecovered() {
    let summary = LostFiles.run(stores: 3, seed: 1)
    #expect(summary.failures == 0, "\(summary)")
    #expect(summary.losses > 10, "\(summary)")
  }
}
