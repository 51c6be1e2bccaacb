// A hot backup: one committed state as a complete store in another directory (docs/reliability.md, P17).
//
//   1. place      the target is locked and marked as unfinished (BackupTarget)
//   2. freeze     a moment between two commits, as for a flush; but no log is turned
//   3. write      everything that lives, from the tail and all segments, to new segments and a checkpoint
//                 (FlushJob), under a new store id; ordinals stay, so that the layer above's pages fit
//   4. directory  is synced, so that the files have names; contents of objects are copied beside them
//   5. verify     the files are read as an open would read them, every key is found, and each content that a record
//                 names is what its name says
//   6. manifest   makes them a store (C5)
//   7. unmark     and give the lock back
//
// Commits, reads and flushes go on all the while; the source is only read. What a flush deletes meanwhile
// stays readable, as for a snapshot. Two backups into different directories may run at once.

package import ByteStore

/// How far a backup has come.
package struct BackupProgress: Sendable, Equatable {
  package enum Step: String, Sendable {
    case writing
    case verifying
  }

  package var step: Step
  /// Of what is to be written, and then of the same, to be found.
  package var bytesDone: UInt64
  package var bytesTotal: UInt64
}

/// What a backup became.
package struct BackupReport: Sendable, Equatable {
  package var directory: String
  /// The backup's own: a store and its copy are never taken for each other.
  package var storeID: RandomID
  /// The last commit that it has.
  package var sequence: SequenceNumber
  package var keys: Int
  /// Of all its files.
  package var bytes: UInt64
  /// What a sync is worth where it lies.
  package var durability: DurabilityReport
  /// Entries that are in it as they are in the store, and that the layer above cannot decode.
  package var undecodable = UndecodableEntries()
}

/// Says which content an entry names, and where it is; the layer above knows the records.
package typealias BlobNamer = (_ key: RawSpan, _ value: RawSpan) -> (id: BlobID, place: BlobPlace)?

extension ByteStore {
  /// Writes the store as of one commit to `target`, a new or an empty directory, while all goes on here.
  /// When it returns, the backup is a store on stable storage of which all that lives was read back. If it
  /// fails, the target holds no store, and what was written there is removed; a backup that died with its
  /// process is cleared away by the next one into the same directory. A poisoned store can be backed up: it
  /// shows what was acknowledged. Closing the store ends a backup with `closed`.
  ///
  /// Each content that `blobNamer` finds is verified against its name; without one, contents are only copied as they are.
  ///
  /// Entries to which `undecodableNamer` gives a name are copied, and are in the report.
  ///
  /// `progress` is called now and then, in this thread, with no lock held.
  @discardableResult
  package func backup(
    to target: String, progress: (BackupProgress) -> Void = { _ in }, blobNamer: BlobNamer? = nil,
    undecodableNamer: UndecodableEntryNamer? = nil
  ) throws(ByteStoreError) -> BackupReport {
    guard !isForked else { throw .forked(directory: path) }
    try StorePath.check(target)
    return try withBackupUnderWay { () throws(ByteStoreError) in
      guard !StorePath.isInside(target, path) else { throw .insideStore(directory: target, store: path) }
      let target = try BackupTarget.prepare(target, platform)
      defer { target.release() }
      do throws(ByteStoreError) {
        return try withCapture { frozen throws(ByteStoreError) in
          try writeBackup(of: frozen, to: target, blobNamer, undecodableNamer, progress)
        }
      } catch {
        target.clear()
        throw error
      }
    }
  }

  private func writeBackup(
    of frozen: Frozen, to target: BackupTarget, _ blobNamer: BlobNamer?,
    _ undecodableNamer: UndecodableEntryNamer?, _ progress: (BackupProgress) -> Void
  ) throws(ByteStoreError) -> BackupReport {
    pause(.frozen)
    var manifest = Manifest(storeID: platform.random.randomID())
    let total = frozen.table.liveBytes
    try writeFiles(of: frozen, to: target, &manifest) { done in
      progress(BackupProgress(step: .writing, bytesDone: min(done, total), bytesTotal: total))
    }
    pause(.checkpointWritten)
    // Those that records name are read back once the records are.
    let blobBytes = try blobs.copyAll(to: target.directory.path, readsBack: blobNamer == nil) { isClosing }
    var undecodable = UndecodableEntries()
    let namer: BlobNamer = { key, value in
      if let name = undecodableNamer?(key, value) { undecodable.add(name) }
      return blobNamer?(key, value)
    }
    let named = try verify(manifest, of: frozen, in: target, namer) { part in
      progress(
        BackupProgress(step: .verifying, bytesDone: UInt64(part * Double(total)), bytesTotal: total))
    }
    try verify(named, in: target)
    try makeStore(manifest, in: target)
    pause(.manifestReplaced)
    return BackupReport(
      directory: target.directory.path, storeID: manifest.storeID, sequence: frozen.table.published,
      keys: frozen.table.keys, bytes: manifest.bytesOfFiles + blobBytes, durability: target.durability,
      undecodable: undecodable)
  }

