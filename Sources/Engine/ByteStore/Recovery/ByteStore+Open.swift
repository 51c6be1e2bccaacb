// Opens a store.
//
//   1. lock       one writer at a time (C10); refuse a network file system; mark the store for readers
//   2. sync       sync the manifest, the logs without a recorded end, and the directory: bytes that a
//                 killed process left in the page cache become durable before they are used (C8)
//   3. read       read the manifest, the first page of the checkpoint, and every log in order
//   4. decide     tell damage from a torn tail at each log's end (C9)
//   5. rewrite    write the bytes of the last group again, unchanged: after an earlier failed sync, the
//                 sync of step 2 did not write them (F4)
//   6. clean up   delete files that the manifest does not name; if an earlier manifest may have named
//                 them, write the manifest again first, because the one on disk may not be durable (F4)
//
// No other bytes are written to an old log, and nothing is deleted before step 6.

import Libc

/// The result of an open, from which the store is created.
package struct Opened {
  var options: ByteStore.Options
  var platform: Platform
  var directory: any OpenDirectory
  var durability: DurabilityReport
  var lock: any DirectoryLock
  package var manifest: Manifest
  package var checkpoint: CheckpointFile?
  package var table: SharedKeyDirectory
  /// The writer for the last log. It is set only while a test breaks rule C12, because otherwise no log of an
  /// earlier opening is continued.
  var oldLog: LogWriter?
  /// The recovered commits for the upper layer; nil if there is no upper layer.
  var recovered: Recovered?
  var reserve = SpaceReserve()
  /// Whether the manifest that was read is known to survive a power loss.
  var isManifestDurable = true
  /// Files that must be deleted as soon as a manifest can be written.
  var leftovers: [String] = []
  package var last = LogHeader.LogEnd(fileID: .zero, length: 0, sequence: .none)
  var report = RecoveryReport()
  /// The position of a reader in the writer's files.
  var reader: ReaderState?
  var readerLock: (any ReaderLock)?
  /// Whether readers can see that a writer has the store open.
  var isMarked = true
}

extension Opened {
  /// Creates the state of a store that is opened only for reading and whose manifest is not known yet.
  package init(reading directory: any OpenDirectory, lock: any DirectoryLock, platform: Platform) {
    let cache = PageCache(bytesMax: 1 << 20, pageBytes: SegmentFormat.pageBytes)
    self.init(
      options: ByteStore.Options(), platform: platform, directory: directory,
      // The report describes writes, and nothing is written, so its content does not matter.
      durability: DurabilityReport(fileSystem: "", medium: .unknown, sync: .fdatasync), lock: lock,
      manifest: Manifest(storeID: .zero),
      table: SharedKeyDirectory(KeyDirectory(hashSeed: .zero), cache, path: directory.path))
  }
}

extension ByteStore {
  /// Opens the store in the directory `path`, or creates one there.
  package static func open(
    _ path: String, options: Options = Options(), platform: Platform = .real
  ) throws(ByteStoreError) -> ByteStore {
    try StorePath.check(path)
    if options.isReader { return try openReader(path, options: options, platform: platform) }
    var (options, platform) = (options, platform)
    if options.isReadOnly {
      options.createsIfMissing = false
      options.maintenance = .manual
      platform.fileSystem = ReadOnlyFileSystem(base: platform.fileSystem, protected: path)
    }
    let directory = try openDirectory(path, options, platform: platform)
    let durability = try refuseNetwork(directory)
    let lock = try acquireLock(of: directory, options, platform: platform)
    // Without this file, readers cannot say that they are there, and no log is recycled.
    let readerLock = options.isReadOnly ? nil : try? directory.readerLock(StoreFile.readers, .readAndWrite)
    // The mark comes before the store is read, because recovery may take long.
    let isMarked = readerLock?.set(.isOpen) ?? true
    do throws(ByteStoreError) {
      var opened = try read(directory, durability, lock: lock, options: options, platform: platform)
      (opened.readerLock, opened.isMarked) = (readerLock, isMarked)
      let store = ByteStore(opened)
      store.sendOpen()
      return store
    } catch {
      readerLock?.release()
      lock.release()
      throw error.isDamage && isMarkedAsBackup(directory) ? .incompleteBackup(directory: path) : error
    }
  }

