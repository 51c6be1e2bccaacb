// Builds the key directory of a salvaged store from all that is readable, without copying entries.
//
//   1. segments   oldest first; the checkpoint decides which entries are live, or else the newest entry
//                 of a key
//   2. logs       in order, each commit after the state of the segments
//   3. judged     remove definitions that the upper layer cannot decode
//   4. restored   add missing entries from the contexts of logs and from checkpoints
//   5. judged     remove all other entries that the upper layer cannot decode
//   6. losses     report what is missing (SalvageLosses)

import ByteStore

struct SalvageKeyDirectory {
  let table: SharedKeyDirectory
  var report: SalvageReport
  private let sources: SalvageSources
  let judge: CheckpointJudge?
  /// Receives what is lost; nil if losses are only counted.
  let observer: SalvageObserver?
  private let directory: any OpenDirectory
  private let progress: (String, UInt64) -> Void
  /// The segments, indexed by their slot in the new key directory.
  private(set) var segments: [SegmentSource] = []
  /// For each new ordinal: whether the checkpoint confirms its location.
  private var isProven: [Bool] = []
  private var putsPossiblyStale = 0
  /// The ordinals of the checkpoint that have a readable entry.
  private(set) var found = FoundOrdinals()
  /// The keys that a commit of the logs has deleted. Some may have been written again.
  private(set) var deleted: Set<[UInt8]> = []
  /// The number of missing entries that the upper layer's pages of the chosen checkpoint restore.
  private(set) var restoredCount = 0
  private var last: SequenceNumber

  init(
    _ sources: SalvageSources, _ judge: CheckpointJudge?, report: SalvageReport,
    directory: any OpenDirectory, platform: Platform, observer: SalvageObserver?,
    _ progress: @escaping (String, UInt64) -> Void
  ) {
    self.observer = observer
    self.sources = sources
    self.judge = judge
    self.report = report
    self.directory = directory
    self.progress = progress
    let cache = PageCache(bytesMax: 16 << 20, pageBytes: SegmentFormat.pageBytes)
    table = SharedKeyDirectory(
      KeyDirectory(hashSeed: platform.random.randomID()), cache, path: directory.path)
    last = judge?.position ?? .none
  }

  // MARK: Segments

  mutating func addSegments(
    _ chosen: [SegmentSource], _ platform: Platform
  ) throws(ByteStoreError) {
    for source in chosen.prefix(Manifest.Segment.slotsMax / 2) {
      let slot = segments.count
      segments.append(source)
      let segment = source.segment(slot, directory, platform: platform)
      table.withTable { $0.add(segment, at: slot) }
      try addEntries(of: source, slot)
    }
    if judge?.position == nil { last = segments.map(\.header.asOf).max() ?? .none }
    let live = table.withTable { $0.keys }
    if let keys = judge?.keys { report.entriesLost = max(0, keys - live) }
  }

  private mutating func addEntries(of source: SegmentSource, _ slot: Int) throws(ByteStoreError) {
    var buffer = ReadBuffer()
    var other = ReadBuffer()
    try source.forEachEntry(slot: slot) { entry, location, bytes throws(ByteStoreError) in
      guard source.decode(entry, from: bytes, into: &buffer), let parts = EntryBytes.split(buffer.bytes)
      else { return }
      if entry.offset == 0 { progress(source.file.name, UInt64(SegmentFormat.pageBytes)) }
      let key = buffer.bytes.extracting(parts.key)
      let verdict = judge?.verdict(entry, location, in: source.header.number, key: key) ?? .unknown
      guard verdict != .dead else { return }
      if judge != nil { found.insert(entry.ordinal) }
      try place(key, location, isProven: verdict == .live, buffer: &other)
    } damaged: { _, _ in
    }
  }

  private mutating func place(
    _ key: RawSpan, _ location: Location, isProven: Bool, buffer: inout ReadBuffer
  ) throws(ByteStoreError) {
    let fingerprint = table.withTable { $0.fingerprint(of: key) }
    if let ordinal = try ordinal(of: key, fingerprint, buffer: &buffer) {
      // The later entry wins, unless the checkpoint decides otherwise.
      guard isProven || !self.isProven[Int(ordinal)] else { return }
      table.withTable { $0.move(ordinal, from: $0.location(of: ordinal), to: location) }
      self.isProven[Int(ordinal)] = isProven
    } else {
      guard table.withTable({ $0.keys }) < SlotPages.keysMax else { return }
      table.withTable { $0.insertExisting(location, fingerprint) }
      self.isProven.append(isProven)
    }
  }

