// A file system in memory, for databases without a disk.

import Libc

/// A separate, initially empty file system. Its content is freed when the last reference to it is released.
package final class MemoryFileSystem: FileSystem {
  private let directories = Locked(["/": MemoryDirectory("/"), ".": MemoryDirectory(".")])

  package init() {}

  package func createDirectory(_ path: String) throws(SystemFailure) {
    var prefix = path.hasPrefix("/") ? "" : "."
    for component in path.utf8.split(separator: UInt8(ascii: "/")) {
      prefix += "/" + String(decoding: component, as: UTF8.self)
      make(prefix)
    }
    make(path)
  }

  private func make(_ path: String) {
    directories.withLock { if $0[path] == nil { $0[path] = MemoryDirectory(path) } }
  }

  package func openDirectory(_ path: String) throws(SystemFailure) -> any OpenDirectory {
    guard let directory = directories.withLock({ $0[path] }) else {
      throw SystemFailure(operation: "open", path: path, code: ENOENT)
    }
    return directory
  }
}

private final class MemoryDirectory: OpenDirectory {
  let path: String
  private let files = Locked<[String: MemoryFile]>([:])
  private let isLocked = Locked(false)

  init(_ path: String) { self.path = path }

  func names() throws(SystemFailure) -> [String] { files.withLock { Array($0.keys) } }

  func kind(of name: String) throws(SystemFailure) -> EntryKind? {
    files.withLock { $0[name] == nil ? nil : .file }
  }

  func createFile(_ name: String) throws(SystemFailure) -> any OpenFile {
    let file = MemoryFile("\(path)/\(name)")
    let isNew = files.withLock { files in
      guard files[name] == nil else { return false }
      files[name] = file
      return true
    }
    guard isNew else { throw failure("open", name, code: EEXIST) }
    return file
  }

  func openFile(_ name: String, _ access: FileAccess) throws(SystemFailure) -> any OpenFile {
    guard let file = files.withLock({ $0[name] }) else { throw failure("open", name, code: ENOENT) }
    return file
  }

  func rename(_ name: String, to newName: String) throws(SystemFailure) {
    let isThere = files.withLock { files in
      guard let file = files.removeValue(forKey: name) else { return false }
      files[newName] = file
      return true
    }
    guard isThere else { throw failure("rename", name, code: ENOENT) }
  }

  func remove(_ name: String) throws(SystemFailure) {
    guard files.withLock({ $0.removeValue(forKey: name) }) != nil else {
      throw failure("unlink", name, code: ENOENT)
    }
  }

  func sync() throws(SystemFailure) {}

  func durability() throws(SystemFailure) -> DurabilityReport {
    DurabilityReport(fileSystem: "this process", medium: .memory, sync: .fsync)
  }

  func lock(_ name: String?, _ access: FileAccess) throws(SystemFailure) -> DirectoryLockResult {
    let isMine = isLocked.withLock { isLocked in
      defer { isLocked = true }
      return !isLocked
    }
    return isMine ? .acquired(MemoryLock(isLocked)) : .held(by: getpid())
  }

  private func failure(_ operation: String, _ name: String, code: Int32) -> SystemFailure {
    SystemFailure(operation: operation, path: "\(path)/\(name)", code: code)
  }
}

private final class MemoryLock: DirectoryLock {
  private let isLocked: Locked<Bool>

  init(_ isLocked: Locked<Bool>) { self.isLocked = isLocked }

  func release() { isLocked.withLock { $0 = false } }
}

/// A file stored in chunks. A chunk that was never written, or only with zeros, takes no memory.
private final class MemoryFile: OpenFile {
  private static let chunkBytes = 64 << 10

  let path: String
  private let state = Locked(State())

  private struct State {
    var size = 0
    var chunks: [Int: [UInt8]] = [:]
  }

  init(_ path: String) { self.path = path }

  func size() throws(SystemFailure) -> UInt64 { state.withLock { UInt64($0.size) } }

  func read(into buffer: inout MutableRawSpan, at offset: UInt64) throws(SystemFailure) -> Int {
    unsafe buffer.withUnsafeMutableBytes { buffer in
      state.withLock { state in
        guard offset < UInt64(state.size) else { return 0 }
        let start = Int(offset)
        let count = min(buffer.count, state.size - start)
        for piece in Self.pieces(start, count) {
          let target = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[piece.inBuffer])
          guard let chunk = state.chunks[piece.chunk] else {
            unsafe target.initializeMemory(as: UInt8.self, repeating: 0)
            continue
          }
          unsafe target.copyBytes(from: chunk[piece.inChunk])
        }
        return count
      }
    }
  }

  func write(_ bytes: RawSpan, at offset: UInt64) throws(SystemFailure) -> Int {
    guard let start = Int(exactly: offset), start <= Int.max - bytes.byteCount else {
      throw SystemFailure(operation: "pwrite", path: path, code: EFBIG)
    }
    return unsafe bytes.withUnsafeBytes { bytes in
      state.withLock { state in
        state.size = max(state.size, start + bytes.count)
        for piece in Self.pieces(start, bytes.count) {
          let source = unsafe UnsafeRawBufferPointer(rebasing: bytes[piece.inBuffer])
          if state.chunks[piece.chunk] == nil, unsafe source.allSatisfy({ $0 == 0 }) { continue }
          unsafe state.chunks[piece.chunk, default: Self.zeros].replaceSubrange(piece.inChunk, with: source)
        }
        return bytes.count
      }
    }
  }

  func sync() throws(SystemFailure) {}

  func close() {}

  private static let zeros = [UInt8](repeating: 0, count: chunkBytes)

  private struct Piece {
    var chunk: Int
    var inChunk: Range<Int>
    var inBuffer: Range<Int>
  }

  /// Splits a range of the file into pieces that each lie in one chunk.
  private static func pieces(_ start: Int, _ count: Int) -> [Piece] {
    var pieces: [Piece] = []
    var done = 0
    while done < count {
      let (chunk, place) = (start + done).quotientAndRemainder(dividingBy: chunkBytes)
      let size = min(count - done, chunkBytes - place)
      pieces.append(Piece(chunk: chunk, inChunk: place..<place + size, inBuffer: done..<done + size))
      done += size
    }
    return pieces
  }
}

extension Platform {
  /// The real clock and random source with a file system in memory.
  package static var memory: Platform {
    Platform(fileSystem: MemoryFileSystem(), clock: SystemClock(), random: SystemRandom())
  }
}
