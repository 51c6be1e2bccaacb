// A hot backup: one committed state as a complete store in another directory (docs/reliability.md, P17).
//
//   1. target     lock the target and mark it as unfinished (BackupTarget)
//   2. freeze     take a consistent state between two commits, as a flush does, but without rotation
//   3. write      write everything live in the memtable and the segments to new segments and a
//                 checkpoint (FlushJob), with a new store id; ordinals are kept, which keeps the upper
//                 layer's pages valid
//   4. directory  sync it, which makes the file names durable; copy the contents of objects
//   5. verify     read the files as an open does, look up every key, and check the digest of each
//                 content that a record names
//   6. manifest   write it, which makes the files a store (C5)
//   7. unmark     remove the mark and release the lock
//
// Commits, reads and flushes continue meanwhile, and the source is only read. Files that a flush deletes
// meanwhile stay readable, as for a snapshot. Two backups to different directories may run at once.

package import ByteStore

/// The progress of a backup.
package struct BackupProgress: Sendable, Equatable {
  package enum Step: String, Sendable {
    case writing
    case verifying
  }

  package var step: Step
  /// The number of bytes that the current step has written or verified so far, out of `bytesTotal`.
  package var bytesDone: UInt64
  package var bytesTotal: UInt64
}

/// The result of a backup.
package struct BackupReport: Sendable, Equatable {
  package var directory: String
  /// The id of the backup, which differs from the id of the source store, so that the two are never confused.
  package var storeID: RandomID
  /// The last commit in the backup.
  package var sequence: SequenceNumber
  package var keys: Int
  /// The total size of the backup's files.
  package var bytes: UInt64
  /// How durable a sync is in the target directory.
  package var durability: DurabilityReport
  /// Entries that were copied, but that the upper layer cannot decode.
  package var undecodable = UndecodableEntries()
}

/// Returns the content that an entry names, and its location. The upper layer knows the record format.
package typealias ContentLocator = (_ key: RawSpan, _ value: RawSpan) -> (id: BlobID, place: BlobLocation)?

extension ByteStore {
  /// Writes the store at one commit to `target`, a new or empty directory, while all other operations
  /// continue. On return, the backup is a store on stable storage, and all its live data has been read back.
  /// If the backup fails, the target holds no store, and the files are removed. If the process dies during a
  /// backup, the next backup to the same directory removes the files. A poisoned store can be backed up: the
  /// backup contains the acknowledged commits. If the store is closed during a backup, the backup fails with
  /// `closed`.
  ///
  /// Each content that `contentLocator` finds is verified against its digest. Without `contentLocator`,
  /// contents are copied without verification.
  ///
  /// Entries that `undecodableNamer` names are copied and listed in the report.
  ///
  /// `progress` is called from time to time on the calling thread, with no lock held.
  @discardableResult
  package func backup(
    to target: String, progress: (BackupProgress) -> Void = { _ in }, contentLocator: ContentLocator? = nil,
    undecodableNamer: UndecodableEntryNamer? = nil
  ) throws(ByteStoreError) -> BackupReport {
    guard !isForked else { throw .forked(directory: path) }
    try StorePath.check(target)
    return try withBackupInProgress { () throws(ByteStoreError) in
      guard !StorePath.isInside(target, path) else { throw .insideStore(directory: target, store: path) }
      let target = try BackupTarget.prepare(target, platform)
      defer { target.release() }
      do throws(ByteStoreError) {
        return try withCapture { frozen throws(ByteStoreError) in
          try writeBackup(
            of: frozen, to: target, contentLocator: contentLocator, undecodableNamer: undecodableNamer,
            progress)
        }
      } catch {
        target.clear()
        throw error
      }
    }
  }

