// A store that is read beside a writer, which may be another process.
//
//   open     share the readers' lock, capture the files (CapturedStore), and open the capture as a store
//            whose writes stay in memory
//   follow   take the commits that the writer has logged since, from log to log (FollowedLog)
//   reopen   if a flush has deleted a log before it was read to its end, or if the commits that were taken
//            use too much memory: capture the files again
//
// A reader takes neither the lock of the directory nor the lock file of the writer, and writes nothing. It
// cannot make the writer wait. The readers' lock only lets the writer delete a log instead of recycling it.
// Where that lock cannot be shared, as on read-only media, a reader works as well: a frame of a recycled log
// does not decode, and the manifest is read again before anything counts as damage.

import Libc

extension ByteStore {
  /// The result of a look at the writer's files.
  package enum Followed {
    /// The commits since the last look, in order.
    case commits([CommitBody])
    /// The commits since the last look are in no log any more, or would use too much memory.
    case mustReopen
  }

  static func openReader(
    _ path: String, options: Options, platform: Platform
  ) throws(ByteStoreError) -> ByteStore {
    var options = options
    options.createsIfMissing = false
    options.isReadOnly = true
    options.maintenance = .manual
    let directory = try openDirectory(path, options, platform: platform)
    try refuseNetwork(directory)
    do throws(ByteStoreError) {
      // The lock is shared before the capture, so that no captured log is recycled.
      var presence = WriterPresence()
      _ = presence.mayHaveWriter(in: directory)
      let store = ByteStore(try readCapture(directory, presence, options: options, platform: platform))
      store.sendOpen()
      return store
    } catch {
      // The names say what a directory without a manifest is.
      if case .noStore = error { try refuseForeign(directory, options) }
      throw error.isDamage && isMarkedAsBackup(directory) ? .incompleteBackup(directory: path) : error
    }
  }

  private static func readCapture(
    _ directory: any OpenDirectory, _ presence: WriterPresence, options: Options, platform: Platform
  ) throws(ByteStoreError) -> Opened {
    let lookedAt = platform.clock.monotonicNanoseconds()
    var presence = presence
    let captured = try CapturedStore.capture(directory, &presence, platform: platform)
    // From here on, the files are in memory or open.
    let capturedPlatform = showing(captured.directory, on: platform)
    let (protected, durability) = try system { () throws(SystemFailure) in
      (try capturedPlatform.fileSystem.openDirectory(directory.path), try directory.durability())
    }
    var opened = try read(
      protected, durability, lock: NoLock(), options: options, platform: capturedPlatform)
    // A damaged segment is opened again by each read, which then reports the damage.
    var isDamaged = false
    for use in opened.table.frozen().segments {
      do throws(ByteStoreError) { _ = try use?.segment.open() } catch {
        guard error.isDamage else { throw error }
        isDamaged = true
      }
    }
    if !isDamaged { captured.directory.release() }
    opened.reader = ReaderState(
      directory: directory, platform: platform, presence: presence,
      manifestBytes: captured.manifest.encoded(), log: captured.lastLog,
      last: opened.last, shown: opened.lastReplayed, lookedAt: lookedAt)
    return opened
  }

  /// Returns a platform that shows the captured files in the place of the store, and keeps writes in memory.
  private static func showing(_ captured: CapturedDirectory, on platform: Platform) -> Platform {
    var shown = platform
    shown.fileSystem = ReadOnlyFileSystem(
      base: CapturedFileSystem(base: platform.fileSystem, captured: captured), protected: captured.path)
    return shown
  }

  // MARK: Following

  /// The size of commits after which the files are captured again, which frees their memory.
  private static let bytesTakenMax = 64 << 20
  /// Every further look means that the writer has replaced the manifest during the one before.
  private static let looksMax = 1000

  /// Looks for commits that the writer has made since the last look, and that are known to be on stable
  /// storage. The caller passes each of them to `apply`, in order, and then calls `didApplyFollowed`. If it
  /// does not, the next look asks for a reopening.
  package func follow() throws(ByteStoreError) -> Followed {
    try checkReadable()
    guard let reader else { return .commits([]) }
    let now = platform.clock.monotonicNanoseconds()
    return try reader.withLock { reader throws(ByteStoreError) in
      try reader.checkDirectory()
      guard !reader.isIncomplete else { return .mustReopen }
      // Commits may be taken before a look fails. The next look must not continue after them.
      reader.isIncomplete = true
      var commits: [CommitBody] = []
      for _ in 0..<Self.looksMax {
        switch try look(&reader, &commits) {
        case .done:
          reader.lookedAt = now
          reader.bytesTaken += commits.reduce(0) { $0 + $1.bytes.count }
          reader.isIncomplete = !commits.isEmpty
          if commits.isEmpty { publish(reader.lastLook) }
          return reader.bytesTaken > Self.bytesTakenMax ? .mustReopen : .commits(commits)
        case .again: continue
        case .mustReopen: return .mustReopen
        }
      }
      throw .system(SystemFailure(operation: "follow", path: path, code: EBUSY))
    }
  }

  private enum Look {
    case done
    /// The writer has replaced the manifest meanwhile.
    case again
    case mustReopen
  }

