// The key directory, shared between threads, and its I/O for checkpoint pages and segment entries.
//
// Reads and preparations examine the key directory under its lock and do I/O without it. A lookup that
// meets a missing page loads the page and starts again.

/// A key directory for use by any thread. One thread at a time prepares and applies commits. A flush may
/// move locations at the same time.
package final class SharedKeyDirectory: Sendable {
  package let cache: PageCache
  let buffers = BufferPool()
  /// The store's path, for errors.
  private let path: String
  private let table: Locked<KeyDirectory>
  /// The hash of the key directory. A reader that takes over another state of the store may get another hash.
  let hash: KeyHash
  /// Whether pages that the checkpoint lost were rebuilt. Until the next checkpoint is written, every open
  /// has to rebuild them.
  let isRebuilt = Locked(false)

  package init(_ table: KeyDirectory, _ cache: PageCache, path: String) {
    hash = table.hash
    self.table = Locked(table)
    self.cache = cache
    self.path = path
  }

  /// Creates a key directory of the same store, with another content.
  func sibling(_ table: KeyDirectory) -> SharedKeyDirectory { SharedKeyDirectory(table, cache, path: path) }

  /// Returns an immutable copy of the key directory as it is now.
  package func frozen() -> KeyDirectory { table.withLock { $0 } }

  /// Runs `body` under the lock of the key directory. `body` must not need bytes from files.
  package func withTable<Result>(_ body: (inout KeyDirectory) -> Result) -> Result {
    table.withLock { body(&$0) }
  }

  // MARK: Reading

  /// Reads the value of a key into `buffer`; returns false if the key does not exist.
  func read(_ key: [UInt8], into buffer: inout ReadBuffer) throws(ByteStoreError) -> Bool {
    try find(key, into: &buffer) != nil
  }

  /// Returns the ordinal of a key; nil if the key does not exist. If the key exists, `needsValue` is called
  /// once and decides whether the value is read.
  func ordinal(
    of key: [UInt8], into buffer: inout ReadBuffer, _ needsValue: (UInt32) -> Bool = { _ in true }
  ) throws(ByteStoreError) -> UInt32? {
    try find(key, into: &buffer, needsValue)
  }

  package func entry(of key: [UInt8]) throws(ByteStoreError) -> (ordinal: UInt32, value: [UInt8])? {
    try buffers.withBuffer { buffer throws(ByteStoreError) in
      try find(key, into: &buffer).map { ($0, Array(copying: buffer.bytes)) }
    }
  }

  /// Returns the ordinal of a key; nil if the key does not exist. If `needsValue` accepts the ordinal, the
  /// value is in `buffer` afterwards.
  func find(
    _ key: [UInt8], into buffer: inout ReadBuffer, isFrozen: Bool = false,
    _ needsValue: (UInt32) -> Bool = { _ in true }
  ) throws(ByteStoreError) -> UInt32? {
    var mismatches: [UInt32] = []
    while true {
      let search = table.withLock { table in
        table.find(key.rawSpan, table.fingerprint(of: key.rawSpan), mismatches: mismatches)
      }
      switch search {
      case .absent:
        // An ordinal in `mismatches` may have been reassigned to this key in the meantime. The lookup is
        // repeated in a frozen copy, where this cannot happen.
        guard !mismatches.isEmpty, !isFrozen else { return nil }
        return try sibling(frozen()).find(key, into: &buffer, isFrozen: true, needsValue)
      case .missing(let page):
        try load(page)
      case .inMemtable(let ordinal, let commit, let offset):
        if needsValue(ordinal) {
          buffer.fill(with: commit.bytes.rawSpan.extracting(commit.valueRange(ofPutAt: offset)))
        }
        return ordinal
      case .inSegment(let ordinal, let segment, let location):
        if try Self.read(key, segment, location: location, cache: cache, into: &buffer) {
          _ = needsValue(ordinal)
          return ordinal
        }
        mismatches.append(ordinal)
      }
    }
  }

  /// Reads an entry and returns whether it belongs to the key. If it does, the entry's value is in `buffer`.
  private static func read(
    _ key: [UInt8], _ segment: Segment, location: Location, cache: PageCache,
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

  /// Loads the key directory pages for these keys. Before the first wait, starts read-ahead of all pages that
  /// are known to be missing. Errors are ignored here and surface when a page is needed.
  func loadPages(for keys: [[UInt8]]) {
    while let source = table.withLock({ $0.source }) {
      // The list has no duplicates and keeps the order of the keys, because it determines the order of the
      // I/O calls.
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

  /// Loads a missing page.
  func load(_ address: PageAddress) throws(ByteStoreError) {
    guard let source = table.withLock({ $0.source }) else { return }
    try install(try source.words(address), of: source, at: address)
  }

  /// Installs a page. Does nothing if the key directory no longer uses this checkpoint. In that case, it has
  /// newer pages in memory and needs none from the checkpoint.
  private func install(
    _ words: [UInt64], of source: CheckpointFile, at address: PageAddress
  ) throws(ByteStoreError) {
    let isSound = table.withLock { $0.source !== source || $0.install(words, at: address) }
    guard isSound else { throw source.invalidPage(address) }
  }

  /// Loads a page into this frozen copy. The page is also installed in the live key directory if that
  /// directory still uses the same checkpoint.
  func load(_ address: PageAddress, alsoInto live: SharedKeyDirectory) throws(ByteStoreError) {
    guard let source = table.withLock({ $0.source }) else { return }
    let words = try source.words(address)
    try install(words, of: source, at: address)
    live.table.withLock { table in
      if table.source === source { _ = table.install(words, at: address) }
    }
  }

  /// Loads every page, so that the key directory no longer needs the checkpoint. The work that is linear in
  /// the number of keys runs on a frozen copy, so that commits and reads do not wait for the lock.
  package func loadAll() throws(ByteStoreError) {
    guard let source = table.withLock({ $0.source }) else { return }
    try forEachMissing { page throws(ByteStoreError) in try load(page) }
    let loaded = frozen()
    // Another thread has loaded all pages in the meantime.
    guard loaded.source != nil else { return }
    guard let recount = loaded.recounted() else { throw source.invalidPage(.slots(0)) }
    table.withLock { $0.dropSource(recount) }
  }

  /// Passes every page that is still on disk to `body`, in an order in which they can be installed.
  func forEachMissing(_ body: (PageAddress) throws(ByteStoreError) -> Void) throws(ByteStoreError) {
    // Iterates over counts, because a crafted header may claim more pages than a list in memory could
    // hold.
    for pages in table.withLock({ $0.pageAddresses }) {
      for index in 0..<pages.count {
        let page = pages.address(index)
        // Another thread may have loaded all pages in the meantime. The key directory may then have fewer
        // pages than were counted.
        if table.withLock({ $0.source != nil && !$0.isLoaded(page) }) { try body(page) }
      }
    }
  }

  // MARK: Committing

  /// Resolves the keys of a commit to existing ordinals, so that applying the commit cannot fail. `newKeys`
  /// is the number of new keys in the group so far, and the new keys of this commit are added to it.
  /// `lookups` are the earlier lookups of the first operations.
  package func prepare(
    _ commit: CommitBody, lookups: [KeyLookup] = [], newKeys: inout Int
  ) throws(ByteStoreError) -> [KeyDirectory.Target] {
    var targets: [KeyDirectory.Target] = []
    targets.reserveCapacity(commit.count)
    var pass = pass(commit, lookups, targets: &targets, newKeys: newKeys)
    if !pass.unresolved.isEmpty {
      try setSequence(&pass.unresolved, commit, targets: &targets)
      pass.newKeys = targets.count { $0.ordinal == nil }
      pass.keys = table.withLock { $0.keys }
      pass.missing = table.withLock { $0.prepare(newKeys: newKeys + pass.newKeys) }
    }
    newKeys += pass.newKeys
    guard pass.keys + newKeys <= SlotPages.keysMax else {
      throw .full(directory: path, what: "keys", limit: SlotPages.keysMax)
    }
    while let page = pass.missing {
      try load(page)
      pass.missing = table.withLock { $0.prepare(newKeys: newKeys) }
    }
    return targets
  }

  /// A key whose lookup needs a segment entry or a missing page.
  private struct UnresolvedKey {
    var index: Int
    var key: Range<Int>
  }

  /// The result of the first pass over a commit, which runs under the lock.
  private struct Pass {
    var unresolved: [UnresolvedKey] = []
    /// The number of keys in the key directory.
    var keys = 0
    /// The number of keys that the commit adds, if there are no unresolved keys.
    var newKeys = 0
    /// A page that must be loaded before the commit can be applied.
    var missing: PageAddress?
  }

  /// Resolves all keys that can be resolved without I/O, and takes the lock only once.
  private func pass(
    _ commit: CommitBody, _ lookups: [KeyLookup], targets: inout [KeyDirectory.Target], newKeys: Int
  ) -> Pass {
    table.withLock { table in
      // The lookups are useless if the key directory has another seed now.
      let lookups = table.hash.seed == hash.seed ? lookups : []
      var pass = Pass(keys: table.keys)
      for operation in commit.operations {
        let place = targets.count
        if place < lookups.count, let target = table.target(lookups[place]) {
          if target.ordinal == nil { pass.newKeys += 1 }
          targets.append(target)
          continue
        }
        let key = operation.key
        let bytes = commit.bytes.rawSpan.extracting(key)
        let fingerprint = table.fingerprint(of: bytes)
        var found: UInt32?
        switch table.find(bytes, fingerprint) {
        case .absent: pass.newKeys += 1
        case .inMemtable(let ordinal, _, _): found = ordinal
        case .missing, .inSegment: pass.unresolved.append(UnresolvedKey(index: place, key: key))
        }
        targets.append(KeyDirectory.Target(fingerprint, found))
      }
      if pass.unresolved.isEmpty { pass.missing = table.prepare(newKeys: newKeys + pass.newKeys) }
      return pass
    }
  }

  private func setSequence(
    _ unresolved: inout [UnresolvedKey], _ commit: CommitBody, targets: inout [KeyDirectory.Target]
  ) throws(ByteStoreError) {
    try buffers.withBuffer { buffer throws(ByteStoreError) in
      for item in unresolved {
        targets[item.index].ordinal = try find(Array(commit.bytes[item.key]), into: &buffer)
      }
    }
  }

  /// Throws if too many keys share the first bits of their hash, because further such keys would slow down
  /// every lookup. An attacker who does not know the store's seed cannot cause this.
  func checkHashDistribution(newKeys: Int) throws(ByteStoreError) {
    let overflow = table.withLock { $0.slots.overflow.count }
    guard newKeys > 0, overflow > 0, overflow + newKeys > SlotPages.overflowMax else { return }
    throw .full(directory: path, what: "keys with the same hash prefix", limit: SlotPages.overflowMax)
  }

  /// Makes all commits of a group visible at once.
  package func apply(_ commits: [AppliedCommit], _ layer: (any UpperLayer)? = nil) {
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

  /// Empties the key directory, which releases the files that only this directory references.
  func empty() { table.withLock { $0 = .empty } }

  /// Passes every key and value to `body`, first from the segments, then from the memtable in commit
  /// order.
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
    try table.forEachMemtableEntry { ordinal, commit, key, value throws(ByteStoreError) in
      let bytes = commit.bytes.rawSpan
      try body(ordinal, bytes.extracting(key), bytes.extracting(value))
    }
  }
}

/// A commit that is in the log.
package struct AppliedCommit {
  var body: CommitBody
  /// The fingerprints of the commit's keys, and the ordinals that the keys had before the group.
  var targets: [KeyDirectory.Target]
  var note: (any CommitNote)?

  package init(body: CommitBody, targets: [KeyDirectory.Target], note: (any CommitNote)? = nil) {
    self.body = body
    self.targets = targets
    self.note = note
  }
}

extension KeyDirectory {
  /// Passes every live put of the memtable to `body`, oldest first. All pages must be loaded.
  package func forEachMemtableEntry(
    _ body: (
      _ ordinal: UInt32, _ commit: CommitBody, _ key: Range<Int>, _ value: Range<Int>
    ) throws(ByteStoreError) -> Void
  ) throws(ByteStoreError) {
    var result = Result<Void, ByteStoreError>.success(())
    memtable.forEachBody { number, commit in
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
  /// Passes every entry to `body` whose key is live in `table`. All pages of `table` must be loaded.
  func forEachLiveEntry(
    of table: KeyDirectory, into buffer: inout ReadBuffer,
    _ body: (_ ordinal: UInt32, _ key: RawSpan, _ value: RawSpan) throws(ByteStoreError) -> Void
  ) throws(ByteStoreError) {
    let opened = try open()
    try forEachEntry { entry, location, page throws(ByteStoreError) in
      guard Int(entry.ordinal) < table.ordinals, table.location(of: entry.ordinal) == location else { return }
      guard Segment.decode(entry, from: page, dictionary: opened.dictionary, into: &buffer),
        let parts = EntryBytes.split(buffer.bytes)
      else { throw badEntry(location, opened) }
      let bytes = buffer.bytes
      try body(
        entry.ordinal, bytes.extracting(parts.key), bytes.extracting(droppingFirst: parts.valueStart))
    }
  }
}
