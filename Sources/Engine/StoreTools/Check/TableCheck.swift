// The table of a checkpoint against the segments: every slot's ordinal has a location, the entry there bears
// that ordinal, and its key has the slot's fingerprint.
//
// One pass over the slots and one over the segments. What it keeps is four bytes and a bit for each ordinal.

import ByteStore

struct TableCheck {
  let table: Table
  /// Of the key that each ordinal stands for; 0 if it stands for none, or by chance.
  private var fingerprints: [UInt32]
  /// An entry was found for it.
  private var isFound: [UInt64]
  /// By slot, the pages in which nothing can be found.
  private var damagedPages: [Int: [Range<Int>]] = [:]

  /// By slot, where the segment's pages begin.
  var dataStarts: [Int: UInt64] = [:]

  /// All pages of the table must be loaded.
  init(_ table: Table) {
    self.table = table
    var fingerprints = [UInt32](repeating: 0, count: table.ordinals)
    table.slots.forEachSlot { fingerprint, ordinal in fingerprints[Int(ordinal)] = fingerprint }
    self.fingerprints = fingerprints
    isFound = [UInt64](repeating: 0, count: table.ordinals / 64 + 1)
  }

  /// Whether an entry is the value of its key.
  func isLive(_ entry: StoredEntry, _ location: Location) -> Bool {
    Int(entry.ordinal) < table.ordinals && table.location(of: entry.ordinal) == location
  }

  /// Whether the key of a live entry is the one that its ordinal stands for.
  mutating func isRightKey(_ key: RawSpan, of entry: StoredEntry) -> Bool {
    isFound[Int(entry.ordinal) / 64] |= 1 << UInt64(entry.ordinal % 64)
    return fingerprints[Int(entry.ordinal)] == table.fingerprint(of: key)
  }

  mutating func skip(_ pages: Range<Int>, slot: Int) { damagedPages[slot, default: []].append(pages) }

  /// Where a location is in the file of its segment.
  func offset(of location: Location) -> UInt64 {
    let start = location.slot.flatMap { dataStarts[$0] } ?? 0
    let page = start + UInt64((location.page ?? 0) * SegmentFormat.pageBytes)
    if case .entry(_, _, let offset, _) = location.place { return page + UInt64(offset) }
    return page
  }

  /// Hands over every slot of which a segment that was looked through has no entry.
  func forEachMissing(_ visit: (_ ordinal: UInt32, _ location: Location) -> Void) {
    table.slots.forEachSlot { _, ordinal in
      let isFound = self.isFound[Int(ordinal) / 64] >> UInt64(ordinal % 64) & 1 == 1
      let location = table.location(of: ordinal)
      guard !isFound, let slot = location.slot, let page = location.page else { return }
      let isHidden = damagedPages[slot]?.contains { $0.contains(page) } ?? false
      if !isHidden { visit(ordinal, location) }
    }
  }
}

extension Location {
  /// The page, or the first of a run.
  var page: Int? {
    switch place {
    case .none, .tail: nil
    case .entry(_, let page, _, _), .run(_, let page, _): page
    }
  }
}
