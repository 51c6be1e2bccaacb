// MVCC snapshots. A snapshot is one committed state, unaffected by later commits, flushes and compactions.
//
// It is a frozen copy of the key directory, whose pages are shared copy-on-write. The reader only copies a
// few references; the next commit copies the pages that it changes. The snapshot retains the memtable bodies
// and the segments that it needs. A segment that compaction has deleted occupies disk space until the last
// snapshot that references it ends.
//
// Most snapshots last for one call. A snapshot that lasts longer is pinned: it is registered in the store
// until `close()` or until its last reference is released.
//
// A snapshot for one call reads its copy of the key directory without a lock. The copy never changes. If a
// checkpoint page is missing, or if a key is looked up, the snapshot makes a SharedKeyDirectory of the copy,
// which can load pages. From then on, all reads use the SharedKeyDirectory. A pinned snapshot has one from
// the start, because `close()` empties it.

import Synchronization

/// The entries of a store as of one commit.
package final class Snapshot: Sendable {
  /// The sequence number of the last visible commit.
  package let sequence: SequenceNumber
  /// The largest stamp of all visible commits; 0 before the first commit.
  package let stamp: UInt64
  /// The key directory of a snapshot for one call; empty in a pinned snapshot.
  private let table: KeyDirectory
  /// The key directory with the pages that this snapshot has loaded.
  private let loading = LazyReference<SharedKeyDirectory>()
  /// The live key directory. Pages that are loaded for the frozen key directory are stored in the live one as
  /// well.
  private let live: SharedKeyDirectory
  /// The registration of a pinned snapshot; nil if the snapshot is not pinned.
  private let pin: SnapshotPin?

  fileprivate init(_ table: KeyDirectory, live: SharedKeyDirectory) {
    sequence = table.published
    stamp = table.lastStamp
    self.table = table
    self.live = live
    pin = nil
  }

  fileprivate init(_ table: KeyDirectory, live: SharedKeyDirectory, pin: SnapshotPin) {
    sequence = table.published
    stamp = table.lastStamp
    self.table = .empty
    self.live = live
    self.pin = pin
    _ = loading.storeIfNil(live.sibling(table))
  }

  /// The key directory for reads that may have to load pages.
  private var loadingDirectory: SharedKeyDirectory {
    loading.load() ?? loading.storeIfNil(live.sibling(table))
  }

  /// A copy of the key directory with the pages that are loaded by now.
  private var current: KeyDirectory { loading.load()?.frozen() ?? table }

  /// Ends a pinned snapshot and releases everything that only this snapshot retains. Later reads by key fail.
  package func close() {
    guard let pin, pin.release() else { return }
    loadingDirectory.empty()
  }

  /// The number of keys; 0 after `close()`.
  package var count: Int { loading.load()?.withTable { $0.keys } ?? table.keys }

  // MARK: Reads by key

  /// Reads the value of a key into `buffer`; returns false if the key has no value.
  package func read(_ key: [UInt8], into buffer: inout ReadBuffer) throws(ByteStoreError) -> Bool {
    try pin?.checkReadable()
    let isThere = try loadingDirectory.read(key, into: &buffer)
    // If the snapshot was closed during the read, its key directory is empty, and the read must fail.
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
    try loadingDirectory.forEachEntry(body)
    try pin?.checkReadable()
  }

  // MARK: Reads by ordinal

  /// Takes a buffer from the pool for use over several reads. Return it with `recycle`.
  package func takeBuffer() -> PooledBuffer { live.buffers.take() }

  package func recycle(_ pooled: PooledBuffer) { live.buffers.recycle(pooled) }

  /// Reads the key and the value that belong to an ordinal into `buffer`; returns false if the ordinal is
  /// unused.
  package func read(
    _ ordinal: UInt32, into buffer: inout ReadBuffer
  ) throws(ByteStoreError) -> Bool {
    while true {
      switch loading.load()?.withTable({ $0.look(up: ordinal) }) ?? table.look(up: ordinal) {
      case .absent:
        return false
      case .missing(let page):
        try loadingDirectory.load(page, alsoInto: live)
      case .inMemtable(let commit, let offset):
        buffer.fill(with: commit, putAt: offset)
        return true
      case .inSegment(let segment, let location):
        try segment.read(location, live.cache, into: &buffer)
        guard buffer.splitEntry() else { throw segment.badEntry(location, try segment.open()) }
        return true
      }
    }
  }

  /// Passes these ordinals with their keys and values to `body`, in the given order, until `body` returns
  /// false. Skips unused ordinals. Returns false if `body` returned false.
  ///
  /// This is meant for many ordinals at once. All locations are looked up first, so that their cache misses
  /// overlap. If the disk must be read, read-ahead covers many pages.
  package func forEach(
    _ ordinals: [UInt32], using buffer: inout ReadBuffer,
    _ body: (_ ordinal: UInt32, _ key: RawSpan, _ value: RawSpan) -> Bool
  ) throws(ByteStoreError) -> Bool {
    var reads = EntryReads(of: ordinals)
    // The frozen key directory needs no lock and no copy.
    if !loading.isSet, table.find(&reads) { return try read(&reads, table, using: &buffer, body) }
    let table = try load(&reads)
    return try read(&reads, table, using: &buffer, body)
  }

  /// Entries to read, in the given order.
  fileprivate struct EntryReads {
    let ordinals: [UInt32]
    var locations: [Location]
    /// The number of locations, from the first one on, that were looked up.
    var foundCount = 0
    /// The number of locations, from the first one on, for which read-ahead was started.
    var requestedCount = 0

    init(of ordinals: [UInt32]) {
      self.ordinals = ordinals
      locations = Array(repeating: .none, count: ordinals.count)
    }
  }

  /// Looks up the remaining locations, and loads the pages that they need. Returns the key directory with
  /// these pages.
  private func load(_ reads: inout EntryReads) throws(ByteStoreError) -> KeyDirectory {
    var table = current
    var hasPrefetchedPages = false
    while !table.find(&reads) {
      if !hasPrefetchedPages { prefetchPages(of: reads.ordinals, table) }
      hasPrefetchedPages = true
      if let page = table.missingPage(for: reads.ordinals[reads.foundCount]) {
        try loadingDirectory.load(page, alsoInto: live)
      }
      table = loadingDirectory.frozen()
    }
    if hasPrefetchedPages { startReading(&reads, from: 0, in: table) }
    return table
  }

  private func read(
    _ reads: inout EntryReads, _ table: KeyDirectory, using buffer: inout ReadBuffer,
    _ body: (_ ordinal: UInt32, _ key: RawSpan, _ value: RawSpan) -> Bool
  ) throws(ByteStoreError) -> Bool {
    let cache = live.cache
    let count = reads.locations.count
    var index = 0
    while index < count {
      let location = reads.locations[index]
      guard let segment = table.segment(of: location) else {
        if case .memtable(let commit, let offset) = location.place {
          buffer.fill(with: table.memtable[commit], putAt: offset)
          guard body(reads.ordinals[index], buffer.key, buffer.bytes) else { return false }
        }
        index += 1
        continue
      }
      if !segment.isOpen { startReading(&reads, from: index, in: table) }
      let opened = try segment.open(wanting: location)
      // Reads all entries of this segment up to the first entry elsewhere, so that the references to the
      // segment and to its file are counted only once.
      repeat {
        if try segment.read(reads.locations[index], opened, cache: cache, into: &buffer) {
          startReading(&reads, from: index + 1, in: table)
        }
        guard buffer.splitEntry() else { throw segment.badEntry(reads.locations[index], opened) }
        guard body(reads.ordinals[index], buffer.key, buffer.bytes) else { return false }
        index += 1
      } while index < count && reads.locations[index].isInSegment(ofSlot: segment.slot)
    }
    return true
  }

  /// The largest read-ahead window, in entries and in pages. Read-ahead starts as soon as a read has waited
  /// for the disk, a segment must be opened, or pages of the key directory must be loaded.
  private static let readAheadEntries = 32
  private static let readAheadPages = 128

  /// Starts read-ahead of the entries from `index` on, except the entries for which it was already started.
  private func startReading(_ reads: inout EntryReads, from index: Int, in table: KeyDirectory) {
    let first = max(reads.requestedCount, index)
    var end = first
    var pages = 0
    while end < min(index + Self.readAheadEntries, reads.locations.count), pages < Self.readAheadPages {
      pages += reads.locations[end].pages
      end += 1
    }
    guard first < end else { return }
    table.startReading(reads.locations[first..<end])
    reads.requestedCount = end
  }

  /// Starts read-ahead of the checkpoint pages that these ordinals need and that are not loaded yet.
  private func prefetchPages(of ordinals: [UInt32], _ table: KeyDirectory) {
    var seen: Set<PageAddress> = []
    // The pages are in the order in which they will be needed.
    let missing = ordinals.compactMap(table.missingPage).filter { seen.insert($0).inserted }
    if missing.count > 1 { table.source?.startReading(missing) }
  }
}

