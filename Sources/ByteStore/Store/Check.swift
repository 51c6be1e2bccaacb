// Looking at every byte of a store, without changing one.
//
//   1. lock        or, in a store that is open, keep flushes away: what is looked at stays where it is
//   2. manifest
//   3. checkpoint  its header, every page, and the table that the pages make
//   4. segments    header, dictionary, run table, every page, every entry, each against the table
//   5. logs        header, every frame, the end (C9); each commit is applied to the table
//   6. names       files that no manifest names
//
// A finding never ends the check. What stands on damaged bytes is left out, so that one fault is not told a
// thousand times.

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

extension ByteStore {
  /// Looks at a store that nobody has open. Nothing on disk changes but the lock.
  package static func check(
    _ path: String, platform: Platform = .real, inspect: EntryInspector? = nil,
    progress: ((CheckProgress) -> Void)? = nil
  ) throws(ByteStoreError) -> CheckReport {
    let directory = try directoryOfStore(path, platform)
    let lock = try takeLock(of: directory)
    defer { lock.release() }
    var check = Check(directory, lock, platform, inspect, progress)
    try check.run()
    return check.report
  }

  /// Looks at this store while it is in use: at its files as of the last commit, and at its table. Reads and
  /// commits go on; flushes and a close wait.
  package func check(
    inspect: EntryInspector? = nil, progress: ((CheckProgress) -> Void)? = nil
  ) throws(ByteStoreError) -> CheckReport {
    guard !isForked else { throw .forked(directory: path) }
    try state.withLock(when: { !$0.isFlushing && !$0.isLeading }) { state throws(ByteStoreError) in
      if case .closed = state.end { throw .closed(directory: path) }
      state.isFlushing = true
      state.startLeading()
    }
    let table = table.frozen()
    let (manifest, end) = writer.withLock { ($0.manifest, $0.log?.recordedEnd) }
    state.withLock { $0.stopLeading() }
    state.wakeAll()
    defer {
      state.withLock { $0.isFlushing = false }
      state.wakeAll()
    }
    var check = Check(directory, lock, platform, inspect, progress)
    try check.run(manifest, logEnd: end, table)
    return check.report
  }

  /// An existing directory that holds a store, or what is left of one.
  static func directoryOfStore(
    _ path: String, _ platform: Platform
  ) throws(ByteStoreError) -> any OpenDirectory {
    let directory: any OpenDirectory
    do throws(SystemFailure) {
      directory = try platform.fileSystem.openDirectory(path)
    } catch {
      throw error.isMissingFile ? .noStore(directory: path) : .system(error)
    }
    let names = try system { () throws(SystemFailure) in try directory.names() }
    if names.contains(where: { $0 == StoreFile.manifest || isOurs($0) }) { return directory }
    let ours: Set = [StoreFile.lock, StoreFile.newManifest, StoreFile.spare]
    if let other = names.filter({ !ours.contains($0) }).min() {
      throw .notAStore(directory: path, found: other)
    }
    throw .noStore(directory: path)
  }
}

struct Check {
  private(set) var report = CheckReport()
  private let directory: any OpenDirectory
  private let platform: Platform
  private let inspect: EntryInspector?
  private let progress: ((CheckProgress) -> Void)?
  private var bytesTotal: UInt64 = 0
  /// As an open would have it at this point.
  private var opened: Opened
  /// Nothing is wrong with what the table needs, so that it can be looked at further.
  private var hasTable = true
  private var dictionaries: [EntryDictionary] = []

  init(
    _ directory: any OpenDirectory, _ lock: any DirectoryLock, _ platform: Platform,
    _ inspect: EntryInspector?, _ progress: ((CheckProgress) -> Void)?
  ) {
    self.directory = directory
    self.platform = platform
    self.inspect = inspect
    self.progress = progress
    let cache = PageCache(bytesMax: 1 << 20, pageBytes: SegmentFormat.pageBytes)
    opened = Opened(
      options: ByteStore.Options(), platform: platform, directory: directory,
      // Nothing is written, so that it does not matter.
      durability: DurabilityReport(fileSystem: "", medium: .unknown, sync: .fdatasync), lock: lock,
      manifest: Manifest(storeID: .zero),
      table: SharedTable(Table(hashSeed: .zero), cache, path: directory.path))
  }

