// Pages of the table that the checkpoint has lost, found again in the segments.
//
//   1. load        every page that can be read
//   2. slots       of a key whose slot is lost, the location leads to its bytes, and they hold the key
//   3. locations   of an ordinal whose location is lost, the newest entry of the segments is the one in use: a
//                  flush writes each ordinal once, and later flushes have higher numbers
//   4. free        the ordinals that nobody has
//   5. count       the live entries and bytes of each segment must be what the store has counted all along
//
// A page that nobody could load is as the checkpoint has it: what changes a key loads its pages first. Where slots and
// locations are lost together, the segments do not tell which of the ordinals without a slot were removed. Then,
// if more than 64 MiB of pages are lost, and if any entry cannot be read, nothing is changed, and the error is that of
// the first lost page.

extension SharedTable {
  /// Does what needs pages. If one of them is lost, all that are get made anew, and it is done again.
  func withLostPagesFound<Result>(
    _ body: () throws(ByteStoreError) -> Result
  ) throws(ByteStoreError) -> Result {
    let source = withTable { $0.source?.path }
    do throws(ByteStoreError) {
      return try body()
    } catch {
      guard let source, error.isOfReading(source) else { throw error }
      try loadOrRebuildAll()
      return try body()
    }
  }

  /// Gets every page, and makes those anew that cannot be read: `isRebuilt` says if there were any. Afterwards the
  /// table needs no checkpoint.
  func loadOrRebuildAll() throws(ByteStoreError) {
    let lost = try loadAllButLost()
    guard let first = lost.firstError else { return try loadAll() }
    do throws(ByteStoreError) {
      let found = try LostPages(lost, in: frozen(), first).search()
      guard withTable({ $0.install(found) }) else { throw first }
    } catch {
      // Somebody else found them meanwhile, and commits since then were in the way.
      guard withTable({ $0.source != nil }) else { return }
      // What stands in the way of it is found by a check; what has to be done is the same.
      throw first
    }
    isRebuilt.withLock { $0 = true }
  }

  private func loadAllButLost() throws(ByteStoreError) -> PagesNotRead {
    var lost = PagesNotRead()
    guard let source = withTable({ $0.source }) else { return lost }
    try forEachMissing { page throws(ByteStoreError) in
      // Nobody installs what this says is lost, and what was read once is not read again.
      do throws(ByteStoreError) {
        try load(page)
      } catch {
        guard error.isOfReading(source.path), (try? source.words(page)) == nil else { throw error }
        lost.add(page, error)
        // The first one tells where to look, and the others need not be read for that.
        if let first = lost.firstError, lost.isHopeless { throw first }
      }
    }
    return lost
  }
}

/// Pages that the checkpoint has lost.
private struct PagesNotRead {
  /// What is searched for in the segments takes memory: as much as the pages that were read, and this.
  static let countMax = 1 << 14

  private(set) var slots: Set<Int> = []
  private(set) var locations: Set<Int> = []
  private(set) var isDirectoryLost = false
  private(set) var firstError: ByteStoreError?

  mutating func add(_ page: PageAddress, _ error: ByteStoreError) {
    firstError = firstError ?? error
    switch page {
    case .directory: isDirectoryLost = true
    case .slots(let page): slots.insert(page)
    case .locations(let page): locations.insert(page)
    // Which ordinals are free, the others tell.
    case .free: break
    }
  }

  var isHopeless: Bool {
    !slots.isEmpty && !locations.isEmpty || slots.count + locations.count > Self.countMax
  }
}

extension ByteStoreError {
  /// What is in the file is damaged, or the device does not give it.
  func isOfReading(_ file: String) -> Bool {
    switch self {
    case .corrupted(let damage): damage.file == file
    case .system(let cause): cause.path == file && isDamageOrUnreadable
    default: false
    }
  }
}

/// What takes the place of lost pages.
package struct FoundPages {
  var slots: [(fingerprint: UInt32, ordinal: UInt32)] = []
  /// The directory or a page of slots is lost: the table of slots is built again from all of them.
  var areSlotsLost = false
  var locations: [Int: [UInt64]] = [:]
}

