// The table between threads, and what it needs from files: pages of the checkpoint and entries of segments.
//
// Reads and preparations look at the table under its lock and get bytes outside of it. A lookup that finds
// nothing in memory to decide by is repeated once the missing page is there.

/// A table that any thread may use. One thread at a time prepares and applies commits; moves may come from
/// another one at any time.
package final class SharedTable: Sendable {
  package let cache: PageCache
  let buffers = BufferPool()
  /// Of the store, for errors.
  private let path: String
  private let table: Locked<Table>
  /// Pages that the checkpoint has lost were found again: until there is another one, each opening has to do that.
  let isRebuilt = Locked(false)

  package init(_ table: Table, _ cache: PageCache, path: String) {
    self.table = Locked(table)
    self.cache = cache
    self.path = path
  }

  /// The table as it is now, for ever.
  package func frozen() -> Table { table.withLock { $0 } }

  /// A look, or a change that needs no bytes from files.
  package func withTable<Result>(_ body: (inout Table) -> Result) -> Result { table.withLock { body(&$0) } }

  // MARK: Reading

  /// The value of a key into `buffer`; false if there is none.
  func read(_ key: [UInt8], into buffer: inout ReadBuffer) throws(ByteStoreError) -> Bool {
    try find(key, into: &buffer) != nil
  }

  /// The ordinal of a key, or nil. `isWanted` says whether its value is, and is asked once if the key is there.
  func ordinal(
    of key: [UInt8], into buffer: inout ReadBuffer, _ isWanted: (UInt32) -> Bool = { _ in true }
  ) throws(ByteStoreError) -> UInt32? {
    try find(key, into: &buffer, isWanted)
  }

  package func entry(of key: [UInt8]) throws(ByteStoreError) -> (ordinal: UInt32, value: [UInt8])? {
    try buffers.withBuffer { buffer throws(ByteStoreError) in
      try find(key, into: &buffer).map { ($0, Array(copying: buffer.bytes)) }
    }
  }

  /// The ordinal of a key, or nil. Its value is in `buffer` then, if it is wanted.
  private func find(
    _ key: [UInt8], into buffer: inout ReadBuffer, isFrozen: Bool = false,
    _ isWanted: (UInt32) -> Bool = { _ in true }
  ) throws(ByteStoreError) -> UInt32? {
    var passing: [UInt32] = []
    while true {
      let search = table.withLock { table in
        table.find(key.rawSpan, table.fingerprint(of: key.rawSpan), passing: passing)
      }
      switch search {
      case .absent:
        // What was passed over may have been given to this key meanwhile; in a frozen table it was not.
        guard !passing.isEmpty, !isFrozen else { return nil }
        return try SharedTable(frozen(), cache, path: path).find(
          key, into: &buffer, isFrozen: true, isWanted)
      case .missing(let page):
        try load(page)
      case .inTail(let ordinal, let commit, let offset):
        if isWanted(ordinal) {
          buffer.fill(with: commit.bytes.rawSpan.extracting(commit.valueRange(ofPutAt: offset)))
        }
        return ordinal
      case .inSegment(let ordinal, let segment, let location):
        if try Self.read(key, segment, location, cache, into: &buffer) {
          _ = isWanted(ordinal)
          return ordinal
        }
        passing.append(ordinal)
      }
    }
  }

  /// Whether the entry is that of the key; its value is in `buffer` then.
  private static func read(
    _ key: [UInt8], _ segment: Segment, _ location: Location, _ cache: PageCache,
    into buffer: inout ReadBuffer
  ) throws(ByteStoreError) -> Bool {
    try segment.read(location, cache, into: &buffer)
    guard let entry = EntryBytes.split(buffer.bytes),
      buffer.bytes.extracting(entry.key).isSame(as: key.rawSpan)
    else { return false }
    buffer.dropFirst(entry.valueStart)
    return true
  }

  // MARK: Pages of the checkpoint

  /// Gets the pages that say where keys are. The disk is told of all that are known to be missing before it is waited
  /// for. What cannot be read is for those who need it to tell.
  func loadPages(for keys: [[UInt8]]) {
    while let source = table.withLock({ $0.source }) {
      // Each once, and in this order: it is the order of calls to the disk.
      var missing: [PageAddress] = []
      for page in table.withLock({ table in keys.compactMap { table.missingPage(for: $0.rawSpan) } })
      where !missing.contains(page) {
        missing.append(page)
      }
      guard !missing.isEmpty else { return }
      if missing.count > 1 { source.startReading(missing) }
      for page in missing {
        guard (try? load(page)) != nil else { return }
      }
    }
  }

  /// Gets a page that is missing.
  func load(_ address: PageAddress) throws(ByteStoreError) {
    guard let source = table.withLock({ $0.source }) else { return }
    try install(try source.words(address), of: source, at: address)
  }

  /// Unless the table has let go of the checkpoint meanwhile: then it may have other pages, and needs none.
  private func install(
    _ words: [UInt64], of source: CheckpointFile, at address: PageAddress
  ) throws(ByteStoreError) {
    let isSound = table.withLock { $0.source !== source || $0.install(words, at: address) }
    guard isSound else { throw source.madeUp(address) }
  }

  /// The same for a frozen table, whose pages are those of the store's own as long as that has not changed
  /// them.
  func load(_ address: PageAddress, alsoInto live: SharedTable) throws(ByteStoreError) {
    guard let source = table.withLock({ $0.source }) else { return }
    let words = try source.words(address)
    try install(words, of: source, at: address)
    live.table.withLock { table in
      if table.source === source { _ = table.install(words, at: address) }
    }
  }

  /// Gets every page: afterwards the table needs no checkpoint. What takes as long as there are keys is done beside
  /// the table in use, for commits and reads wait for its lock.
  package func loadAll() throws(ByteStoreError) {
    guard let source = table.withLock({ $0.source }) else { return }
    try forEachMissing { page throws(ByteStoreError) in try load(page) }
    let loaded = frozen()
    // Another thread has done it meanwhile.
    guard loaded.source != nil else { return }
    guard let recount = loaded.recounted() else { throw source.madeUp(.slots(0)) }
    table.withLock { $0.forgetSource(recount) }
  }

  /// Every page that is still on disk, in the order in which they can be installed.
  func forEachMissing(_ body: (PageAddress) throws(ByteStoreError) -> Void) throws(ByteStoreError) {
    // Counted and not listed: a made-up header may speak of more pages than there is memory for a list of them.
    for pages in table.withLock({ $0.pageAddresses }) {
      for index in 0..<pages.count {
        let page = pages.address(index)
        // Another thread may have got all of them, and fewer than were counted.
        if table.withLock({ $0.source != nil && !$0.isLoaded(page) }) { try body(page) }
      }
    }
  }

  // MARK: Committing

  /// Finds out which keys of a commit are there already, so that applying it cannot fail. `newKeys` counts
  /// those of the same group so far that are not.
  package func prepare(
    _ commit: CommitBody, newKeys: inout Int
  ) throws(ByteStoreError) -> [Table.Target] {
    var targets: [Table.Target] = []
    var unsure = try pass(commit, &targets)
    if !unsure.isEmpty { try settle(&unsure, commit, &targets) }
    newKeys += targets.count { $0.ordinal == nil }
    let keys = table.withLock { $0.keys } + newKeys
    guard keys <= SlotPages.keysMax else {
      throw .full(directory: path, what: "keys", limit: SlotPages.keysMax)
    }
    while let page = table.withLock({ $0.prepare(newKeys: newKeys) }) { try load(page) }
    return targets
  }

  /// A key that only an entry of a segment can tell, or a missing page.
  private struct Unsure {
    var index: Int
    var key: Range<Int>
  }

  /// All that memory can decide, in one go.
  private func pass(
    _ commit: CommitBody, _ targets: inout [Table.Target]
  ) throws(ByteStoreError) -> [Unsure] {
    table.withLock { table in
      var unsure: [Unsure] = []
      for operation in commit.operations {
        let key = operation.key
        let bytes = commit.bytes.rawSpan.extracting(key)
        let fingerprint = table.fingerprint(of: bytes)
        var found: UInt32?
        switch table.find(bytes, fingerprint) {
        case .absent: break
        case .inTail(let ordinal, _, _): found = ordinal
        case .missing, .inSegment: unsure.append(Unsure(index: targets.count, key: key))
        }
        targets.append(Table.Target(fingerprint, found))
      }
      return unsure
    }
  }

  private func settle(
    _ unsure: inout [Unsure], _ commit: CommitBody, _ targets: inout [Table.Target]
  ) throws(ByteStoreError) {
    try buffers.withBuffer { buffer throws(ByteStoreError) in
      for item in unsure {
        targets[item.index].ordinal = try find(Array(commit.bytes[item.key]), into: &buffer)
      }
    }
  }

  /// Throws if the hash of so many keys begins alike that the next ones would make every lookup slow. Nobody who
  /// does not know the seed of the store can bring that about.
  func checkSpread(newKeys: Int) throws(ByteStoreError) {
    let overflow = table.withLock { $0.slots.overflow.count }
    guard newKeys > 0, overflow > 0, overflow + newKeys > SlotPages.overflowMax else { return }
    throw .full(directory: path, what: "keys with one beginning of their hash", limit: SlotPages.overflowMax)
  }

  /// Makes a group of commits visible, all at once.
  package func apply(_ commits: [AppliedCommit], _ layer: (any LayerAbove)? = nil) {
    table.withLock { table in
      for commit in commits {
        guard let layer, let note = commit.note else {
          table.apply(commit.body, commit.targets)
          continue
        }
        var ordinals: [UInt32] = []
        ordinals.reserveCapacity(commit.targets.count)
        table.apply(commit.body, commit.targets) { ordinals.append($0) }
        layer.apply(note, ordinals)
      }
      table.endGroup()
    }
  }

  // MARK: All entries

  /// Forgets everything, so that what only this table needs is let go.
  func empty() { table.withLock { $0 = Table(hashSeed: .zero) } }

  /// Hands over every key with its value, in the order of the segments, then of the commits.
  package func forEachEntry(
    _ body: (_ ordinal: UInt32, _ key: RawSpan, _ value: RawSpan) throws(ByteStoreError) -> Void
  ) throws(ByteStoreError) {
    try loadOrRebuildAll()
    let table = frozen()
    var buffer = ReadBuffer()
    for use in table.segments {
      guard let segment = use?.segment, use?.liveEntries != 0 else { continue }
      try segment.forEachLiveEntry(of: table, into: &buffer, body)
    }
    try table.forEachTailEntry { ordinal, commit, key, value throws(ByteStoreError) in
      let bytes = commit.bytes.rawSpan
      try body(ordinal, bytes.extracting(key), bytes.extracting(value))
    }
  }
}