  var manifest: Manifest { opened.manifest }

  // MARK: Steps

  /// A store that is closed.
  mutating func run() throws(ByteStoreError) {
    let names = try system { () throws(SystemFailure) in try directory.names() }.sorted()
    if let manifest = try readManifest(names) {
      opened.manifest = manifest
      bytesTotal = manifest.bytes
      if let checkpoint = manifest.checkpoint { try checkTable(checkpoint) }
      try checkSegments()
      if hasTable { checkInvariants(opened.table.frozen()) }
      try checkLogs(appliesCommits: true)
      if hasTable { try checkTail() }
      report.lastCommit = opened.last.sequence
      try checkNames(names)
    } else {
      try checkAlone(names)
    }
    report.setAside = names.filter { StoreFile.setAsideParts(of: $0) != nil }
  }

  /// A store that is open, at some moment: the table is what reads see.
  mutating func run(
    _ manifest: Manifest, logEnd: LogHeader.LogEnd?, _ table: Table
  ) throws(ByteStoreError) {
    opened.manifest = manifest
    if let logEnd { opened.manifest.sealLastLog(at: logEnd) }
    bytesTotal = manifest.bytes
    if let checkpoint = manifest.checkpoint { try checkPages(checkpoint) }
    opened.table = SharedTable(table, opened.table.cache, path: directory.path)
    if hasTable { try loadTable(ofOpenStore: table) }
    try checkSegments()
    if hasTable { checkInvariants(opened.table.frozen()) }
    try checkLogs(appliesCommits: false)
    if hasTable { try checkTail() }
    report.lastCommit = table.published
    guard opened.last.sequence != table.published, report.isSound else { return }
    report.add(
      Damage(
        file: directory.path, offset: 0, expected: "commits up to \(table.published.value)",
        found: "commits up to \(opened.last.sequence.value)"))
  }

  // MARK: Findings

  /// Calls `body`, which reads at `offset` of a file; nil if it found damage, which is taken down. Anything
  /// else ends the check.
  private mutating func noting<Result>(
    at offset: UInt64 = 0, _ body: (inout Check) throws(ByteStoreError) -> Result
  ) throws(ByteStoreError) -> Result? {
    do throws(ByteStoreError) {
      return try body(&self)
    } catch {
      switch error {
      case .corrupted(let damage): report.add(damage)
      case .foreignFile(let file, let expected, let found):
        report.add(Damage(file: file, offset: 32, expected: "store \(expected)", found: "store \(found)"))
      case .system(let failure) where failure.code == EIO && failure.operation == "pread":
        report.add(
          Damage(
            file: failure.path, offset: offset, expected: "bytes that can be read",
            found: "some that the device does not give"))
      default: throw error
      }
      return nil
    }
  }

  private mutating func advance(_ bytes: UInt64, _ file: String) {
    report.bytesVerified += bytes
    progress?(
      CheckProgress(
        file: file, bytesDone: report.bytesVerified, bytesTotal: max(bytesTotal, report.bytesVerified)))
  }

  private mutating func open(_ name: String, _ what: String) throws(ByteStoreError) -> CheckFile? {
    if let file = try CheckFile(name, in: directory) {
      report.files += 1
      return file
    }
    report.add(
      Damage(
        file: "\(directory.path)/\(name)", offset: 0, expected: what, found: "no such file, or none to read"))
    return nil
  }

  // MARK: The manifest

