// Captures the state of an open store for the tools that read its files while it is in use: backup and check.

/// The files of a store as of one commit. A flush may remove or recycle a file while this value is in use,
/// but not before the manifest of the open store has stopped naming the file.
package struct FilesInUse {
  package var manifest: Manifest
  /// The end of the last log; nil if there is no log, or if the store is poisoned and the end is therefore
  /// unknown.
  package var logEnd: LogHeader.LogEnd?
  package var table: KeyDirectory
  /// Whether the store is poisoned. If it is, the log may contain commits after the last acknowledged one,
  /// complete or incomplete. Only the next open decides which of them survive.
  package var isPoisoned: Bool
}

extension ByteStore {
  /// Registers a backup while `body` runs. A close waits for the backup; `body` must stop early once
  /// `isClosing` is true.
  package func withBackupInProgress<Result>(
    _ body: () throws(ByteStoreError) -> Result
  ) throws(ByteStoreError) -> Result {
    guard !isForked else { throw .forked(directory: path) }
    try state.withLock { state throws(ByteStoreError) in
      if let end = writeRefusal(state), !end.isPoison { throw end }
      state.backupsInProgress += 1
    }
    defer {
      state.withLock { $0.backupsInProgress -= 1 }
      state.wakeAll()
    }
    return try body()
  }

  /// Calls `body` with the state of the store between two commits. The files and blobs that this state refers
  /// to stay readable until `body` returns, even if a flush deletes them in the meantime. The WAL is not
  /// rotated for the capture. The capture of a poisoned store contains its acknowledged commits.
  package func withCapture<Result>(
    _ body: (FrozenState) throws(ByteStoreError) -> Result
  ) throws(ByteStoreError) -> Result {
    let ticket = snapshots.add(platform.clock.monotonicNanoseconds(), asOf: lastCommit)
    defer { snapshots.remove(ticket) }
    blobs.holdRemovals()
    defer { blobs.releaseRemovals() }
    try table.loadOrRebuildAll()
    let frozen = try betweenCommits(evenIfPoisoned: true) { _ in freeze() }
    snapshots.setSequence(ticket, at: frozen.table.published)
    return try body(frozen)
  }

  /// Calls `body` with the files of the store as of the last commit. Waits for a flush that is under way.
  /// Reads, commits and flushes continue while `body` runs. Contents that are deleted meanwhile stay until
  /// `body` returns. A close waits for `body`, which must stop early once `isClosing` is true.
  package func withFilesInUse<Result>(
    _ body: (FilesInUse) throws(ByteStoreError) -> Result
  ) throws(ByteStoreError) -> Result {
    try withBackupInProgress { () throws(ByteStoreError) in
      let ticket = snapshots.add(platform.clock.monotonicNanoseconds(), asOf: lastCommit)
      defer { snapshots.remove(ticket) }
      blobs.holdRemovals()
      defer { blobs.releaseRemovals() }
      let files = try filesBetweenCommits()
      snapshots.setSequence(ticket, at: files.table.published)
      return try body(files)
    }
  }

  /// Whether the manifest of this open store names a file. A flush deletes and recycles only other files.
  package func namesFile(_ name: String) -> Bool { writer.withLock { $0.manifest.names(name) } }

  private func filesBetweenCommits() throws(ByteStoreError) -> FilesInUse {
    let isPoisoned = try state.withLock(when: { !$0.isFlushing && !$0.isLeading }) {
      state throws(ByteStoreError) -> Bool in
      if case .closed = state.end { throw .closed(directory: path) }
      // Neither a commit nor a flush changes the manifest before this turn ends.
      state.startLeading()
      return state.end?.isPoison == true
    }
    let table = table.frozen()
    let (manifest, end) = writer.withLock { ($0.manifest, $0.log?.recordedEnd) }
    state.withLock { $0.stopLeading() }
    state.wakeAll()
    return FilesInUse(
      manifest: manifest, logEnd: isPoisoned ? nil : end, table: table, isPoisoned: isPoisoned)
  }
}
