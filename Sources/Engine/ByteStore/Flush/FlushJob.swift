// Writes the files of a flush: segments for the memtable and compacted entries, and a checkpoint.
//
// A flush job works on a frozen key directory in parallel with readers and writers, and changes nothing that
// they use. It guarantees that every key has the same value in the written files as in the frozen key
// directory.

/// One flush, up to the point where a manifest can name its files.
package struct FlushJob: ~Copyable {
  package struct Move {
    var ordinal: UInt32
    var old: Location
    var new: Location
  }

  package struct Target {
    var directory: any OpenDirectory
    var platform: Platform
    var storeID: RandomID
    var segmentBytesMax: Int
    /// Returns a new file number. No number is returned twice.
    var nextNumber: () throws(ByteStoreError) -> FileNumber
    /// Called between two steps (see `ByteStore.Options`).
    var pause: (FlushStep) -> Void

    package init(
      directory: any OpenDirectory, platform: Platform, storeID: RandomID, segmentBytesMax: Int,
      nextNumber: @escaping () throws(ByteStoreError) -> FileNumber,
      pause: @escaping (FlushStep) -> Void = { _ in }
    ) {
      self.directory = directory
      self.platform = platform
      self.storeID = storeID
      self.segmentBytesMax = segmentBytesMax
      self.nextNumber = nextNumber
      self.pause = pause
    }
  }

  package private(set) var table: KeyDirectory
  private let target: Target
  private var writer: SegmentWriter?
  private var dictionary: EntryDictionary
  private var large: [(ordinal: UInt32, old: Location, plain: [UInt8])] = []
  private var largeBytes = 0
  /// The moves of entries in the segment being written.
  private var pending: [Move] = []
  package private(set) var moves: [Move] = []
  private(set) var segments: [Segment] = []
  /// Slots in use by the frozen key directory or by new segments.
  private var slotsTaken: Set<Int>
  package private(set) var damaged: [(segment: Segment, error: ByteStoreError)] = []

  package init(_ table: KeyDirectory, _ target: Target) {
    self.table = table
    self.target = target
    slotsTaken = Set(table.segments.indices.filter { table.segments[$0] != nil })
    dictionary = EntryDictionary([])
  }

  // MARK: Steps

  /// Writes the memtable to segments in key order, so that neighbouring keys are close on disk.
  package mutating func writeMemtable() throws(ByteStoreError) {
    let items = memtableItems()
    chooseDictionary(for: items)
    var plain: [UInt8] = []
    for item in items {
      plain.removeAll(keepingCapacity: true)
      item.encode(into: &plain)
      try add(item.ordinal, item.location, plain: plain.rawSpan)
    }
  }

  /// Copies the live entries of a segment to new segments. If the segment cannot be read completely, it is
  /// kept for the entries that could not be copied.
  package mutating func rewrite(_ compactionInput: Segment) throws(ByteStoreError) {
    do throws(ByteStoreError) {
      try copyLiveEntries(of: compactionInput)
    } catch {
      // A read error of the input is tolerated. A failure to read back the output is not.
      guard error.isReadFailure(compactionInput.path) else { throw error }
      damaged.append((compactionInput, error))
    }
  }

  /// Completes the last segment, and thereby the list of moves.
  package mutating func endSegments() throws(ByteStoreError) {
    if !large.isEmpty { try makeWriter() }
    try endSegment()
  }

  /// Writes the key directory as it is after the moves. Segments without live entries are omitted.
  package mutating func writeCheckpoint(
    position: LogHeader.LogEnd, _ pages: (any CheckpointPages)?
  ) throws(ByteStoreError) -> Manifest.Checkpoint {
    for segment in segments { table.add(segment, at: segment.slot) }
    for move in moves { table.move(move.ordinal, from: move.old, to: move.new) }
    table.removeEmptySegments()
    table.collectLostOrdinals()
    guard table.memtable.bodiesHeld == 0 else {
      throw .corrupted(
        Damage(
          file: target.directory.path, offset: 0,
          expected: "a table that finds every key of the last commits",
          found: "one that does not: its checkpoint was fabricated"))
    }
    // No open would accept a checkpoint with more overflow slots.
    guard table.slots.overflow.count <= SlotPages.overflowMax else {
      throw .full(
        directory: target.directory.path, what: "keys with the same hash prefix",
        limit: SlotPages.overflowMax)
    }
    let header = CheckpointHeader(
      fileID: target.platform.random.randomID(), storeID: target.storeID, number: try target.nextNumber(),
      hashSeed: table.hash.seed, position: position, lastStamp: table.lastStamp, keys: table.keys,
      ordinals: table.ordinals, depth: table.slots.depth)
    var writer = try system { () throws(SystemFailure) in
      try CheckpointWriter(header, in: target.directory, platform: target.platform)
    }
    do throws(ByteStoreError) {
      try system { () throws(SystemFailure) in
        try writer.append(.directory, table.slots.directory)
        try writer.append(.slots, table.slots.pages)
        try writer.append(.locations, table.locations)
        try writer.append(.free, table.freeOrdinals.map { UInt64($0) + 1 })
        try writer.append(.segments, table.segmentWords)
        try writer.append(.overflow, table.slots.overflow)
      }
      if let pages { try writer.append(pages) }
      return try writer.finish()
    } catch {
      writer.discard()
      throw error
    }
  }

  /// The segments that the manifest will name.
  package var segmentsLeft: [Segment] { table.segments.compactMap { $0?.segment } }

  /// Deletes the files of a failed flush.
  package mutating func discard() {
    writer?.discard()
    for segment in segments { try? target.directory.remove(StoreFile.segment(segment.number)) }
  }

  // MARK: The memtable

  private struct Item {
    var commit: CommitBody
    var key: Range<Int>
    var value: Range<Int>
    var ordinal: UInt32
    var location: Location

    func encode(into bytes: inout [UInt8]) {
      let body = commit.bytes.rawSpan
      EntryBytes.encode(body.extracting(key), body.extracting(value), into: &bytes)
    }

    static func precedes(_ left: Item, _ right: Item) -> Bool {
      left.commit.bytes.rawSpan.extracting(left.key)
        .precedes(right.commit.bytes.rawSpan.extracting(right.key))
    }
  }

  private func memtableItems() -> [Item] {
    var items: [Item] = []
    table.memtable.forEachBody { number, commit in
      for operation in commit.operations {
        guard case .put(let offset, let key, let value) = operation else { continue }
        let location = Location(body: number, offset: offset)
        let fingerprint = table.fingerprint(of: commit.bytes.rawSpan.extracting(key))
        guard let ordinal = table.ordinal(at: location, fingerprint) else { continue }
        items.append(Item(commit: commit, key: key, value: value, ordinal: ordinal, location: location))
      }
    }
    items.sort(by: Item.precedes)
    return items
  }

  /// Chooses a dictionary for the items. The dictionary of the newest segment is kept as long as it is good
  /// enough. Readers then use one dictionary for many segments, and entries can be copied without
  /// recompression. A new dictionary, built from a sample of the items, replaces it only if the new one
  /// compresses better by a twentieth.
  private mutating func chooseDictionary(for items: [Item]) {
    let newest = table.segments.compactMap { $0?.segment }.max { $0.number < $1.number }
    let old = newest.flatMap { try? $0.open().dictionary }
    if let old { dictionary = old }
    guard !items.isEmpty else { return }
    let total = items.reduce(0) { $0 + $1.key.count + $1.value.count + 3 }
    var sampler = DictionarySampler(rawBytesTotal: total)
    var plain: [UInt8] = []
    for item in items {
      plain.removeAll(keepingCapacity: true)
      item.encode(into: &plain)
      sampler.offer(plain.rawSpan)
    }
    let new = sampler.dictionary()
    guard let old else {
      dictionary = new
      return
    }
    let step = max(1, items.count / 256)
    let probe = stride(from: step / 2, to: items.count, by: step).map { items[$0] }
    if 20 * bytes(of: probe, against: new) < 19 * bytes(of: probe, against: old) { dictionary = new }
  }

  private func bytes(of items: [Item], against dictionary: EntryDictionary) -> Int {
    var compressor = EntryCompressor(dictionary)
    var plain: [UInt8] = []
    var stored: [UInt8] = []
    return items.reduce(0) { sum, item in
      plain.removeAll(keepingCapacity: true)
      stored.removeAll(keepingCapacity: true)
      item.encode(into: &plain)
      return sum + (compressor.compress(plain.rawSpan, into: &stored) ? stored.count : plain.count)
    }
  }

  // MARK: Compaction inputs

  private mutating func copyLiveEntries(of compactionInput: Segment) throws(ByteStoreError) {
    let opened = try compactionInput.open()
    let source = opened.dictionary
    let isSame = source.checksum == dictionary.checksum && source.bytes == dictionary.bytes
    var buffer = ReadBuffer()
    try compactionInput.forEachEntry { entry, location, page throws(ByteStoreError) in
      guard Int(entry.ordinal) < table.ordinals, table.location(of: entry.ordinal) == location else { return }
      if isSame, entry.bytes <= SegmentFormat.pagePayloadBytes / 2 {
        try makeWriter()
        try note(
          entry.ordinal, location,
          new: try system { () throws(SystemFailure) in try writer?.add(entry, from: page) })
        return
      }
      guard Segment.decode(entry, from: page, dictionary: source, into: &buffer) else {
        throw compactionInput.badEntry(location, opened)
      }
      try add(entry.ordinal, location, plain: buffer.bytes)
    }
  }

  // MARK: Segments

  package mutating func add(
    _ ordinal: UInt32, _ old: Location, plain: RawSpan
  ) throws(ByteStoreError) {
    try makeWriter()
    let new = try system { () throws(SystemFailure) in try writer?.add(ordinal, plain: plain) }
    guard let new else {
      large.append((ordinal, old, Array(copying: plain)))
      largeBytes += plain.byteCount
      return try endSegmentIfFull()
    }
    try note(ordinal, old, new: new)
  }

  private mutating func note(
    _ ordinal: UInt32, _ old: Location, new: Location?
  ) throws(ByteStoreError) {
    guard let new else { preconditionFailure("a copied entry fits in a page") }
    pending.append(Move(ordinal: ordinal, old: old, new: new))
    try endSegmentIfFull()
  }

  private mutating func makeWriter() throws(ByteStoreError) {
    guard writer == nil else { return }
    guard let slot = (0..<Manifest.Segment.slotsMax).first(where: { !slotsTaken.contains($0) }) else {
      throw .full(
        directory: target.directory.path, what: "segments", limit: Manifest.Segment.slotsMax)
    }
    slotsTaken.insert(slot)
    let number = try target.nextNumber()
    writer = try system { () throws(SystemFailure) in
      try SegmentWriter(
        number, slot: slot, asOf: table.published, storeID: target.storeID, dictionary: dictionary,
        in: target.directory,
        platform: target.platform)
    }
  }

  private mutating func endSegmentIfFull() throws(ByteStoreError) {
    guard let size = writer?.dataBytes, size + largeBytes >= target.segmentBytesMax else { return }
    try endSegment()
  }

  private mutating func endSegment() throws(ByteStoreError) {
    guard writer != nil else { return }
    for (ordinal, old, plain) in large {
      let new = try system { () throws(SystemFailure) in try writer?.addRun(ordinal, plain: plain.rawSpan) }
      guard let new else { preconditionFailure("a segment is being written") }
      pending.append(Move(ordinal: ordinal, old: old, new: new))
    }
    large = []
    largeBytes = 0
    guard let segment = try writer?.finish() else { preconditionFailure("a segment is being written") }
    writer = nil
    segments.append(segment)
    moves += pending
    pending = []
    target.pause(.segmentWritten)
  }
}

/// Points of a flush at which it holds no lock.
package enum FlushStep: Hashable, CaseIterable, Sendable {
  case frozen
  case segmentWritten
  case checkpointWritten
  case manifestReplaced
  case entriesMoved
}
