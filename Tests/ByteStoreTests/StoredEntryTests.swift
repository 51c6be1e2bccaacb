// The heads of entries in the pages of a segment.

import Testing

@testable import ByteStore

@Suite struct StoredEntryTests {
  /// Lengths around the limits of one byte, two bytes and three bytes.
  private static let lengths = [0, 1, 5, 62, 63, 64, 65, 127, 128, 129, 3000, 8191, 8192, 16383, 16384]

  @Test(arguments: [0, 1, 7, 4000]) func aHeadIsDecodedAsItWasEncoded(offset: Int) {
    for plain in Self.lengths {
      for stored in Self.lengths.map({ $0 < plain ? $0 : nil }) {
        var page = [UInt8](repeating: 0xEE, count: offset)
        StoredEntry.encodeHead(0x8001_02FF, plainBytes: plain, storedBytes: stored, into: &page)
        let start = page.count
        let end = start + (stored ?? plain)
        page.append(zeros: end - start)
        for more in [0, 1, 11, 40] {
          let longer = page + [UInt8](repeating: 0xEE, count: more)
          let entry = StoredEntry(decoding: longer.rawSpan, at: offset)
          #expect(entry?.ordinal == 0x8001_02FF)
          #expect(entry?.plainBytes == plain)
          #expect(entry?.isCompressed == (stored != nil))
          #expect(entry?.stored == start..<end)
          #expect(entry?.bytes == end - offset)
        }
        if end > start {
          #expect(StoredEntry(decoding: page.rawSpan.extracting(droppingLast: 1), at: offset) == nil)
        }
      }
    }
  }

  @Test func compressedBytesAreFewerThanThePlainBytes() {
    for stored in [300, 301] {
      var page: [UInt8] = []
      StoredEntry.encodeHead(1, plainBytes: 300, storedBytes: stored, into: &page)
      page.append(zeros: 400)
      #expect(StoredEntry(decoding: page.rawSpan, at: 0) == nil)
    }
  }

  @Test(arguments: [0, 1, 100, 126, 127, 128, 300]) func anEntryIsSplitIntoItsKeyAndItsValue(keyBytes: Int) {
    for valueBytes in [0, 1, 200] {
      var bytes: [UInt8] = []
      let key = [UInt8](repeating: 7, count: keyBytes)
      EntryBytes.encode(key.rawSpan, [UInt8](repeating: 9, count: valueBytes).rawSpan, into: &bytes)
      let parts = EntryBytes.split(bytes.rawSpan)
      #expect(parts.map { Array(bytes[$0.key]) } == key)
      #expect(parts.map { bytes.count - $0.valueStart } == valueBytes)
      #expect(
        EntryBytes.split(bytes.rawSpan.extracting(first: bytes.count - valueBytes - 1)) == nil
          || keyBytes == 0)
    }
  }
}
