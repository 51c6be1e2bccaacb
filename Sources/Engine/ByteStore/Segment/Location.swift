// The location of a key's bytes, packed into eight bytes.
//
//   none    0
//   tail    01 body:38 offset:24                  a put in the body of a commit, in memory
//   entry   10 slot:16 page:20 offset:13 bytes:13 in a page of a segment
//   run     11 slot:16 page:20 pages:26           in consecutive pages of a segment, with no other entry
//
// `slot` is the segment's index in the key directory's segment list. Fields are listed from the high
// bits down.

package struct Location: Hashable, Sendable {
  package static let none = Location(bits: 0)
  package static let bodiesMax: UInt64 = 1 << 38

  package let bits: UInt64

  package init(bits: UInt64) { self.bits = bits }

  package init(body: UInt64, offset: Int) {
    precondition(body < Self.bodiesMax && offset < 1 << 24, "a commit has at most 16 MiB")
    bits = 1 << 62 | body << 24 | UInt64(offset)
  }

  package init(slot: Int, page: Int, offset: Int, bytes: Int) {
    precondition(
      slot < Manifest.Segment.slotsMax && page < Manifest.Segment.pagesMax,
      "a segment's slot and page have their limits")
    precondition(offset < 1 << 13 && bytes < 1 << 13, "an entry lies within a page")
    bits = 2 << 62 | UInt64(slot) << 46 | UInt64(page) << 26 | UInt64(offset) << 13 | UInt64(bytes)
  }

  package init(slot: Int, page: Int, pages: Int) {
    precondition(
      slot < Manifest.Segment.slotsMax && page < Manifest.Segment.pagesMax,
      "a segment's slot and page have their limits")
    precondition(pages < 1 << 26, "a run ends with its segment")
    bits = 3 << 62 | UInt64(slot) << 46 | UInt64(page) << 26 | UInt64(pages)
  }

  package enum Place: Equatable {
    case none
    case memtable(body: UInt64, offset: Int)
    case entry(slot: Int, page: Int, offset: Int, bytes: Int)
    case run(slot: Int, page: Int, pages: Int)
  }

  @inline(__always)
  package var place: Place {
    switch bits >> 62 {
    case 1: .memtable(body: bits >> 24 & (Self.bodiesMax - 1), offset: field(0, 24))
    case 2: .entry(slot: field(46, 16), page: field(26, 20), offset: field(13, 13), bytes: field(0, 13))
    case 3: .run(slot: field(46, 16), page: field(26, 20), pages: field(0, 26))
    default: .none
    }
  }

  package var isInMemtable: Bool { bits >> 62 == 1 }

  /// The number of segment pages to read for this location.
  package var pages: Int {
    switch place {
    case .none, .memtable: 0
    case .entry: 1
    case .run(_, _, let pages): pages
    }
  }

  /// The segment's slot; nil if the location is in no segment.
  package var slot: Int? { bits >> 63 == 1 ? field(46, 16) : nil }

  func isInSegment(ofSlot slot: Int) -> Bool { bits >> 63 == 1 && field(46, 16) == slot }

  @inline(__always)
  private func field(_ shift: UInt64, _ width: UInt64) -> Int {
    Int(truncatingIfNeeded: bits &>> shift & (1 &<< width &- 1))
  }
}