  /// Whether the directory is marked as an unfinished backup. After an aborted backup, a power loss may bring
  /// back its manifest but not its files.
  static func isMarkedAsBackup(_ directory: any OpenDirectory) -> Bool {
    (try? directory.names().contains(StoreFile.backupMark)) ?? false
  }

  static func openDirectory(
    _ path: String, _ options: Options, platform: Platform
  ) throws(ByteStoreError) -> any OpenDirectory {
    if options.createsIfMissing,
      try system({ () throws(SystemFailure) in try !containsStore(path, platform) })
    {
      // The check comes first, so that not even a directory is created on a network file system.
      try refuseNetwork(try nearestExistingDirectory(to: path, platform))
      try system { () throws(SystemFailure) in try platform.fileSystem.createDirectory(path) }
    }
    do throws(SystemFailure) {
      return try platform.fileSystem.openDirectory(path)
    } catch {
      throw error.code == ENOENT ? .noStore(directory: path) : .system(error)
    }
  }

  @discardableResult
  static func refuseNetwork(
    _ directory: any OpenDirectory
  ) throws(ByteStoreError) -> DurabilityReport {
    let report = try system { () throws(SystemFailure) in try directory.durability() }
    guard report.medium != .network else {
      throw .networkFileSystem(directory: directory.path, fileSystem: report.fileSystem)
    }
    return report
  }

  /// The directory itself, or its nearest existing ancestor.
  private static func nearestExistingDirectory(
    to path: String, _ platform: Platform
  ) throws(ByteStoreError) -> any OpenDirectory {
    var rest = path[...]
    while true {
      do throws(SystemFailure) {
        let isRelative = !path.hasPrefix("/")
        return try platform.fileSystem.openDirectory(rest.isEmpty ? (isRelative ? "." : "/") : String(rest))
      } catch {
        guard error.code == ENOENT, !rest.isEmpty else { throw .system(error) }
      }
      while rest.last == "/" { rest.removeLast() }
      while let last = rest.last, last != "/" { rest.removeLast() }
    }
  }

  private static func containsStore(
    _ path: String, _ platform: Platform
  ) throws(SystemFailure) -> Bool {
    do throws(SystemFailure) {
      return try platform.fileSystem.openDirectory(path).names().contains(StoreFile.manifest)
    } catch {
      guard error.code == ENOENT else { throw error }
      return false
    }
  }

  private static func acquireLock(
    of directory: any OpenDirectory, _ options: Options, platform: Platform
  ) throws(ByteStoreError) -> any DirectoryLock {
    // The check comes first, so that not even a lock file is left in a foreign directory.
    try refuseForeign(directory, options)
    guard platform.keeps(.lock) else { return NoLock() }
    return try takeLock(of: directory)
  }

  struct NoLock: DirectoryLock {
    func release() {}
  }

  /// Whether a process has a store open.
  package enum DirectoryUse: Equatable, Sendable {
    case free
    /// The process id of the holder is nil if it is unknown.
    case held(by: Int32?)
  }

  /// Returns whether this process or another one has the store in a directory open. Writes nothing. A
  /// directory that cannot be opened counts as free.
  package static func use(of path: String, platform: Platform = .real) -> DirectoryUse {
    guard let directory = try? platform.fileSystem.openDirectory(path) else { return .free }
    // A store without a writer has no mark. Then no lock is taken, not even for an instant, because a writer
    // that starts in that instant would be refused.
    if let lock = try? directory.readerLock(StoreFile.readers, .read), !lock.mayHave(.isOpen) { return .free }
    guard let result = try? directory.lock(StoreFile.lock, .read) else { return .free }
    switch result {
    case .acquired(let lock):
      lock.release()
      return .free
    case .held(let holder): return .held(by: holder)
    }
  }

  static func takeLock(of directory: any OpenDirectory) throws(ByteStoreError) -> any DirectoryLock {
    try takeLock(of: directory, file: StoreFile.lock)
  }

  /// Acquires the store's lock for a repair. If an entry that is not a file has the name of the lock file,
  /// only the directory itself is locked. This also excludes all other openers.
  package static func takeLockForRepair(of directory: any OpenDirectory) throws(ByteStoreError)
    -> any DirectoryLock
  {
    do throws(ByteStoreError) { return try takeLock(of: directory) } catch {
      guard case .nameTaken = error else { throw error }
      return try takeLock(of: directory, file: nil)
    }
  }

