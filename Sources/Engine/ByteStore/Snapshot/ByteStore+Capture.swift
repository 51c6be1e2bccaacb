// State captured for the tools that read a store in use: a backup, and a check.

/// The files of a store as of its last commit, while no flush changes them.
package struct FilesInUse {
  package var manifest: Manifest
  /// The end of the last log; nil if there is none to compare with.
  package var logEnd: LogHeader.LogEnd?
  package var table: KeyDirectory
  /// Commits after the last acknowledged one may be in the log, whole or in part. Only the next open decides
  /// about them.
  package var isPoisoned: Bool
}

extension ByteStore {
  /// Registers a backup for as long as `body` runs. A close waits for it, and ends it early through
  /// `isClosing`.
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

  /// Calls `body` with the state between two commits. Files and blobs that the state names stay readable
  /// until `body` returns, whatever a flush deletes meanwhile. The WAL is not rotated. A poisoned store shows
  /// its acknowledged state.
  package func withCapture<Result>(
    _ body: (Frozen) throws(ByteStoreError) -> Result
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

  /// Calls `body` with the files as of the last commit. Reads and commits continue. Flushes and a close wait
  /// until `body` returns.
  package func withFilesInUse<Result>(
    _ body: (FilesInUse) throws(ByteStoreError) -> Result
  ) throws(ByteStoreError) -> Result {
    guard !isForked else { throw .forked(directory: path) }
    let isPoisoned = try state.withLock(when: { !$0.isFlushing && !$0.isLeading }) {
      state throws(ByteStoreError) -> Bool in
      if case .closed = state.end { throw .closed(directory: path) }
      state.isFlushing = true
      state.startLeading()
      return state.end?.isPoison == true
    }
    let table = table.frozen()
    let (manifest, end) = writer.withLock { ($0.manifest, $0.log?.recordedEnd) }
    state.withLock { $0.stopLeading() }
    state.wakeAll()
    defer {
      state.withLock { $0.isFlushing = false }
      state.wakeAll()
      // A flush that became due meanwhile could not be planned.
      if isThrottling { scheduleFlush() }
    }
    blobs.holdRemovals()
    defer { blobs.releaseRemovals() }
    return try body(
      FilesInUse(manifest: manifest, logEnd: isPoisoned ? nil : end, table: table, isPoisoned: isPoisoned))
  }
}