  private func ordinal(
    of key: RawSpan, _ fingerprint: UInt32, buffer: inout ReadBuffer
  ) throws(ByteStoreError) -> UInt32? {
    var candidates: [(UInt32, Segment, Location)] = []
    table.withTable { table in
      var probe = table.slots.probe(for: fingerprint)
      while let ordinal = table.slots.nextOrdinal(&probe) {
        let location = table.location(of: ordinal)
        if let slot = location.slot, let use = table.segments[slot] {
          candidates.append((ordinal, use.segment, location))
        }
      }
    }
    for (ordinal, segment, location) in candidates {
      try segment.read(location, table.cache, into: &buffer)
      guard let parts = EntryBytes.split(buffer.bytes) else { continue }
      if buffer.bytes.extracting(parts.key).isSame(as: key) { return ordinal }
    }
    return nil
  }

  // MARK: Logs

  mutating func applyLogs(from first: LogNumber) throws(ByteStoreError) {
    for log in sources.logs where log.number >= first {
      var commits: [(Range<UInt64>, String)] = []
      try log.forEachCommit(directory) { sequence, commit throws(ByteStoreError) in
        try apply(commit, sequence)
        progress(log.name, UInt64(commit.bytes.count))
      } gap: { range, reason in
        commits.append((range, reason))
      }
      for (range, reason) in commits { report.addGap("\(directory.path)/\(log.name)", range, reason: reason) }
    }
  }

  private mutating func apply(_ commit: CommitBody, _ sequence: SequenceNumber) throws(ByteStoreError) {
    guard sequence.value <= CheckpointFormat.sequenceMax else { return }
    let newest = segments.map(\.header.asOf).max() ?? .none
    if judge?.position == nil, sequence <= newest {
      // A checkpoint would show whether the segments contain the commit. Without a checkpoint, compare the
      // commit's number, key by key, with that of the segment that holds the key's entry.
      try applyInPart(commit, sequence)
      return
    }
    guard sequence > last else { return }
    noteDeletions(in: commit)
    if sequence > last.next { report.commitsMissing.append(last.value + 1...sequence.value - 1) }
    last = sequence
    var newKeys = 0
    table.apply([AppliedCommit(body: commit, targets: try table.prepare(commit, newKeys: &newKeys))])
    report.commitsApplied += 1
  }

  /// Notes the keys that an applied commit deletes. A deletion that the checkpoint already contains says
  /// nothing, because a later commit may have written the key again.
  private mutating func noteDeletions(in commit: CommitBody) {
    guard observer != nil else { return }
    for case .remove(let key) in commit.operations { deleted.insert(Array(commit.bytes[key])) }
  }

  /// Applies only those operations of a commit for whose keys no later entry exists.
  private mutating func applyInPart(
    _ commit: CommitBody, _ sequence: SequenceNumber
  ) throws(ByteStoreError) {
    var newKeys = 0
    let targets = try table.prepare(commit, newKeys: &newKeys)
    var isCommitNewer: [Bool] = []
    table.withTable { table in
      for target in targets {
        let slot = target.ordinal.flatMap { table.location(of: $0).slot }
        isCommitNewer.append(slot.map { segments[$0].header.asOf < sequence } ?? true)
      }
    }
    let part = try Self.part(of: commit, isCommitNewer)
    noteDeletions(in: part)
    newKeys = 0
    let applied = try table.prepare(part, newKeys: &newKeys)
    putsPossiblyStale += applied.count { $0.ordinal == nil }
    table.apply([AppliedCommit(body: part, targets: applied)])
    report.commitsApplied += 1
  }

  private static func part(of commit: CommitBody, _ isIn: [Bool]) throws(ByteStoreError) -> CommitBody {
    var batch = Batch(stamp: commit.stamp)
    for (index, operation) in commit.operations.enumerated() where isIn[index] {
      switch operation {
      case .put(_, let key, let value):
        try batch.put(Array(commit.bytes[value]), for: Array(commit.bytes[key]))
      case .remove(let key): try batch.remove(Array(commit.bytes[key]))
      }
    }
    return CommitBody(trusted: batch.body)
  }

  // MARK: Restored entries

