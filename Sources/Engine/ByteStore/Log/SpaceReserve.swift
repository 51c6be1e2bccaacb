// Space that is kept for the day on which the disk is full (docs/reliability.md, C11).
//
// What needs space to give space back is a flush: a checkpoint, without the pages of the layer above that can be found
// again; a segment for what lives in the logs; a small log. A file of that size, and of a log for removals, is made
// before a log that takes puts: RESERVE. When a flush or a removal finds no room, the file is removed, and made anew
// when there is room again: as large as it can be, and no put is let into a new log before it is whole. Its bytes mean
// nothing, so that it is never synced, and one that is gone after a crash is made anew as well.

/// The file `RESERVE` of a store. Used by the leader, or by who has the directory to itself.
struct SpaceReserve {
  /// Of the file as it is.
  private(set) var bytes: UInt64
  /// A link, a pipe or a folder has its name, which a check reports: then there is none, and none is made.
  let isBlocked: Bool

  init(bytes: UInt64 = 0, isBlocked: Bool = false) {
    self.bytes = bytes
    self.isBlocked = isBlocked
  }

  /// The one that an earlier opening left.
  static func find(in directory: any OpenDirectory) throws(SystemFailure) -> SpaceReserve {
    let file = try directory.openFile(StoreFile.reserve, .read)
    defer { file.close() }
    return SpaceReserve(bytes: try file.size())
  }

  /// What a flush takes at most: a checkpoint and what else is written of it, a segment for the tail, and
  /// the first pages of new files. Of a large tail, only so much is kept room for: compression makes it less,
  /// and so does whoever deletes.
  static func flushBytes(checkpointBytes: UInt64, tailBytes: UInt64) -> UInt64 {
    checkpointBytes + checkpointBytes / 8 + min(tailBytes, 8 << 20) + (64 << 10)
  }

  /// One step of a growth that leaves room for others in between.
  static let stepBytes: UInt64 = 64 << 10

  /// Makes the file larger if it is smaller. If the disk has no room for that, it is as large as it can be.
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
      // A part of the last block may be there.
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

  /// Gives its space to the disk; false if there is none.
  mutating func giveUp(in directory: any OpenDirectory) -> Bool {
    guard bytes > 0, (try? directory.remove(StoreFile.reserve)) != nil else { return false }
    bytes = 0
    return true
  }

  /// Not zeros: a file system that compresses would keep no space for them.
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