  private static func takeLock(
    of directory: any OpenDirectory, file: String?
  ) throws(ByteStoreError) -> any DirectoryLock {
    let result = try system { () throws(SystemFailure) in try directory.lock(file, .readAndWrite) }
    switch result {
    case .acquired(let lock): return lock
    case .held(let holder): throw .locked(directory: directory.path, holder: holder)
    }
  }

  static func refuseForeign(
    _ directory: any OpenDirectory, _ options: Options
  ) throws(ByteStoreError) {
    let names = try system { () throws(SystemFailure) in try directory.names() }
    guard !names.contains(StoreFile.manifest) else { return }
    if !options.isReadOnly { try refuseTakenNames(among: names, directory) }
    guard !names.contains(StoreFile.backupMark) else { throw .incompleteBackup(directory: directory.path) }
    if let file = names.filter(provesStore).min() {
      throw .corrupted(
        Damage(
          file: "\(directory.path)/\(StoreFile.manifest)", offset: 0,
          expected: "a manifest, as there is \(file)", found: "no such file"))
    }
    let ours: Set = [
      StoreFile.lock, StoreFile.readers, StoreFile.newManifest, StoreFile.recycledLog, StoreFile.reserve,
    ]
    if let other = names.filter({ !ours.contains($0) }).min() {
      throw .notAStore(directory: directory.path, found: other)
    }
    guard options.createsIfMissing else { throw .noStore(directory: directory.path) }
  }

  /// Throws if an entry of another kind has the name of a store file. The name of the reserve is exempt,
  /// because the reserve is optional.
  private static func refuseTakenNames(
    among names: [String], _ directory: any OpenDirectory
  ) throws(ByteStoreError) {
    let taken = try TakenName.all(among: names.filter { $0 != StoreFile.reserve }, in: directory)
    // Only the names of files matter here. The folder of the contents is not checked before it is used.
    guard let first = taken.filter({ $0.needed == .file }).min(by: { $0.name < $1.name }) else { return }
    throw first.error(in: directory)
  }

  /// Whether a file of this name proves that the directory holds a store, even without a manifest.
  package static func provesStore(_ name: String) -> Bool {
    StoreFile.logNumber(of: name) != nil || StoreFile.isSegmentOrCheckpoint(name)
      || StoreFile.isSalvaged(name) || StoreFile.quarantineParts(of: name) != nil
  }

  static func read(
    _ directory: any OpenDirectory, _ durability: DurabilityReport, lock: any DirectoryLock,
    options: Options, platform: Platform
  ) throws(ByteStoreError) -> Opened {
    let manifest: Manifest
    let found = try readManifest(directory, platform)
    if let found {
      manifest = found
    } else {
      // The check is repeated, because another process may have created files between the first check and the
      // acquisition of the lock.
      try refuseForeign(directory, options)
      manifest = Manifest(storeID: platform.random.randomID())
    }
    if !options.isReadOnly {
      let names = try system { () throws(SystemFailure) in try directory.names() }
      try refuseTakenNames(among: names.filter { !manifest.names($0) }, directory)
    }
    // A manifest without logs is written again even if it exists. If an earlier sync of its directory entry
    // failed, the manifest may be visible but not on disk. A log must not become durable before the manifest
    // (F4).
    var isDurable = true
    if manifest.logs.isEmpty, manifest.checkpoint == nil {
      isDurable = try write(manifest, isThere: found != nil, directory: directory, platform: platform)
    }
    prefetchLastLog(manifest, directory)
    try syncAll(manifest, directory, platform: platform)
    var opened = try openCheckpoint(
      Opened(
        options: options, platform: platform, directory: directory, durability: durability, lock: lock,
        manifest: manifest,
        table: SharedKeyDirectory(
          KeyDirectory(hashSeed: platform.random.randomID()), cache(options), path: directory.path)))
    opened.isManifestDurable = isDurable
    if options.upperLayer != nil { opened.recovered = Recovered(before: opened.table.frozen()) }
    for log in manifest.logs {
      let file = try open(log, in: directory)
      defer { file.close() }
      try replay(log, file, opened: &opened)
    }
    if !platform.keeps(.freshLogAfterOpen), let log = manifest.logs.last, log.end == nil {
      let header = LogHeader(
        fileID: log.fileID, storeID: manifest.storeID, number: log.number, capacity: log.capacity,
        previous: opened.last)
      opened.oldLog = LogWriter.continuing(
        header, at: opened.last, file: try open(log, in: directory), platform: platform)
    }
    try cleanUp(&opened)
    return opened
  }

