// A log file prepared ahead, so that turning to a new log costs a commit two syncs and not 32 MiB of
// writing.

/// A file at a log's full size. What it holds counts for nothing until a header gives it an id.
struct SpareLog {
  let file: any OpenFile
  let capacity: UInt64

  /// Written and synced; to be called without any lock, since it may take a while. `oldLog`, of this
  /// capacity and with nothing in it that counts, becomes the spare if it is given.
  static func prepare(
    _ capacity: UInt64, from oldLog: String?, in directory: any OpenDirectory, _ platform: Platform
  ) throws(SystemFailure) -> SpareLog {
    // One that could not be used, and not be removed either, must not be in the way for ever.
    try? directory.remove(StoreFile.spare)
    let file: any OpenFile
    if let oldLog {
      try directory.rename(oldLog, to: StoreFile.spare)
      file = try directory.openFile(StoreFile.spare, .readAndWrite)
    } else {
      file = try fill(StoreFile.spare, capacity, in: directory, platform)
    }
    do throws(SystemFailure) {
      if oldLog != nil { try writeZeros(capacity, to: file, platform) }
      try file.syncOnce(platform)
    } catch {
      file.close()
      throw error
    }
    return SpareLog(file: file, capacity: capacity)
  }

  /// A new file full of zeros. They are really written: a sync of merely reserved space would have to
  /// write the file system's metadata as well.
  static func fill(
    _ name: String, _ capacity: UInt64, in directory: any OpenDirectory, _ platform: Platform
  ) throws(SystemFailure) -> any OpenFile {
    let file = try directory.createFile(name)
    do throws(SystemFailure) {
      try writeZeros(capacity, to: file, platform)
      return file
    } catch {
      file.close()
      try? directory.remove(name)
      throw error
    }
  }

  private static func writeZeros(
    _ capacity: UInt64, to file: any OpenFile, _ platform: Platform
  ) throws(SystemFailure) {
    let zeros = [UInt8](repeating: 0, count: 256 << 10)
    var offset: UInt64 = 0
    while offset < capacity {
      let count = Int(min(UInt64(zeros.count), capacity - offset))
      try file.writeAll(zeros.rawSpan.extracting(first: count), at: offset, platform)
      offset += UInt64(count)
    }
  }
}