/// The search for them in a frozen table, all of whose other pages are loaded.
private struct LostPages {
  private let table: Table
  private let error: ByteStoreError
  private let slotPages: Set<Int>
  private let locationPages: Set<Int>
  private let areSlotsLost: Bool

  init(_ lost: PagesNotRead, in table: Table, _ error: ByteStoreError) {
    self.table = table
    self.error = error
    slotPages = lost.slots
    locationPages = lost.locations
    areSlotsLost = lost.isDirectoryLost || !lost.slots.isEmpty
  }

  func search() throws(ByteStoreError) -> FoundPages {
    var found = FoundPages()
    found.areSlotsLost = areSlotsLost
    let fingerprints = try fingerprintsInSlots()
    if !slotPages.isEmpty { found.slots = try lostSlots(fingerprints) }
    if !locationPages.isEmpty { found.locations = try lostLocations(fingerprints) }
    return found
  }

  /// By ordinal; nil for those without a slot.
  private func fingerprintsInSlots() throws(ByteStoreError) -> [UInt32?] {
    var fingerprints = [UInt32?](repeating: nil, count: table.ordinals)
    var isSound = true
    table.slots.forEachLoadedSlot { fingerprint, ordinal in
      if fingerprints[Int(ordinal)] != nil { isSound = false }
      fingerprints[Int(ordinal)] = fingerprint
    }
    guard isSound else { throw error }
    return fingerprints
  }

  private func lostSlots(
    _ fingerprints: [UInt32?]
  ) throws(ByteStoreError) -> [(fingerprint: UInt32, ordinal: UInt32)] {
    var slots: [(fingerprint: UInt32, ordinal: UInt32)] = []
    for segment in table.segments.compactMap({ $0?.segment }) {
      try forEachFingerprint(of: segment) { ordinal, location in
        fingerprints[Int(ordinal)] == nil && table.location(of: ordinal) == location
      } _: { ordinal, _, fingerprint in
        slots.append((fingerprint, ordinal))
      }
    }
    let wanted = fingerprints.indices.count {
      fingerprints[$0] == nil && table.location(of: UInt32($0)) != .none
    }
    guard slots.count == wanted else { throw error }
    return slots
  }

  private func lostLocations(_ fingerprints: [UInt32?]) throws(ByteStoreError) -> [Int: [UInt64]] {
    let words = PagedWords.wordsPerPage
    var pages: [Int: [UInt64]] = [:]
    for page in locationPages { pages[page] = [UInt64](repeating: 0, count: words) }
    var isSound = true
    for segment in table.segments.compactMap({ $0?.segment }).sorted(by: { $0.number > $1.number }) {
      try forEachFingerprint(of: segment) { ordinal, _ in
        fingerprints[Int(ordinal)] != nil && pages[Int(ordinal) / words]?[Int(ordinal) % words] == 0
      } _: { ordinal, location, fingerprint in
        if fingerprints[Int(ordinal)] != fingerprint { isSound = false }
        pages[Int(ordinal) / words]?[Int(ordinal) % words] = location.bits
      }
    }
    let isComplete = fingerprints.indices.allSatisfy { ordinal in
      fingerprints[ordinal] == nil || pages[ordinal / words].map { $0[ordinal % words] != 0 } ?? true
    }
    guard isSound, isComplete else { throw error }
    return pages
  }

  /// Hands over the fingerprints of the keys of all entries that are wanted.
  private func forEachFingerprint(
    of segment: Segment, where isWanted: (UInt32, Location) -> Bool,
    _ body: (_ ordinal: UInt32, _ location: Location, _ fingerprint: UInt32) -> Void
  ) throws(ByteStoreError) {
    let opened = try segment.open()
    var buffer = ReadBuffer()
    try segment.forEachEntry { entry, location, page throws(ByteStoreError) in
      guard Int(entry.ordinal) < table.ordinals, isWanted(entry.ordinal, location) else { return }
      guard Segment.decode(entry, from: page, opened.dictionary, into: &buffer),
        let parts = EntryBytes.split(buffer.bytes)
      else { throw segment.badEntry(location, opened) }
      body(entry.ordinal, location, table.fingerprint(of: buffer.bytes.extracting(parts.key)))
    }
  }
}