  // MARK: The manifest

  private static func readManifest(
    _ directory: any OpenDirectory, _ platform: Platform
  ) throws(ByteStoreError) -> Manifest? {
    let file: any OpenFile
    do throws(SystemFailure) {
      file = try directory.openFile(StoreFile.manifest, .readAndWrite)
    } catch {
      guard error.code != ENOENT else { return nil }
      throw ByteStoreError(error)
    }
    defer { file.close() }
    let bytes = try system { () throws(SystemFailure) in
      if platform.keeps(.syncOnOpen) { try file.syncOnce(platform) }
      let size = try file.size()
      return try file.readAll(Int(min(size, UInt64(Manifest.bytesMax))), at: 0)
    }
    return try Manifest.decodeSound(bytes, file: file.path)
  }

  /// Returns false if a manifest exists and the disk has no room for another one. The manifest is then
  /// written together with the first log.
  private static func write(
    _ manifest: Manifest, isThere: Bool, directory: any OpenDirectory, platform: Platform
  ) throws(ByteStoreError) -> Bool {
    do throws(ByteStoreError) {
      try write(manifest, directory, platform: platform)
      return true
    } catch {
      guard isThere, error.isRecoverableOutOfSpace else { throw error }
      return false
    }
  }

  package static func write(
    _ manifest: Manifest, _ directory: any OpenDirectory, platform: Platform
  ) throws(ByteStoreError) {
    do throws(WriteFailure) {
      do throws(WriteFailure) {
        try manifest.replace(in: directory, platform)
      } catch {
        guard case .refused(let cause) = error, cause.isOutOfSpace else { throw error }
        // These two files are in no manifest, and their space is reserved for such a case (C11).
        for name in [StoreFile.recycledLog, StoreFile.reserve] { try? directory.remove(name) }
        try manifest.replace(in: directory, platform)
      }
    } catch {
      switch error {
      case .refused(let cause), .unknown(let cause): throw ByteStoreError(cause)
      }
    }
  }

  // MARK: The checkpoint

  private static func cache(_ options: Options) -> PageCache {
    PageCache(
      bytesMax: options.cacheBytesMax ?? PageCache.standardBytesMax(), pageBytes: SegmentFormat.pageBytes)
  }

  /// Creates the key directory from the checkpoint. Only the pages with the segment list are read.
  private static func openCheckpoint(_ opened: Opened) throws(ByteStoreError) -> Opened {
    var opened = opened
    guard let entry = opened.manifest.checkpoint else { return opened }
    let (source, table) = try openKeyDirectory(
      entry, opened.manifest, in: opened.directory, platform: opened.platform)
    opened.checkpoint = source
    opened.table = SharedKeyDirectory(table, opened.table.cache, path: opened.directory.path)
    opened.last = source.header.position
    return opened
  }

  package static func openKeyDirectory(
    _ entry: Manifest.Checkpoint, _ manifest: Manifest, in directory: any OpenDirectory,
    platform: Platform
  ) throws(ByteStoreError) -> (CheckpointFile, KeyDirectory) {
    let source = try CheckpointFile(entry, storeID: manifest.storeID, in: directory, platform: platform)
    source.prefetchOpenPages()
    try checkPresence(of: manifest.segments, directory)
    let segments = manifest.segments.map {
      Segment($0, storeID: manifest.storeID, in: directory, platform: platform)
    }
    let table = KeyDirectory(
      source, segments: try uses(of: segments, source),
      overflow: try overflow(of: source))
    return (source, table)
  }