  /// Adds entries whose keys are missing, except definitions that `judge` cannot decode.
  mutating func addMissing(
    _ entries: [(key: [UInt8], value: [UInt8])], _ judge: (any EntryJudge)?
  ) throws(ByteStoreError) {
    var batch = Batch()
    for entry in entries {
      guard judge?.brokenDefinition(entry.key.rawSpan, entry.value.rawSpan) == nil else { continue }
      // An entry that exceeds the limits of a batch cannot have been written by a put.
      guard entry.key.count <= Batch.keyBytesMax, entry.value.count <= Batch.valueBytesMax else { continue }
      if !batch.hasRoom(forPutOf: entry.value, for: entry.key) {
        try addMissing(batch)
        batch = Batch()
      }
      try batch.put(entry.value, for: entry.key)
    }
    if batch.count > 0 { try addMissing(batch) }
  }

  /// Counts the missing entries that the chosen checkpoint has in the upper layer's pages, too. They are
  /// restored, and the number of entries in the checkpoint includes them.
  mutating func noteRestorable(_ entries: [(key: [UInt8], value: [UInt8])]) throws(ByteStoreError) {
    restoredCount = try missing(entries.map(\.key)).count
  }

  /// The keys that the new store does not have.
  func missing(_ keys: [[UInt8]]) throws(ByteStoreError) -> [[UInt8]] {
    var missing: [[UInt8]] = []
    for start in stride(from: 0, to: keys.count, by: Self.removalsAtOnce) {
      let part = keys[start..<min(start + Self.removalsAtOnce, keys.count)]
      var batch = Batch()
      for key in part { try batch.remove(key) }
      var newKeys = 0
      let targets = try table.prepare(CommitBody(trusted: batch.body), newKeys: &newKeys)
      missing += zip(part, targets).filter { $1.ordinal == nil }.map(\.0)
    }
    return missing
  }

  private mutating func addMissing(_ batch: Batch) throws(ByteStoreError) {
    let commit = CommitBody(trusted: batch.body)
    var newKeys = 0
    let isMissing = try table.prepare(commit, newKeys: &newKeys).map { $0.ordinal == nil }
    let part = try Self.part(of: commit, isMissing)
    newKeys = 0
    table.apply([AppliedCommit(body: part, targets: try table.prepare(part, newKeys: &newKeys))])
  }

  // MARK: Undecodable entries

  private static let removalsAtOnce = 1000

  /// Removes definitions that cannot be decoded. Each removed definition is counted, even if a valid one
  /// replaces it later.
  mutating func removeBrokenDefinitions(_ judge: any EntryJudge) throws(ByteStoreError) {
    var broken: [(key: [UInt8], name: String)] = []
    try forEachEntry { key, value in
      if let name = judge.brokenDefinition(key, value) { broken.append(([UInt8](copying: key), name)) }
    }
    try removeUndecodable(broken)
  }

  mutating func removeUndecodable(_ judge: any EntryJudge) throws(ByteStoreError) {
    try removeUndecodable(try judge.undecodable { body throws(ByteStoreError) in try forEachEntry(body) })
  }

  private mutating func removeUndecodable(
    _ undecodable: [(key: [UInt8], name: String)]
  ) throws(ByteStoreError) {
    for entry in undecodable {
      report.undecodable.add(entry.name)
      try observer?.lost(.undecodable(name: entry.name))
    }
    for start in stride(from: 0, to: undecodable.count, by: Self.removalsAtOnce) {
      var batch = Batch()
      for entry in undecodable[start..<min(start + Self.removalsAtOnce, undecodable.count)] {
        try batch.remove(entry.key)
      }
      let commit = CommitBody(trusted: batch.body)
      var newKeys = 0
      table.apply([AppliedCommit(body: commit, targets: try table.prepare(commit, newKeys: &newKeys))])
    }
  }

  /// Passes every entry of the new store to `body`.
  private func forEachEntry(_ body: (RawSpan, RawSpan) -> Void) throws(ByteStoreError) {
    let table = table.frozen()
    try forEachSegmentEntry(of: table) { _, key, value in body(key, value) }
    try table.forEachMemtableEntry { _, commit, key, value throws(ByteStoreError) in
      let bytes = commit.bytes.rawSpan
      body(bytes.extracting(key), bytes.extracting(value))
    }
  }

