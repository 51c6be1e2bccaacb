// Compares a checkpoint's key directory with the segments.
//
// The ordinal in each slot must have a location, and the entry at this location must have the same ordinal.
// The key of the entry must have the fingerprint in the slot. The comparison takes one pass over the slots
// and one over the segments. It needs four bytes and one bit of memory per ordinal.

import ByteStore

struct KeyDirectoryCheck {
  let table: KeyDirectory
  /// The fingerprint of each ordinal's key; 0 if the ordinal is unused, or by coincidence.
  private var fingerprints: [UInt32]
  /// One bit per ordinal: whether its entry was found.
  private var isFound: [UInt64]
  /// The unreadable pages of each segment, by the segment's slot.
  private var damagedPages: [Int: [Range<Int>]] = [:]

  /// The offset of the first page in each segment's file, by the segment's slot.
  var dataStarts: [Int: UInt64] = [:]

  /// All pages of `table` must be loaded.
  init(_ table: KeyDirectory) {
    self.table = table
    var fingerprints = [UInt32](repeating: 0, count: table.ordinals)
    table.slots.forEachSlot { fingerprint, ordinal in fingerprints[Int(ordinal)] = fingerprint }
    self.fingerprints = fingerprints
    isFound = [UInt64](repeating: 0, count: table.ordinals / 64 + 1)
  }

  /// Whether an entry is the current value of its key.
  func isLive(_ entry: StoredEntry, _ location: Location) -> Bool {
    Int(entry.ordinal) < table.ordinals && table.location(of: entry.ordinal) == location
  }

  /// Whether the key of a live entry matches the fingerprint of its ordinal.
  mutating func isExpectedKey(_ key: RawSpan, of entry: StoredEntry) -> Bool {
    isFound[Int(entry.ordinal) / 64] |= 1 << UInt64(entry.ordinal % 64)
    return fingerprints[Int(entry.ordinal)] == table.fingerprint(of: key)
  }

  mutating func skip(_ pages: Range<Int>, slot: Int) { damagedPages[slot, default: []].append(pages) }

  /// The position of a location in its segment's file.
  func offset(of location: Location) -> UInt64 {
    let start = location.slot.flatMap { dataStarts[$0] } ?? 0
    let page = start + UInt64((location.page ?? 0) * SegmentFormat.pageBytes)
    if case .entry(_, _, let offset, _) = location.place { return page + UInt64(offset) }
    return page
  }

  /// Passes to `visit` every slot whose entry is missing from a segment that was checked.
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
  /// The page, or the first page of a run.
  var page: Int? {
    switch place {
    case .none, .memtable: nil
    case .entry(_, let page, _, _), .run(_, let page, _): page
    }
  }
}