  private static func checkPresence(
    of segments: [Manifest.Segment], _ directory: any OpenDirectory
  ) throws(ByteStoreError) {
    guard !segments.isEmpty else { return }
    let names = Set(try system { () throws(SystemFailure) in try directory.names() })
    guard let missing = segments.first(where: { !names.contains(StoreFile.segment($0.number)) }) else {
      return
    }
    throw .corrupted(
      Damage(
        file: "\(directory.path)/\(StoreFile.segment(missing.number))", offset: 0,
        expected: "a segment that the manifest names", found: "no such file"))
  }

  package static func uses(
    of segments: [Segment], _ source: CheckpointFile
  ) throws(ByteStoreError) -> [KeyDirectory.SegmentUse?] {
    let words = try words(.segments, of: source)
    var uses = [KeyDirectory.SegmentUse?](repeating: nil, count: (segments.map(\.slot).max() ?? -1) + 1)
    for segment in segments {
      let first = 3 * segment.slot
      guard first + 2 < words.count, words[first] == segment.number.value else {
        throw .corrupted(
          Damage(
            file: source.path, offset: source.header.offset(of: .segments) ?? 0,
            expected: "segment \(segment.number.value) in slot \(segment.slot)", found: "another"))
      }
      let bytesMax = UInt64(segment.pages * SegmentFormat.pageBytes)
      guard words[first + 1] <= bytesMax else {
        throw .corrupted(
          Damage(
            file: source.path, offset: source.header.offset(of: .segments) ?? 0,
            expected: "at most \(bytesMax) live bytes in slot \(segment.slot)", found: "\(words[first + 1])"))
      }
      uses[segment.slot] = KeyDirectory.SegmentUse(
        segment: segment, liveBytes: words[first + 1], liveEntries: words[first + 2])
    }
    return uses
  }

  package static func overflow(of source: CheckpointFile) throws(ByteStoreError) -> [UInt64] {
    let slots = try words(.overflow, of: source).filter { $0 != 0 }
    guard slots.allSatisfy({ SlotPages.isSlot($0, ordinals: source.header.ordinals) }) else {
      throw .corrupted(
        Damage(
          file: source.path, offset: source.header.offset(of: .overflow) ?? 0, expected: "slots of the table",
          found: "others"))
    }
    return slots
  }

  static func words(
    _ region: CheckpointRegion, of source: CheckpointFile
  ) throws(ByteStoreError) -> [UInt64] {
    var words: [UInt64] = []
    for page in 0..<source.pages(of: region) { words += try source.words(region, page) }
    return words
  }

  // MARK: The logs

  /// Starts read-ahead of the beginning of the last log. After a clean close, usually nothing else must be
  /// replayed.
  private static func prefetchLastLog(_ manifest: Manifest, _ directory: any OpenDirectory) {
    guard let log = manifest.logs.last, let file = try? open(log, in: directory) else { return }
    file.startReading(0..<64 << 10)
    file.close()
  }

  /// Syncs the logs without a recorded end, then the directory. The other logs were synced before the
  /// manifest recorded their ends. Only one file is open at a time, because a store may have more logs than a
  /// process may have file descriptors.
  private static func syncAll(
    _ manifest: Manifest, _ directory: any OpenDirectory, platform: Platform
  ) throws(ByteStoreError) {
    guard platform.keeps(.syncOnOpen) else { return }
    for log in manifest.logs where log.end == nil {
      let file = try open(log, in: directory)
      defer { file.close() }
      try system { () throws(SystemFailure) in try file.syncOnce(platform) }
    }
    try system { () throws(SystemFailure) in try directory.sync() }
  }

  private static func open(
    _ log: Manifest.Log, in directory: any OpenDirectory
  ) throws(ByteStoreError) -> any OpenFile {
    let name = StoreFile.log(log.number)
    do throws(SystemFailure) {
      return try directory.openFile(name, log.end == nil ? .readAndWrite : .read)
    } catch {
      guard error.isMissingOrNotAFile else { throw .system(error) }
      throw .corrupted(
        Damage(
          file: "\(directory.path)/\(name)", offset: 0, expected: "a log that the manifest names",
          found: error.obstacleDescription))
    }
  }