  private mutating func readManifest(_ names: [String]) throws(ByteStoreError) -> Manifest? {
    let what = "a manifest" + (names.first(where: ByteStore.isOurs).map { ", as there is \($0)" } ?? "")
    guard let file = try open(StoreFile.manifest, what) else { return nil }
    defer { file.close() }
    guard let bytes = try file.read(Manifest.bytesMax, at: 0) else {
      report.add(file.unreadable(0, "a manifest"))
      return nil
    }
    let (manifest, damage) = try CheckHeader.decode(bytes, file.path, supported: Manifest.version) {
      bytes throws(ByteStoreError) in try Manifest(decoding: bytes, file: file.path)
    }
    if let damage { report.add(damage) }
    advance(UInt64(bytes.count), StoreFile.manifest)
    return manifest
  }

  // MARK: The checkpoint

  /// The checkpoint's header and every page of it.
  private mutating func checkPages(_ entry: Manifest.Checkpoint) throws(ByteStoreError) {
    let name = StoreFile.checkpoint(entry.number)
    guard let file = try open(name, "a checkpoint that the manifest names") else {
      hasTable = false
      return
    }
    defer { file.close() }
    let source = try noting { check throws(ByteStoreError) in
      try check.openCheckpoint(entry, file)
    }
    guard let source = source ?? nil else {
      hasTable = false
      return
    }
    advance(UInt64(CheckpointFormat.pageBytes), name)
    var offset = UInt64(CheckpointFormat.pageBytes)
    for region in source.header.regions {
      let isTable = region.region.rawValue < CheckpointRegion.firstOfLayerAbove.rawValue
      for page in 0..<region.pages {
        let payload = try noting(at: offset) { _ throws(ByteStoreError) in
          try source.payload(region.region, page)
        }
        if payload == nil, isTable { hasTable = false }
        offset += UInt64(CheckpointFormat.pageBytes)
        advance(UInt64(CheckpointFormat.pageBytes), name)
      }
    }
    opened.checkpoint = source
    opened.last = source.header.position
  }

  /// Nil, and the version taken down, if only that keeps it from being opened.
  private mutating func openCheckpoint(
    _ entry: Manifest.Checkpoint, _ file: CheckFile
  ) throws(ByteStoreError) -> CheckpointFile? {
    let page = try file.read(CheckpointFormat.pageBytes, at: 0) ?? []
    let (_, damage) = try CheckHeader.decode(page, file.path, supported: CheckpointFormat.version) {
      page throws(ByteStoreError) in try CheckpointHeader(decoding: page, file: file.path)
    }
    if let damage {
      report.add(damage)
      return nil
    }
    return try CheckpointFile(entry, storeID: opened.manifest.storeID, in: directory, platform)
  }

  /// The checkpoint's pages, and the table that they make.
  private mutating func checkTable(_ entry: Manifest.Checkpoint) throws(ByteStoreError) {
    try checkPages(entry)
    guard hasTable, let source = opened.checkpoint else { return }
    let segments = opened.manifest.segments.map {
      Segment($0, storeID: opened.manifest.storeID, in: directory, platform)
    }
    let table = try noting { _ throws(ByteStoreError) in
      try Self.loadedTable(
        Table(
          source, segments: try ByteStore.uses(of: segments, source),
          overflow: try ByteStore.overflow(of: source)), source)
    }
    hasTable = table != nil
    guard let table else { return }
    checkFreeList(table, source)
    opened.table = SharedTable(table, opened.table.cache, path: directory.path)
  }

  private static func loadedTable(
    _ table: Table, _ source: CheckpointFile
  ) throws(ByteStoreError) -> Table {
    var table = table
    let addresses =
      (0..<table.slots.directory.pageCount).map { PageAddress.directory($0) }
      + (0..<table.slots.pages.pageCount).map { .slots($0) }
      + (0..<table.locations.pageCount).map { .locations($0) }
      // Its pages are taken from the end.
      + (0..<source.pages(of: .free)).reversed().map { .free($0) }
    for address in addresses where !table.isLoaded(address) {
      guard table.install(try source.words(address), at: address) else { throw source.madeUp(address) }
    }
    return table
  }

