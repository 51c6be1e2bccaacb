// Looking at every byte of a store, without changing one.
//
//   1. lock        or, in a store that is open, keep flushes away: what is looked at stays where it is
//   2. names       what has the name of a file of the store, and is none
//   3. manifest
//   4. checkpoint  its header, every page, and the table that the pages make
//   5. segments    header, dictionary, run table, every page, every entry, each against the table
//   6. logs        header, every frame, the end (C9); each commit is applied to the table
//   6. contents    those that records name, each against its name
//   8. leftovers   files that no manifest names
//
// A finding never ends the check. What stands on damaged bytes is left out, so that one fault is not told a
// thousand times.

package import ByteStore

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

extension ByteStore {
  /// Looks at a store that nobody has open. Nothing on disk changes but the lock.
  ///
  /// `restore` is that of a salvage: what the layer above has kept in a checkpoint is shown to `inspect` before all
  /// other entries, which may not be understood without.
  package static func check(
    _ path: String, platform: Platform = .real, inspect: EntryInspector? = nil,
    findBlobs: BlobFinder? = nil, restore: @escaping SalvageRestore = { _ in [] },
    progress: ((CheckProgress) -> Void)? = nil
  ) throws(ByteStoreError) -> CheckReport {
    let directory = try directoryOfStore(path, platform)
    let lock = try takeLockForRepair(of: directory)
    defer { lock.release() }
    var check = Check(directory, lock, platform, inspect, progress)
    check.restore = restore
    try check.run(findBlobs)
    guard !check.isCutOffBackup else { throw .incompleteBackup(directory: path) }
    return check.report
  }

  /// Looks at this store while it is in use: at its files as of the last commit, and at its table. Reads and
  /// commits go on; flushes and a close wait.
  package func check(
    inspect: EntryInspector? = nil, findBlobs: BlobFinder? = nil,
    progress: ((CheckProgress) -> Void)? = nil
  ) throws(ByteStoreError) -> CheckReport {
    try withFilesInUse { files throws(ByteStoreError) in
      var check = Check(directory, lock, platform, inspect, progress)
      try check.run(files.manifest, logEnd: files.logEnd, files.table, mayHaveMore: files.isPoisoned)
      try check.checkBlobs(findBlobs)
      return check.report
    }
  }

  /// An existing directory that holds a store, or what is left of one.
  static func directoryOfStore(
    _ path: String, _ platform: Platform
  ) throws(ByteStoreError) -> any OpenDirectory {
    try StorePath.check(path)
    let directory: any OpenDirectory
    do throws(SystemFailure) {
      directory = try platform.fileSystem.openDirectory(path)
    } catch {
      throw error.isMissingFile ? .noStore(directory: path) : .system(error)
    }
    let names = try system { () throws(SystemFailure) in try directory.names() }
    if names.contains(where: { $0 == StoreFile.manifest || isOurs($0) }) { return directory }
    guard !names.contains(StoreFile.backupMark) else { throw .incompleteBackup(directory: path) }
    let ours: Set = [StoreFile.lock, StoreFile.newManifest, StoreFile.spare, StoreFile.reserve]
    if let other = names.filter({ !ours.contains($0) }).min() {
      throw .notAStore(directory: path, found: other)
    }
    throw .noStore(directory: path)
  }
}

struct Check {
  var report = CheckReport()
  let directory: any OpenDirectory
  let platform: Platform
  let inspect: EntryInspector?
  /// What of a checkpoint stands for entries.
  var restore: SalvageRestore = { _ in [] }
  private let progress: ((CheckProgress) -> Void)?
  private var bytesTotal: UInt64 = 0
  /// As an open would have it at this point.
  var opened: Opened
  /// Nothing is wrong with what the table needs, so that it can be looked at further.
  var hasTable = true
  /// What is missing in it is no damage, and an open says the same of it.
  private(set) var isCutOffBackup = false
  var dictionaries: [EntryDictionary] = []
  /// Names that something else has than a file of the store.
  private(set) var taken: [TakenName] = []
  /// Hashes of keys that commits behind the checkpoint have put or removed: what segments have of them is no key's value
  /// any more. None if a log is damaged, or if entries are not inspected.
  var keysInLogs: Set<UInt64> = []

  init(
    _ directory: any OpenDirectory, _ lock: any DirectoryLock, _ platform: Platform,
    _ inspect: EntryInspector?, _ progress: ((CheckProgress) -> Void)?
  ) {
    self.directory = directory
    self.platform = platform
    self.inspect = inspect
    self.progress = progress
    opened = Opened(reading: directory, lock: lock, platform)
  }

  var manifest: Manifest { opened.manifest }