  private static func replay(
    _ log: Manifest.Log, _ file: any OpenFile, opened: inout Opened
  ) throws(ByteStoreError) {
    let (fileBytes, bytes) = try system { () throws(SystemFailure) in
      let fileBytes = try file.size()
      // Bytes beyond a recorded end are not read.
      let end = log.end.map { max($0.length, UInt64(LogFormat.pageBytes)) } ?? LogFormat.capacityMax
      return (fileBytes, try file.readAll(Int(min(fileBytes, end, LogFormat.capacityMax)), at: 0))
    }
    let header = try LogHeader.decodeSound(bytes, file: file.path)
    try check(header, against: log, file: file, opened: opened)
    let broken = opened.platform.brokenRule
    let ending = try LogReader(
      header: header, bytes: bytes.rawSpan, fileBytes: fileBytes, path: file.path, broken: broken
    )
    .replay(recordedEnd: log.end) { commit throws(ByteStoreError) in
      var newKeys = 0
      let table = opened.table
      // The log may change keys whose pages were damaged and were rebuilt by an earlier opening. These pages
      // must be rebuilt again.
      let targets = try table.rebuildingLostPages { () throws(ByteStoreError) in
        newKeys = 0
        return try table.prepare(commit, newKeys: &newKeys)
      }
      opened.table.apply([AppliedCommit(body: commit, targets: targets)])
      if !opened.platform.keeps(.replayOnce) {
        let again = try opened.table.prepare(commit, newKeys: &newKeys)
        opened.table.apply([AppliedCommit(body: commit, targets: again)])
      }
      opened.recovered?.commits.append(commit)
    }
    if log.end == nil { try rewriteUnsynced(ending, of: file, bytes: bytes, platform: opened.platform) }
    opened.last = LogHeader.LogEnd(
      fileID: header.fileID, length: ending.length, sequence: ending.lastSequence)
    opened.report.logsRead += 1
    opened.report.commitsReplayed += ending.commits
    opened.report.wasClosedCleanly = ending.wasClosed
    if ending.dropped > 0 {
      opened.report.losses.append(
        RecoveryReport.Loss(
          file: file.path, offset: ending.length, length: ending.dropped,
          reason: "a group of commits was cut off before it was acknowledged"))
    }
  }

  /// Rewrites the groups that were written since the last recorded sync, with the same bytes, and syncs them.
  /// The sync of step 2 is not enough: after an earlier failed sync, the page cache may show bytes that no
  /// later sync writes (F4). The bytes do not change, so a crash during the rewrite is harmless (C12).
  private static func rewriteUnsynced(
    _ ending: LogEnding, of file: any OpenFile, bytes: [UInt8], platform: Platform
  ) throws(ByteStoreError) {
    guard platform.keeps(.syncOnOpen), platform.keeps(.rewriteOnOpen) else { return }
    let start = Int(clamping: ending.durableThrough).roundedUp(toMultipleOf: LogFormat.pageBytes)
    guard start < Int(ending.length) else { return }
    try system { () throws(SystemFailure) in
      try file.writeAll(
        bytes.rawSpan.extracting(start..<Int(ending.length)), at: UInt64(start), platform: platform)
      try file.syncOnce(platform)
    }
  }

  /// Throws unless this is the log that the manifest names and it continues the log before it.
  package static func check(
    _ header: LogHeader, against log: Manifest.Log, file: any OpenFile, opened: Opened
  ) throws(ByteStoreError) {
    guard header.storeID == opened.manifest.storeID else {
      throw .foreignFile(
        file: file.path, expected: opened.manifest.storeID, found: header.storeID)
    }
    func require(
      _ holds: Bool, _ offset: UInt64, expected: String, found: String
    ) throws(ByteStoreError) {
      guard !holds else { return }
      throw .corrupted(Damage(file: file.path, offset: offset, expected: expected, found: found))
    }
    try require(
      header.fileID == log.fileID && header.number == log.number, 16,
      expected: "log \(log.number.value) with id \(log.fileID)",
      found: "log \(header.number.value) with id \(header.fileID)")
    try require(
      header.capacity == log.capacity, 56, expected: "a capacity of \(log.capacity)",
      found: "\(header.capacity)")
    try require(
      header.previous == opened.last, 64,
      expected: "a log that continues commit \(opened.last.sequence.value)",
      found: "one that continues commit \(header.previous.sequence.value)")
  }

  // MARK: Leftovers