  /// What a read of the open store may still have to get from the checkpoint.
  private mutating func loadTable(ofOpenStore table: Table) throws(ByteStoreError) {
    guard let source = table.source else { return }
    let loaded = try noting { _ throws(ByteStoreError) in try Self.loadedTable(table, source) }
    hasTable = loaded != nil
    if let loaded { opened.table = SharedTable(loaded, opened.table.cache, path: directory.path) }
  }

  /// The list of free ordinals has each of them once, and no other.
  private mutating func checkFreeList(_ table: Table, _ source: CheckpointFile) {
    let free = table.freeOrdinals
    let isRight =
      free.count == table.ordinals - table.keys && Set(free).count == free.count
      && free.allSatisfy { table.location(of: $0) == .none }
    guard !isRight else { return }
    report.add(
      Damage(
        file: source.path, offset: source.header.offset(of: .free) ?? 0,
        expected: "the \(table.ordinals - table.keys) ordinals that are not in use", found: "others"))
    hasTable = false
  }

  private mutating func checkInvariants(_ table: Table) {
    report.keys = table.keys
    guard let broken = table.invariantBroken() else { return }
    hasTable = false
    report.add(
      Damage(
        file: opened.checkpoint?.path ?? directory.path, offset: 0, expected: "a table that keeps its rules",
        found: "one in which \(broken)"))
  }

  // MARK: Segments

  private mutating func checkSegments() throws(ByteStoreError) {
    var table = hasTable ? TableCheck(opened.table.frozen()) : nil
    for entry in opened.manifest.segments {
      guard let file = try open(StoreFile.segment(entry.number), "a segment that the manifest names") else {
        table?.skip(0..<entry.pages, slot: entry.slot)
        continue
      }
      defer { file.close() }
      try checkSegment(file, entry, &table)
    }
    guard let table else { return }
    table.forEachMissing { ordinal, location in
      guard let entry = opened.manifest.segments.first(where: { $0.slot == location.slot }) else { return }
      report.add(
        Damage(
          file: "\(directory.path)/\(StoreFile.segment(entry.number))",
          offset: UInt64((location.page ?? 0) * SegmentFormat.pageBytes),
          expected: "the entry of ordinal \(ordinal) at \(location.place)", found: "none"))
    }
  }

  private mutating func checkSegment(
    _ file: CheckFile, _ entry: Manifest.Segment?, _ table: inout TableCheck?
  ) throws(ByteStoreError) {
    let (found, damages) = try SegmentSource.read(
      file, entry, StoreFile.segmentNumber(of: file.name), dictionaries: dictionaries, platform)
    for damage in damages { report.add(damage) }
    guard let source = found else {
      if let entry { table?.skip(0..<entry.pages, slot: entry.slot) }
      return
    }
    if let dictionary = source.dictionary { dictionaries = [dictionary] }
    advance(source.header.dataStart, file.name)
    guard let entry, !isEntryRight(entry, source, file) else {
      return try checkEntries(source, entry, &table)
    }
    // Another file under its name: its entries have nothing to do with the table.
    table?.skip(0..<entry.pages, slot: entry.slot)
    var noTable: TableCheck?
    try checkEntries(source, nil, &noTable)
  }

  private mutating func isEntryRight(
    _ entry: Manifest.Segment, _ source: SegmentSource, _ file: CheckFile
  ) -> Bool {
    guard source.isHeaderSound else { return true }
    let header = source.header
    let storeID = opened.manifest.storeID
    guard header.storeID == storeID else {
      report.add(file.damage(32, "store \(storeID)", "store \(header.storeID)"))
      return false
    }
    guard header.fileID == entry.fileID, header.number == entry.number else {
      report.add(
        file.damage(
          16, "segment \(entry.number.value) with id \(entry.fileID)",
          "segment \(header.number.value) with id \(header.fileID)"))
      return false
    }
    guard header.pages == entry.pages, header.fileBytes == entry.bytes else {
      report.add(
        file.damage(
          72, "\(entry.pages) pages in \(entry.bytes) bytes", "\(header.pages) in \(header.fileBytes)"))
      return false
    }
    if let position = opened.checkpoint?.header.position.sequence, header.asOf > position {
      report.add(file.damage(56, "entries as of commit \(position.value) or before", "\(header.asOf.value)"))
    }
    return true
  }

