// Reading by ordinal, at one moment.
//
// A moment is a frozen table: it costs its reader a few references, and the next commit the pages that it
// changes. Unlike a snapshot it is not counted anywhere, unless there is a lease for it: most last as long as one
// call.

/// The entries of a store as of one commit.
package final class Moment: Sendable {
  /// The last commit that it sees.
  package let sequence: SequenceNumber
  /// The largest stamp of all that it sees; 0 before the first commit.
  package let stamp: UInt64
  private let frozen: SharedTable
  /// What is read for the frozen table is of use to the store's own as well.
  private let live: SharedTable

  init(_ table: Table, live: SharedTable, path: String) {
    sequence = table.published
    stamp = table.lastStamp
    frozen = SharedTable(table, live.cache, path: path)
    self.live = live
  }

  /// The number of keys.
  package var keyCount: Int { frozen.withTable { $0.keys } }

  /// For reads that go on for a while. It is given back at the end.
  package func takeBuffer() -> PooledBuffer { live.buffers.take() }

  package func giveBack(_ pooled: PooledBuffer) { live.buffers.giveBack(pooled) }

  /// The key and the value of an ordinal into `buffer`; false if it has none.
  package func read(
    _ ordinal: UInt32, into buffer: inout ReadBuffer
  ) throws(ByteStoreError) -> Bool {
    while true {
      switch frozen.withTable({ $0.look(up: ordinal) }) {
      case .absent:
        return false
      case .missing(let page):
        try frozen.load(page, alsoInto: live)
      case .inTail(let commit, let offset):
        buffer.fill(with: commit, putAt: offset)
        return true
      case .inSegment(let segment, let location):
        try segment.read(location, frozen.cache, into: &buffer)
        guard buffer.splitEntry() else { throw segment.badEntry(location, try segment.open()) }
        return true
      }
    }
  }

  /// Hands over ordinals with their keys and values, in this order, until `body` answers false; those that have none
  /// are passed over. False if `body` did.
  ///
  /// For many at a time: where they are is looked up first, for all of them, so that the processor can wait for
  /// memory once and not once for each; and so that the disk, where it has to be waited for, is told of many pages.
  package func forEach(
    _ ordinals: [UInt32], using buffer: inout ReadBuffer,
    _ body: (_ ordinal: UInt32, _ key: RawSpan, _ value: RawSpan) -> Bool
  ) throws(ByteStoreError) -> Bool {
    // A copy of what is frozen needs no lock.
    var table = frozen.frozen()
    var isToldOfPages = false
    var locations: [Location] = []
    locations.reserveCapacity(ordinals.count)
    for ordinal in ordinals {
      while let page = table.missingPage(for: ordinal) {
        if !isToldOfPages { startReadingPages(of: ordinals, table) }
        isToldOfPages = true
        try frozen.load(page, alsoInto: live)
        table = frozen.frozen()
      }
      locations.append(ordinal < table.ordinals ? table.location(of: ordinal) : .none)
    }
    // The disk knows of those before.
    var told = 0
    if isToldOfPages { startReading(locations, from: 0, &told, table) }
    for index in ordinals.indices {
      let location = locations[index]
      if let segment = table.segment(of: location) {
        if !segment.isOpen { startReading(locations, from: index, &told, table) }
        if try segment.read(location, frozen.cache, into: &buffer) {
          startReading(locations, from: index + 1, &told, table)
        }
        guard buffer.splitEntry() else { throw segment.badEntry(location, try segment.open()) }
      } else if case .tail(let body, let offset) = location.place {
        buffer.fill(with: table.tail[body], putAt: offset)
      } else {
        continue
      }
      guard body(ordinals[index], buffer.key, buffer.bytes) else { return false }
    }
    return true
  }

  /// So many entries are asked for ahead, once one has been waited for, or a segment or pages of the table have to be
  /// read for them; and no further one behind so many pages.
  private static let entriesAhead = 32
  private static let pagesAhead = 128

  /// Those from `index` on, unless the disk was told of them.
  private func startReading(_ locations: [Location], from index: Int, _ told: inout Int, _ table: Table) {
    let first = max(told, index)
    var end = first
    var pages = 0
    while end < min(index + Self.entriesAhead, locations.count), pages < Self.pagesAhead {
      pages += locations[end].pages
      end += 1
    }
    guard first < end else { return }
    table.startReading(locations[first..<end])
    told = end
  }

  /// Those of the checkpoint that have to be loaded.
  private func startReadingPages(of ordinals: [UInt32], _ table: Table) {
    var seen: Set<PageAddress> = []
    // In the order in which they are wanted.
    let missing = ordinals.compactMap(table.missingPage).filter { seen.insert($0).inserted }
    if missing.count > 1 { table.source?.startReading(missing) }
  }

  /// The key and the value of a key into `buffer`; false if it is not there.
  package func read(_ key: [UInt8], into buffer: inout ReadBuffer) throws(ByteStoreError) -> Bool {
    guard let ordinal = try frozen.ordinal(of: key, into: &buffer) else { return false }
    return try read(ordinal, into: &buffer)
  }

  /// Hands over every key with its ordinal and value, in the order in which they lie on disk.
  package func forEach(
    _ body: (_ ordinal: UInt32, _ key: RawSpan, _ value: RawSpan) throws(ByteStoreError) -> Void
  ) throws(ByteStoreError) {
    try frozen.forEachEntry(body)
  }
}

extension Table {
  enum Entry {
    case absent
    /// A page has to be loaded first.
    case missing(PageAddress)
    case inTail(CommitBody, offset: Int)
    case inSegment(Segment, Location)
  }

  /// The page that has to be loaded before anything is known of an ordinal.
  func missingPage(for ordinal: UInt32) -> PageAddress? {
    guard ordinal < ordinals, !locations.isLoaded(wordAt: Int(ordinal)) else { return nil }
    return .locations(Int(ordinal) / PagedWords.wordsPerPage)
  }

  /// Of a location that is not in memory.
  func segment(of location: Location) -> Segment? {
    guard let slot = location.slot else { return nil }
    return segments[slot]?.segment
  }

  /// These are wanted soon. The segments that they are in are open then, unless that fails.
  func startReading(_ locations: ArraySlice<Location>) {
    let slots = Set(locations.compactMap(\.slot))
    // In the order of the slots: it is the order of calls to the disk.
    Segment.startReading(locations, of: slots.sorted().compactMap { segments[$0]?.segment })
  }

  /// Where the bytes of an ordinal are.
  func look(up ordinal: UInt32) -> Entry {
    guard ordinal < ordinals else { return .absent }
    if let page = missingPage(for: ordinal) { return .missing(page) }
    let location = location(of: ordinal)
    switch location.place {
    case .none: return .absent
    case .tail(let body, let offset): return .inTail(tail[body], offset: offset)
    case .entry(let slot, _, _, _), .run(let slot, _, _):
      return segments[slot].map { .inSegment($0.segment, location) } ?? .absent
    }
  }
}
