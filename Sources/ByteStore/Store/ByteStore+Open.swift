// Opening a store.
//
//   1. lock       one opener at a time (C10)
//   2. sync       the manifest, its logs and the directory: what a killed process left in the page
//                 cache is made durable before anyone is shown it (C8)
//   3. read       the manifest, then every log in order
//   4. decide     each log's end: damage or a torn tail (C9)
//   5. clean up   files that the durable manifest does not name
//
// Nothing is written into an old log, and nothing is deleted before step 5.

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// What an open hands to the store.
struct Opened {
  var options: ByteStore.Options
  var platform: Platform
  var directory: any OpenDirectory
  var lock: any DirectoryLock
  var manifest: Manifest
  var table = Memtable()
  var last = LogHeader.LogEnd(fileID: .zero, length: 0, sequence: .none)
  var lastStamp: UInt64 = 0
  var report = RecoveryReport()
}

extension ByteStore {
  /// Opens the store in the directory `path`, or makes one there.
  package static func open(
    _ path: String, options: Options = Options(), platform: Platform = .real
  ) throws(ByteStoreError) -> ByteStore {
    let directory = try openDirectory(path, options, platform)
    let lock = try acquireLock(of: directory, options)
    do throws(ByteStoreError) {
      return ByteStore(try read(directory, lock, options, platform))
    } catch {
      lock.release()
      throw error
    }
  }

  private static func openDirectory(
    _ path: String, _ options: Options, _ platform: Platform
  ) throws(ByteStoreError) -> any OpenDirectory {
    do throws(SystemFailure) {
      if options.createsIfMissing, try !holdsStore(path, platform) {
        try platform.fileSystem.createDirectory(path)
      }
      return try platform.fileSystem.openDirectory(path)
    } catch {
      throw error.code == ENOENT ? .noStore(directory: path) : .system(error)
    }
  }

  private static func holdsStore(
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
    of directory: any OpenDirectory, _ options: Options
  ) throws(ByteStoreError) -> any DirectoryLock {
    // Looked at first, so that not even a lock file is left in a directory that is not ours.
    try refuseForeign(directory, options)
    let result = try system { () throws(SystemFailure) in try directory.lock(StoreFile.lock) }
    switch result {
    case .acquired(let lock): return lock
    case .held(let holder): throw .locked(directory: directory.path, holder: holder)
    }
  }

  private static func refuseForeign(
    _ directory: any OpenDirectory, _ options: Options
  ) throws(ByteStoreError) {
    let names = try system { () throws(SystemFailure) in try directory.names() }
    guard !names.contains(StoreFile.manifest) else { return }
    if let log = names.filter({ StoreFile.logNumber(of: $0) != nil }).min() {
      throw .corrupted(
        Damage(
          file: "\(directory.path)/\(StoreFile.manifest)", offset: 0,
          expected: "a manifest, as there is \(log)", found: "no such file"))
    }
    let ours: Set = [StoreFile.lock, StoreFile.newManifest, StoreFile.spare]
    if let other = names.filter({ !ours.contains($0) }).min() {
      throw .notAStore(directory: directory.path, found: other)
    }
    guard options.createsIfMissing else { throw .noStore(directory: directory.path) }
  }

