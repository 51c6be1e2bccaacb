// A recycled log file, prepared ahead of time.
//
// If one is ready, the commit that rotates the log waits for two syncs instead of 32 MiB of writes.

/// A file with a log's full size. Its content is meaningless until a header gives it an id.
struct RecycledLog {
  let file: any OpenFile
  let capacity: UInt64

  /// Prepares and syncs the file. Call this without holding any lock, because it can take long. If `oldLog`
  /// is given, that log's file is recycled. It must have this capacity and no content that is still needed.
  static func prepare(
    _ capacity: UInt64, from oldLog: String?, in directory: any OpenDirectory, platform: Platform
  ) throws(SystemFailure) -> RecycledLog {
    // A leftover file that could neither be used nor deleted must not block the preparation of new files
    // forever.
    try? directory.remove(StoreFile.recycledLog)
    let file: any OpenFile
    if let oldLog {
      try directory.rename(oldLog, to: StoreFile.recycledLog)
      file = try directory.openFile(StoreFile.recycledLog, .readAndWrite)
    } else {
      file = try fill(StoreFile.recycledLog, capacity, in: directory, platform: platform)
    }
    do throws(SystemFailure) {
      if oldLog != nil { try writeZeros(capacity, to: file, platform: platform) }
      try file.syncOnce(platform)
    } catch {
      file.close()
      throw error
    }
    return RecycledLog(file: file, capacity: capacity)
  }

  /// Creates a file of zeros. The zeros are written, because a sync of merely preallocated space would
  /// also have to write the file system's metadata.
  static func fill(
    _ name: String, _ capacity: UInt64, in directory: any OpenDirectory, platform: Platform
  ) throws(SystemFailure) -> any OpenFile {
    let file = try directory.createFile(name)
    do throws(SystemFailure) {
      try writeZeros(capacity, to: file, platform: platform)
      return file
    } catch {
      file.close()
      try? directory.remove(name)
      throw error
    }
  }

  private static func writeZeros(
    _ capacity: UInt64, to file: any OpenFile, platform: Platform
  ) throws(SystemFailure) {
    let zeros = [UInt8](repeating: 0, count: 256 << 10)
    var offset: UInt64 = 0
    while offset < capacity {
      let count = Int(min(UInt64(zeros.count), capacity - offset))
      try file.writeAll(zeros.rawSpan.extracting(first: count), at: offset, platform: platform)
      offset += UInt64(count)
    }
  }
}