  /// Passes the keys of the new store whose values no checkpoint confirms to `body`.
  func forEachUnprovenKey(_ body: ([UInt8]) throws(ByteStoreError) -> Void) throws(ByteStoreError) {
    try forEachSegmentEntry(of: table.frozen()) { ordinal, key, _ throws(ByteStoreError) in
      guard ordinal < isProven.count, !isProven[ordinal] else { return }
      try body([UInt8](copying: key))
    }
  }

  /// Passes every entry of the new store that is in a segment to `body`: its ordinal, key and value.
  private func forEachSegmentEntry(
    of table: KeyDirectory, _ body: (Int, RawSpan, RawSpan) throws(ByteStoreError) -> Void
  ) throws(ByteStoreError) {
    var buffer = ReadBuffer()
    for (slot, source) in segments.enumerated() {
      try source.forEachEntry(slot: slot) { entry, location, bytes throws(ByteStoreError) in
        guard source.decode(entry, from: bytes, into: &buffer), let parts = EntryBytes.split(buffer.bytes)
        else { return }
        let key = buffer.bytes.extracting(parts.key)
        guard let ordinal = table.ordinal(at: location, table.fingerprint(of: key)) else { return }
        try body(Int(ordinal), key, buffer.bytes.extracting(droppingFirst: parts.valueStart))
      } damaged: { _, _ in
      }
    }
  }

  // MARK: The end

  /// Returns the key directory. Its commit number is the highest that any file mentions, so that no number is
  /// reused.
  mutating func finish() -> KeyDirectory {
    var evidence = segments.map(\.header.asOf.value) + sources.logs.flatMap { $0.commits.map(\.upperBound) }
    // The log after a missing log records where the missing log ended.
    evidence += sources.logs.compactMap { $0.header?.previous.sequence.value }
    evidence += sources.checkpoints.filter(\.isHeaderSound).map(\.header.position.sequence.value)
    evidence += sources.manifest?.logs.compactMap { $0.end?.sequence.value } ?? []
    let newest = evidence.filter { $0 <= CheckpointFormat.sequenceMax }.max() ?? 0
    if newest > last.value { report.commitsMissing.append(last.value + 1...newest) }
    let stamp = judge?.stamp ?? 0
    table.withTable { table in
      table.published = SequenceNumber(max(newest, last.value))
      table.lastStamp = max(table.lastStamp, stamp)
    }
    let table = table.frozen()
    report.keys = table.keys
    report.keysPossiblyStale = putsPossiblyStale
    for ordinal in isProven.indices where !isProven[ordinal] {
      if table.location(of: UInt32(ordinal)).slot != nil { report.keysPossiblyStale += 1 }
    }
    return table
  }
}

extension CheckpointJudge {
  /// The last commit in the checkpoint, if known.
  var position: SequenceNumber? { source.isHeaderSound ? source.header.position.sequence : nil }

  fileprivate var stamp: UInt64 { source.isHeaderSound ? source.header.lastStamp : 0 }
}

extension SegmentSource {
  /// Creates a segment that can read entries by their locations.
  fileprivate func segment(
    _ slot: Int, _ directory: any OpenDirectory, platform: Platform
  ) -> Segment {
    // Use a unique segment number, because the page cache identifies pages by this number.
    let entry = Manifest.Segment(
      number: FileNumber(UInt64(slot)), fileID: fileID, slot: slot, pages: pages, bytes: file.size)
    let opened = Segment.Opened(
      file.file, header, dictionary: dictionary ?? EntryDictionary([]),
      runTable: (runs ?? []).map { UInt32($0) })
    return Segment(entry, storeID: header.storeID, opened: opened, in: directory, platform: platform)
  }
}

extension FlushJob {
  /// Copies the readable live entries of a damaged segment to new segments.
  mutating func rescue(_ source: SegmentSource, slot: Int) throws(ByteStoreError) {
    var buffer = ReadBuffer()
    try source.forEachEntry(slot: slot) { entry, location, bytes throws(ByteStoreError) in
      guard source.decode(entry, from: bytes, into: &buffer), let parts = EntryBytes.split(buffer.bytes)
      else { return }
      let fingerprint = table.fingerprint(of: buffer.bytes.extracting(parts.key))
      guard let ordinal = table.ordinal(at: location, fingerprint) else { return }
      try add(ordinal, location, plain: buffer.bytes)
    } damaged: { _, _ in
    }
  }
}