  private static func read(
    _ directory: any OpenDirectory, _ lock: any DirectoryLock, _ options: Options,
    _ platform: Platform
  ) throws(ByteStoreError) -> Opened {
    let manifest: Manifest
    if let found = try readManifest(directory, platform) {
      manifest = found
    } else {
      manifest = try createManifest(directory, platform)
    }
    var opened = Opened(
      options: options, platform: platform, directory: directory, lock: lock, manifest: manifest)
    let files = try openAll(manifest, directory, platform)
    defer { for file in files { file.close() } }
    for (log, file) in zip(manifest.logs, files) { try replay(log, file, &opened) }
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
      throw .system(error)
    }
    defer { file.close() }
    let bytes = try system { () throws(SystemFailure) in
      if platform.keeps(.syncOnOpen) { try file.syncOnce(platform) }
      let size = try file.size()
      return try file.readAll(Int(min(size, UInt64(Manifest.bytesMax))), at: 0)
    }
    return try Manifest(decoding: bytes.rawSpan, file: file.path)
  }

  private static func createManifest(
    _ directory: any OpenDirectory, _ platform: Platform
  ) throws(ByteStoreError) -> Manifest {
    let manifest = Manifest(storeID: platform.random.randomID())
    do throws(WriteFailure) {
      try manifest.replace(in: directory, platform)
    } catch {
      switch error {
      case .refused(let cause), .unknown(let cause): throw .system(cause)
      }
    }
    return manifest
  }

  // MARK: The logs

  /// Opens and syncs every log of the manifest, then the directory.
  private static func openAll(
    _ manifest: Manifest, _ directory: any OpenDirectory, _ platform: Platform
  ) throws(ByteStoreError) -> [any OpenFile] {
    var files: [any OpenFile] = []
    for log in manifest.logs {
      let name = StoreFile.log(log.number)
      do throws(SystemFailure) {
        let file = try directory.openFile(name, .readAndWrite)
        files.append(file)
        if platform.keeps(.syncOnOpen) { try file.syncOnce(platform) }
      } catch {
        for file in files { file.close() }
        guard error.code == ENOENT else { throw .system(error) }
        throw .corrupted(
          Damage(
            file: "\(directory.path)/\(name)", offset: 0, expected: "a log that the manifest names",
            found: "no such file"))
      }
    }
    if platform.keeps(.syncOnOpen) {
      try system { () throws(SystemFailure) in try directory.sync() }
    }
    return files
  }

  private static func replay(
    _ log: Manifest.Log, _ file: any OpenFile, _ opened: inout Opened
  ) throws(ByteStoreError) {
    let bytes = try system { () throws(SystemFailure) in
      try file.readAll(Int(min(try file.size(), LogFormat.capacityMax + 1)), at: 0)
    }
    let header = try LogHeader(decoding: bytes.rawSpan, file: file.path)
    try check(header, against: log, file, opened)
    let broken = opened.platform.brokenRule
    let ending = try LogReader(
      header: header, bytes: bytes.rawSpan, path: file.path, broken: broken
    )
    .replay(recordedEnd: log.end) { opened.table.apply($0) }
    opened.last = LogHeader.LogEnd(
      fileID: header.fileID, length: ending.length, sequence: ending.lastSequence)
    opened.lastStamp = max(opened.lastStamp, ending.lastStamp)
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

  /// The log is the one that the manifest means, and it continues the one before it.
  private static func check(
    _ header: LogHeader, against log: Manifest.Log, _ file: any OpenFile, _ opened: Opened
  ) throws(ByteStoreError) {
    guard header.storeID == opened.manifest.storeID else {
      throw .foreignFile(
        file: file.path, expected: opened.manifest.storeID, found: header.storeID)
    }
    func require(
      _ holds: Bool, _ offset: UInt64, _ expected: String, _ found: String
    ) throws(ByteStoreError) {
      guard !holds else { return }
      throw .corrupted(Damage(file: file.path, offset: offset, expected: expected, found: found))
    }
    try require(
      header.fileID == log.fileID && header.number == log.number, 16,
      "log \(log.number.value) with id \(log.fileID)",
      "log \(header.number.value) with id \(header.fileID)")
    try require(
      header.capacity == log.capacity, 56, "a capacity of \(log.capacity)", "\(header.capacity)")
    try require(
      header.previous == opened.last, 64,
      "a log that continues commit \(opened.last.sequence.value)",
      "one that continues commit \(header.previous.sequence.value)")
  }

  // MARK: Leftovers

  /// Removes what a crash left between the making of a file and the manifest that would have named it.
  /// Such a log has no commits; one that has any belongs to another manifest than the one we read.
  private static func cleanUp(_ opened: inout Opened) throws(ByteStoreError) {
    let directory = opened.directory
    let names = try system { () throws(SystemFailure) in try directory.names() }
    let live = Set(opened.manifest.logs.map { StoreFile.log($0.number) })
    for name in names.sorted() where !live.contains(name) {
      if StoreFile.logNumber(of: name) != nil {
        try checkHoldsNoCommit(name, opened)
      } else if name != StoreFile.newManifest, name != StoreFile.spare {
        continue
      }
      try system { () throws(SystemFailure) in try directory.remove(name) }
    }
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
    guard bytes.count == 2 * page,
      let header = try? LogHeader(decoding: bytes.rawSpan, file: path),
      let frame = FrameHeader(
        decoding: bytes.rawSpan.extracting(droppingFirst: page), file: header.fileID,
        offset: UInt64(page)),
      frame.kind == .commit
    else { return }
    guard header.storeID == opened.manifest.storeID else {
      // Either file may be the stranger here.
      throw .foreignFile(file: path, expected: opened.manifest.storeID, found: header.storeID)
    }
    throw .corrupted(
      Damage(
        file: "\(opened.directory.path)/\(StoreFile.manifest)", offset: 32,
        expected: "a manifest that names \(name), which holds commits",
        found: "an older one, of generation \(opened.manifest.generation)"))
  }

  private static func system<Result>(
    _ body: () throws(SystemFailure) -> Result
  ) throws(ByteStoreError) -> Result {
    do throws(SystemFailure) { return try body() } catch { throw .system(error) }
  }
}
