// Reads by ordinal at one commit.
//
// A `ReadView` is a frozen key directory. It costs its reader a few references, and the next commit copies
// the pages that it changes. Unlike a `Snapshot`, a read view is not registered, unless it has a
// `SnapshotPin`, because most read views last for one call.

/// The entries of a store at one commit.
package final class ReadView: Sendable {
  /// The last visible commit.
  package let sequence: SequenceNumber
  /// The largest stamp of the visible commits; 0 before the first commit.
  package let stamp: UInt64
  private let frozen: SharedKeyDirectory
  /// The live key directory, which also gets the pages that are loaded for the frozen one.
  private let live: SharedKeyDirectory

  init(_ table: KeyDirectory, live: SharedKeyDirectory, path: String) {
    sequence = table.published
    stamp = table.lastStamp
    frozen = SharedKeyDirectory(table, live.cache, path: path)
    self.live = live
  }

  /// The number of keys.
  package var keyCount: Int { frozen.withTable { $0.keys } }

  /// Takes a buffer for longer use. Return it with `giveBack`.
  package func takeBuffer() -> PooledBuffer { live.buffers.take() }

  package func giveBack(_ pooled: PooledBuffer) { live.buffers.giveBack(pooled) }

  /// Reads the key and the value of an ordinal into `buffer`; returns false if the ordinal is unused.
  package func read(
    _ ordinal: UInt32, into buffer: inout ReadBuffer
  ) throws(ByteStoreError) -> Bool {
    while true {
      switch frozen.withTable({ $0.look(up: ordinal) }) {
      case .absent:
        return false
      case .missing(let page):
        try frozen.load(page, alsoInto: live)
      case .inMemtable(let commit, let offset):
        buffer.fill(with: commit, putAt: offset)
        return true
      case .inSegment(let segment, let location):
        try segment.read(location, frozen.cache, into: &buffer)
        guard buffer.splitEntry() else { throw segment.badEntry(location, try segment.open()) }
        return true
      }
    }
  }

  /// Passes ordinals with their keys and values to `body`, in this order, until `body` returns false.
  /// Skips unused ordinals. Returns false if `body` did.
  ///
  /// Meant for many ordinals at once. All locations are looked up first, so that cache misses overlap.
  /// If the disk has to be read, read-ahead covers many pages.
  package func forEach(
    _ ordinals: [UInt32], using buffer: inout ReadBuffer,
    _ body: (_ ordinal: UInt32, _ key: RawSpan, _ value: RawSpan) -> Bool
  ) throws(ByteStoreError) -> Bool {
    // A copy of the frozen key directory needs no lock.
    var table = frozen.frozen()
    var hasPrefetchedPages = false
    var locations: [Location] = []
    locations.reserveCapacity(ordinals.count)
    for ordinal in ordinals {
      while let page = table.missingPage(for: ordinal) {
        if !hasPrefetchedPages { prefetchPages(of: ordinals, table) }
        hasPrefetchedPages = true
        try frozen.load(page, alsoInto: live)
        table = frozen.frozen()
      }
      locations.append(ordinal < table.ordinals ? table.location(of: ordinal) : .none)
    }
    // `requestedCount` counts the entries whose read-ahead was started.
    var requestedCount = 0
    if hasPrefetchedPages { startReading(locations, from: 0, &requestedCount, table) }
    for index in ordinals.indices {
      let location = locations[index]
      if let segment = table.segment(of: location) {
        if !segment.isOpen { startReading(locations, from: index, &requestedCount, table) }
        if try segment.read(location, frozen.cache, into: &buffer) {
          startReading(locations, from: index + 1, &requestedCount, table)
        }
        guard buffer.splitEntry() else { throw segment.badEntry(location, try segment.open()) }
      } else if case .memtable(let body, let offset) = location.place {
        buffer.fill(with: table.memtable[body], putAt: offset)
      } else {
        continue
      }
      guard body(ordinals[index], buffer.key, buffer.bytes) else { return false }
    }
    return true
  }

  /// The read-ahead window, in entries and in pages. Read-ahead starts after a read waited for the disk,
  /// or if a segment must be opened or key directory pages must be loaded.
  private static let readAheadEntries = 32
  private static let readAheadPages = 128

  /// Starts read-ahead of the entries from `index` on, except those already requested.
  private func startReading(
    _ locations: [Location], from index: Int, _ requestedCount: inout Int, _ table: KeyDirectory
  ) {
    let first = max(requestedCount, index)
    var end = first
    var pages = 0
    while end < min(index + Self.readAheadEntries, locations.count), pages < Self.readAheadPages {
      pages += locations[end].pages
      end += 1
    }
    guard first < end else { return }
    table.startReading(locations[first..<end])
    requestedCount = end
  }

  /// Starts read-ahead of missing checkpoint pages.
  private func prefetchPages(of ordinals: [UInt32], _ table: KeyDirectory) {
    var seen: Set<PageAddress> = []
    // In the order in which they are needed.
    let missing = ordinals.compactMap(table.missingPage).filter { seen.insert($0).inserted }
    if missing.count > 1 { table.source?.startReading(missing) }
  }

  /// Reads a key and its value into `buffer`; returns false if the key does not exist.
  package func read(_ key: [UInt8], into buffer: inout ReadBuffer) throws(ByteStoreError) -> Bool {
    guard let ordinal = try frozen.ordinal(of: key, into: &buffer) else { return false }
    return try read(ordinal, into: &buffer)
  }

  /// Passes every key with its ordinal and value to `body`, in disk order.
  package func forEach(
    _ body: (_ ordinal: UInt32, _ key: RawSpan, _ value: RawSpan) throws(ByteStoreError) -> Void
  ) throws(ByteStoreError) {
    try frozen.forEachEntry(body)
  }
}

extension KeyDirectory {
  enum Entry {
    case absent
    /// A page must be loaded first.
    case missing(PageAddress)
    case inMemtable(CommitBody, offset: Int)
    case inSegment(Segment, Location)
  }

  /// The page that must be loaded to look up an ordinal; nil if none is missing.
  func missingPage(for ordinal: UInt32) -> PageAddress? {
    guard ordinal < ordinals, !locations.isLoaded(wordAt: Int(ordinal)) else { return nil }
    return .locations(Int(ordinal) / PagedWords.wordsPerPage)
  }

  /// The segment of a location; nil for a location in memory.
  func segment(of location: Location) -> Segment? {
    guard let slot = location.slot else { return nil }
    return segments[slot]?.segment
  }

  /// Starts read-ahead for these locations, and opens their segments if possible.
  func startReading(_ locations: ArraySlice<Location>) {
    let slots = Set(locations.compactMap(\.slot))
    // Sorted by slot, because it determines the order of the I/O calls.
    Segment.startReading(locations, of: slots.sorted().compactMap { segments[$0]?.segment })
  }

  /// Looks up the location of an ordinal.
  func look(up ordinal: UInt32) -> Entry {
    guard ordinal < ordinals else { return .absent }
    if let page = missingPage(for: ordinal) { return .missing(page) }
    let location = location(of: ordinal)
    switch location.place {
    case .none: return .absent
    case .memtable(let body, let offset): return .inMemtable(memtable[body], offset: offset)
    case .entry(let slot, _, _, _), .run(let slot, _, _):
      return segments[slot].map { .inSegment($0.segment, location) } ?? .absent
    }
  }
}
