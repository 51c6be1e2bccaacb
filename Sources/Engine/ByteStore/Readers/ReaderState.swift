// The position of a reader in the files of a writer, and how it moves from log to log.
//
// Without a writer, a reader makes the last commits of a log durable itself:
//
//   1. read      the frames after the position
//   2. ask       for the writer's mark again, because a writer may have started meanwhile
//   3. sync      the log, if a commit is not known to be durable
//   4. take      the frames of step 1. The sync says nothing about frames that were written after that step.
//
// A failed sync is final for this log. The system may have dropped the bytes and may report the next sync as
// a success (docs/reliability.md, F4).

import Libc

/// The position of a reader in the writer's files.
struct ReaderState {
  /// The directory itself, with whatever the writer has made of it.
  let directory: any OpenDirectory
  /// The platform that shows these files and not the captured ones.
  let platform: Platform
  var presence: WriterPresence
  /// The bytes of the manifest at the last look.
  var manifestBytes: [UInt8]
  /// The log from which the next commits are taken; nil if the last log was closed.
  var log: FollowedLog?
  /// The end of the last log that was read to its end.
  var last: LogHeader.LogEnd
  /// The last commit that is shown; nil if it was in the checkpoint when the files were captured.
  var shown: ShownCommit?
  /// The size of the commits that were taken since the store was opened.
  var bytesTaken = 0
  /// Whether commits were taken that may not all be visible.
  var isIncomplete = false
  /// The monotonic time of the last look at the writer's files.
  var lookedAt: UInt64

  var lastLook: ReaderLook {
    ReaderLook(time: lookedAt, bytesNotDurable: log?.bytesNotDurable ?? 0)
  }
}

/// The knowledge from the last look at the writer's files whose commits are visible.
struct ReaderLook {
  /// The monotonic time of the look.
  var time: UInt64
  /// The size of the commits that the look found and that are not known to be on stable storage.
  var bytesNotDurable: UInt64
}

/// How a reader learns whether a writer has the store open, and how it replaces the syncs of a writer that
/// has ended.
struct WriterPresence {
  /// Shared by this reader, and marked by the writer; nil if no writer of this release has created the file,
  /// or if it cannot be opened.
  private(set) var lock: (any ReaderLock)?
  /// The logs that this reader could not sync. All copies share them, also after the files were captured
  /// again.
  private let failedSyncs = FailedSyncs()

  private final class FailedSyncs: Sendable {
    let logs = Locked<Set<RandomID>>([])
  }

  mutating func mayHaveWriter(in directory: any OpenDirectory) -> Bool {
    if lock == nil {
      do throws(SystemFailure) { lock = try directory.readerLock(StoreFile.readers, .read) } catch {
        return true
      }
      _ = lock?.share()
    }
    return lock?.mayHave(.appends) ?? false
  }

  /// Syncs a log whose frames were read, unless a writer has the store open. Returns whether these frames are
  /// on stable storage.
  mutating func makeDurable(
    _ file: any OpenFile, log: RandomID, in directory: any OpenDirectory
  ) -> Bool {
    let hasFailed = failedSyncs.logs.withLock { $0.contains(log) }
    guard !hasFailed, !mayHaveWriter(in: directory) else { return false }
    do throws(SystemFailure) {
      try file.sync()
      return true
    } catch {
      // Media without writers have nothing to sync.
      if error.code == EROFS || error.code == EINVAL { return true }
      failedSyncs.logs.withLock { _ = $0.insert(log) }
      return false
    }
  }

  func release() { lock?.release() }
}

extension ReaderState {
  /// Throws if the path of the store leads to another directory, or to none. The open directory stays
  /// readable, but no writer comes to it by this path any more.
  func checkDirectory() throws(ByteStoreError) {
    guard !directory.isAtItsPath() else { return }
    let path = directory.path
    let hasStore: Bool
    do throws(SystemFailure) {
      hasStore = try platform.fileSystem.openDirectory(path).names().contains(StoreFile.manifest)
    } catch {
      guard error.isMissingFile || error.isNotADirectory else { throw .system(error) }
      hasStore = false
    }
    throw hasStore ? .replaced(directory: path) : .noStore(directory: path)
  }

  /// Takes the commits of the logs that the manifest names. Returns false if commits are missing in between.
  mutating func follow(
    _ manifest: Manifest, _ commits: inout [CommitBody], hasWriter: Bool
  ) throws(ByteStoreError) -> Bool {
    var logs = manifest.logs[...]
    if let place = logs.firstIndex(where: { $0.fileID == log?.header.fileID ?? last.fileID }) {
      logs = log == nil ? logs[(place + 1)...] : logs[place...]
      guard !logs.isEmpty else { return true }
    } else if let log {
      // The log was flushed. Nothing is missing if it was read to its end and the next log, or the
      // checkpoint, follows it.
      last = LogHeader.LogEnd(fileID: log.header.fileID, length: log.end, sequence: log.lastSequence)
      self.log = nil
    }
    guard !logs.isEmpty else {
      let end = checkpointEnd(manifest)
      return end?.fileID == last.fileID && end?.sequence == last.sequence
    }
    for entry in logs {
      if log?.header.fileID != entry.fileID {
        guard let next = try FollowedLog.open(entry, in: directory, platform: platform),
          next.header.previous.fileID == last.fileID, next.header.previous.sequence == last.sequence
        else { return false }
        log = next
      }
      if let end = entry.end {
        guard let taken = try log?.takeAll(through: end) else { return false }
        commits += taken
        last = LogHeader.LogEnd(fileID: entry.fileID, length: end.length, sequence: end.sequence)
        log = nil
      } else {
        commits += try takeDurable(hasWriter: hasWriter)
      }
    }
    return true
  }

  /// Takes the commits of the last log that are known to be on stable storage. `hasWriter` is the answer
  /// before the read. If no writer has the store open, these are all commits that were read before a sync.
  mutating func takeDurable(hasWriter: Bool) throws(ByteStoreError) -> [CommitBody] {
    guard let log, let reading = try self.log?.read() else { return [] }
    let isSynced =
      reading.needsSync && !hasWriter
      && presence.makeDurable(log.file, log: log.header.fileID, in: directory)
    return try self.log?.take(reading, isSynced: isSynced) ?? []
  }

  private func checkpointEnd(_ manifest: Manifest) -> LogHeader.LogEnd? {
    guard let entry = manifest.checkpoint else { return nil }
    let source = try? CheckpointFile(entry, storeID: manifest.storeID, in: directory, platform: platform)
    return source?.header.position
  }
}
