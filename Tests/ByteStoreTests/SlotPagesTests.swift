// The position of a slot in its page, which is part of the format on disk.

import Testing

@testable import ByteStore

@Suite struct SlotPagesTests {
  /// Regression: every home position was 0, because a shift binds tighter than a product in Swift.
  /// Lookups still worked, but scanned half a page.
  @Test(arguments: [(0x0000_0000, 0), (0x0000_8000, 255), (0x0000_FFFF, 509), (0x7FFF_0081, 1)])
  func slotIsStoredAtItsHomePosition(fingerprint: UInt32, home: Int) {
    var slots = SlotPages()
    slots.insert(fingerprint, 6)
    #expect(slots.pages[0, home] == UInt64(fingerprint) << 32 | 7)
  }

  @Test func lookupScansThePageAndThenTheOverflow() {
    let wanted: UInt32 = 0x1234_0000
    func slot(_ fingerprint: UInt32, _ ordinal: UInt32) -> UInt64 {
      UInt64(fingerprint) << 32 | UInt64(ordinal + 1)
    }
    var slots = SlotPages(
      depth: 0, directoryPages: 1, slotPages: 1,
      overflow: [slot(wanted, 7), slot(wanted + 1, 8), slot(wanted, 9)])
    var page = [UInt64](repeating: 0, count: PagedWords.wordsPerPage)
    page.replaceSubrange(0..<3, with: [slot(wanted, 4), slot(wanted + 1, 5), slot(wanted, 6)])
    page[SlotPages.slotsPerPage] = 3
    let directory = [UInt64](repeating: 0, count: PagedWords.wordsPerPage)
    let installed = [
      slots.install(directory, at: .directory(0), ordinals: 10),
      slots.install(page, at: .slots(0), ordinals: 10),
    ]
    #expect(installed == [true, true])
    var probe = slots.probe(for: wanted)
    let found = (0..<6).map { _ in slots.nextOrdinal(&probe) }
    #expect(found == [4, 6, 7, 9, nil, nil])
  }
}
