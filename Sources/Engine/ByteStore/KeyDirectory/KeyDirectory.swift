// The key directory: a hash table from keys to ordinals, and an array from ordinals to locations.
//
// The key directory is a value type: a copy is a frozen state that shares its pages with the original until
// one of them changes (copy-on-write). It does no I/O. If a checkpoint page is missing or a key's bytes are
// in a segment, the key directory returns this fact, and SharedKeyDirectory reads the bytes.
//
// Invariants (`invariantBroken()` checks the first two):
//   - Slots and used ordinals correspond one to one. An unused ordinal has no location.
//   - A memtable body counts the locations that point into it. A segment counts the live entries and their
//     bytes.
//   - `prepare` loads all pages that `apply` needs, because a commit that is in the log must not fail.

package struct KeyDirectory: Sendable {
  let hash: KeyHash
  package private(set) var slots: SlotPages
  private(set) var locations: PagedWords
  /// The number of ordinals that have ever been assigned. It includes those that are free now.
  package private(set) var ordinals: Int
  package private(set) var keys: Int
  /// The numbers of keys that were ever added and removed, counted from the creation of this value. A lookup
  /// compares them with those of an earlier lookup.
  private(set) var insertions: UInt64 = 0
  private(set) var removals: UInt64 = 0
  package private(set) var memtable = Memtable()
  package private(set) var segments: [SegmentUse?]
  /// The checkpoint with the missing pages; nil if none are missing.
  package private(set) var source: CheckpointFile?
  /// Free ordinals whose location pages are loaded.
  private var free: [UInt32] = []
  /// The number of pages of the checkpoint's free list that are not loaded yet.
  private var freePagesLeft: Int
  /// Ordinals freed by the group being applied. Puts of the same group must not reuse them.
  private var freedByGroup: [UInt32] = []

  package var published: SequenceNumber
  package var lastStamp: UInt64

  /// A segment with its live entries and bytes.
  package struct SegmentUse: Sendable {
    package let segment: Segment
    package var liveBytes: UInt64 = 0
    package var liveEntries: UInt64 = 0

    /// Whether the segment contains garbage, estimated from its counts. The estimate has a margin, because
    /// live pages are never quite full.
    var hasDeadBytes: Bool {
      Double(liveBytes) < 0.95 * Double(segment.pages * SegmentFormat.pageBytes)
    }
  }

  /// A key directory without keys. Its copies share their pages.
  static let empty = KeyDirectory(hashSeed: .zero)

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

  /// Creates a key directory from a checkpoint. The pages of the checkpoint are loaded when they are needed.
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

  // MARK: Memory

  /// The memory of the pages that are loaded.
  package var loadedBytes: Int { slots.loadedBytes + locations.loadedCount * PagedWords.bytesPerPage }

  /// The memory of the pages once all of them are loaded.
  package var bytesWhenLoaded: Int { slots.bytesWhenLoaded + locations.pageCount * PagedWords.bytesPerPage }

  // MARK: Finding

  enum Search {
    case absent
    /// A page must be loaded first.
    case missing(PageAddress)
    case inMemtable(UInt32, CommitBody, offset: Int)
    /// The fingerprint matches. The caller must read the entry in the segment to compare the key.
    case inSegment(UInt32, Segment, Location)
  }

  package func fingerprint(of key: RawSpan) -> UInt32 { Self.fingerprint(ofHash: hash.hash(key)) }

  /// Looks up a key. `mismatches` lists the ordinals whose segment entries turned out to belong to other
  /// keys.
  func find(_ key: RawSpan, _ fingerprint: UInt32, mismatches: [UInt32] = []) -> Search {
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
      case .memtable(let body, let offset):
        let commit = memtable[body]
        if commit.isKey(key, ofPutAt: offset) { return .inMemtable(ordinal, commit, offset: offset) }
      case .entry(let slot, _, _, _), .run(let slot, _, _):
        guard !mismatches.contains(ordinal), let use = segments[slot] else { continue }
        return .inSegment(ordinal, use.segment, location)
      }
    }
    return .absent
  }

  /// The page that must be loaded to continue the lookup of a key; nil if none is missing.
  func missingPage(for key: RawSpan) -> PageAddress? {
    if case .missing(let page) = find(key, fingerprint(of: key)) { page } else { nil }
  }

  package func location(of ordinal: UInt32) -> Location { Location(bits: locations[Int(ordinal)]) }

  func isLoaded(locationOf ordinal: UInt32) -> Bool { locations.isLoaded(wordAt: Int(ordinal)) }

  package func isOrdinal(_ ordinal: UInt32, of key: RawSpan) -> Bool {
    var probe = slots.probe(for: fingerprint(of: key))
    while let candidate = slots.nextOrdinal(&probe) {
      if candidate == ordinal { return true }
    }
    return false
  }

  // MARK: Preparing a commit

  /// The key of an operation: its fingerprint, and its ordinal if the key existed before the operation's
  /// group.
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

  /// Ensures that `apply` can add `newKeys` ordinals. Returns a page that must be loaded first; nil if all
  /// needed pages are loaded.
  mutating func prepare(newKeys: Int) -> PageAddress? {
    // A page split may double the directory.
    if let page = slots.directory.firstMissing { return .directory(page) }
    // The page of the next new ordinal is always needed, because ordinals on the free list may turn out to be
    // in use.
    if ordinals % PagedWords.wordsPerPage != 0, !locations.isLoaded(wordAt: ordinals) {
      return .locations(ordinals / PagedWords.wordsPerPage)
    }
    guard free.count < newKeys, freePagesLeft > 0 else { return nil }
    return .free(freePagesLeft - 1)
  }

  /// Installs a page that was missing. Returns false if no checkpoint writer can have produced the page.
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
    case .memtable: false
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
    // Reusing an ordinal whose location page is on disk would require loading that page. Such an ordinal is
    // dropped from the list instead, which wastes eight bytes until the next full load.
    freePagesLeft -= 1
    free.append(contentsOf: list.filter { isFree($0) })
    return true
  }

  private func isFree(_ ordinal: UInt32) -> Bool {
    locations.isLoaded(wordAt: Int(ordinal)) && locations[Int(ordinal)] == 0
  }

  // MARK: Applying a commit

  ///  Applies a commit's operations in order. `targets` holds the fingerprints of their keys, and the
  ///  ordinals that the keys had before the group. `place` is called once per operation. Its argument is the
  ///  ordinal for a put, and an arbitrary value for a removal.
  mutating func apply(_ commit: CommitBody, _ targets: [Target], place: (UInt32) -> Void = { _ in }) {
    // The body starts with one reference. Otherwise it would be freed if a later operation of the commit
    // undoes an earlier operation.
    let body = memtable.append(commit)
    var index = 0
    var puts = 0
    for operation in commit.operations {
      let target = targets[index]
      index += 1
      let ordinal = ordinal(of: commit, operation.key, target: target)
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
    memtable.hold(body, puts)
    memtable.release(body)
    published = published.next
    lastStamp = max(lastStamp, commit.stamp)
  }

  /// Call this after the last commit of a group.
  mutating func endGroup() {
    free.append(contentsOf: freedByGroup)
    freedByGroup = []
  }

  /// Returns the key's current ordinal. This is the ordinal from `target`, unless an earlier operation of the
  /// group added or removed the key. In that case, the key is in the memtable or does not exist.
  private func ordinal(of commit: CommitBody, _ key: Range<Int>, target: Target) -> UInt32? {
    if let ordinal = target.ordinal, location(of: ordinal) != .none { return ordinal }
    let bytes = commit.bytes.rawSpan.extracting(key)
    var probe = slots.probe(for: target.fingerprint)
    while let ordinal = slots.nextOrdinal(&probe) {
      // If the location page of an ordinal with the same fingerprint is not loaded, that ordinal's key cannot
      // be in the memtable.
      guard locations.isLoaded(wordAt: Int(ordinal)),
        case .memtable(let body, let offset) = location(of: ordinal).place,
        memtable[body].isKey(bytes, ofPutAt: offset)
      else { continue }
      return ordinal
    }
    return nil
  }

  @discardableResult
  private mutating func insert(_ location: Location, _ fingerprint: UInt32) -> UInt32 {
    let ordinal: UInt32
    if let last = popFreeOrdinal() {
      ordinal = last
    } else {
      ordinal = UInt32(ordinals)
      if ordinals % PagedWords.wordsPerPage == 0 { locations.appendPage() }
      ordinals += 1
    }
    locations[Int(ordinal)] = location.bits
    slots.insert(fingerprint, ordinal)
    keys += 1
    insertions += 1
    return ordinal
  }

  /// Returns a free ordinal, or nil if no ordinal is free. A crafted free list may contain duplicates.
  private mutating func popFreeOrdinal() -> UInt32? {
    while let last = free.popLast() {
      if isFree(last) { return last }
    }
    return nil
  }

  private mutating func remove(_ ordinal: UInt32, _ fingerprint: UInt32) {
    locations[Int(ordinal)] = 0
    slots.remove(fingerprint, ordinal)
    freedByGroup.append(ordinal)
    keys -= 1
    removals += 1
  }

  /// Releases a location during `apply`. If the location belongs to a put of the same commit, it holds no
  /// reference yet, and only `puts` is decremented.
  private mutating func release(
    _ location: Location, orCountDown puts: inout Int, from body: UInt64
  ) {
    if case .memtable(body, _) = location.place { puts -= 1 } else { release(location) }
  }

  /// Subtracts a location from the counts of its memtable body or segment.
  private mutating func release(_ location: Location) {
    switch location.place {
    case .none: break
    case .memtable(let body, _): memtable.release(body)
    case .entry(let slot, _, _, let bytes): subtractLive(slot, UInt64(bytes))
    case .run(let slot, _, let pages): subtractLive(slot, UInt64(pages * SegmentFormat.pageBytes))
    }
  }

  private mutating func subtractLive(_ slot: Int, _ bytes: UInt64) {
    // The counts of a crafted checkpoint may be too small; they must not underflow.
    guard let use = segments[slot] else { return }
    segments[slot]?.liveBytes -= min(bytes, use.liveBytes)
    segments[slot]?.liveEntries -= min(1, use.liveEntries)
  }

  // MARK: Moving locations

  /// The ordinal with this location, found by the fingerprint of its key.
  package func ordinal(at location: Location, _ fingerprint: UInt32) -> UInt32? {
    var probe = slots.probe(for: fingerprint)
    while let ordinal = slots.nextOrdinal(&probe) {
      if self.location(of: ordinal) == location { return ordinal }
    }
    return nil
  }

  /// Changes the location of a key whose bytes were copied. Does nothing if the key changed meanwhile.
  package mutating func move(_ ordinal: UInt32, from old: Location, to new: Location) {
    guard location(of: ordinal) == old else { return }
    release(old)
    locations[Int(ordinal)] = new.bits
    count(new)
  }

  /// Adds a new key whose bytes are already in a segment. `fingerprint` is the fingerprint of that key.
  package mutating func insertExisting(_ location: Location, _ fingerprint: UInt32) {
    insert(location, fingerprint)
    count(location)
  }

  /// Adds a segment to a free slot. The segment has no live bytes until locations are moved to it.
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

  /// The words that a checkpoint stores for the segments: file number, live bytes and live entries of each
  /// slot.
  var segmentWords: [UInt64] {
    segments.flatMap { use in
      use.map { [$0.segment.number.value, $0.liveBytes, $0.liveEntries] } ?? [0, 0, 0]
    }
  }

  /// Counts computed from a key directory with all pages loaded.
  struct Recount: Sendable {
    /// The segment counts that were kept incrementally. `counted` holds the exact counts.
    fileprivate var before: [SegmentUse?]
    fileprivate var counted: [SegmentUse?]
    /// Free ordinals that are on no free list. No commit can take them in the meantime.
    fileprivate var unlistedOrdinals: [UInt32] = []
    /// Whether the free list is correct. Only a crafted free list contains duplicates or ordinals in use.
    fileprivate var isFreeListCorrect = true
  }

  /// Recounts the live bytes of the segments and finds lost free ordinals. The counts must be exact, because
  /// a flush uses them to decide which files to delete. The time is linear in the number of keys, so this
  /// runs on a frozen copy. Returns nil if slots and ordinals do not correspond one to one, which happens
  /// only with a crafted file.
  func recounted() -> Recount? {
    guard isOneToOne else { return nil }
    var whole = self
    whole.recountAll()
    var recount = Recount(before: segments, counted: whole.segments)
    var isListed = [Bool](repeating: false, count: ordinals)
    for ordinal in freeOrdinals {
      if isListed[Int(ordinal)] || locations[Int(ordinal)] != 0 { recount.isFreeListCorrect = false }
      isListed[Int(ordinal)] = true
    }
    recount.unlistedOrdinals = (0..<UInt32(ordinals)).filter { locations[Int($0)] == 0 && !isListed[Int($0)] }
    return recount
  }

  /// Drops the checkpoint once every page is in memory. Some commits may have been applied since `recount`
  /// was computed. Until the first flush, commits can only reduce a segment's counts, so their reductions are
  /// subtracted.
  mutating func dropSource(_ recount: Recount) {
    guard source != nil else { return }
    source = nil
    // Only a crafted file has kept counts that are smaller than the exact counts. The reduction since the
    // recount is then unknown.
    let isExact = recount.before.indices.allSatisfy { slot in
      guard let before = recount.before[slot], let counted = recount.counted[slot] else { return true }
      return before.liveBytes >= counted.liveBytes && before.liveEntries >= counted.liveEntries
    }
    guard isExact else { return recountAll() }
    for slot in segments.indices {
      guard let now = segments[slot], let before = recount.before[slot], let counted = recount.counted[slot]
      else { continue }
      let bytesRemoved = before.liveBytes - min(before.liveBytes, now.liveBytes)
      let entriesRemoved = before.liveEntries - min(before.liveEntries, now.liveEntries)
      segments[slot]?.liveBytes = counted.liveBytes - min(counted.liveBytes, bytesRemoved)
      segments[slot]?.liveEntries = counted.liveEntries - min(counted.liveEntries, entriesRemoved)
    }
    //  If the list was correct, the ordinals that commits took after the recount are already removed from it.
    //  If the list was not correct, it is rebuilt. A group that frees an ordinal could otherwise reuse it at
    //  once, because the ordinal was on the list while it was in use.
    if recount.isFreeListCorrect {
      free.append(contentsOf: recount.unlistedOrdinals)
    } else {
      findFreeOrdinals()
    }
  }

  /// Recomputes the counts and the free list of this key directory.
  private mutating func recountAll() {
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

  /// Adds a location to the counts of its segment.
  private mutating func count(_ location: Location) {
    guard let slot = location.slot else { return }
    switch location.place {
    case .entry(_, _, _, let bytes): segments[slot]?.liveBytes += UInt64(bytes)
    case .run(_, _, let pages): segments[slot]?.liveBytes += UInt64(pages * SegmentFormat.pageBytes)
    case .none, .memtable: break
    }
    segments[slot]?.liveEntries += 1
  }

  /// All pages, in an order in which they can be installed. The pages of the free list are installed from the
  /// last to the first.
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

  /// Installs rebuilt pages and drops the checkpoint. If the new segment counts would differ from the counts
  /// kept so far, the rebuilt pages are wrong. In that case, returns false and changes nothing.
  package mutating func install(_ found: RebuiltPages) -> Bool {
    // Another thread has rebuilt the pages in the meantime.
    guard source != nil else { return true }
    var whole = self
    for (page, words) in found.locations where !whole.install(words, at: .locations(page)) { return false }
    if found.areSlotsLost { whole.slots = slots.rebuilt(adding: found.slots) }
    whole.freePagesLeft = 0
    let counts = segments.map { [$0?.liveBytes, $0?.liveEntries] }
    guard let recount = whole.recounted() else { return false }
    whole.dropSource(recount)
    guard whole.segments.map({ [$0?.liveBytes, $0?.liveEntries] }) == counts else {
      return false
    }
    self = whole
    return true
  }

  /// The unused ordinals on the free lists.
  package var freeOrdinals: [UInt32] { free + freedByGroup }

  /// Puts the ordinals that `installFree` dropped back on the free list. All pages must be loaded.
  mutating func collectLostOrdinals() {
    guard ordinals - keys > free.count + freedByGroup.count else { return }
    findFreeOrdinals()
  }

  private mutating func findFreeOrdinals() {
    let freed = Set(freedByGroup)
    free = (0..<UInt32(ordinals)).filter { locations[Int($0)] == 0 && !freed.contains($0) }
  }

  // MARK: Checking

  /// The first broken invariant, or nil. All pages must be loaded.
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
      case .memtable(let body, let offset):
        bodies[body, default: 0] += 1
        let key = memtable[body].key(ofPutAt: offset)
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
    guard bodies == memtable.liveCounts else { return "a body counts its live puts wrongly" }
    for (slot, use) in segments.enumerated() {
      let found = uses[slot] ?? (0, 0)
      let counted = use.map { ($0.liveBytes, $0.liveEntries) } ?? (0, 0)
      guard found == counted else { return "segment slot \(slot) counts its live bytes wrongly" }
    }
    return nil
  }
}
