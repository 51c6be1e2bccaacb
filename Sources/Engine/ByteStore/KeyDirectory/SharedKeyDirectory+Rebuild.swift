// Rebuilds key directory pages from the segments if the checkpoint has lost them.
//
//   1. Load: load every page that can be read.
//   2. Slots: if an ordinal has no slot, its location leads to its entry, and the entry holds the key.
//   3. Locations: the location of an ordinal is that of its newest entry. A flush writes each ordinal at most
//      once, and later flushes have higher file numbers.
//   4. Free: ordinals without a slot are free.
//   5. Count: the live entries and bytes of each segment must equal the counts that the store has kept.
//
// A page that could not be loaded still matches the checkpoint, because a commit loads the pages of its keys
// before it changes them. If slots and locations are lost together, the segments do not show which of the
// ordinals without a slot were removed. In that case nothing is changed, and the error of the first lost page
// is thrown. The same applies if more than 64 MiB of pages are lost, or if an entry cannot be read.

extension SharedKeyDirectory {
  /// Runs `body`, which needs pages of the checkpoint. If a page is lost, rebuilds all lost pages and runs
  /// `body` again.
  func rebuildingLostPages<Result>(
    _ body: () throws(ByteStoreError) -> Result
  ) throws(ByteStoreError) -> Result {
    let source = withTable { $0.source?.path }
    do throws(ByteStoreError) {
      return try body()
    } catch {
      guard let source, error.isReadFailure(source) else { throw error }
      try loadOrRebuildAll()
      return try body()
    }
  }

  /// Loads every page and rebuilds the pages that cannot be read. `isRebuilt` records whether any page was
  /// rebuilt. Afterwards, the key directory no longer needs the checkpoint.
  func loadOrRebuildAll() throws(ByteStoreError) {
    let lost = try loadAllReadable()
    guard let first = lost.firstError else { return try loadAll() }
    do throws(ByteStoreError) {
      let found = try LostPageSearch(lost, in: frozen(), error: first).search()
      guard withTable({ $0.install(found) }) else { throw first }
    } catch {
      // If there is no source any more, another thread has rebuilt the pages in the meantime. Commits since
      // then made this attempt fail.
      guard withTable({ $0.source != nil }) else { return }
      // The error of the lost page is thrown, because the remedy is the same. A check reports why the rebuild
      // failed.
      throw first
    }
    isRebuilt.withLock { $0 = true }
  }

  private func loadAllReadable() throws(ByteStoreError) -> UnreadablePages {
    var lost = UnreadablePages()
    guard let source = withTable({ $0.source }) else { return lost }
    try forEachMissing { page throws(ByteStoreError) in
      // A page counts as lost only if a second read fails too, because a lost page is never loaded later. A
      // page that was read successfully is not read again.
      do throws(ByteStoreError) {
        try load(page)
      } catch {
        guard error.isReadFailure(source.path), (try? source.words(page)) == nil else { throw error }
        lost.add(page, error)
        // The first lost page is enough to report, so the other pages need not be read.
        if let first = lost.firstError, lost.exceedsRebuildLimit { throw first }
      }
    }
    return lost
  }
}

/// The pages that the checkpoint has lost.
private struct UnreadablePages {
  /// The limit for lost pages (64 MiB). The search holds the lost pages in memory in addition to the loaded
  /// pages.
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
    // The free ordinals can be derived from the other pages.
    case .free: break
    }
  }

  var exceedsRebuildLimit: Bool {
    !slots.isEmpty && !locations.isEmpty || slots.count + locations.count > Self.countMax
  }
}

extension ByteStoreError {
  /// Whether the error says that the file is damaged or that the device cannot read it.
  func isReadFailure(_ file: String) -> Bool {
    switch self {
    case .corrupted(let damage): damage.file == file
    case .system(let cause): cause.path == file && isDamageOrUnreadable
    default: false
    }
  }
}

/// The replacement for lost pages.
package struct RebuiltPages {
  var slots: [(fingerprint: UInt32, ordinal: UInt32)] = []
  /// Whether the directory or a slot page is lost. If so, the hash table is rebuilt from all slots.
  var areSlotsLost = false
  var locations: [Int: [UInt64]] = [:]
}

/// The search for the content of lost pages, in a frozen key directory whose other pages are all loaded.
private struct LostPageSearch {
  private let table: KeyDirectory
  private let error: ByteStoreError
  private let slotPages: Set<Int>
  private let locationPages: Set<Int>
  private let areSlotsLost: Bool

  init(_ lost: UnreadablePages, in table: KeyDirectory, error: ByteStoreError) {
    self.table = table
    self.error = error
    slotPages = lost.slots
    locationPages = lost.locations
    areSlotsLost = lost.isDirectoryLost || !lost.slots.isEmpty
  }

  func search() throws(ByteStoreError) -> RebuiltPages {
    var found = RebuiltPages()
    found.areSlotsLost = areSlotsLost
    let fingerprints = try fingerprintsInSlots()
    if !slotPages.isEmpty { found.slots = try lostSlots(fingerprints) }
    if !locationPages.isEmpty { found.locations = try lostLocations(fingerprints) }
    return found
  }

  /// Returns the fingerprint of each ordinal, by ordinal; nil for an ordinal without a slot.
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

  /// Passes the key fingerprints of all wanted entries to `body`.
  private func forEachFingerprint(
    of segment: Segment, where isWanted: (UInt32, Location) -> Bool,
    _ body: (_ ordinal: UInt32, _ location: Location, _ fingerprint: UInt32) -> Void
  ) throws(ByteStoreError) {
    let opened = try segment.open()
    var buffer = ReadBuffer()
    try segment.forEachEntry { entry, location, page throws(ByteStoreError) in
      guard Int(entry.ordinal) < table.ordinals, isWanted(entry.ordinal, location) else { return }
      guard Segment.decode(entry, from: page, dictionary: opened.dictionary, into: &buffer),
        let parts = EntryBytes.split(buffer.bytes)
      else { throw segment.badEntry(location, opened) }
      body(entry.ordinal, location, table.fingerprint(of: buffer.bytes.extracting(parts.key)))
    }
  }
}