  /// Segments and checkpoint, named by `manifest` afterwards.
  private func writeFiles(
    of frozen: Frozen, to target: BackupTarget, _ manifest: inout Manifest, _ progress: (UInt64) -> Void
  ) throws(ByteStoreError) {
    let numbers = FileNumbers()
    var job = FlushJob(
      frozen.table,
      FlushJob.Target(
        directory: target.directory, platform: platform, storeID: manifest.storeID,
        segmentBytesMax: options.segmentBytesMax, nextNumber: { numbers.next() },
        pause: { [self] in pause($0) }))
    do throws(ByteStoreError) {
      var done = UInt64(frozen.table.tail.bytes)
      try job.writeTail()
      progress(done)
      for case let use? in frozen.table.segments where use.liveEntries > 0 {
        guard !isClosing else { throw ByteStoreError.closed(directory: path) }
        try job.rewrite(use.segment)
        // A flush leaves what it cannot read; a backup without it would be no state of the store.
        if let damaged = job.damaged.first { throw damaged.error }
        done += use.liveBytes
        progress(done)
      }
      try job.endSegments()
      // As if a log without a name had ended there: the backup has none.
      let position = LogHeader.LogEnd(fileID: .zero, length: 0, sequence: frozen.table.published)
      manifest.checkpoint = try job.writeCheckpoint(position: position, frozen.pages)
      manifest.segments = job.segmentsLeft.map(\.entry).sorted { $0.number < $1.number }
      manifest.nextFileNumber = numbers.next()
      try system { () throws(SystemFailure) in try target.directory.sync() }
    } catch {
      job.discard()
      throw error
    }
  }

  /// Every entry was read back when its segment was ended. Here, the checkpoint must find each of them by
  /// its key, and none may be missing. Returns the contents that the entries name.
  private func verify(
    _ manifest: Manifest, of frozen: Frozen, in target: BackupTarget, _ blobNamer: BlobNamer,
    _ progress: (_ part: Double) -> Void
  ) throws(ByteStoreError) -> [(id: BlobID, place: BlobPlace)] {
    guard let entry = manifest.checkpoint else { preconditionFailure("a backup has a checkpoint") }
    let (source, table) = try Self.tableOnDisk(entry, manifest, in: target.directory, platform)
    let cache = PageCache(bytesMax: 0, pageBytes: SegmentFormat.pageBytes)
    let written = SharedTable(table, cache, path: target.directory.path)
    try written.loadAll()
    let loaded = written.frozen()
    var found = 0
    var named: [(id: BlobID, place: BlobPlace)] = []
    progress(0)
    try written.forEachEntry { ordinal, key, value throws(ByteStoreError) in
      guard loaded.isOrdinal(ordinal, of: key) else {
        throw source.damage("the ordinal \(ordinal) for the key of its entry", "another")
      }
      found += 1
      if let blob = blobNamer(key, value) { named.append(blob) }
      if found % 4096 == 0 { progress(min(1, Double(found) / Double(frozen.table.keys))) }
    }
    progress(1)
    guard found == frozen.table.keys, loaded.keys == found else {
      throw source.damage("\(frozen.table.keys) keys", "\(found)")
    }
    if let broken = loaded.invariantBroken() { throw source.damage("a table", broken) }
    return named
  }

  /// The copies were made of whatever bytes there were. Damage is told of the store's own file, if that has it.
  private func verify(
    _ named: [(id: BlobID, place: BlobPlace)], in target: BackupTarget
  ) throws(ByteStoreError) {
    let copies = BlobStore(store: target.directory.path, BlobStore.Options(), platform)
    // Packs from front to back.
    for (id, place) in named.sorted(by: { $0.place.comesBefore($1.place) }) {
      guard !isClosing else { throw .closed(directory: path) }
      do throws(ByteStoreError) {
        try copies.verify(id, at: place) { isClosing }
      } catch {
        if error.meansDamage { try blobs.verify(id, at: place) { isClosing } }
        throw error
      }
    }
  }

  private func makeStore(_ manifest: Manifest, in target: BackupTarget) throws(ByteStoreError) {
    guard !isClosing else { throw .closed(directory: path) }
    do throws(WriteFailure) {
      try manifest.replace(in: target.directory, platform)
    } catch {
      switch error {
      case .refused(let cause), .unknown(let cause): throw .system(cause)
      }
    }
    target.removeMark()
  }
}

/// Counts up the files of a backup.
private final class FileNumbers {
  private var last: UInt64 = 0

  func next() -> FileNumber {
    last += 1
    return FileNumber(last)
  }
}

extension Table {
  /// What a backup has to write, as far as is known without compressing it.
  fileprivate var liveBytes: UInt64 {
    segments.reduce(UInt64(tail.bytes)) { $0 + ($1?.liveBytes ?? 0) }
  }
}

extension Manifest {
  fileprivate var bytesOfFiles: UInt64 {
    segments.reduce(UInt64(encoded().count) + (checkpoint?.bytes ?? 0)) { $0 + $1.bytes }
  }
}

extension BlobPlace {
  fileprivate func comesBefore(_ other: BlobPlace) -> Bool {
    switch (home, other.home) {
    case (.pack(let number, let offset, _, _), .pack(let otherNumber, let otherOffset, _, _)):
      (number, offset) < (otherNumber, otherOffset)
    case (.pack, .ownFile): true
    case (.ownFile, _): false
    }
  }
}
