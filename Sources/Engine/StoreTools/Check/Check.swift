// Checks every byte of a store without changing it.
//
//   1. lock        lock the store without writing, so that no file is moved or deleted; for an open store,
//                  capture the files as of one commit; for a reader, open all files of the writer's manifest
//   2. names       report entries of another kind with the name of a store file
//   3. manifest
//   4. checkpoint  its header, every page, and the key directory that the pages form
//   5. segments    header, dictionary, run table, every page, every entry; compared with the key
//                  directory
//   6. logs        header, every frame, the end (C9); each commit is applied to the key directory
//   7. contents    contents that records name, verified against their digests
//   8. leftovers   files that no manifest names
//
// Flushes of an open store continue. They remove files that their new manifest no longer names. If such a
// file is missing, or was recycled while it was read, it is skipped: its live data is in other files by then.
//
// A finding never ends the check. Checks that depend on damaged bytes are skipped, so that one fault is
// not reported a thousand times.

package import ByteStore
import Libc

/// Returns the contents that records name, with their locations. The upper layer implements this closure,
/// because it knows the record format. The closure is called after all entries were inspected, and may look
/// up values at the last commit.
package typealias BlobFinder = (
  _ value: ([UInt8]) throws(ByteStoreError) -> [UInt8]?
) throws(ByteStoreError) -> [(id: BlobID, place: BlobLocation)]

/// The part of a check that the upper layer contributes.
package struct UpperLayerCheck {
  /// Inspects each entry; nil if entries are not inspected.
  let inspect: EntryInspector?
  let findBlobs: BlobFinder?
  /// The closure that a salvage also takes. It returns entries that the upper layer keeps in a checkpoint.
  /// These entries are passed to `inspect` before all others, because other entries may not be decodable
  /// without them.
  let restore: SalvageRestore

  package init(
    inspect: EntryInspector? = nil, findBlobs: BlobFinder? = nil,
    restore: @escaping SalvageRestore = { _ in [] }
  ) {
    self.inspect = inspect
    self.findBlobs = findBlobs
    self.restore = restore
  }
}

extension ByteStore {
  /// Checks a store that is not open. Nothing is written, so the check also works on media and for users that
  /// cannot write. If another process has the store open, throws `locked`.
  package static func check(
    _ path: String, platform: Platform = .real, upperLayer: UpperLayerCheck = UpperLayerCheck(),
    progress: ((CheckProgress) -> Void)? = nil
  ) throws(ByteStoreError) -> CheckReport {
    var platform = platform
    platform.fileSystem = ReadOnlyFileSystem(base: platform.fileSystem, protected: path)
    let directory = try openStoreDirectory(path, platform)
    let lock = try takeLockForRepair(of: directory)
    defer { lock.release() }
    var check = Check(directory, lock, platform: platform, upperLayer: upperLayer, progress)
    try check.run()
    guard !check.isInterruptedBackup else { throw .incompleteBackup(directory: path) }
    return check.report
  }

  /// Checks this store while it is in use: its files at the last commit, and its key directory. Reads,
  /// commits and flushes continue. Throws `closed` soon after `isCancelled` returns true or the store begins
  /// to close. A reader checks the files that its writer uses now. Contents that fail are skipped if the
  /// writer may have removed them meanwhile.
  package func check(
    upperLayer: UpperLayerCheck = UpperLayerCheck(), progress: ((CheckProgress) -> Void)? = nil,
    isCancelled: @escaping () -> Bool = { false }
  ) throws(ByteStoreError) -> CheckReport {
    guard !isReader else { return try checkAsReader(upperLayer, progress, isCancelled: isCancelled) }
    return try withFilesInUse { files throws(ByteStoreError) in
      var check = Check(directory, lock, platform: platform, upperLayer: upperLayer, progress)
      check.isRemoved = { [self] in !namesFile($0) }
      check.isStopped = { [self] in isClosing || isCancelled() }
      try check.run(files)
      try check.checkBlobs()
      return check.report
    }
  }

  private func checkAsReader(
    _ upperLayer: UpperLayerCheck, _ progress: ((CheckProgress) -> Void)?,
    isCancelled: @escaping () -> Bool
  ) throws(ByteStoreError) -> CheckReport {
    try withCapturedFiles { files throws(ByteStoreError) in
      var check = Check(
        files.directory, lock, platform: files.platform, upperLayer: upperLayer, progress)
      check.mayLackContents = files.mayHaveChanged
      check.isStopped = { [self] in isClosing || isCancelled() }
      try check.run()
      return check.report
    }
  }

