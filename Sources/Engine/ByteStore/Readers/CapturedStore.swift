// The files of a store as of one manifest, opened while another process may be writing the store.
//
//   1. read the manifest
//   2. open every file that it names, and read the logs
//   3. read the manifest again: if it is the same, no file of step 2 was deleted or recycled before it was
//      opened and read, because that happens only after the manifest was replaced
//
// Otherwise the capture starts again. A missing file is damage only if the manifest has not changed.
//
// The last log may grow during the capture. Its frames count up to the largest `durableThrough` among them.
// The page cache also shows later commits, but a power loss could take them back. If no writer has the store
// open, the log is synced after it was read (ReaderState.swift), and all frames that were read count, as for
// an open that recovers the store.

import Libc

/// A store's files, which stay readable however the writer goes on.
struct CapturedStore {
  let manifest: Manifest
  let directory: CapturedDirectory
  /// The log that the writer appends to; nil if the manifest names no log whose end is not recorded.
  var lastLog: FollowedLog?

  private enum Attempt {
    case captured(CapturedStore)
    /// The writer has replaced the manifest meanwhile.
    case outdated
    /// A log has a later frame than the first one that does not decode. It is damaged, unless the writer
    /// wrote the first one during the read.
    case gap(ByteStoreError)
  }

  /// Every further attempt means that the writer has replaced the manifest during the one before.
  private static let attemptsMax = 1000
  /// The writer cannot close a gap between two reads this often without replacing the manifest.
  private static let gapsMax = 10
  /// The longest pause after a gap, in which the writer may finish its write.
  private static let pauseMillisecondsMax = 5

  static func capture(
    _ directory: any OpenDirectory, _ presence: inout WriterPresence, platform: Platform
  ) throws(ByteStoreError) -> CapturedStore {
    var gaps = 0
    for _ in 0..<attemptsMax {
      switch try attempt(directory, &presence, platform: platform) {
      case .captured(let store): return store
      case .outdated: continue
      case .gap(let error):
        gaps += 1
        guard gaps < gapsMax else { throw error }
        platform.clock.pause(milliseconds: min(gaps, pauseMillisecondsMax))
      }
    }
    throw .system(SystemFailure(operation: "capture", path: directory.path, code: EBUSY))
  }

  private static func attempt(
    _ directory: any OpenDirectory, _ presence: inout WriterPresence, platform: Platform
  ) throws(ByteStoreError) -> Attempt {
    let hasWriter = presence.mayHaveWriter(in: directory)
    guard let bytes = try manifestBytes(in: directory) else { throw .noStore(directory: directory.path) }
    let manifest = try Manifest.decodeSound(bytes, file: "\(directory.path)/\(StoreFile.manifest)")
    var lastLog: FollowedLog?
    let captured = CapturedDirectory(path: directory.path, manifest: bytes)
    let result = Result { () throws(ByteStoreError) in
      for name in manifest.fileNames.sorted() where StoreFile.logNumber(of: name) == nil {
        try system { () throws(SystemFailure) in captured.add(try directory.openFile(name, .read), name) }
      }
      for log in manifest.logs {
        let file = try system { () throws(SystemFailure) in
          try directory.openFile(StoreFile.log(log.number), .read)
        }
        lastLog = try capture(log, file, into: captured, platform: platform) { reading in
          !hasWriter && (!reading.needsSync || presence.makeDurable(file, log: log.fileID, in: directory))
        }
      }
    }
    // A file that could not be opened or read may be gone because of a newer manifest.
    guard try manifestBytes(in: directory) == bytes else { return .outdated }
    do throws(ByteStoreError) { try result.get() } catch {
      if error.isDamage { return .gap(error) }
      // The open reports a missing file, and says which file names it.
      guard case .system(let cause) = error, cause.isMissingOrNotAFile else { throw error }
    }
    return .captured(CapturedStore(manifest: manifest, directory: captured, lastLog: lastLog))
  }

  /// Reads a log into memory. Returns the log if the writer may append to it. `isComplete` decides whether
  /// all frames that were read count, because the writer has ended and they are on stable storage.
  private static func capture(
    _ log: Manifest.Log, _ file: any OpenFile, into captured: CapturedDirectory,
    platform: Platform, isComplete: (FollowedLog.Reading) -> Bool
  ) throws(ByteStoreError) -> FollowedLog? {
    let name = StoreFile.log(log.number)
    let (size, bytes) = try system { () throws(SystemFailure) in
      let size = try file.size()
      // Bytes beyond a recorded end are not read.
      let end = log.end.map { max($0.length, UInt64(LogFormat.pageBytes)) } ?? LogFormat.capacityMax
      return (size, try file.readAll(Int(min(size, end, LogFormat.capacityMax)), at: 0))
    }
    guard log.end == nil, let header = try? LogHeader(decoding: bytes.rawSpan, file: file.path) else {
      captured.add(MemoryImage(path: file.path, bytes: bytes, size: size), name)
      return nil
    }
    try checkGap(header, bytes, fileBytes: size, path: file.path, platform: platform)
    // The position comes from the bytes that the open reads. A second read of the file could find later
    // commits, which the open would not show and the next look would not take.
    let image = MemoryImage(path: file.path, bytes: bytes, size: size)
    var followed = FollowedLog(header: header, file: image, broken: platform.brokenRule)
    let reading = try followed.read()
    let isComplete = isComplete(reading)
    _ = try followed.take(reading, isSynced: isComplete)
    followed.file = file
    // The torn tail of a writer that has ended belongs to the report of the open.
    let durable = isComplete ? bytes[...] : bytes.prefix(Int(clamping: followed.end))
    captured.add(MemoryImage(path: file.path, bytes: Array(durable), size: size), name)
    return followed
  }

  /// Throws if a frame that does not decode comes before one that records it as synced.
  private static func checkGap(
    _ header: LogHeader, _ bytes: [UInt8], fileBytes: UInt64, path: String, platform: Platform
  ) throws(ByteStoreError) {
    let log = LogReader(
      header: header, bytes: bytes.rawSpan, fileBytes: fileBytes, path: path, broken: platform.brokenRule)
    _ = try log.replay(recordedEnd: nil) { _ in }
  }

  /// The bytes of the current manifest; nil if there is none.
  static func manifestBytes(in directory: any OpenDirectory) throws(ByteStoreError) -> [UInt8]? {
    do throws(SystemFailure) {
      let file = try directory.openFile(StoreFile.manifest, .read)
      defer { file.close() }
      return try file.readAll(Int(min(try file.size(), UInt64(Manifest.bytesMax))), at: 0)
    } catch {
      guard !error.isMissingFile else { return nil }
      throw ByteStoreError(error)
    }
  }
}
