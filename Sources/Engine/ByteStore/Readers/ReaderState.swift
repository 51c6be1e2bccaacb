// The position of a reader in the files of a writer, and how it moves from log to log.

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

/// What is known from the last look at the writer's files whose commits are visible.
struct ReaderLook {
  /// The monotonic time of the look.
  var time: UInt64
  /// The size of the commits that the look found and that are not known to be on stable storage.
  var bytesNotDurable: UInt64
}

/// How a reader learns whether a writer has the store open.
struct WriterPresence {
  /// Shared by this reader, and marked by the writer; nil if no writer of this release has created the file,
  /// or if it cannot be opened.
  private(set) var lock: (any ReaderLock)?

  mutating func mayHaveWriter(in directory: any OpenDirectory) -> Bool {
    if lock == nil {
      do throws(SystemFailure) { lock = try directory.readerLock(StoreFile.readers, .read) } catch {
        return true
      }
      _ = lock?.share()
    }
    return lock?.mayHaveWriter() ?? false
  }

  func release() { lock?.release() }
}

extension ReaderState {
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
    guard !logs.isEmpty else { return checkpointEnd(manifest)?.sequence == last.sequence }
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
        commits += try log?.takeDurable(hasWriter: hasWriter) ?? []
      }
    }
    return true
  }

  private func checkpointEnd(_ manifest: Manifest) -> LogHeader.LogEnd? {
    guard let entry = manifest.checkpoint else { return nil }
    let source = try? CheckpointFile(entry, storeID: manifest.storeID, in: directory, platform: platform)
    return source?.header.position
  }
}