extension ByteStore {
  /// Takes a pinned snapshot of the last commit.
  package func snapshot() throws(ByteStoreError) -> Snapshot { try pinnedSnapshot {} }

  /// Takes a snapshot of the last commit for the duration of one call, and runs `body` at the same commit. No
  /// commit is applied until `body` returns. `body` must do no I/O and must not call the store.
  ///
  /// This method is not generic, because callers in other modules would look up its types at run time.
  package func snapshot(alongside body: () -> Void) throws(ByteStoreError) -> Snapshot {
    try checkReadable()
    return table.withTable { table in
      body()
      return Snapshot(table, live: self.table)
    }
  }

  /// Does the same as `snapshot(alongside:)`, but with a pinned snapshot.
  package func pinnedSnapshot(alongside body: () -> Void) throws(ByteStoreError) -> Snapshot {
    try checkReadable()
    let pin = SnapshotPin(self)
    let snapshot = table.withTable { table in
      body()
      return Snapshot(table, live: self.table, pin: pin)
    }
    // A commit may have been applied between the registration and the snapshot.
    pin.setSequence(snapshot.sequence)
    return snapshot
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

  /// Ends the registration; returns false if it has already ended.
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
    /// The entry cannot be looked up until this page is loaded.
    case missing(PageAddress)
    case inMemtable(CommitBody, offset: Int)
    case inSegment(Segment, Location)
  }