  private mutating func checkEntries(
    _ source: SegmentSource, _ entry: Manifest.Segment?, _ table: inout TableCheck?
  ) throws(ByteStoreError) {
    var buffer = ReadBuffer()
    var entries: UInt64 = 0
    var liveBytes: UInt64 = 0
    var isWhole = source.isHeaderSound
    let slot = entry?.slot ?? 0
    try source.forEachEntry(slot: slot) { stored, location, bytes throws(ByteStoreError) in
      entries += 1
      let page = location.page ?? 0
      guard source.decode(stored, from: bytes, into: &buffer), let parts = EntryBytes.split(buffer.bytes)
      else {
        report.add(source.noEntry(page, stored.offset))
        table?.skip(page..<page + 1, slot: slot)
        return
      }
      if case .entry = location.place, stored.offset == 0 {
        advance(UInt64(SegmentFormat.pageBytes), source.file.name)
      } else if case .run(_, _, let pages) = location.place {
        advance(UInt64(pages * SegmentFormat.pageBytes), source.file.name)
      }
      let key = buffer.bytes.extracting(parts.key)
      if table != nil {
        guard table?.isLive(stored, location) == true else { return }
        liveBytes += UInt64(bytesUsed(stored, location))
        guard table?.isRightKey(key, of: stored) == true else {
          report.add(
            source.file.damage(
              source.header.offset(ofPage: page) + UInt64(stored.offset),
              "a key that ordinal \(stored.ordinal) stands for", "another"))
          return
        }
      }
      inspectEntry(
        key, buffer.bytes.extracting(droppingFirst: parts.valueStart), source.path,
        source.header.offset(ofPage: page) + UInt64(stored.offset))
    } damaged: { pages, damage throws(ByteStoreError) in
      isWhole = false
      report.add(damage)
      table?.skip(pages, slot: slot)
      advance(UInt64(pages.count * SegmentFormat.pageBytes), source.file.name)
    }
    report.entries += entries
    if table != nil { report.deadBytes += UInt64(source.pages * SegmentFormat.pageBytes) - liveBytes }
    guard isWhole, entries != source.header.entries else { return }
    report.add(source.file.damage(64, "\(source.header.entries) entries", "\(entries)"))
  }

  private func bytesUsed(_ entry: StoredEntry, _ location: Location) -> Int {
    if case .run(_, _, let pages) = location.place { return pages * SegmentFormat.pageBytes }
    return entry.bytes
  }

  private mutating func inspectEntry(_ key: RawSpan, _ value: RawSpan, _ file: String, _ offset: UInt64) {
    guard let wrong = inspect?(key, value) else { return }
    report.add(Damage(file: file, offset: offset, expected: "a record", found: wrong))
  }

  // MARK: Logs

  private mutating func checkLogs(appliesCommits: Bool) throws(ByteStoreError) {
    // Behind damage nobody knows where the next log begins: it is believed.
    var isBehindDamage = opened.manifest.checkpoint != nil && opened.checkpoint == nil
    for log in opened.manifest.logs {
      let isWhole = try checkLog(log, isBehindDamage, applies: appliesCommits)
      isBehindDamage = !isWhole && log.end == nil
      if !isWhole {
        hasTable = false
        if let end = log.end {
          opened.last = LogHeader.LogEnd(fileID: log.fileID, length: end.length, sequence: end.sequence)
        }
      }
    }
  }

