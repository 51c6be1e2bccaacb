// The hash table from keys to ordinals, and nothing but numbers: extendible hashing.
//
//   directory  2^depth words, slotPage:32 localDepth:32, found by the high bits of the fingerprint
//   slot page  510 slots and a word that counts them; within it, linear probing around the end
//   slot       fingerprint:32 ordinal+1:32, or 0
//
// Invariants:
//   - All slots of a page agree with its directory entries in the first `localDepth` bits.
//   - No slot between a slot's home, which its fingerprint tells, and the slot itself is empty.
//   - A page is never full; what cannot be split apart any more goes to the overflow list.
//
// A page that is full splits in two, so that growth never stalls anyone; and a page is what a checkpoint
// writes and a first touch reads.

package struct SlotPages: Sendable {
  package static let keysMax = 1 << 31
  package static let slotsPerPage = 510
  private static let usedMax = 448
  /// Keys whose fingerprints agree so far have no page of their own left; nobody who does not know the seed
  /// can make enough of them.
  static let depthMax = 24
  /// Every lookup goes through all of the overflow.
  static let overflowMax = 1 << 14
  private static let countWord = 510

  private(set) var depth: Int
  private(set) var directory: PagedWords
  private(set) var pages: PagedWords
  /// Slots that no page has room for; empty unless a file was made up.
  private(set) var overflow: [UInt64] = []
  /// Directory pages that are still on disk: what pages mean together cannot be checked before.
  private var directoryPagesMissing = 0

  init() {
    depth = 0
    directory = PagedWords()
    pages = PagedWords()
    directory.appendPage()
    pages.appendPage()
  }

  /// As a checkpoint has it, every page still on disk.
  init(depth: Int, directoryPages: Int, slotPages: Int, overflow: [UInt64]) {
    self.overflow = overflow
    self.depth = depth
    directoryPagesMissing = directoryPages
    directory = PagedWords(pagesOnDisk: directoryPages)
    pages = PagedWords(pagesOnDisk: slotPages)
  }

  static func directoryPages(depth: Int) -> Int {
    (1 << depth + PagedWords.wordsPerPage - 1) / PagedWords.wordsPerPage
  }

  // MARK: Finding

  /// What has to be loaded before keys with this fingerprint can be looked for.
  func missing(for fingerprint: UInt32) -> PageAddress? {
    let index = directoryIndex(of: fingerprint)
    guard directory.isLoaded(wordAt: index) else {
      return .directory(index / PagedWords.wordsPerPage)
    }
    let page = pageNumber(directory[index])
    return pages.isLoaded(page) ? nil : .slots(page)
  }

  /// How far a search has come. It refers to nothing: a closure that looks at the table would have all of it counted
  /// as referred to, for each key.
  package struct Probe {
    fileprivate let fingerprint: UInt32
    fileprivate let page: Int
    fileprivate var index: Int
    fileprivate var isInOverflow = false
  }

  /// A search for all keys with this fingerprint.
  package func probe(for fingerprint: UInt32) -> Probe {
    Probe(
      fingerprint: fingerprint, page: pageNumber(directory[directoryIndex(of: fingerprint)]),
      index: Self.home(of: fingerprint))
  }

  /// The ordinal of the next one. Nothing may change between the steps of a search.
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
      // Found before, and not here: a made-up directory has led a page's split astray.
      guard pages[page, index] != 0 else { return }
      index = Self.next(index)
    }
    closeGap(at: index, in: page)
  }

  private mutating func place(_ slot: UInt64, in page: Int) {
    var index = Self.home(of: Self.fingerprint(of: slot))
    while pages[page, index] != 0 { index = Self.next(index) }
    pages[page, index] = slot
    pages[page, Self.countWord] += 1
  }

  /// Moves later slots up, so that no search stops early at the gap.
  private mutating func closeGap(at index: Int, in page: Int) {
    var gap = index
    var next = index
    while true {
      next = Self.next(next)
      let slot = pages[page, next]
      guard slot != 0 else { break }
      let home = Self.home(of: Self.fingerprint(of: slot))
      // Whether the way from home to `next`, around the end if need be, passes the gap.
      if Self.distance(home, next) >= Self.distance(gap, next) {
        pages[page, gap] = slot
        gap = next
      }
    }
    pages[page, gap] = 0
    pages[page, Self.countWord] -= 1
  }

  /// Gives the upper half of a page's fingerprints a page of their own; false if they cannot be told apart.
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

  /// All directory entries with the first `localDepth` bits of the fingerprint: the lower half to one page,
  /// the upper to the other.
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

  /// Puts a page in place that was read from a checkpoint. False if it breaks an invariant that later
  /// steps stand on; only a made-up file does.
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
        directoryPagesMissing > 0 || belong(slots, toPage: page, in: directory)
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

  /// Each page has its own run of entries, as long as its local depth says, and the slots of those that are
  /// loaded belong there: a page that splits takes only its own slots along.
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
          || belong(pages.words(ofPage: page)[..<Self.slotsPerPage], toPage: page, in: directory)
      else { return false }
      seen[page] = true
      index += count
    }
    return !seen.contains(false)
  }

  private func belong(_ slots: ArraySlice<UInt64>, toPage page: Int, in directory: PagedWords) -> Bool {
    slots.allSatisfy { slot in
      slot == 0 || pageNumber(directory[directoryIndex(of: Self.fingerprint(of: slot))]) == page
    }
  }

  /// All slots that are loaded and some more, in pages of their own.
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

  /// By the low bits: the high ones are the same for all slots of a page.
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

  /// Every slot, with its fingerprint; all pages must be loaded.
  package func forEachSlot(_ visit: (_ fingerprint: UInt32, _ ordinal: UInt32) -> Void) {
    precondition(pages.firstMissing == nil, "pages are missing")
    forEachLoadedSlot(visit)
  }

  /// The same, but for those of pages that are still on disk.
  func forEachLoadedSlot(_ visit: (_ fingerprint: UInt32, _ ordinal: UInt32) -> Void) {
    for page in 0..<pages.pageCount where pages.isLoaded(page) {
      for index in 0..<Self.slotsPerPage where pages[page, index] != 0 {
        visit(Self.fingerprint(of: pages[page, index]), Self.ordinal(of: pages[page, index]))
      }
    }
    for slot in overflow { visit(Self.fingerprint(of: slot), Self.ordinal(of: slot)) }
  }

  /// What is wrong, or nil; all pages must be loaded.
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
      else { return "directory entries that do not go together" }
      seen[page] = true
      if let broken = invariantBroken(ofPage: page, prefix: UInt64(index / count), localDepth) {
        return broken
      }
      index += count
    }
    return seen.contains(false) ? "a page that no directory entry has" : nil
  }

  private func invariantBroken(ofPage page: Int, prefix: UInt64, _ localDepth: Int) -> String? {
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

/// A page of the table as a checkpoint has it.
package enum PageAddress: Hashable, Sendable {
  case directory(Int)
  case slots(Int)
  case locations(Int)
  /// The list of free ordinals, page by page.
  case free(Int)
}