  /// The page that must be loaded to look up an ordinal; nil if none is missing.
  func missingPage(for ordinal: UInt32) -> PageAddress? {
    guard ordinal < ordinals, !locations.isLoaded(wordAt: Int(ordinal)) else { return nil }
    return .locations(Int(ordinal) / PagedWords.wordsPerPage)
  }

  /// Looks up the remaining locations; `Location.none` stands for an unused ordinal. Returns false at the
  /// first ordinal whose page is not loaded.
  fileprivate func find(_ reads: inout Snapshot.EntryReads) -> Bool {
    let wanted = reads.ordinals
    var index = reads.foundCount
    // A span checks once whether the array is shared.
    var found = reads.locations.mutableSpan
    while index < wanted.count {
      if wanted[index] < ordinals {
        guard let word = locations.loadedWord(at: Int(wanted[index])) else { break }
        found[index] = Location(bits: word)
      }
      index += 1
    }
    reads.foundCount = index
    return index == wanted.count
  }

  /// The segment of a location; nil for a location in memory.
  func segment(of location: Location) -> Segment? {
    guard let slot = location.slot else { return nil }
    return segments[slot]?.segment
  }

  /// Starts read-ahead for these locations. Opens their segments where possible; errors are ignored.
  func startReading(_ locations: ArraySlice<Location>) {
    let slots = Set(locations.compactMap(\.slot))
    // The segments are sorted by slot, so that the order of the I/O calls is deterministic.
    Segment.startReading(locations, of: slots.sorted().compactMap { segments[$0]?.segment })
  }

  /// Looks up the entry of an ordinal.
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