  /// Opens an existing directory that holds a store or the remains of one.
  static func openStoreDirectory(
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
    if names.contains(where: { $0 == StoreFile.manifest || provesStore($0) }) { return directory }
    guard !names.contains(StoreFile.backupMark) else { throw .incompleteBackup(directory: path) }
    let ours: Set = [
      StoreFile.lock, StoreFile.readers, StoreFile.newManifest, StoreFile.recycledLog, StoreFile.reserve,
    ]
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
  let upperLayer: UpperLayerCheck
  private let progress: ((CheckProgress) -> Void)?
  private var bytesTotal: UInt64 = 0
  /// Whether a flush of the open store has removed a file since the files were captured.
  fileprivate var isRemoved: (_ name: String) -> Bool = { _ in false }
  /// Whether contents that a record names may have been removed since the files were captured.
  fileprivate var mayLackContents: () -> Bool = { false }
  /// Whether the check must end early.
  fileprivate var isStopped: () -> Bool = { false }
  /// The state that an open would have reached after the same steps.
  var opened: Opened
  /// Whether everything that the key directory needs is intact, so that checks against the key directory make
  /// sense.
  var hasTable = true
  /// Whether the directory is an interrupted backup. In that case, missing files are not damage, and an open
  /// also reports an interrupted backup.
  private(set) var isInterruptedBackup = false
  var dictionaries: [EntryDictionary] = []
  /// Names of store files that are taken by directory entries of another kind, such as links.
  private(set) var taken: [TakenName] = []
  /// Hashes of the keys that commits after the checkpoint changed. The entries of these keys in segments are
  /// outdated. The set is empty if a log is damaged or if entries are not inspected.
  var keysInLogs: Set<UInt64> = []

  init(
    _ directory: any OpenDirectory, _ lock: any DirectoryLock, platform: Platform,
    upperLayer: UpperLayerCheck = UpperLayerCheck(), _ progress: ((CheckProgress) -> Void)?
  ) {
    self.directory = directory
    self.platform = platform
    self.upperLayer = upperLayer
    self.progress = progress
    opened = Opened(reading: directory, lock: lock, platform: platform)
  }

  var manifest: Manifest { opened.manifest }

  // MARK: Steps

  /// Checks a closed store.
  mutating func run() throws(ByteStoreError) {
    let names = try system { () throws(SystemFailure) in try directory.names() }.sorted()
    try findTakenNames(names)
    if let manifest = try readManifest(names) {
      opened.manifest = manifest
      bytesTotal = manifest.bytes
      if let checkpoint = manifest.checkpoint { try checkTable(checkpoint) }
      if upperLayer.inspect != nil { keysInLogs = try findKeysInLogs() ?? [] }
      try checkSegments()
      if hasTable { checkInvariants(opened.table.frozen()) }
      try checkLogs(appliesCommits: true)
      if hasTable { try checkMemtable() }
      try checkBlobs()
      report.lastCommit = opened.last.sequence
      try checkNames(names)
    } else {
      try checkWithoutManifest(names)
    }
    // A power loss may bring back the manifest of an aborted backup, but not the files that the manifest
    // names.
    isInterruptedBackup = !hasTable && names.contains(StoreFile.backupMark)
    report.quarantined = names.filter { StoreFile.quarantineParts(of: $0) != nil }
  }

  /// Checks an open store at one commit.
  mutating func run(_ files: FilesInUse) throws(ByteStoreError) {
    let table = files.table
    opened.manifest = files.manifest
    if let logEnd = files.logEnd { opened.manifest.sealLastLog(at: logEnd) }
    bytesTotal = manifest.bytes
    try checkManifestFile()
    if let checkpoint = manifest.checkpoint { try checkPages(checkpoint) }
    opened.table = SharedKeyDirectory(table, opened.table.cache, path: directory.path)
    if hasTable { try loadTable(ofOpenStore: table) }
    try checkSegments()
    if hasTable { checkInvariants(opened.table.frozen()) }
    try checkLogs(appliesCommits: false)
    if hasTable { try checkMemtable() }
    report.lastCommit = table.published
    // The last commits of a skipped file are in other files.
    guard report.filesSkipped == 0 else { return }
    let found = opened.last.sequence
    let isValid = files.isPoisoned ? found >= table.published : found == table.published
    guard !isValid, report.isSound else { return }
    report.add(
      Damage(
        file: directory.path, offset: 0, expected: "commits up to \(table.published.value)",
        found: "commits up to \(found.value)"))
  }

  // MARK: Findings

  /// Calls `body`, which reads at `offset` of a file. If `body` throws damage, records the damage and returns
  /// nil. Any other error ends the check.
  @discardableResult
  mutating func recordingDamage<Result>(
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
            found: "some that the device does not return"))
      default: throw error
      }
      return nil
    }
  }

  /// Runs `body`, which checks the file `name`. If it finds damage, but a flush has removed or recycled the
  /// file meanwhile, skips the file: drops the findings and returns false.
  mutating func skippingIfRemoved(
    _ name: String, _ body: (inout Check) throws(ByteStoreError) -> Void
  ) throws(ByteStoreError) -> Bool {
    let (before, hadTable) = (report, hasTable)
    try body(&self)
    let isUnchanged =
      report.findings.count == before.findings.count
      && report.findingsOmitted == before.findingsOmitted
    guard !isUnchanged, isRemoved(name) else { return true }
    let bytes = report.bytesVerified
    report = before
    report.bytesVerified = bytes
    report.filesSkipped += 1
    hasTable = hadTable
    return false
  }

  /// Throws `closed` if the check must end early.
  func checkStopped() throws(ByteStoreError) {
    if isStopped() { throw .closed(directory: directory.path) }
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
    let what = "a manifest" + (names.first(where: ByteStore.provesStore).map { ", as there is \($0)" } ?? "")
    return try readManifest(expecting: what)
  }

  /// Checks the manifest of an open store on disk, which may be newer than the captured one.
  private mutating func checkManifestFile() throws(ByteStoreError) {
    // A store that has had no commit yet may have no manifest.
    guard !manifest.logs.isEmpty || manifest.checkpoint != nil else { return }
    _ = try recordingDamage { check throws(ByteStoreError) in
      try check.readManifest(expecting: "the manifest of an open store")
    }
  }

  private mutating func readManifest(expecting what: String) throws(ByteStoreError) -> Manifest? {
    guard let file = try open(StoreFile.manifest, what) else { return nil }
    defer { file.close() }
    guard let bytes = try file.read(Manifest.bytesMax, at: 0) else {
      report.add(file.unreadable(at: 0, expected: "a manifest"))
      return nil
    }
    let (manifest, damage) = try Manifest.decode(bytes, file: file.path)
    if let damage { report.add(damage) }
    advance(UInt64(bytes.count), StoreFile.manifest)
    return manifest
  }

  // MARK: Contents

  /// Verifies each content that a record names against its digest.
  fileprivate mutating func checkBlobs() throws(ByteStoreError) {
    guard let find = upperLayer.findBlobs, hasTable else { return }
    let table = opened.table
    let found = try recordingDamage { _ throws(ByteStoreError) in
      try find { key throws(ByteStoreError) in try table.entry(of: key)?.value }
    }
    let blobs = BlobStore(store: directory.path, BlobStore.Options(), platform: platform)
    for (id, place) in found ?? [] {
      let before = report
      let verified: Void? = try recordingDamage { check throws(ByteStoreError) in
        try blobs.verify(id, at: place, isCancelled: check.isStopped)
      }
      if verified == nil, mayLackContents() {
        report = before
        report.filesSkipped += 1
      }
      try checkStopped()
      advance(place.storedBytes, id.description)
    }
  }

  // MARK: Names

  private mutating func findTakenNames(_ names: [String]) throws(ByteStoreError) {
    taken = try TakenName.all(among: names, in: directory, following: platform.fileSystem)
    if !taken.contains(where: { $0.name == BlobName.folder }) {
      let folder = BlobFolder(store: directory.path, platform)
      taken += try recordingDamage { _ throws(ByteStoreError) in try folder.takenNames() } ?? []
    }
    for name in taken { report.add(name.damage(in: directory)) }
  }

  private mutating func checkNames(_ names: [String]) throws(ByteStoreError) {
    let others = Set(taken.map(\.name))
    // If the manifest lists the name, a file of the store is missing. That is reported only as damage.
    for name in others.sorted() where !opened.manifest.names(name) {
      report.namesTaken.append("\(directory.path)/\(name)")
    }
    for name in names where !opened.manifest.names(name) && !others.contains(name) {
      let isLeftover = try recordingDamage { check throws(ByteStoreError) in
        try ByteStore.isLeftover(name, check.opened)
      }
      if isLeftover == true { report.leftovers.append(name) }
    }
  }
}

extension Manifest {
  /// The size of all files that the manifest names.
  fileprivate var bytes: UInt64 {
    let sizes = logs.map(\.capacity) + segments.map(\.bytes) + (checkpoint.map { [$0.bytes] } ?? [])
    return sizes.reduce(0) { $0.addingReportingOverflow($1).overflow ? .max : $0 + $1 }
  }
}
