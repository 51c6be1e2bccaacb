// The hash table from keys to ordinals: extendible hashing over numbers only.
//
//   directory  2^depth words, slotPage:32 localDepth:32, indexed by the high bits of the fingerprint
//   slot page  510 slots and their count; linear probing that wraps around within the page
//   slot       fingerprint:32 ordinal+1:32, or 0
//
// Invariants:
//   - All slots of a page share the first `localDepth` bits with the page's directory entries.
//   - The probe sequence from a slot's home position, given by its fingerprint, to the slot has no empty
//     slot.
//   - A page is never full. Slots that cannot be separated by splitting go to the overflow list.
//
// A full page splits in two, so that no single insert has to rehash everything. Pages are also the units
// that a checkpoint writes and that a first access reads.

package struct SlotPages: Sendable {
  package static let keysMax = 1 << 31
  package static let slotsPerPage = 510
  private static let usedMax = 448
  /// The largest depth of the directory. Beyond it, keys whose first fingerprint bits are equal can no longer
  /// be separated into two pages. Without the seed, an attacker cannot create enough such keys to fill a
  /// page.
  static let depthMax = 24
  /// The largest size of the overflow list. The list must stay short, because every lookup scans all of it.
  static let overflowMax = 1 << 14
  private static let countWord = 510

  private(set) var depth: Int
  private(set) var directory: PagedWords
  private(set) var pages: PagedWords
  /// Slots that fit in no page. In practice, only a crafted file puts slots in this list.
  private(set) var overflow: [UInt64] = []
  /// The number of directory pages that are still on disk. Until all of them are loaded, the directory cannot
  /// be checked against the slot pages.
  private var directoryPagesMissing = 0

  init() {
    depth = 0
    directory = PagedWords()
    pages = PagedWords()
    directory.appendPage()
    pages.appendPage()
  }

  /// Creates a table from a checkpoint. All its pages are still on disk.
  init(depth: Int, directoryPages: Int, slotPages: Int, overflow: [UInt64]) {
    self.overflow = overflow
    self.depth = depth
    directoryPagesMissing = directoryPages
    directory = PagedWords(pagesOnDisk: directoryPages)
    pages = PagedWords(pagesOnDisk: slotPages)
  }

  var loadedBytes: Int { (directory.loadedCount + pages.loadedCount) * PagedWords.bytesPerPage }

  var bytesWhenLoaded: Int { (directory.pageCount + pages.pageCount) * PagedWords.bytesPerPage }

  static func directoryPages(depth: Int) -> Int {
    (1 << depth + PagedWords.wordsPerPage - 1) / PagedWords.wordsPerPage
  }

  // MARK: Finding

  /// The page that must be loaded before keys with this fingerprint can be looked up; nil if none is
  /// missing.
  func missing(for fingerprint: UInt32) -> PageAddress? {
    let index = directoryIndex(of: fingerprint)
    guard directory.isLoaded(wordAt: index) else {
      return .directory(index / PagedWords.wordsPerPage)
    }
    let page = pageNumber(directory[index])
    return pages.isLoaded(page) ? nil : .slots(page)
  }

  /// The position of a lookup. A probe holds no reference, and it replaces a closure over the key directory.
  /// Such a closure would make Swift retain and release all parts of the key directory for each key.
  package struct Probe {
    fileprivate let fingerprint: UInt32
    fileprivate let page: Int
    fileprivate var index: Int
    fileprivate var isInOverflow = false
  }

  /// Starts a lookup of all keys with this fingerprint.
  package func probe(for fingerprint: UInt32) -> Probe {
    Probe(
      fingerprint: fingerprint, page: pageNumber(directory[directoryIndex(of: fingerprint)]),
      index: Self.home(of: fingerprint))
  }

  /// Advances the lookup and returns the ordinal of the next match; nil after the last. The table must not
  /// change during the lookup.
  package func nextOrdinal(_ probe: inout Probe) -> UInt32? {
    while !probe.isInOverflow {
      let slot = pages[probe.page, probe.index]
      guard slot != 0 else {
        probe.isInOverflow = true
        probe.index = 0
        break
      }
      probe.index = Self.next(probe.index)
      if Self.fingerprint(of: slot) == probe.fingerprint { return Self.ordinal(of: slot) }
    }
    while probe.index < overflow.count {
      let slot = overflow[probe.index]
      probe.index += 1
      if Self.fingerprint(of: slot) == probe.fingerprint { return Self.ordinal(of: slot) }
    }
    return nil
  }

  // MARK: Changing

  mutating func insert(_ fingerprint: UInt32, _ ordinal: UInt32) {
    let slot = UInt64(fingerprint) << 32 | UInt64(ordinal + 1)
    while true {
      let index = directoryIndex(of: fingerprint)
      let page = pageNumber(directory[index])
      if pages[page, Self.countWord] < UInt64(Self.usedMax) { return place(slot, in: page) }
      guard split(page, for: fingerprint) else { return overflow.append(slot) }
    }
  }

  mutating func remove(_ fingerprint: UInt32, _ ordinal: UInt32) {
    let wanted = UInt64(fingerprint) << 32 | UInt64(ordinal + 1)
    if let index = overflow.firstIndex(of: wanted) {
      overflow.remove(at: index)
      return
    }
    let page = pageNumber(directory[directoryIndex(of: fingerprint)])
    var index = Self.home(of: fingerprint)
    while pages[page, index] != wanted {
      // The slot was found earlier but is not on this page. The cause is a crafted directory, which made a
      // split move the slot to a wrong page.
      guard pages[page, index] != 0 else { return }
      index = Self.next(index)
    }
    closeGap(at: index, in: page)
  }

  private mutating func place(_ slot: UInt64, in page: Int) {
    pages.change(page: page) { words in
      var index = Self.home(of: Self.fingerprint(of: slot))
      while words[index] != 0 { index = Self.next(index) }
      words[index] = slot
      words[Self.countWord] += 1
    }
  }

  /// Moves later slots back into the gap, so that no probe stops at the gap too early.
  private mutating func closeGap(at index: Int, in page: Int) {
    var gap = index
    var next = index
    while true {
      next = Self.next(next)
      let slot = pages[page, next]
      guard slot != 0 else { break }
      let home = Self.home(of: Self.fingerprint(of: slot))
      // Whether the probe sequence from `home` to `next` passes the gap, possibly wrapping around.
      if Self.distance(home, next) >= Self.distance(gap, next) {
        pages[page, gap] = slot
        gap = next
      }
    }
    pages[page, gap] = 0
    pages[page, Self.countWord] -= 1
  }

  /// Splits a page: the upper half of its fingerprint range moves to a new page. Returns false if the
  /// directory already has its maximum depth.
  private mutating func split(_ page: Int, for fingerprint: UInt32) -> Bool {
    let localDepth = Int(directory[directoryIndex(of: fingerprint)] >> 32)
    if localDepth == depth {
      guard depth < Self.depthMax else { return false }
      doubleDirectory()
    }
    let upper = pages.pageCount
    let old = pages.words(ofPage: page)
    pages.setWords([UInt64](repeating: 0, count: PagedWords.wordsPerPage), ofPage: page)
    pages.appendPage()
    let bit = UInt32(1) << (31 - UInt32(localDepth))
    pointDirectory(from: fingerprint, localDepth: localDepth, to: (page, upper))
    for slot in old[..<Self.slotsPerPage] where slot != 0 {
      place(slot, in: Self.fingerprint(of: slot) & bit == 0 ? page : upper)
    }
    return true
  }

  /// Points the directory entries that share the first `localDepth` bits of the fingerprint to the two pages.
  /// The lower half of these entries points to the first page, the upper half to the second.
  private mutating func pointDirectory(
    from fingerprint: UInt32, localDepth: Int, to halves: (Int, Int)
  ) {
    let count = 1 << (depth - localDepth)
    let first = directoryIndex(of: fingerprint) & ~(count - 1)
    for offset in 0..<count {
      let page = offset < count / 2 ? halves.0 : halves.1
      directory[first + offset] = UInt64(localDepth + 1) << 32 | UInt64(page)
    }
  }

  private mutating func doubleDirectory() {
    let old = (0..<1 << depth).map { directory[$0] }
    depth += 1
    directory = PagedWords()
    for _ in 0..<Self.directoryPages(depth: depth) { directory.appendPage() }
    for (index, entry) in old.enumerated() {
      directory[2 * index] = entry
      directory[2 * index + 1] = entry
    }
  }

  // MARK: Pages

  /// Installs a page that was read from a checkpoint. Returns false if the page breaks an invariant that
  /// later steps depend on. This only happens with a crafted file.
  mutating func install(_ words: [UInt64], at address: PageAddress, ordinals: Int) -> Bool {
    switch address {
    case .directory(let page):
      let first = page * PagedWords.wordsPerPage
      let used = words.prefix(max(0, 1 << depth - first))
      guard used.allSatisfy({ Int($0 & 0xFFFF_FFFF) < pages.pageCount && $0 >> 32 <= UInt64(depth) }) else {
        return false
      }
      var whole = directory
      whole.setWords(words, ofPage: page)
      guard directoryPagesMissing > 1 || isSound(whole) else { return false }
      directory = whole
      directoryPagesMissing -= 1
    case .slots(let page):
      let slots = words[..<Self.slotsPerPage]
      let used = slots.count { $0 != 0 }
      guard used <= Self.usedMax, words[Self.countWord] == UInt64(used),
        slots.allSatisfy({ $0 == 0 || Self.isSlot($0, ordinals: ordinals) }),
        directoryPagesMissing > 0 || allBelong(slots, toPage: page, in: directory)
      else { return false }
      pages.setWords(words, ofPage: page)
    case .locations, .free:
      preconditionFailure("not a page of the slots")
    }
    return true
  }

  static func isSlot(_ word: UInt64, ordinals: Int) -> Bool {
    word & 0xFFFF_FFFF != 0 && ordinal(of: word) < ordinals
  }

  /// Whether the directory is sound. Each page must have exactly one run of directory entries, of the length
  /// that its local depth requires. All slots of loaded pages must be on the page that the directory assigns
  /// to them. In an unsound directory, a split could move slots of other pages.
  private func isSound(_ directory: PagedWords) -> Bool {
    var seen = [Bool](repeating: false, count: pages.pageCount)
    var index = 0
    while index < 1 << depth {
      let entry = directory[index]
      let page = pageNumber(entry)
      let count = 1 << (depth - Int(entry >> 32))
      guard !seen[page], index % count == 0,
        (index..<index + count).allSatisfy({ directory[$0] == entry }),
        !pages.isLoaded(page)
          || allBelong(pages.words(ofPage: page)[..<Self.slotsPerPage], toPage: page, in: directory)
      else { return false }
      seen[page] = true
      index += count
    }
    return !seen.contains(false)
  }

  private func allBelong(_ slots: ArraySlice<UInt64>, toPage page: Int, in directory: PagedWords) -> Bool {
    slots.allSatisfy { slot in
      slot == 0 || pageNumber(directory[directoryIndex(of: Self.fingerprint(of: slot))]) == page
    }
  }

  /// A new table with all loaded slots of this table and the given slots.
  func rebuilt(adding slots: [(fingerprint: UInt32, ordinal: UInt32)]) -> SlotPages {
    var rebuilt = SlotPages()
    forEachLoadedSlot { rebuilt.insert($0, $1) }
    for (fingerprint, ordinal) in slots { rebuilt.insert(fingerprint, ordinal) }
    return rebuilt
  }

  // MARK: Numbers

  private func directoryIndex(of fingerprint: UInt32) -> Int {
    depth == 0 ? 0 : Int(fingerprint >> UInt32(32 - depth))
  }

  private func pageNumber(_ entry: UInt64) -> Int { Int(entry & 0xFFFF_FFFF) }

  /// The first position that a probe visits in a page. It depends on the low bits, because all slots of a
  /// page share the high bits.
  private static func home(of fingerprint: UInt32) -> Int {
    (Int(fingerprint & 0xFFFF) * slotsPerPage) >> 16
  }

  private static func next(_ index: Int) -> Int { index == slotsPerPage - 1 ? 0 : index + 1 }

  private static func distance(_ from: Int, _ to: Int) -> Int {
    to >= from ? to - from : to - from + slotsPerPage
  }

  private static func fingerprint(of slot: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: slot >> 32) }
  private static func ordinal(of slot: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: slot) - 1 }

  // MARK: Checking

  /// Visits every slot. All pages must be loaded.
  package func forEachSlot(_ visit: (_ fingerprint: UInt32, _ ordinal: UInt32) -> Void) {
    precondition(pages.firstMissing == nil, "pages are missing")
    forEachLoadedSlot(visit)
  }

  /// Visits every slot of loaded pages.
  func forEachLoadedSlot(_ visit: (_ fingerprint: UInt32, _ ordinal: UInt32) -> Void) {
    for page in 0..<pages.pageCount where pages.isLoaded(page) {
      for index in 0..<Self.slotsPerPage where pages[page, index] != 0 {
        visit(Self.fingerprint(of: pages[page, index]), Self.ordinal(of: pages[page, index]))
      }
    }
    for slot in overflow { visit(Self.fingerprint(of: slot), Self.ordinal(of: slot)) }
  }

  /// Describes the first broken invariant; nil if all hold. All pages must be loaded.
  func invariantBroken() -> String? {
    var seen = [Bool](repeating: false, count: pages.pageCount)
    var index = 0
    while index < 1 << depth {
      let entry = directory[index]
      let page = pageNumber(entry)
      guard page < pages.pageCount, entry >> 32 <= UInt64(depth) else { return "a directory entry" }
      let localDepth = Int(entry >> 32)
      let count = 1 << (depth - localDepth)
      guard index % count == 0, (index..<index + count).allSatisfy({ directory[$0] == entry }), !seen[page]
      else { return "inconsistent directory entries" }
      seen[page] = true
      if let broken = invariantBroken(ofPage: page, prefix: UInt64(index / count), localDepth: localDepth) {
        return broken
      }
      index += count
    }
    return seen.contains(false) ? "a page that no directory entry has" : nil
  }

  private func invariantBroken(ofPage page: Int, prefix: UInt64, localDepth: Int) -> String? {
    var used = 0
    for place in 0..<Self.slotsPerPage where pages[page, place] != 0 {
      used += 1
      let fingerprint = Self.fingerprint(of: pages[page, place])
      guard UInt64(fingerprint) >> UInt64(32 - localDepth) == prefix else { return "a slot in another page" }
      var step = Self.home(of: fingerprint)
      while step != place {
        guard pages[page, step] != 0 else { return "a search would stop before the slot" }
        step = Self.next(step)
      }
    }
    guard pages[page, Self.countWord] == UInt64(used), used <= Self.usedMax else {
      return "a page counts its slots wrongly"
    }
    return nil
  }
}

/// The address of a key directory page in a checkpoint.
package enum PageAddress: Hashable, Sendable {
  case directory(Int)
  case slots(Int)
  case locations(Int)
  /// A page of the list of free ordinals.
  case free(Int)
}