/// A commit that is in the log.
package struct AppliedCommit {
  var body: CommitBody
  /// Its keys as they were before the group.
  var targets: [Table.Target]
  var note: (any CommitNote)?

  package init(body: CommitBody, targets: [Table.Target], note: (any CommitNote)? = nil) {
    self.body = body
    self.targets = targets
    self.note = note
  }
}

extension Table {
  /// Every put of the tail that is still the value of its key, oldest first; all pages must be loaded.
  package func forEachTailEntry(
    _ body: (
      _ ordinal: UInt32, _ commit: CommitBody, _ key: Range<Int>, _ value: Range<Int>
    ) throws(ByteStoreError) -> Void
  ) throws(ByteStoreError) {
    var result = Result<Void, ByteStoreError>.success(())
    tail.forEachBody { number, commit in
      for operation in commit.operations {
        guard case .put(let offset, let key, let value) = operation, case .success = result,
          let ordinal = ordinal(
            at: Location(body: number, offset: offset), fingerprint(of: commit.bytes.rawSpan.extracting(key)))
        else { continue }
        result = Result { () throws(ByteStoreError) in try body(ordinal, commit, key, value) }
      }
    }
    try result.get()
  }
}

extension Segment {
  /// Every entry that is still the value of its key in `table`, whose pages must all be loaded.
  func forEachLiveEntry(
    of table: Table, into buffer: inout ReadBuffer,
    _ body: (_ ordinal: UInt32, _ key: RawSpan, _ value: RawSpan) throws(ByteStoreError) -> Void
  ) throws(ByteStoreError) {
    let opened = try open()
    try forEachEntry { entry, location, page throws(ByteStoreError) in
      guard Int(entry.ordinal) < table.ordinals, table.location(of: entry.ordinal) == location else { return }
      guard Segment.decode(entry, from: page, opened.dictionary, into: &buffer),
        let parts = EntryBytes.split(buffer.bytes)
      else { throw badEntry(location, opened) }
      let bytes = buffer.bytes
      try body(
        entry.ordinal, bytes.extracting(parts.key), bytes.extracting(droppingFirst: parts.valueStart))
    }
  }
}
