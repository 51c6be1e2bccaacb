// The size of bytes without their trailing zeros.

import Testing

@testable import ByteStore

@Suite struct ByteCountWithoutZerosTests {
  /// Every length around two words, with every position of the last nonzero byte, or none.
  @Test func onlyTrailingZerosAreExcluded() {
    var wrong: [[UInt8]] = []
    for count in 0..<40 {
      for last in -1..<count {
        var bytes = [UInt8](repeating: 0, count: count)
        if last >= 0 { bytes[last] = 0x80 }
        if last > 2 { bytes[last / 2] = 1 }
        if bytes.rawSpan.byteCountWithoutZeros != last + 1 { wrong.append(bytes) }
      }
    }
    #expect(wrong == [])
  }
}
