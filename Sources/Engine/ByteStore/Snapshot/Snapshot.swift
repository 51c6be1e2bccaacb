// MVCC snapshots: one committed state, unaffected by later commits, flushes and compactions.
//
// A snapshot is a frozen copy of the key directory, whose pages are shared copy-on-write. It costs its
// reader a few references, and the next commit copies the pages that it changes. It keeps the memtable bodies
// and the segments that it needs. A segment that compaction deleted keeps its disk space until its last
// snapshot ends.
//
// Most snapshots last for one call. One that lasts longer is pinned: the store knows of it until `close()`
// or until its last reference is gone.

import Synchronization

/// The entries of a store at one commit.
package final class Snapshot: Sendable {
  /// The last visible commit.
  package let sequence: SequenceNumber
  /// The largest stamp of the visible commits; 0 before the first commit.
  package let stamp: UInt64
  private let frozen: SharedKeyDirectory
  /// The live key directory, which also gets the pages that are loaded for the frozen one.
  private let live: SharedKeyDirectory
  /// Nil if the snapshot is not registered.
  private let pin: SnapshotPin?

  fileprivate init(_ table: KeyDirectory, live: SharedKeyDirectory, path: String, _ pin: SnapshotPin?) {
    sequence = table.published
    stamp = table.lastStamp
    frozen = SharedKeyDirectory(table, live.cache, path: path)
    self.live = live
    self.pin = pin
  }

  /// Ends a pinned snapshot. Releases everything that only this snapshot keeps. Later reads by key fail.
  package func close() {
    guard let pin, pin.release() else { return }
    frozen.empty()
  }

  /// The number of keys; 0 after `close()`.
  package var count: Int { frozen.withTable { $0.keys } }

  // MARK: Reads by key

  /// Reads the value of a key into `buffer`; returns false if there is none.
  package func read(_ key: [UInt8], into buffer: inout ReadBuffer) throws(ByteStoreError) -> Bool {
    try pin?.checkReadable()
    let isThere = try frozen.read(key, into: &buffer)
    // A snapshot that was closed meanwhile has an empty key directory.
    if !isThere { try pin?.checkReadable() }
    return isThere
  }

  package func value(for key: [UInt8]) throws(ByteStoreError) -> [UInt8]? {
    var buffer = ReadBuffer()
    return try read(key, into: &buffer) ? Array(copying: buffer.bytes) : nil
  }

  /// Passes every key with its ordinal and value to `body`, in disk order.
  package func forEach(
    _ body: (_ ordinal: UInt32, _ key: RawSpan, _ value: RawSpan) throws(ByteStoreError) -> Void
  ) throws(ByteStoreError) {
    try pin?.checkReadable()
    try frozen.forEachEntry(body)
    try pin?.checkReadable()
  }

  // MARK: Reads by ordinal

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
}

extension ByteStore {
  /// A pinned snapshot of the last commit.
  package func snapshot() throws(ByteStoreError) -> Snapshot { try pinnedSnapshot {}.snapshot }

  /// A snapshot of the last commit for one call, and the result of `body` at the same commit. No commit is
  /// applied meanwhile. `body` must do no I/O and must not call the store.
  package func snapshot<Result>(
    alongside body: () -> Result
  ) throws(ByteStoreError) -> (snapshot: Snapshot, result: Result) {
    try checkReadable()
    return table.withTable { table in (Snapshot(table, live: self.table, path: path, nil), body()) }
  }

  /// Like `snapshot(alongside:)`, with a pinned snapshot.
  package func pinnedSnapshot<Result>(
    alongside body: () -> Result
  ) throws(ByteStoreError) -> (snapshot: Snapshot, result: Result) {
    try checkReadable()
    let pin = SnapshotPin(self)
    let (snapshot, result) = table.withTable { table in
      (Snapshot(table, live: self.table, path: path, pin), body())
    }
    // A commit may have come in between.
    pin.setSequence(snapshot.sequence)
    return (snapshot, result)
  }
}

/// Keeps a snapshot registered as open, so that `ByteStore.statistics` reports its age.
final class SnapshotPin: Sendable {
  private let store: ByteStore
  private let ticket: UInt64
  private let isOpen = Atomic(true)

  fileprivate init(_ store: ByteStore) {
    self.store = store
    ticket = store.snapshots.add(store.platform.clock.monotonicNanoseconds(), asOf: store.lastCommit)
  }

  deinit { release() }

  fileprivate func setSequence(_ sequence: SequenceNumber) {
    store.snapshots.setSequence(ticket, at: sequence)
  }

  /// Returns false if it was released before.
  @discardableResult
  fileprivate func release() -> Bool {
    guard isOpen.exchange(false, ordering: .acquiringAndReleasing) else { return false }
    store.snapshots.remove(ticket)
    return true
  }

  fileprivate func checkReadable() throws(ByteStoreError) {
    try store.checkReadable()
    guard isOpen.load(ordering: .acquiring) else { throw .closed(directory: store.path) }
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