  // MARK: Steps

  /// A store that is closed.
  mutating func run(_ findBlobs: BlobFinder?) throws(ByteStoreError) {
    let names = try system { () throws(SystemFailure) in try directory.names() }.sorted()
    try findTakenNames(names)
    if let manifest = try readManifest(names) {
      opened.manifest = manifest
      bytesTotal = manifest.bytes
      if let checkpoint = manifest.checkpoint { try checkTable(checkpoint) }
      if inspect != nil { keysInLogs = try findKeysInLogs() ?? [] }
      try checkSegments()
      if hasTable { checkInvariants(opened.table.frozen()) }
      try checkLogs(appliesCommits: true)
      if hasTable { try checkTail() }
      try checkBlobs(findBlobs)
      report.lastCommit = opened.last.sequence
      try checkNames(names)
    } else {
      try checkAlone(names)
    }
    // A manifest that a backup gave up again may come back in a power loss; its files do not.
    isCutOffBackup = !hasTable && names.contains(StoreFile.backupMark)
    report.setAside = names.filter { StoreFile.setAsideParts(of: $0) != nil }
  }

  /// A store that is open, at some moment: the table is what reads see.
  mutating func run(
    _ manifest: Manifest, logEnd: LogHeader.LogEnd?, _ table: Table, mayHaveMore: Bool
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
    let found = opened.last.sequence
    let isRight = mayHaveMore ? found >= table.published : found == table.published
    guard !isRight, report.isSound else { return }
    report.add(
      Damage(
        file: directory.path, offset: 0, expected: "commits up to \(table.published.value)",
        found: "commits up to \(found.value)"))
  }

  // MARK: Findings

  /// Calls `body`, which reads at `offset` of a file; nil if it found damage, which is taken down. Anything
  /// else ends the check.
  @discardableResult
  mutating func noting<Result>(
    at offset: UInt64 = 0, _ body: (inout Check) throws(ByteStoreError) -> Result
  ) throws(ByteStoreError) -> Result? {
    do throws(ByteStoreError) {
      return try body(&self)
    } catch {
      switch error {
      case .corrupted(let damage): report.add(damage)
      case .foreignFile(let file, let expected, let found):
        report.add(Damage(file: file, offset: 32, expected: "store \(expected)", found: "store \(found)"))
      case .nameTaken(let path, let kind, let needed):
        report.add(Damage(file: path, offset: 0, expected: "\(needed) of the store", found: "\(kind)"))
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

  mutating func advance(_ bytes: UInt64, _ file: String) {
    report.bytesVerified += bytes
    progress?(
      CheckProgress(
        file: file, bytesDone: report.bytesVerified, bytesTotal: max(bytesTotal, report.bytesVerified)))
  }

  mutating func open(_ name: String, _ what: String) throws(ByteStoreError) -> TolerantFile? {
    if let file = try TolerantFile(name, in: directory) {
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
    let (manifest, damage) = try VersionedHeader.decode(bytes, file.path, supported: Manifest.version) {
      bytes throws(ByteStoreError) in try Manifest(decoding: bytes, file: file.path)
    }
    if let damage { report.add(damage) }
    advance(UInt64(bytes.count), StoreFile.manifest)
    return manifest
  }

  // MARK: Names

  private mutating func findTakenNames(_ names: [String]) throws(ByteStoreError) {
    taken = try TakenName.all(among: names, in: directory, following: platform.fileSystem)
    if !taken.contains(where: { $0.name == BlobName.folder }) {
      let folder = BlobFolder(store: directory.path, platform)
      taken += try noting { _ throws(ByteStoreError) in try folder.takenNames() } ?? []
    }
    for name in taken { report.add(name.damage(in: directory)) }
  }

  private mutating func checkNames(_ names: [String]) throws(ByteStoreError) {
    let others = Set(taken.map(\.name))
    // An entry in the place of a file that the manifest names is damage like any other.
    for name in others.sorted() where !opened.manifest.names(name) {
      report.namesTaken.append("\(directory.path)/\(name)")
    }
    for name in names where !opened.manifest.names(name) && !others.contains(name) {
      let isLeftover = try noting { check throws(ByteStoreError) in
        try ByteStore.isLeftover(name, check.opened)
      }
      if isLeftover == true { report.leftovers.append(name) }
    }
  }
}

extension Manifest {
  /// Of all files that it names.
  fileprivate var bytes: UInt64 {
    let sizes = logs.map(\.capacity) + segments.map(\.bytes) + (checkpoint.map { [$0.bytes] } ?? [])
    return sizes.reduce(0) { $0.addingReportingOverflow($1).overflow ? .max : $0 + $1 }
  }
}
