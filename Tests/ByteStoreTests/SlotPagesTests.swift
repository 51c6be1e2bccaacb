// Where a slot stands in its page, which is part of the format on disk.

import Testing

@testable import ByteStore

@Suite struct SlotPagesTests {
  /// The story: every home was 0, since a shift binds tighter than a product in Swift. All was found, by a
  /// search through half a page.
  @Test(arguments: [(0x0000_0000, 0), (0x0000_8000, 255), (0x0000_FFFF, 509), (0x7FFF_0081, 1)])
  func aSlotStandsAtTheHomeThatItsFingerprintTells(fingerprint: UInt32, home: Int) {
    var slots = SlotPages()
    slots.insert(fingerprint, 6)
    #expect(slots.pages[0, home] == UInt64(fingerprint) << 32 | 7)
  }
}