  /// False if it is damaged.
  private mutating func checkLog(
    _ log: Manifest.Log, _ isBehindDamage: Bool, applies: Bool
  ) throws(ByteStoreError) -> Bool {
    guard let file = try open(StoreFile.log(log.number), "a log that the manifest names") else {
      return false
    }
    defer { file.close() }
    defer { advance(min(file.size, LogFormat.capacityMax), file.name) }
    guard let bytes = try file.read(Int(LogFormat.capacityMax) + 1, at: 0) else {
      report.add(file.unreadable(0, "a log"))
      return false
    }
    guard let header = try logHeader(bytes, file) else {
      scan(bytes, file, log.fileID, UInt64(bytes.count), log.end?.length, .none)
      return false
    }
    if isBehindDamage { opened.last = header.previous }
    let isOurs: Void? = try noting { check throws(ByteStoreError) in
      try ByteStore.check(header, against: log, file.file, check.opened)
    }
    scan(bytes, file, header.fileID, header.capacity, log.end?.length, header.previous.sequence)
    guard isOurs != nil else { return false }
    return try replay(bytes, file, header, log, applies: applies && hasTable)
  }

  private mutating func logHeader(_ bytes: [UInt8], _ file: CheckFile) throws(ByteStoreError) -> LogHeader? {
    let (header, damage) = try CheckHeader.decode(bytes, file.path, supported: LogFormat.version) {
      bytes throws(ByteStoreError) in try LogHeader(decoding: bytes, file: file.path)
    }
    if let damage { report.add(damage) }
    return damage == nil ? header : nil
  }

  /// What a reader passes over: gaps, and bytes between the frames that were never anything but zero.
  private mutating func scan(
    _ bytes: [UInt8], _ file: CheckFile, _ fileID: RandomID, _ capacity: UInt64, _ recordedEnd: UInt64?,
    _ previous: SequenceNumber
  ) {
    let scan = LogScan(
      bytes.rawSpan, fileID: fileID, capacity: capacity, recordedEnd: recordedEnd, after: previous,
      broken: platform.brokenRule)
    for gap in scan.gaps {
      report.add(
        file.damage(gap.lowerBound, "a frame, as the log goes on", "none up to byte \(gap.upperBound)"))
    }
    let header = UInt64(LogFormat.headerBytes)..<UInt64(LogFormat.pageBytes)
    for range in [header] + scan.unused(bytes.rawSpan) {
      let range = range.clamped(to: 0..<UInt64(bytes.count))
      guard let index = bytes[Int(range.lowerBound)..<Int(range.upperBound)].firstIndex(where: { $0 != 0 })
      else { continue }
      report.add(file.damage(UInt64(index), "zeros up to byte \(range.upperBound)", "something else"))
    }
  }

  private mutating func replay(
    _ bytes: [UInt8], _ file: CheckFile, _ header: LogHeader, _ log: Manifest.Log, applies: Bool
  ) throws(ByteStoreError) -> Bool {
    let table = opened.table
    var isDamaged = false
    let ending = try noting { check throws(ByteStoreError) in
      try LogReader(
        header: header, bytes: bytes.rawSpan, fileBytes: UInt64(bytes.count), path: file.path,
        broken: check.platform.brokenRule
      )
      .replay(recordedEnd: log.end) { commit throws(ByteStoreError) in
        guard applies, !isDamaged else { return }
        let applied: Void? = try check.noting { _ throws(ByteStoreError) in
          var newKeys = 0
          table.apply([(commit, try table.prepare(commit, newKeys: &newKeys))])
        }
        isDamaged = applied == nil
      }
    }
    guard let ending else { return false }
    opened.last = LogHeader.LogEnd(
      fileID: header.fileID, length: ending.length, sequence: ending.lastSequence)
    if ending.dropped > 0 {
      report.losses.append(
        RecoveryReport.Loss(
          file: file.path, offset: ending.length, length: ending.dropped,
          reason: "a group of commits was cut off before it was acknowledged"))
    }
    return !isDamaged
  }

  /// The commits behind the checkpoint, as the table has them.
  private mutating func checkTail() throws(ByteStoreError) {
    let table = opened.table.frozen()
    checkInvariants(table)
    guard inspect != nil else { return }
    try table.forEachTailEntry { _, commit, key, value throws(ByteStoreError) in
      let bytes = commit.bytes.rawSpan
      inspectEntry(
        bytes.extracting(key), bytes.extracting(value), "\(directory.path)/the logs", UInt64(key.lowerBound))
    }
  }

