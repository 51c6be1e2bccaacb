// Turning to a new log.
//
//   1. settle     the log in use is synced to its end, which gets recorded
//   2. file       the new one, out of the spare if there is one, at its full size with its header (C3); its context is
//                 as of this moment, at which no commit is under way
//   3. manifest   names the new log and seals the old one (C5)
//
// The first commit may only then go to the new log. If anything before the manifest fails without a sync
// having failed, nothing has happened.

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

extension ByteStore {
  /// Seals the log in use, if there is one, and opens the next: its file first, then the manifest that
  /// names it. A log is never appended to after an open (C12), so the first commit comes here as well.
  /// A spare has the capacity that it has.
  func turnToNewLog(
    for group: [Batch], capacity: UInt64, _ writer: inout Writer
  ) throws(WriteFailure) {
    if !writer.isManifestSure {
      try writer.manifest.replace(in: directory, platform)
      writer.isManifestSure = true
    }
    // Not the writer's before the manifest says so: if this fails, the log in use goes on.
    let last = try settledEnd(&writer) ?? writer.last
    let spare = takeSpare(for: group, &writer)
    let header = LogHeader(
      fileID: platform.random.randomID(), storeID: storeID, number: writer.manifest.nextLogNumber,
      capacity: spare?.capacity ?? capacity,
      previous: last)
    // No store gets there, but a made-up manifest may say so.
    guard let nextNumber = header.number.next else {
      throw .refused(SystemFailure(operation: "numbering a log", path: path, code: EOVERFLOW))
    }
    var manifest = writer.manifest.successor()
    manifest.nextLogNumber = nextNumber
    manifest.sealLastLog(at: last)
    manifest.logs.append(
      Manifest.Log(number: header.number, fileID: header.fileID, capacity: header.capacity, end: nil))

    let next = try LogWriter.create(
      header, context: logContext(), from: spare, in: directory, platform)
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

  /// The manifest that is on disk now does not name them, and none before it comes back. What cannot be removed,
  /// the next open removes.
  private func removeLeftovers(_ writer: inout Writer) {
    for name in writer.leftovers { try? directory.remove(name) }
    writer.leftovers = []
  }

  /// Where the log in use ends for good. It is synced first: a recorded end that a power loss undercuts
  /// would be taken for damage.
  private func settledEnd(_ writer: inout Writer) throws(WriteFailure) -> LogHeader.LogEnd? {
    guard var log = writer.log else { return nil }
    if !log.isSyncedThroughout, platform.keeps(.syncBeforeRecordingEnd) {
      do throws(SystemFailure) { try log.sync() } catch { throw .unknown(error) }
      writer.log = log
    }
    return log.recordedEnd
  }

  /// The spare, if it has room for the group; one that is too small goes back to the disk.
  private func takeSpare(for group: [Batch], _ writer: inout Writer) -> SpareLog? {
    if case .failed = writer.spare { writer.spare = .none }
    guard case .ready(let spare) = writer.spare else { return nil }
    writer.spare = .none
    if spare.capacity >= leastCapacity(for: group) { return spare }
    discard(spare)
    return nil
  }

  /// What is left of it, the next open removes.
  func discard(_ spare: SpareLog) {
    spare.file.close()
    try? directory.remove(StoreFile.spare)
  }

  /// Zeros of a log up to this size are written in a moment.
  static let logBytesOfAMoment: UInt64 = 1 << 20

  /// The context of a log that begins now, as a batch that is never committed. Nil if there is none.
  private func logContext() -> Batch? {
    guard let layer = options.layerAbove else { return nil }
    var batch = Batch(bytes: layer.logContextBytesMax)
    for entry in layer.logContext {
      // No commit has put an entry that no batch takes.
      guard (try? batch.put(entry.value, for: entry.key)) != nil else { return nil }
    }
    return batch.count > 0 ? batch : nil
  }

  /// The smallest log that has room for this group, and for the context if the group takes it along.
  func leastCapacity(for group: [Batch]) -> UInt64 {
    let needsContext = group.contains { !$0.isRemovalOnly }
    return LogWriter.capacity(for: group, contextBytes: needsContext ? contextBytesMax : 0)
  }

  private var contextBytesMax: Int {
    let bytes = options.layerAbove?.logContextBytesMax ?? 0
    return bytes > 0 ? CommitBody.prefixBytes + bytes : 0
  }

  /// Room for the group, the context, and for some more like the group, and more in each log than in the one before:
  /// turning to a new log costs a commit several syncs.
  func capacity(for group: [Batch], previousLength: UInt64) -> UInt64 {
    let bytes = group.reduce(0) { $0 + UInt64($1.body.count) }
    let wanted = max(options.logBytesMin, 4 * previousLength, 16 * bytes)
    let least = LogWriter.capacity(for: group, contextBytes: contextBytesMax)
    return max(least, min(wanted, options.logBytesMax))
      .roundedUp(toMultipleOf: UInt64(LogFormat.pageBytes))
  }
}
