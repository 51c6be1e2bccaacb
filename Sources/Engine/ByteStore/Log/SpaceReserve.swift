// A file that reserves space for a full disk (docs/reliability.md, C11).
//
// Freeing space needs a flush, and a flush itself needs space. It writes a checkpoint, a segment with
// the live entries of the WAL, and a small log. The checkpoint may omit the upper layer's pages that can
// be rebuilt. RESERVE has the size of all these, plus a log for removals. It is created before any log
// that accepts puts. When a flush or a removal finds the disk full, the file is deleted. Once there is
// room, it is created again, as large as the disk allows. No put goes to a new log until it has its full
// size. Its bytes are meaningless, so it is never synced. If it is missing after a crash, it is created
// again.

/// The file `RESERVE` of a store. Only the leader uses it, or a thread with exclusive access to the
/// directory.
struct SpaceReserve {
  /// The current size of the file.
  private(set) var bytes: UInt64
  /// A link, a pipe or a directory has the file's name. A check reports this, and no reserve is created.
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

  /// The largest size that a flush needs: a checkpoint with an eighth on top, a memtable segment, and
  /// the first pages of new files. For the memtable at most 8 MiB are reserved, because compression and
  /// deletes shrink it.
  static func flushBytes(checkpointBytes: UInt64, memtableBytes: UInt64) -> UInt64 {
    checkpointBytes + checkpointBytes / 8 + min(memtableBytes, 8 << 20) + (64 << 10)
  }

  /// The size of one growth step; other work can run between steps.
  static let stepBytes: UInt64 = 64 << 10

  /// Grows the file to `wanted` bytes. If the disk is too full, the file becomes as large as possible,
  /// and this throws.
  mutating func grow(
    to wanted: UInt64, in directory: any OpenDirectory, _ platform: Platform
  ) throws(SystemFailure) {
    guard !isBlocked, bytes < wanted else { return }
    let file = try openOrCreate(in: directory)
    defer { file.close() }
    do throws(SystemFailure) {
      while bytes < wanted {
        let count = Int(min(wanted - bytes, Self.stepBytes))
        try file.writeAll(Self.block.rawSpan.extracting(first: count), at: bytes, platform)
        bytes += UInt64(count)
      }
    } catch {
      // The file may contain a part of the last block.
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

  /// Deletes the file to free its space; returns false if there was none.
  mutating func deleteFile(in directory: any OpenDirectory) -> Bool {
    guard bytes > 0, (try? directory.remove(StoreFile.reserve)) != nil else { return false }
    bytes = 0
    return true
  }

  /// Not zeros, because a compressing file system would allocate no space for them.
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
