// Decides which entries of segments are the current values of their keys, according to a checkpoint that may
// be damaged.

import ByteStore

/// Decides which entries are current values, according to a checkpoint.
struct CheckpointJudge {
  enum Verdict {
    case live
    case dead
    /// The checkpoint page that would decide is damaged.
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
  let isIntact: Bool

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
    let isTableIntact = source.isHeaderSound && !(pages + overflow).contains(nil)
    fingerprints = isTableIntact && locations.contains(nil) ? Self.fingerprints(pages, overflow) : nil
    isIntact = isTableIntact && !(directory + locations + segments).contains(nil)
  }

  /// The numbers of the checkpoint's segments.
  var segmentNumbers: Set<UInt64> { Set((slots ?? [:]).keys) }

  /// The number of keys, if known.
  var keys: Int? { source.isHeaderSound ? source.header.keys : nil }

  func verdict(
    _ entry: StoredEntry, _ location: Location, in number: FileNumber, key: RawSpan
  ) -> Verdict {
    guard let slots else { return .unknown }
    // A segment that the checkpoint does not list is older or newer than the checkpoint.
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
    // Use the ordinals in the slots as keys, because the header may claim any number of ordinals.
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
  /// Returns the same location in the segment with slot `slot`.
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