  private func writeBackup(
    of frozen: FrozenState, to target: BackupTarget, contentLocator: ContentLocator?,
    undecodableNamer: UndecodableEntryNamer?, _ progress: (BackupProgress) -> Void
  ) throws(ByteStoreError) -> BackupReport {
    pause(.frozen)
    var manifest = Manifest(storeID: platform.random.randomID())
    let total = frozen.table.liveBytes
    try writeFiles(of: frozen, to: target, manifest: &manifest) { done in
      progress(BackupProgress(step: .writing, bytesDone: min(done, total), bytesTotal: total))
    }
    pause(.checkpointWritten)
    // With a `contentLocator`, contents are read back later, after the records that name them.
    let blobBytes = try blobs.copyAll(to: target.directory.path, readsBack: contentLocator == nil) {
      isClosing
    }
    var undecodable = UndecodableEntries()
    let namer: ContentLocator = { key, value in
      if let name = undecodableNamer?(key, value) { undecodable.add(name) }
      return contentLocator?(key, value)
    }
    let named = try verify(manifest, of: frozen, in: target, contentLocator: namer) { part in
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

  /// Writes segments and a checkpoint, and enters them in `manifest`.
  private func writeFiles(
    of frozen: FrozenState, to target: BackupTarget, manifest: inout Manifest, _ progress: (UInt64) -> Void
  ) throws(ByteStoreError) {
    let numbers = FileNumbers()
    var job = FlushJob(
      frozen.table,
      FlushJob.Target(
        directory: target.directory, platform: platform, storeID: manifest.storeID,
        segmentBytesMax: options.segmentBytesMax, nextNumber: { numbers.next() },
        pause: { [self] in pause($0) }))
    do throws(ByteStoreError) {
      var done = UInt64(frozen.table.memtable.bytes)
      try job.writeMemtable()
      progress(done)
      for case let use? in frozen.table.segments where use.liveEntries > 0 {
        guard !isClosing else { throw ByteStoreError.closed(directory: path) }
        try job.rewrite(use.segment)
        // A flush leaves unreadable entries in their old segment. A backup cannot do so, and without these
        // entries it would not match any state of the store. The backup therefore fails.
        if let damaged = job.damaged.first { throw damaged.error }
        done += use.liveBytes
        progress(done)
      }
      try job.endSegments()
      // The backup has no log. Its checkpoint records the end of an imaginary log, which has no id and whose
      // last commit is the last commit in the backup.
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

  /// Checks that every entry can be found by its key through the checkpoint, and that no entry is missing.
  /// The entries themselves were read back when their segment was completed. Returns the contents that the
  /// entries name.
  private func verify(
    _ manifest: Manifest, of frozen: FrozenState, in target: BackupTarget, contentLocator: ContentLocator,
    _ progress: (_ part: Double) -> Void
  ) throws(ByteStoreError) -> [(id: BlobID, place: BlobLocation)] {
    guard let entry = manifest.checkpoint else { preconditionFailure("a backup has a checkpoint") }
    let (source, table) = try Self.openKeyDirectory(entry, manifest, in: target.directory, platform: platform)
    let cache = PageCache(bytesMax: 0, pageBytes: SegmentFormat.pageBytes)
    let written = SharedKeyDirectory(table, cache, path: target.directory.path)
    try written.loadAll()
    let loaded = written.frozen()
    var found = 0
    var named: [(id: BlobID, place: BlobLocation)] = []
    progress(0)
    try written.forEachEntry { ordinal, key, value throws(ByteStoreError) in
      guard loaded.isOrdinal(ordinal, of: key) else {
        throw source.damage(expected: "the ordinal \(ordinal) for the key of its entry", found: "another")
      }
      found += 1
      if let blob = contentLocator(key, value) { named.append(blob) }
      if found % 4096 == 0 { progress(min(1, Double(found) / Double(frozen.table.keys))) }
    }
    progress(1)
    guard found == frozen.table.keys, loaded.keys == found else {
      throw source.damage(expected: "\(frozen.table.keys) keys", found: "\(found)")
    }
    if let broken = loaded.invariantBroken() { throw source.damage(expected: "a table", found: broken) }
    return named
  }

  /// Verifies the copied contents. If the original file in the store is damaged as well, the error names the
  /// original file.
  private func verify(
    _ named: [(id: BlobID, place: BlobLocation)], in target: BackupTarget
  ) throws(ByteStoreError) {
    let copies = BlobStore(store: target.directory.path, BlobStore.Options(), platform: platform)
    // Reads each pack from front to back.
    for (id, place) in named.sorted(by: { $0.place.comesBefore($1.place) }) {
      guard !isClosing else { throw .closed(directory: path) }
      do throws(ByteStoreError) {
        try copies.verify(id, at: place) { isClosing }
      } catch {
        if error.isDamage { try blobs.verify(id, at: place) { isClosing } }
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

/// Assigns the file numbers of a backup.
private final class FileNumbers {
  private var last: UInt64 = 0

  func next() -> FileNumber {
    last += 1
    return FileNumber(last)
  }
}

extension KeyDirectory {
  /// The estimated size of the data to write, before compression.
  fileprivate var liveBytes: UInt64 {
    segments.reduce(UInt64(memtable.bytes)) { $0 + ($1?.liveBytes ?? 0) }
  }
}

extension Manifest {
  fileprivate var bytesOfFiles: UInt64 {
    segments.reduce(UInt64(encoded().count) + (checkpoint?.bytes ?? 0)) { $0 + $1.bytes }
  }
}

extension BlobLocation {
  fileprivate func comesBefore(_ other: BlobLocation) -> Bool {
    switch (home, other.home) {
    case (.pack(let number, let offset, _, _), .pack(let otherNumber, let otherOffset, _, _)):
      (number, offset) < (otherNumber, otherOffset)
    case (.pack, .ownFile): true
    case (.ownFile, _): false
    }
  }
}
