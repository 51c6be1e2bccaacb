// Maintenance of a document store: statistics, backup, compaction.

package import ByteStore
package import StoreTools

extension DocumentStore {
  /// The id of the store. A backup gets its own id.
  package var storeID: RandomID { bytes.storeID }

  /// Statistics of the store. Reads nothing from disk.
  package var statistics: Statistics { bytes.statistics }

  /// The health of the store. Reads nothing from disk and does not wait for a sync.
  package var health: StoreHealth { bytes.health }

  /// Reports the store's events.
  package var recorder: Recorder { bytes.recorder }

  /// The number of listeners of all queries.
  package var listenerCount: Int { live.listenerCount }

  /// The disk space of the store, including recycled log files but excluding the contents of stored files.
  public var byteCount: UInt64 { bytes.statistics.directoryBytes }

  /// The part of `byteCount` that documents take. Documents are compressed, except recent ones that are
  /// only in the WAL.
  public var documentByteCount: UInt64 {
    let statistics = bytes.statistics
    return statistics.segments.liveBytes + UInt64(statistics.memtableBytes)
  }

  /// Statistics about the contents of objects. Asks the system for the size of each file.
  package func contentStatistics() throws(DocumentStoreError) -> ContentStatistics {
    let contents = try count(StructuredQuery(.collection(ReservedPath.allBlobs)))
    let usage = try contentUsage()
    return ContentStatistics(contents: contents, files: usage.files, bytes: usage.bytes)
  }

  /// The total size of all contents. Reads no index, because the contents need not be counted.
  package func contentByteCount() throws(DocumentStoreError) -> UInt64 { try contentUsage().bytes }

  private func contentUsage() throws(DocumentStoreError) -> BlobStore.Usage {
    try translatingErrors { () throws(ByteStoreError) in try bytes.blobs.usage() }
  }

  /// Writes a backup to `directory`, which must be new or empty. The backup contains the documents of one
  /// snapshot and the contents of files. Reads and commits continue during the backup. When this returns, the
  /// backup is a store on stable storage, and every document and content in it has been read back. To restore
  /// the backup, copy its directory. If the backup fails, `directory` holds no store.
  ///
  /// A document that cannot be decoded although its checksums are valid is copied unchanged.
  ///
  /// Throws `unsuitableDirectory` if the directory is not empty or lies inside the store. Throws `corrupted`
  /// if a document or content of this store cannot be read, and `full` or `failed` if the backup cannot be
  /// written.
  public func backup(to directory: String) throws(DocumentStoreError) {
    try backup(to: directory) { _ in }
  }

  /// Writes a backup. `progress` is called on this thread from time to time.
  @discardableResult
  package func backup(
    to directory: String, progress: (BackupProgress) -> Void
  ) throws(DocumentStoreError) -> BackupReport {
    let target = InstrumentEvent.Field("target", .text(directory))
    let start = clock.monotonicNanoseconds()
    recorder.emit(.backupStarted, .info, fields: [target])
    do throws(DocumentStoreError) {
      let report = try writeBackup(to: directory) { done in
        recorder.emit(.backupProgress, .debug, fields: done.fields)
        progress(done)
      }
      let nanoseconds = clock.monotonicNanoseconds() &- start
      recorder.emit(
        .backupFinished, .info,
        fields: [target, .init("bytes", .count(report.bytes)), .init("seconds", .nanoseconds(nanoseconds))])
      return report
    } catch {
      recorder.emit(.backupFailed, .error, fields: [target, .init("error", .error(error))])
      throw error
    }
  }

  private func writeBackup(
    to directory: String, progress: (BackupProgress) -> Void
  ) throws(DocumentStoreError) -> BackupReport {
    do throws(ByteStoreError) {
      let shapes = indexes.shapes
      return try bytes.backup(
        to: directory, progress: progress, contentLocator: { BlobRecord.blob($0, $1, shapes: shapes) },
        undecodableNamer: { UndecodableEntry.name(of: $0, $1, shapes: shapes.table) })
    } catch {
      if error.isDamageOrUnreadable { attachments.didFindDamagedBlobs() }
      throw DocumentStoreError(error)
    }
  }

  /// The number of distinct shapes (sets of field names) of documents and nested maps.
  package var shapeCount: Int { indexes.shapes.table.shapes.count { $0 != nil } }

  /// The time of the last visible commit; nil if there is none.
  package var lastCommitTime: StoredTimestamp? {
    let stamp = bytes.lastStamp
    return stamp == 0 ? nil : StoredTimestamp(microseconds: Int64(clamping: stamp))
  }

  /// Makes all later commits later than `time`, also if the clock is behind. The next commit makes this
  /// durable. Returns the time of the last commit that began before.
  package func raiseCommitTime(to time: StoredTimestamp) -> StoredTimestamp {
    StoredTimestamp(microseconds: pipeline.raiseTime(to: time.microseconds)) ?? time
  }

  /// Returns when all previous commits are durable, buffered ones included.
  package func sync() throws(DocumentStoreError) {
    _ = try translatingErrors { () throws(ByteStoreError) in
      try bytes.commit(Batch(stamp: bytes.lastStamp), durability: .synced)
    }
  }

  /// Moves all commits from the WAL to segments and rewrites every segment with more than 5% garbage, to
  /// reclaim disk space. Also shrinks the recycled log files and the reserve. Unreadable segments are left
  /// unchanged and appear in the statistics. A failure loses no data.
  public func compact() throws(DocumentStoreError) {
    try translatingErrors { () throws(ByteStoreError) in try bytes.flush(.everything) }
  }
}

extension BackupProgress {
  fileprivate var fields: [InstrumentEvent.Field] {
    [
      .init("step", .text(step.rawValue)), .init("bytes", .count(bytesDone)),
      .init("total", .count(bytesTotal)),
    ]
  }
}

/// Statistics about the contents of objects.
package struct ContentStatistics: Hashable, Sendable {
  /// The number of distinct contents. Objects with equal bytes share one content.
  package var contents: Int
  /// The number of files: packs, contents that have their own file, and uploads in progress.
  package var files: Int
  package var bytes: UInt64
}