  // MARK: Names

  private mutating func checkNames(_ names: [String]) throws(ByteStoreError) {
    let live = opened.manifest.fileNames
    for name in names where !live.contains(name) && name != StoreFile.manifest {
      let isLeftover = try noting { check throws(ByteStoreError) in
        try ByteStore.isLeftover(name, check.opened)
      }
      if isLeftover == true { report.leftovers.append(name) }
    }
  }

  /// Without a manifest, each file by what it says of itself.
  private mutating func checkAlone(_ names: [String]) throws(ByteStoreError) {
    hasTable = false
    var noTable: TableCheck?
    for name in names {
      if StoreFile.segmentNumber(of: name) != nil, let file = try open(name, "a segment") {
        defer { file.close() }
        try checkSegment(file, nil, &noTable)
      } else if StoreFile.logNumber(of: name) != nil, let file = try open(name, "a log") {
        defer { file.close() }
        try checkLogAlone(file)
      } else if StoreFile.isCheckpoint(name), let file = try open(name, "a checkpoint") {
        defer { file.close() }
        try checkCheckpointAlone(file)
      }
    }
  }

  private mutating func checkLogAlone(_ file: CheckFile) throws(ByteStoreError) {
    guard let bytes = try file.read(Int(LogFormat.capacityMax) + 1, at: 0) else {
      return report.add(file.unreadable(0, "a log"))
    }
    advance(UInt64(bytes.count), file.name)
    guard let header = try logHeader(bytes, file) else { return }
    scan(bytes, file, header.fileID, header.capacity, nil, header.previous.sequence)
  }

  private mutating func checkCheckpointAlone(_ file: CheckFile) throws(ByteStoreError) {
    guard let page = try file.read(CheckpointFormat.pageBytes, at: 0) else {
      return report.add(file.unreadable(0, "a checkpoint's header"))
    }
    let (header, damage) = try CheckHeader.decode(page, file.path, supported: CheckpointFormat.version) {
      page throws(ByteStoreError) in try CheckpointHeader(decoding: page, file: file.path)
    }
    if let damage { report.add(damage) }
    guard let header else { return }
    try file.forEachPage(
      of: CheckpointFormat.pageBytes, at: UInt64(CheckpointFormat.pageBytes),
      count: Int(header.fileBytes / UInt64(CheckpointFormat.pageBytes)) - 1
    ) { page, bytes throws(ByteStoreError) in
      let offset = UInt64((page + 1) * CheckpointFormat.pageBytes)
      advance(UInt64(CheckpointFormat.pageBytes), file.name)
      guard let bytes,
        CheckpointFormat.isRight(bytes, file: header.fileID, offset: offset, platform.brokenRule)
      else {
        return report.add(file.damage(offset, "a page that has its checksum", "bytes that have another"))
      }
    }
  }
}

extension CheckpointFormat {
  /// Whether a page has its checksum.
  static func isRight(_ page: RawSpan, file: RandomID, offset: UInt64, _ broken: Rule?) -> Bool {
    var trailer = ByteReader(page.extracting(droppingFirst: pageBytes - 4))
    return trailer.uint32() == checksum(ofPage: page, file: file, offset: offset, broken: broken)
  }
}

extension Manifest {
  /// Of all files that it names.
  fileprivate var bytes: UInt64 {
    let sizes = logs.map(\.capacity) + segments.map(\.bytes) + (checkpoint.map { [$0.bytes] } ?? [])
    return sizes.reduce(0) { $0.addingReportingOverflow($1).overflow ? .max : $0 + $1 }
  }
}

extension Table {
  fileprivate func isLoaded(_ address: PageAddress) -> Bool {
    switch address {
    case .directory(let page): slots.directory.isLoaded(page)
    case .slots(let page): slots.pages.isLoaded(page)
    case .locations(let page): locations.isLoaded(page)
    case .free: false
    }
  }
}