  /// Deletes the files that the manifest does not name, for example because a crash came before the manifest
  /// that would have named them. A log among these files must not contain commits: that would prove that the
  /// manifest is outdated.
  private static func cleanUp(_ opened: inout Opened) throws(ByteStoreError) {
    let directory = opened.directory
    let manifest = opened.manifest
    let names = try system { () throws(SystemFailure) in try directory.names() }
    let live = manifest.fileNames
    var unnamed: [String] = []
    var namedBefore: [String] = []
    let others = names.filter { !live.contains($0) }.sorted()
    // An open for writing has already failed if one of these names is taken. A read-only open leaves the
    // entries alone.
    let taken = opened.options.isReadOnly ? try TakenName.all(among: others, in: directory).map(\.name) : []
    for name in others where !taken.contains(name) {
      guard try isLeftover(name, opened) else { continue }
      if manifest.mayHaveNamed(name) { namedBefore.append(name) } else { unnamed.append(name) }
    }
    // Files that no manifest ever named are deleted first, because on a full disk the next manifest may need
    // their space.
    try remove(unnamed, directory)
    let canRemoveNow = namedBefore.isEmpty ? true : try writeBeforeDeleting(&opened)
    if canRemoveNow {
      try remove(namedBefore, directory)
    } else {
      opened.leftovers = namedBefore
    }
    if names.contains(StoreFile.reserve) { opened.reserve = try findReserve(in: directory) }
  }

  /// Returns false if the disk has no room even for a manifest. The leftovers then stay until there is room,
  /// which does no harm.
  private static func writeBeforeDeleting(_ opened: inout Opened) throws(ByteStoreError) -> Bool {
    guard opened.platform.keeps(.writeManifestBeforeDeletingOnOpen) else { return true }
    let manifest = opened.manifest.successor()
    do throws(ByteStoreError) {
      try write(manifest, opened.directory, platform: opened.platform)
    } catch {
      guard error.isRecoverableOutOfSpace else { throw error }
      return false
    }
    opened.manifest = manifest
    return true
  }

  private static func remove(_ names: [String], _ directory: any OpenDirectory) throws(ByteStoreError) {
    for name in names { try system { () throws(SystemFailure) in try directory.remove(name) } }
  }

  private static func findReserve(in directory: any OpenDirectory) throws(ByteStoreError) -> SpaceReserve {
    do throws(SystemFailure) {
      return try SpaceReserve.find(in: directory)
    } catch {
      guard error.isMissingOrNotAFile else { throw .system(error) }
      return SpaceReserve(isBlocked: !error.isMissingFile)
    }
  }

  /// Whether a file that is not in the manifest may be deleted. Throws if the manifest should have named the
  /// file. Files in quarantine are never leftovers.
  package static func isLeftover(_ name: String, _ opened: Opened) throws(ByteStoreError) -> Bool {
    let manifest = opened.manifest
    if let number = StoreFile.logNumber(of: name) {
      // The checkpoint contains the commits of all logs that precede the first log in the manifest.
      let isCovered =
        manifest.checkpoint != nil && number < manifest.logs.first?.number ?? manifest.nextLogNumber
      if !isCovered { try checkHoldsNoCommit(name, opened) }
      return true
    }
    if StoreFile.isCheckpoint(name) { try checkHoldsNothingNew(name, opened) }
    return StoreFile.isSegmentOrCheckpoint(name) || StoreFile.isSalvaged(name)
      || [StoreFile.newManifest, StoreFile.recycledLog, StoreFile.backupMark].contains(name)
  }

  private static func checkHoldsNoCommit(
    _ name: String, _ opened: Opened
  ) throws(ByteStoreError) {
    let page = LogFormat.pageBytes
    let (path, bytes) = try system { () throws(SystemFailure) in
      let file = try opened.directory.openFile(name, .read)
      defer { file.close() }
      return (file.path, try file.readAll(2 * page, at: 0))
    }
    guard bytes.count == 2 * page, let header = try leftoverHeader(bytes, path),
      // A file that was never synced may show the content of an old log in reused disk blocks.
      header.number == StoreFile.logNumber(of: name),
      let frame = FrameHeader(
        decoding: bytes.rawSpan.extracting(droppingFirst: page), file: header.fileID,
        offset: UInt64(page), broken: opened.platform.brokenRule),
      frame.kind == .commit
    else { return }
    guard header.storeID == opened.manifest.storeID else {
      // Either the log or the manifest may be the foreign file.
      throw .foreignFile(file: path, expected: opened.manifest.storeID, found: header.storeID)
    }
    throw .corrupted(
      Damage(
        file: "\(opened.directory.path)/\(StoreFile.manifest)", offset: 32,
        expected: "a manifest that names \(name), which holds commits",
        found: "an older one, of generation \(opened.manifest.generation)"))
  }

