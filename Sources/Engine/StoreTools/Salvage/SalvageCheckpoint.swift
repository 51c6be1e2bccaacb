// Reads a checkpoint that may be damaged: every valid page can be read.
//
// A page's checksum starts with the file's id and the page's offset, and its trailer names the region.
// If the header is damaged, the pages therefore determine the layout.

import ByteStore

struct CheckpointSource {
  let file: TolerantFile
  /// If the header is damaged, only `fileID` and `regions` are proven.
  private(set) var header: CheckpointHeader
  private(set) var isHeaderSound = true
  private let broken: Rule?

  /// Returns nil if nothing is readable. `entry` is the manifest's entry.
  static func read(
    _ file: TolerantFile, _ entry: Manifest.Checkpoint?, _ platform: Platform
  ) throws(ByteStoreError) -> CheckpointSource? {
    let page = try file.read(CheckpointFormat.pageBytes, at: 0) ?? []
    let (header, _) = try VersionedHeader.decode(page, file.path, supported: CheckpointFormat.version) {
      page throws(ByteStoreError) in try CheckpointHeader(decoding: page, file: file.path)
    }
    if let header { return CheckpointSource(file: file, header: header, broken: platform.brokenRule) }
    let raw = page.count == CheckpointFormat.pageBytes ? RandomID(page[16..<32]) : nil
    for fileID in [entry?.fileID, raw].compactMap(\.self) {
      let header = CheckpointHeader(
        fileID: fileID, storeID: .zero, number: entry?.number ?? FileNumber(0), hashSeed: .zero,
        position: LogHeader.LogEnd(fileID: .zero, length: 0, sequence: .none), lastStamp: 0, keys: 0,
        ordinals: 0, depth: 0)
      var source = CheckpointSource(file: file, header: header, broken: platform.brokenRule)
      source.isHeaderSound = false
      if try source.findRegions() { return source }
    }
    return nil
  }

  private init(file: TolerantFile, header: CheckpointHeader, broken: Rule?) {
    self.file = file
    self.header = header
    self.broken = broken
  }

  /// Determines the regions from the pages. A damaged page between two pages of a region belongs to that
  /// region. Returns false in ambiguous cases, because a wrong guess would shift all later pages.
  private mutating func findRegions() throws(ByteStoreError) -> Bool {
    let count = Int(clamping: file.size / UInt64(CheckpointFormat.pageBytes)) - 1
    var regions: [CheckpointHeader.Region] = []
    var unknown = 0
    var isClear = true
    try file.forEachPage(
      of: CheckpointFormat.pageBytes, at: UInt64(CheckpointFormat.pageBytes), count: max(0, count)
    ) { page, bytes throws(ByteStoreError) in
      guard let bytes, let region = self.region(of: bytes, page + 1) else { return unknown += 1 }
      if regions.last?.region != region {
        isClear = isClear && (unknown == 0 || regions.isEmpty && region == .directory)
        regions.append(CheckpointHeader.Region(region: region, pages: 0))
      }
      regions[regions.count - 1].pages += 1 + unknown
      unknown = 0
    }
    header.regions = regions
    return isClear && !regions.isEmpty && Set(regions.map(\.region)).count == regions.count
  }

  private func region(of page: RawSpan, _ index: Int) -> CheckpointRegion? {
    let offset = UInt64(index * CheckpointFormat.pageBytes)
    guard CheckpointFormat.isValid(page, file: header.fileID, offset: offset, broken) else { return nil }
    var trailer = ByteReader(page.extracting(droppingFirst: CheckpointFormat.payloadBytes))
    return trailer.uint32().map { CheckpointRegion(rawValue: $0) }
  }

  /// The words of each page of a region; nil for a damaged page, and one nil for all pages beyond the
  /// end of the file.
  func words(_ region: CheckpointRegion) throws(ByteStoreError) -> [[UInt64]?] {
    try payloads(region).map { payload in
      payload.map { payload in
        var reader = ByteReader(payload.rawSpan)
        return (0..<PagedWords.wordsPerPage).map { _ in reader.uint64() ?? 0 }
      }
    }
  }

  /// The payload of each page of a region; nil for a damaged page.
  func payloads(_ region: CheckpointRegion) throws(ByteStoreError) -> [[UInt8]?] {
    guard let start = header.offset(of: region) else { return [] }
    let total = header.pages(of: region)
    let bytesLeft = start < file.size ? file.size - start : 0
    let present = min(total, Int(clamping: bytesLeft / UInt64(CheckpointFormat.pageBytes)))
    var pages: [[UInt8]?] = []
    try file.forEachPage(of: CheckpointFormat.pageBytes, at: start, count: present) {
      _, bytes throws(ByteStoreError) in
      let index = Int(start) / CheckpointFormat.pageBytes + pages.count
      guard let bytes, self.region(of: bytes, index) == region else { return pages.append(nil) }
      pages.append([UInt8](copying: bytes.extracting(0..<CheckpointFormat.payloadBytes)))
    }
    // A header may claim any number of pages, so one nil stands for all missing ones.
    if present < total { pages.append(nil) }
    return pages
  }
}

