// A file that reserves space for a full disk (docs/reliability.md, C11).
//
// Freeing space needs a flush, and a flush itself needs space: it writes a checkpoint, a segment with the
// live entries of the WAL, and a small log. (The checkpoint may omit those pages of the upper layer that can
// be rebuilt.) RESERVE is as large as these files together, plus a log for removals. It grows to this size
// before a new log for puts is created. If much of it is missing at that time, it grows by only a part, and
// the new log is small.
//
// When a flush or a removal finds the disk full, RESERVE is deleted. Once there is room, it is created again,
// as large as the disk allows. The bytes of RESERVE are meaningless, so it is never synced. If it is missing
// after a crash, it is created again.

/// The file `RESERVE` of a store. It is used only by the leader or by a thread with exclusive access to the
/// directory.
struct SpaceReserve {
  /// The current size of the file.
  private(set) var bytes: UInt64
  /// Whether a link, a pipe or a directory occupies the file's name. Then no reserve is created, and a check
  /// of the store reports the problem.
  let isBlocked: Bool

  init(bytes: UInt64 = 0, isBlocked: Bool = false) {
    self.bytes = bytes
    self.isBlocked = isBlocked
  }

  /// Finds the file that an earlier opening left.
  static func find(in directory: any OpenDirectory) throws(SystemFailure) -> SpaceReserve {
    let file = try directory.openFile(StoreFile.reserve, .read)
    defer { file.close() }
    return SpaceReserve(bytes: try file.size())
  }

  /// The most space that a flush needs: the size of the checkpoint plus an eighth, a memtable segment, and
  /// the first pages of new files. At most 8 MiB are reserved for the memtable, because compression and
  /// deletes shrink it.
  static func flushBytes(checkpointBytes: UInt64, memtableBytes: UInt64) -> UInt64 {
    checkpointBytes + checkpointBytes / 8 + min(memtableBytes, 8 << 20) + (64 << 10)
  }

  /// The number of bytes by which the file grows in one step; other work can run between steps.
  static let stepBytes: UInt64 = 64 << 10

  /// Grows the file to `wanted` bytes. If the disk has too little space, grows the file as far as possible
  /// and throws.
  mutating func grow(
    to wanted: UInt64, in directory: any OpenDirectory, platform: Platform
  ) throws(SystemFailure) {
    guard !isBlocked, bytes < wanted else { return }
    let file = try openOrCreate(in: directory)
    defer { file.close() }
    do throws(SystemFailure) {
      while bytes < wanted {
        let count = Int(min(wanted - bytes, Self.stepBytes))
        try file.writeAll(Self.block.rawSpan.extracting(first: count), at: bytes, platform: platform)
        bytes += UInt64(count)
      }
    } catch {
      // The failed write may still have added a part of the block.
      if let size = try? file.size() { bytes = max(bytes, size) }
      throw error
    }
  }

  private func openOrCreate(in directory: any OpenDirectory) throws(SystemFailure) -> any OpenFile {
    do throws(SystemFailure) {
      return try directory.openFile(StoreFile.reserve, .readAndWrite)
    } catch {
      guard error.isMissingFile else { throw error }
      return try directory.createFile(StoreFile.reserve)
    }
  }

  /// Deletes the file to free its space; returns false if there was no file or it could not be deleted.
  mutating func deleteFile(in directory: any OpenDirectory) -> Bool {
    guard bytes > 0, (try? directory.remove(StoreFile.reserve)) != nil else { return false }
    bytes = 0
    return true
  }

  /// The bytes that fill the file. They are not zeros, because a compressing file system would allocate no
  /// space for zeros.
  private static let block: [UInt8] = {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(Int(stepBytes))
    var state: UInt64 = 0x9E37_79B9_7F4A_7C15
    while bytes.count < Int(stepBytes) {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      bytes.append(littleEndian: state)
    }
    return bytes
  }()
}