  /// Throws if the checkpoint is newer than the manifest. A leftover checkpoint may only cover commits that
  /// recovery has found as well.
  private static func checkHoldsNothingNew(
    _ name: String, _ opened: Opened
  ) throws(ByteStoreError) {
    let (path, page) = try system { () throws(SystemFailure) in
      let file = try opened.directory.openFile(name, .read)
      defer { file.close() }
      return (file.path, try file.readAll(CheckpointFormat.pageBytes, at: 0))
    }
    let header: CheckpointHeader
    do throws(ByteStoreError) {
      header = try CheckpointHeader(decoding: page.rawSpan, file: path)
    } catch {
      if error.isNewerFormat { throw error }
      // The write of this checkpoint was interrupted.
      return
    }
    guard header.storeID == opened.manifest.storeID else {
      // If the header and the file name give different numbers, the content comes from another store's file
      // whose disk blocks were reused.
      guard header.number == StoreFile.checkpointNumber(of: name), try hasMatchingSegments(header, opened)
      else { return }
      throw .foreignFile(file: path, expected: opened.manifest.storeID, found: header.storeID)
    }
    guard header.position.sequence > opened.last.sequence else { return }
    throw .corrupted(
      Damage(
        file: "\(opened.directory.path)/\(StoreFile.manifest)", offset: 32,
        expected: "a manifest that names \(name), which has commit \(header.position.sequence.value)",
        found: "an older one, of generation \(opened.manifest.generation)"))
  }

  /// Whether the directory contains another store's checkpoint together with at least one of that store's
  /// segments. In that case the manifest may be the foreign file. Without such a segment, the checkpoint file
  /// is incomplete, and its content is left over in reused disk blocks.
  private static func hasMatchingSegments(
    _ header: CheckpointHeader, _ opened: Opened
  ) throws(ByteStoreError) -> Bool {
    let entry = Manifest.Checkpoint(number: header.number, fileID: header.fileID, bytes: header.fileBytes)
    do throws(ByteStoreError) {
      let file = try CheckpointFile(
        entry, storeID: header.storeID, in: opened.directory, platform: opened.platform)
      let words = try words(.segments, of: file)
      for index in stride(from: 0, to: words.count, by: 3) where words[index] != 0 {
        if try isSegment(FileNumber(words[index]), of: header.storeID, opened: opened) { return true }
      }
    } catch {
      guard case .corrupted = error else { throw error }
    }
    return false
  }

  private static func isSegment(
    _ number: FileNumber, of storeID: RandomID, opened: Opened
  ) throws(ByteStoreError) -> Bool {
    let page: [UInt8]
    do throws(SystemFailure) {
      let file = try opened.directory.openFile(StoreFile.segment(number), .read)
      defer { file.close() }
      page = try file.readAll(SegmentFormat.pageBytes, at: 0)
    } catch {
      guard error.isMissingOrNotAFile else { throw .system(error) }
      return false
    }
    return try SegmentHeader(decoding: page.rawSpan, file: StoreFile.segment(number)).storeID == storeID
  }

  /// The header of a log that no manifest names; nil if the creation of the log was interrupted before the
  /// header was written.
  private static func leftoverHeader(
    _ bytes: [UInt8], _ path: String
  ) throws(ByteStoreError) -> LogHeader? {
    do throws(ByteStoreError) {
      return try LogHeader(decoding: bytes.rawSpan, file: path)
    } catch {
      if error.isNewerFormat { throw error }
      return nil
    }
  }
}

extension ByteStoreError {
  /// Whether a newer release wrote a file that no manifest names. An interrupted write may leave a header
  /// with an arbitrary version number. Numbers from 256 on are ignored, because no release will have such a
  /// high version.
  fileprivate var isNewerFormat: Bool {
    if case .newerFormat(_, let found, _) = self { found < 256 } else { false }
  }
}