extension RandomID {
  fileprivate init?(_ bytes: ArraySlice<UInt8>) {
    let copy = Array(bytes)
    var reader = ByteReader(copy.rawSpan)
    guard let id = reader.randomID() else { return nil }
    self = id
  }
}

/// Decides by a checkpoint which entries are current values.
struct CheckpointJudge {
  enum Verdict {
    case live
    case dead
    /// The page that would decide is damaged.
    case unknown
  }

  let source: CheckpointSource
  /// The slot of each segment, by its number.
  private let slots: [UInt64: Int]?
  private let locations: [[UInt64]?]
  /// The fingerprint of each ordinal's key; nil if unknown or not needed.
  private let fingerprints: [UInt32: UInt32]?
  private let hash: KeyHash
  /// Whether everything that the key directory needs is intact.
  let isWhole: Bool

  init(_ source: CheckpointSource, _ manifest: Manifest?) throws(ByteStoreError) {
    self.source = source
    hash = KeyHash(seed: source.header.hashSeed)
    locations = try source.words(.locations)
    let segments = try source.words(.segments)
    let isNamed = manifest?.checkpoint?.fileID == source.header.fileID
    let isListed = source.isHeaderSound || !segments.isEmpty
    slots = (isListed ? Self.slots(segments) : nil) ?? (isNamed ? manifest?.slots : nil)
    let pages = try source.words(.slots)
    let overflow = try source.words(.overflow)
    let directory = try source.words(.directory)
    let isTableWhole = source.isHeaderSound && !(pages + overflow).contains(nil)
    fingerprints = isTableWhole && locations.contains(nil) ? Self.fingerprints(pages, overflow) : nil
    isWhole = isTableWhole && !(directory + locations + segments).contains(nil)
  }

  /// The numbers of the checkpoint's segments.
  var segmentNumbers: Set<UInt64> { Set((slots ?? [:]).keys) }

  /// The number of keys, if known.
  var keys: Int? { source.isHeaderSound ? source.header.keys : nil }

  func verdict(
    _ entry: StoredEntry, _ location: Location, in number: FileNumber, key: RawSpan
  ) -> Verdict {
    guard let slots else { return .unknown }
    // A segment that the checkpoint does not list is older or newer than it.
    guard let slot = slots[number.value] else { return .dead }
    let (page, word) = Int(entry.ordinal).quotientAndRemainder(dividingBy: PagedWords.wordsPerPage)
    guard page < source.header.pages(of: .locations) else { return source.isHeaderSound ? .dead : .unknown }
    if page < locations.count, let words = locations[page] {
      return words[word] == location.inSlot(slot).bits ? .live : .dead
    }
    guard let fingerprints, Int(entry.ordinal) < source.header.ordinals else { return .unknown }
    let fingerprint = UInt32(truncatingIfNeeded: hash.hash(key) >> 32)
    return fingerprints[entry.ordinal] == fingerprint ? .unknown : .dead
  }

  private static func slots(_ pages: [[UInt64]?]) -> [UInt64: Int]? {
    var slots: [UInt64: Int] = [:]
    var words: [UInt64] = []
    for page in pages {
      guard let page else { return nil }
      words += page
    }
    for slot in 0..<min(words.count / 3, Manifest.Segment.slotsMax) where words[3 * slot] != 0 {
      slots[words[3 * slot]] = slot
    }
    return slots
  }

  private static func fingerprints(
    _ pages: [[UInt64]?], _ overflow: [[UInt64]?]
  ) -> [UInt32: UInt32] {
    // Keyed by the ordinals in the slots, because the header may claim any number of ordinals.
    var fingerprints: [UInt32: UInt32] = [:]
    func add(_ slot: UInt64) {
      let word = UInt32(truncatingIfNeeded: slot)
      if word != 0 { fingerprints[word - 1] = UInt32(truncatingIfNeeded: slot >> 32) }
    }
    for page in pages { page?.prefix(SlotPages.slotsPerPage).forEach(add) }
    for page in overflow { page?.forEach(add) }
    return fingerprints
  }
}

extension Location {
  /// This location for a segment with another slot.
  fileprivate func inSlot(_ slot: Int) -> Location {
    switch place {
    case .none, .memtable: self
    case .entry(_, let page, let offset, let bytes):
      Location(slot: slot, page: page, offset: offset, bytes: bytes)
    case .run(_, let page, let pages): Location(slot: slot, page: page, pages: pages)
    }
  }
}

extension Manifest {
  fileprivate var slots: [UInt64: Int] {
    Dictionary(segments.map { ($0.number.value, $0.slot) }) { first, _ in first }
  }
}
