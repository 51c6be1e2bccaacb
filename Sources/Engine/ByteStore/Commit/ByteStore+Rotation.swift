// Rotates the WAL to a new log file.
//
//   1. End: sync the current log up to its end and record that end.
//   2. File: create the new log at its full size, with its header (C3). The recycled log file is used if
//      there is one. The context is read in this step, while no commit is in progress.
//   3. Manifest: write a manifest that names the new log and records the end of the old log (C5).
//
// The new log accepts commits only after step 3. If a step before the manifest fails for any reason other
// than a failed sync, nothing has changed.

import Libc

extension ByteStore {
  /// Records the end of the current log, if there is one, and creates the next log: first its file, then the
  /// manifest that names it. No log is continued after an open (C12), so the first commit after an open also
  /// rotates. A recycled log file keeps its own capacity.
  func rotate(
    for group: [Batch], capacity: UInt64, writer: inout Writer
  ) throws(WriteFailure) {
    if !writer.isManifestDurable {
      try writer.manifest.replace(in: directory, platform)
      writer.isManifestDurable = true
    }
    // The new values are stored in the writer only after the manifest was replaced. If the replacement fails,
    // the current log stays in use.
    let last = try finalEnd(&writer) ?? writer.last
    let recycledLog = takeRecycledLog(for: group, &writer)
    let header = LogHeader(
      fileID: platform.random.randomID(), storeID: storeID, number: writer.manifest.nextLogNumber,
      capacity: recycledLog?.capacity ?? capacity,
      previous: last)
    // The log numbers never run out in practice, but a crafted manifest may contain the last number.
    guard let nextNumber = header.number.next else {
      throw .refused(SystemFailure(operation: "numbering a log", path: path, code: EOVERFLOW))
    }
    var manifest = writer.manifest.successor()
    manifest.nextLogNumber = nextNumber
    manifest.sealLastLog(at: last)
    manifest.logs.append(
      Manifest.Log(number: header.number, fileID: header.fileID, capacity: header.capacity, end: nil))

    let next = try LogWriter.create(
      header, context: logContext(), from: recycledLog, in: directory, platform: platform)
    do {
      try manifest.replace(in: directory, platform)
    } catch {
      next.closeFile()
      if case .refused = error { try? directory.remove(next.name) }
      throw error
    }
    writer.log?.closeFile()
    writer.log = next
    writer.last = last
    writer.manifest = manifest
    removeLeftovers(&writer)
  }

  /// Deletes the leftovers. The manifest on disk does not name them, and a power loss can no longer bring
  /// back an earlier manifest. If a file cannot be deleted now, the next open deletes it.
  private func removeLeftovers(_ writer: inout Writer) {
    for name in writer.leftovers { try? directory.remove(name) }
    writer.leftovers = []
  }

  /// Returns the final end of the current log. The log is synced first, because a recorded end beyond the
  /// durable bytes would look like damage.
  private func finalEnd(_ writer: inout Writer) throws(WriteFailure) -> LogHeader.LogEnd? {
    guard var log = writer.log else { return nil }
    if !log.isSyncedThroughout, platform.keeps(.syncBeforeRecordingEnd) {
      do throws(SystemFailure) { try log.sync() } catch { throw .unknown(error) }
      writer.log = log
    }
    return log.recordedEnd
  }

  /// Returns the recycled log file if the group fits in it; deletes a recycled log file that is too small.
  private func takeRecycledLog(for group: [Batch], _ writer: inout Writer) -> RecycledLog? {
    if case .failed = writer.recycledLog { writer.recycledLog = .none }
    guard case .ready(let recycledLog) = writer.recycledLog else { return nil }
    writer.recycledLog = .none
    if recycledLog.capacity >= capacityNeeded(for: group) { return recycledLog }
    discard(recycledLog)
    return nil
  }

  /// If the deletion fails, the next open deletes the file.
  func discard(_ recycledLog: RecycledLog) {
    recycledLog.file.close()
    try? directory.remove(StoreFile.recycledLog)
  }

  /// The size of the largest log file that can be filled with zeros without a noticeable delay.
  static let quickLogBytesMax: UInt64 = 1 << 20

  /// Returns the context for a new log as a batch that is never committed, or nil if there is no context.
  private func logContext() -> Batch? {
    guard let layer = options.upperLayer else { return nil }
    var batch = Batch(bytes: layer.logContextBytesMax)
    for entry in layer.logContext {
      // No commit can have put an entry that does not fit in a batch.
      guard (try? batch.put(entry.value, for: entry.key)) != nil else { return nil }
    }
    return batch.count > 0 ? batch : nil
  }

  /// Returns the capacity of the smallest log with room for this group. If the group contains puts, the log
  /// must also have room for the context.
  func capacityNeeded(for group: [Batch]) -> UInt64 {
    let needsContext = group.contains { !$0.isRemovalOnly }
    return LogWriter.capacity(for: group, contextBytes: needsContext ? contextBytesMax : 0)
  }

  private var contextBytesMax: Int {
    let bytes = options.upperLayer?.logContextBytesMax ?? 0
    return bytes > 0 ? CommitBody.prefixBytes + bytes : 0
  }

  /// Returns the preferred capacity of a new log: room for the group, the context and several more groups of
  /// that size. Each log is larger than the previous one, because a rotation makes a commit wait for several
  /// syncs.
  func capacity(for group: [Batch], previousLength: UInt64) -> UInt64 {
    let bytes = group.reduce(0) { $0 + UInt64($1.bodyBytes) }
    let wanted = max(options.logBytesMin, 4 * previousLength, 16 * bytes)
    let least = LogWriter.capacity(for: group, contextBytes: contextBytesMax)
    return max(least, min(wanted, options.logBytesMax))
      .roundedUp(toMultipleOf: UInt64(LogFormat.pageBytes))
  }
}
