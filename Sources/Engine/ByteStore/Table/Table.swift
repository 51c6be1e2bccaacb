// All keys: a hash table from keys to ordinals, and from each ordinal to the place of its bytes.
//
// A value: a copy is a frozen state, and shares everything with the original until one of them changes. It
// does no input or output. Where a page of a checkpoint is missing, or the bytes of a key lie in a segment,
// it says so, and SharedTable gets them.
//
// Invariants (`checkInvariants()` looks at those that memory can tell):
//   - Slots and ordinals in use are one to one; an ordinal that is not in use has no location.
//   - A body of the tail counts the locations in it, a segment the entries and bytes of those in it.
//   - What `apply` needs was loaded by `prepare`: a commit that is in the log cannot fail any more.

package struct Table: Sendable {
  let hash: KeyHash
  package private(set) var slots: SlotPages
  private(set) var locations: PagedWords
  /// Ordinals ever given out, in use or free.
  package private(set) var ordinals: Int
  package private(set) var keys: Int
  package private(set) var tail = Tail()
  package private(set) var segments: [SegmentUse?]
  /// Where missing pages are.
  package private(set) var source: CheckpointFile?
  /// Ordinals to give out again, their pages loaded.
  private var free: [UInt32] = []
  /// Pages of the checkpoint's list of free ordinals that have not been read yet.
  private var freePagesLeft: Int
  /// Freed by the commit being applied: another put in it must not take them for what they were.
  private var freedNow: [UInt32] = []

  package var published: SequenceNumber
  package var lastStamp: UInt64

  /// A segment and how much of it is still some ordinal's location.
  package struct SegmentUse: Sendable {
    package let segment: Segment
    package var liveBytes: UInt64 = 0
    package var liveEntries: UInt64 = 0

    /// Something in it is dead, as far as is known without reading it: a page is never quite full.
    var hasDeadBytes: Bool {
      Double(liveBytes) < 0.95 * Double(segment.pages * SegmentFormat.pageBytes)
    }
  }

  package init(hashSeed: RandomID) {
    hash = KeyHash(seed: hashSeed)
    slots = SlotPages()
    locations = PagedWords()
    ordinals = 0
    keys = 0
    segments = []
    freePagesLeft = 0
    published = .none
    lastStamp = 0
  }

  /// As a checkpoint has it; its pages are read when they are needed.
  package init(_ source: CheckpointFile, segments: [SegmentUse?], overflow: [UInt64]) {
    let header = source.header
    hash = KeyHash(seed: header.hashSeed)
    slots = SlotPages(
      depth: header.depth, directoryPages: header.pages(of: .directory), slotPages: header.pages(of: .slots),
      overflow: overflow)
    locations = PagedWords(pagesOnDisk: header.pages(of: .locations))
    ordinals = header.ordinals
    keys = header.keys
    freePagesLeft = header.pages(of: .free)
    published = header.position.sequence
    lastStamp = header.lastStamp
    self.segments = segments
    self.source = source
  }

  // MARK: Finding

  enum Search {
    case absent
    /// A page has to be loaded first.
    case missing(PageAddress)
    case inTail(UInt32, CommitBody, offset: Int)
    /// The fingerprint is right, and only the bytes in the segment can tell whether the key is.
    case inSegment(UInt32, Segment, Location)
  }

  package func fingerprint(of key: RawSpan) -> UInt32 { UInt32(truncatingIfNeeded: hash.hash(key) >> 32) }

  /// Looks for a key. `passing` are ordinals in segments that turned out to be other keys.
  func find(_ key: RawSpan, _ fingerprint: UInt32, passing: [UInt32] = []) -> Search {
    if let page = slots.missing(for: fingerprint) { return .missing(page) }
    var probe = slots.probe(for: fingerprint)
    while let ordinal = slots.nextOrdinal(&probe) {
      guard locations.isLoaded(wordAt: Int(ordinal)) else {
        return .missing(.locations(Int(ordinal) / PagedWords.wordsPerPage))
      }
      let location = location(of: ordinal)
      switch location.place {
      case .none:
        continue
      case .tail(let body, let offset):
        let commit = tail[body]
        if commit.isKey(key, ofPutAt: offset) { return .inTail(ordinal, commit, offset: offset) }
      case .entry(let slot, _, _, _), .run(let slot, _, _):
        guard !passing.contains(ordinal), let use = segments[slot] else { continue }
        return .inSegment(ordinal, use.segment, location)
      }
    }
    return .absent
  }

  /// The page that has to be loaded before a key can be looked for any further.
  func missingPage(for key: RawSpan) -> PageAddress? {
    if case .missing(let page) = find(key, fingerprint(of: key)) { page } else { nil }
  }

  package func location(of ordinal: UInt32) -> Location { Location(bits: locations[Int(ordinal)]) }

  package func isOrdinal(_ ordinal: UInt32, of key: RawSpan) -> Bool {
    var probe = slots.probe(for: fingerprint(of: key))
    while let candidate = slots.nextOrdinal(&probe) {
      if candidate == ordinal { return true }
    }
    return false
  }

  // MARK: Preparing a commit

  /// The key of one operation: its fingerprint, and its ordinal if it was there before.
  package struct Target: Sendable {
    private static let none = UInt32.max

    let fingerprint: UInt32
    private var number: UInt32

    package init(_ fingerprint: UInt32, _ ordinal: UInt32?) {
      self.fingerprint = fingerprint
      number = ordinal ?? Self.none
    }

    package var ordinal: UInt32? {
      get { number == Self.none ? nil : number }
      set { number = newValue ?? Self.none }
    }
  }

  /// Has `apply` find all it needs for `newKeys` more ordinals. The page that is missing, or nil.
  mutating func prepare(newKeys: Int) -> PageAddress? {
    // A page that splits may double the directory.
    if let page = slots.directory.firstMissing { return .directory(page) }
    // Wanted in any case: what the list of free ordinals promises may turn out to be in use.
    if ordinals % PagedWords.wordsPerPage != 0, !locations.isLoaded(wordAt: ordinals) {
      return .locations(ordinals / PagedWords.wordsPerPage)
    }
    guard free.count < newKeys, freePagesLeft > 0 else { return nil }
    return .free(freePagesLeft - 1)
  }

  /// Puts a page in place that was missing. False if it cannot be what a checkpoint wrote.
  package mutating func install(_ words: [UInt64], at address: PageAddress) -> Bool {
    switch address {
    case .directory(let page):
      return slots.directory.isLoaded(page) || slots.install(words, at: address, ordinals: ordinals)
    case .slots(let page):
      return slots.pages.isLoaded(page) || slots.install(words, at: address, ordinals: ordinals)
    case .locations(let page):
      guard !locations.isLoaded(page) else { return true }
      guard words.allSatisfy({ isPossible(Location(bits: $0)) }) else { return false }
      locations.setWords(words, ofPage: page)
    case .free(let page):
      guard page == freePagesLeft - 1 else { return true }
      return installFree(words)
    }
    return true
  }

  private func isPossible(_ location: Location) -> Bool {
    switch location.place {
    case .none: location == .none
    case .tail: false
    case .entry(let slot, let page, let offset, let bytes):
      use(slot).map { page < $0.segment.pages && offset + bytes <= SegmentFormat.pagePayloadBytes } ?? false
    case .run(let slot, let page, let pages):
      use(slot).map { pages > 0 && page < $0.segment.pages && pages <= $0.segment.pages - page } ?? false
    }
  }

  private func use(_ slot: Int) -> SegmentUse? { slot < segments.count ? segments[slot] : nil }

  private mutating func installFree(_ words: [UInt64]) -> Bool {
    let numbers = words.prefix { $0 != 0 }.map { $0 - 1 }
    guard numbers.allSatisfy({ $0 < UInt64(ordinals) }) else { return false }
    let list = numbers.map { UInt32($0) }
    // One whose location is still on disk would have to be loaded to be given out; it is forgotten, and
    // costs eight bytes until the next time.
    freePagesLeft -= 1
    free.append(contentsOf: list.filter { isFree($0) })
    return true
  }

  private func isFree(_ ordinal: UInt32) -> Bool {
    locations.isLoaded(wordAt: Int(ordinal)) && locations[Int(ordinal)] == 0
  }

  // MARK: Applying a commit

  /// Applies a commit's operations, in their order. `targets` are their keys, as they were before the
  /// commits being prepared. `place` is told the ordinal of each put, and of a removal any.
  mutating func apply(_ commit: CommitBody, _ targets: [Target], place: (UInt32) -> Void = { _ in }) {
    // Held by one, so that the body does not go while its own later operations undo earlier ones.
    let body = tail.append(commit)
    var index = 0
    var puts = 0
    for operation in commit.operations {
      let target = targets[index]
      index += 1
      let ordinal = ordinal(of: commit, operation.key, target)
      switch operation {
      case .put(let offset, _, _):
        let location = Location(body: body, offset: offset)
        puts += 1
        if let ordinal {
          release(self.location(of: ordinal), orCountDown: &puts, from: body)
          locations[Int(ordinal)] = location.bits
          place(ordinal)
        } else {
          place(insert(location, target.fingerprint))
        }
      case .remove:
        place(.max)
        guard let ordinal else { continue }
        release(self.location(of: ordinal), orCountDown: &puts, from: body)
        remove(ordinal, target.fingerprint)
      }
    }
    tail.hold(body, puts)
    tail.release(body)
    published = published.next
    lastStamp = max(lastStamp, commit.stamp)
  }

  /// To be called after the last commit of a group.
  mutating func endGroup() {
    free.append(contentsOf: freedNow)
    freedNow = []
  }

  /// What `target` says, unless an earlier operation of the same group has changed it: then the key is in
  /// the tail, or nowhere.
  private func ordinal(of commit: CommitBody, _ key: Range<Int>, _ target: Target) -> UInt32? {
    if let ordinal = target.ordinal, location(of: ordinal) != .none { return ordinal }
    let bytes = commit.bytes.rawSpan.extracting(key)
    var probe = slots.probe(for: target.fingerprint)
    while let ordinal = slots.nextOrdinal(&probe) {
      // One that shares the fingerprint and whose page nobody has needed yet is not in the tail.
      guard locations.isLoaded(wordAt: Int(ordinal)),
        case .tail(let body, let offset) = location(of: ordinal).place,
        tail[body].isKey(bytes, ofPutAt: offset)
      else { continue }
      return ordinal
    }
    return nil
  }

  @discardableResult
  private mutating func insert(_ location: Location, _ fingerprint: UInt32) -> UInt32 {
    let ordinal: UInt32
    if let last = takeFree() {
      ordinal = last
    } else {
      ordinal = UInt32(ordinals)
      if ordinals % PagedWords.wordsPerPage == 0 { locations.appendPage() }
      ordinals += 1
    }
    locations[Int(ordinal)] = location.bits
    slots.insert(fingerprint, ordinal)
    keys += 1
    return ordinal
  }

  /// A made-up list may name one twice.
  private mutating func takeFree() -> UInt32? {
    while let last = free.popLast() {
      if isFree(last) { return last }
    }
    return nil
  }

  private mutating func remove(_ ordinal: UInt32, _ fingerprint: UInt32) {
    locations[Int(ordinal)] = 0
    slots.remove(fingerprint, ordinal)
    freedNow.append(ordinal)
    keys -= 1
  }

  /// The same for a commit being applied: what it has put itself is not held yet, only counted.
  private mutating func release(
    _ location: Location, orCountDown puts: inout Int, from body: UInt64
  ) {
    if case .tail(body, _) = location.place { puts -= 1 } else { release(location) }
  }

  /// The bytes at a location are no key's any more.
  private mutating func release(_ location: Location) {
    switch location.place {
    case .none: break
    case .tail(let body, _): tail.release(body)
    case .entry(let slot, _, _, let bytes): discount(slot, UInt64(bytes))
    case .run(let slot, _, let pages): discount(slot, UInt64(pages * SegmentFormat.pageBytes))
    }
  }

  private mutating func discount(_ slot: Int, _ bytes: UInt64) {
    // No less than nothing, which only the counts of a made-up checkpoint would lead to.
    guard let use = segments[slot] else { return }
    segments[slot]?.liveBytes -= min(bytes, use.liveBytes)
    segments[slot]?.liveEntries -= min(1, use.liveEntries)
  }

  // MARK: Moving

  /// The ordinal whose location this is, by the fingerprint of its key.
  package func ordinal(at location: Location, _ fingerprint: UInt32) -> UInt32? {
    var probe = slots.probe(for: fingerprint)
    while let ordinal = slots.nextOrdinal(&probe) {
      if self.location(of: ordinal) == location { return ordinal }
    }
    return nil
  }

  /// Bytes were copied to another place. Does nothing if the key has changed meanwhile.
  package mutating func move(_ ordinal: UInt32, from old: Location, to new: Location) {
    guard location(of: ordinal) == old else { return }
    release(old)
    locations[Int(ordinal)] = new.bits
    count(new)
  }

  /// A new key whose bytes are in a segment already; the fingerprint is the key's.
  package mutating func adopt(_ location: Location, _ fingerprint: UInt32) {
    insert(location, fingerprint)
    count(location)
  }

  /// A slot for a segment, which has no live bytes until they are moved to it.
  package mutating func add(_ segment: Segment, at slot: Int) {
    while segments.count <= slot { segments.append(nil) }
    precondition(segments[slot] == nil, "a slot has one segment")
    segments[slot] = SegmentUse(segment: segment)
  }

  mutating func removeSegment(_ entry: Manifest.Segment) {
    precondition(segments[entry.slot]?.liveEntries == 0, "a segment goes when nothing lives in it")
    segments[entry.slot] = nil
  }

  mutating func removeEmptySegments() {
    for slot in segments.indices where segments[slot]?.liveEntries == 0 { segments[slot] = nil }
  }

  /// For the checkpoint: number, live bytes, live entries.
  var segmentWords: [UInt64] {
    segments.flatMap { use in
      use.map { [$0.segment.number.value, $0.liveBytes, $0.liveEntries] } ?? [0, 0, 0]
    }
  }

  /// What a table says about itself once every page is loaded.
  struct Recount: Sendable {
    /// The segments as the checkpoint and the commits since had counted them, and as they are.
    fileprivate var before: [SegmentUse?]
    fileprivate var counted: [SegmentUse?]
    /// Ordinals that are free and that nobody knows of any more. Nobody can take one of them meanwhile.
    fileprivate var forgotten: [UInt32] = []
    /// Only a made-up list of free ordinals names one twice, or one that is in use.
    fileprivate var isListSound = true
  }

  /// Counts what the checkpoint says about the segments again, for what a flush deletes depends on it, and looks for
  /// free ordinals. It takes as long as there are keys, and is done on a frozen table. Nil if slots and ordinals are
  /// not one to one, as only a made-up file has them.
  func recounted() -> Recount? {
    guard isOneToOne else { return nil }
    var whole = self
    whole.countAgain()
    var recount = Recount(before: segments, counted: whole.segments)
    var isListed = [Bool](repeating: false, count: ordinals)
    for ordinal in freeOrdinals {
      if isListed[Int(ordinal)] || locations[Int(ordinal)] != 0 { recount.isListSound = false }
      isListed[Int(ordinal)] = true
    }
    recount.forgotten = (0..<UInt32(ordinals)).filter { locations[Int($0)] == 0 && !isListed[Int($0)] }
    return recount
  }

  /// Everything is in memory: the checkpoint is no longer needed. The count may be that of this table some commits
  /// ago; until the first flush these only take away from segments.
  mutating func forgetSource(_ recount: Recount) {
    guard source != nil else { return }
    source = nil
    // Only a made-up file says less than there is; what was taken away beside the count is not known then.
    let isExact = recount.before.indices.allSatisfy { slot in
      guard let before = recount.before[slot], let counted = recount.counted[slot] else { return true }
      return before.liveBytes >= counted.liveBytes && before.liveEntries >= counted.liveEntries
    }
    guard isExact else { return countAgain() }
    for slot in segments.indices {
      guard let now = segments[slot], let before = recount.before[slot], let counted = recount.counted[slot]
      else { continue }
      let bytesGone = before.liveBytes - min(before.liveBytes, now.liveBytes)
      let entriesGone = before.liveEntries - min(before.liveEntries, now.liveEntries)
      segments[slot]?.liveBytes = counted.liveBytes - min(counted.liveBytes, bytesGone)
      segments[slot]?.liveEntries = counted.liveEntries - min(counted.liveEntries, entriesGone)
    }
    // What is in the list is right, and those that commits have taken since are no longer in it: one that was in use
    // and in the list would be given out within the group that frees it.
    if recount.isListSound { free.append(contentsOf: recount.forgotten) } else { findFreeOrdinals() }
  }

  /// Everything that `recounted` counts, of this table.
  private mutating func countAgain() {
    for slot in segments.indices {
      segments[slot]?.liveBytes = 0
      segments[slot]?.liveEntries = 0
    }
    for ordinal in 0..<ordinals { count(Location(bits: locations[ordinal])) }
    findFreeOrdinals()
  }

  private var isOneToOne: Bool {
    var seen = [Bool](repeating: false, count: ordinals)
    var count = 0
    var isSound = true
    slots.forEachSlot { _, ordinal in
      if seen[Int(ordinal)] || locations[Int(ordinal)] == 0 { isSound = false }
      seen[Int(ordinal)] = true
      count += 1
    }
    return isSound && count == keys && (0..<ordinals).allSatisfy { seen[$0] || locations[$0] == 0 }
  }

  /// The bytes at a location are some key's.
  private mutating func count(_ location: Location) {
    guard let slot = location.slot else { return }
    switch location.place {
    case .entry(_, _, _, let bytes): segments[slot]?.liveBytes += UInt64(bytes)
    case .run(_, _, let pages): segments[slot]?.liveBytes += UInt64(pages * SegmentFormat.pageBytes)
    case .none, .tail: break
    }
    segments[slot]?.liveEntries += 1
  }

  /// All pages in the order in which they can be installed; of the list of free ordinals the last one first, as
  /// they are taken.
  package var pageAddresses: [(count: Int, address: (Int) -> PageAddress)] {
    let freePages = freePagesLeft
    return [
      (slots.directory.pageCount, { .directory($0) }), (slots.pages.pageCount, { .slots($0) }),
      (locations.pageCount, { .locations($0) }), (freePages, { .free(freePages - 1 - $0) }),
    ]
  }

  package func isLoaded(_ address: PageAddress) -> Bool {
    switch address {
    case .directory(let page): slots.directory.isLoaded(page)
    case .slots(let page): slots.pages.isLoaded(page)
    case .locations(let page): locations.isLoaded(page)
    case .free(let page): page >= freePagesLeft
    }
  }

  /// Puts what was found in the place of lost pages, and needs no checkpoint any more. False, and nothing changed, if
  /// the segments would have other counts than before: then it was not what the pages had.
  package mutating func install(_ found: FoundPages) -> Bool {
    // Somebody else has done the same meanwhile.
    guard source != nil else { return true }
    var whole = self
    for (page, words) in found.locations where !whole.install(words, at: .locations(page)) { return false }
    if found.areSlotsLost { whole.slots = slots.rebuilt(adding: found.slots) }
    whole.freePagesLeft = 0
    let counts = segments.map { [$0?.liveBytes, $0?.liveEntries] }
    guard let recount = whole.recounted() else { return false }
    whole.forgetSource(recount)
    guard whole.segments.map({ [$0?.liveBytes, $0?.liveEntries] }) == counts else {
      return false
    }
    self = whole
    return true
  }

  /// Ordinals that are not in use.
  package var freeOrdinals: [UInt32] { free + freedNow }

  /// Finds again what `installFree` has forgotten; all pages must be loaded.
  mutating func collectForgottenOrdinals() {
    guard ordinals - keys > free.count + freedNow.count else { return }
    findFreeOrdinals()
  }

  private mutating func findFreeOrdinals() {
    let freed = Set(freedNow)
    free = (0..<UInt32(ordinals)).filter { locations[Int($0)] == 0 && !freed.contains($0) }
  }

  // MARK: Checking

  /// All pages must be loaded. What is wrong, or nil.
  package func invariantBroken() -> String? {
    if let broken = slots.invariantBroken() { return broken }
    var seen = Set<UInt32>()
    var bodies: [UInt64: Int] = [:]
    var uses: [Int: (bytes: UInt64, entries: UInt64)] = [:]
    var broken: String?
    slots.forEachSlot { fingerprint, ordinal in
      if !seen.insert(ordinal).inserted { broken = "two slots have one ordinal" }
      switch location(of: ordinal).place {
      case .none:
        broken = "a slot has no location"
      case .tail(let body, let offset):
        bodies[body, default: 0] += 1
        let key = tail[body].key(ofPutAt: offset)
        let actual = unsafe key.withUnsafeBytes { unsafe self.fingerprint(of: RawSpan(_unsafeBytes: $0)) }
        if actual != fingerprint { broken = "a key has another slot" }
      case .entry(let slot, _, _, let bytes):
        uses[slot, default: (0, 0)].bytes += UInt64(bytes)
        uses[slot, default: (0, 0)].entries += 1
      case .run(let slot, _, let pages):
        uses[slot, default: (0, 0)].bytes += UInt64(pages * SegmentFormat.pageBytes)
        uses[slot, default: (0, 0)].entries += 1
      }
    }
    guard broken == nil else { return broken }
    guard seen.count == keys, seen.isDisjoint(with: freeOrdinals) else { return "ordinals are lost" }
    guard bodies == tail.liveCounts else { return "a body counts its live puts wrongly" }
    for (slot, use) in segments.enumerated() {
      let found = uses[slot] ?? (0, 0)
      let counted = use.map { ($0.liveBytes, $0.liveEntries) } ?? (0, 0)
      guard found == counted else { return "segment slot \(slot) counts its live bytes wrongly" }
    }
    return nil
  }
}