  private func look(
    _ reader: inout ReaderState, _ commits: inout [CommitBody]
  ) throws(ByteStoreError) -> Look {
    // A writer that ends after this answer is noticed by the next look.
    let hasWriter = reader.presence.mayHaveWriter(in: reader.directory)
    guard let bytes = try CapturedStore.manifestBytes(in: reader.directory) else {
      throw .noStore(directory: path)
    }
    if bytes == reader.manifestBytes {
      commits += try reader.takeDurable(hasWriter: hasWriter)
      // Damage, unless the writer wrote the missing frame during the read. A capture decides.
      return reader.log?.hasGap == true ? .mustReopen : .done
    }
    let manifest = try Manifest.decodeSound(bytes, file: "\(path)/\(StoreFile.manifest)")
    guard manifest.storeID == storeID else { throw .replaced(directory: path) }
    var next = reader
    var taken: [CommitBody] = []
    let isComplete = try next.follow(manifest, &taken, hasWriter: hasWriter)
    if !isComplete {
      // The log that was missing may have been deleted or recycled after a newer manifest.
      let isCurrent = try CapturedStore.manifestBytes(in: reader.directory) == bytes
      return isCurrent ? .mustReopen : .again
    }
    next.manifestBytes = bytes
    reader = next
    commits += taken
    return .done
  }

  /// Makes a commit of the writer visible. The upper layer gets `note` back.
  package func apply(_ commit: CommitBody, note: any CommitNote) throws(ByteStoreError) {
    let targets = try table.rebuildingLostPages { () throws(ByteStoreError) in
      var newKeys = 0
      return try table.prepare(commit, newKeys: &newKeys)
    }
    options.upperLayer?.prepare(note)
    // A backup captures the key directory and then the upper layer's pages.
    try betweenCommits { _ in
      table.apply([AppliedCommit(body: commit, targets: targets, note: note)], options.upperLayer)
      let shown = ShownCommit(commit, lastCommit)
      reader?.withLock { $0.shown = shown }
    }
  }

  package func didApplyFollowed() {
    let look = reader?.withLock { reader in
      reader.isIncomplete = false
      return reader.lastLook
    }
    if let look { publish(look) }
  }

  /// The commits that the look has found are visible.
  private func publish(_ look: ReaderLook) { lastLook?.withLock { $0 = look } }

  // MARK: Reopening

  /// Captures the writer's files again, as a store of its own.
  package func reopened(upperLayer: any UpperLayer) throws(ByteStoreError) -> ByteStore {
    guard let now = reader?.withLock({ $0 }) else { throw .readOnly(directory: path) }
    var options = options
    options.upperLayer = upperLayer
    let opened = try Self.readCapture(
      now.directory, now.presence, options: options, platform: now.platform)
    // Every commit that a reader shows survives a crash of the writer. Fewer commits mean an older copy.
    guard opened.manifest.storeID == storeID, opened.last.sequence >= lastCommit,
      now.isContinued(by: opened, lastStamp: lastStamp)
    else { throw .replaced(directory: path) }
    return ByteStore(opened)
  }

  /// Takes over the state of a reopened store, in one step for backups. `body` runs in one step with the
  /// change of the key directory.
  package func adopt(_ other: ByteStore, _ body: () -> Void) throws(ByteStoreError) {
    let table = other.table.frozen()
    let next = other.reader?.withLock { $0 }
    let nextWriter = other.writer.withLock { $0 }
    try betweenCommits { writer in
      self.table.withTable { current in
        current = table
        body()
      }
      writer = nextWriter
      if let next {
        reader?.withLock { $0 = next }
        publish(next.lastLook)
      }
    }
  }

  // MARK: Checking

  /// The files of a writer's store, captured for one call.
  package struct CapturedFiles {
    package let directory: any OpenDirectory
    /// A platform that shows this directory.
    package let platform: Platform
    /// Returns whether a writer may have removed contents since the capture.
    package let mayHaveChanged: () -> Bool
  }

  /// Whether this store was opened as a reader.
  package var isReader: Bool { reader != nil }

  /// Captures the files of a reader's store, and calls `body` with them. The files that the reader shows
  /// cannot be opened by their names any more. A close waits for `body`.
  package func withCapturedFiles<Result>(
    _ body: (CapturedFiles) throws(ByteStoreError) -> Result
  ) throws(ByteStoreError) -> Result {
    guard let now = reader?.withLock({ $0 }) else { throw .readOnly(directory: path) }
    return try withBackupInProgress { () throws(ByteStoreError) in
      try now.checkDirectory()
      var presence = now.presence
      let captured = try CapturedStore.capture(now.directory, &presence, platform: now.platform)
      defer { captured.directory.release() }
      guard captured.manifest.storeID == storeID else { throw .replaced(directory: path) }
      let platform = Self.showing(captured.directory, on: now.platform)
      let directory = try system { () throws(SystemFailure) in try platform.fileSystem.openDirectory(path) }
      let before = captured.manifest.encoded()
      return try body(
        CapturedFiles(directory: directory, platform: platform) { [presence] in
          var presence = presence
          guard !presence.mayHaveWriter(in: now.directory) else { return true }
          return (try? CapturedStore.manifestBytes(in: now.directory)) != before
        })
    }
  }

  /// The time since the last look at the writer's files whose commits are visible, in nanoseconds; nil if
  /// this store is no reader. Does not wait for the disk.
  package var nanosecondsSinceLook: UInt64? {
    let time = lastLook?.withLock { $0.time }
    return time.map { platform.clock.monotonicNanoseconds() &- $0 }
  }

  /// The size of the commits that the writer has logged and that are not known to be on stable storage, as of
  /// the last look whose commits are visible. Does not wait for the disk.
  package var bytesNotDurable: UInt64 { lastLook?.withLock { $0.bytesNotDurable } ?? 0 }
}
