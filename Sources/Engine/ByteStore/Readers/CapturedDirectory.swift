// The captured files of a store, as a directory.

import Libc

/// A file system in which one directory is replaced by its captured files.
struct CapturedFileSystem: FileSystem {
  let base: any FileSystem
  let captured: CapturedDirectory

  func createDirectory(_ path: String) throws(SystemFailure) { try base.createDirectory(path) }

  func openDirectory(_ path: String) throws(SystemFailure) -> any OpenDirectory {
    path == captured.path ? captured : try base.openDirectory(path)
  }
}

/// A directory with exactly the captured files. They stay open until `release()`.
final class CapturedDirectory: OpenDirectory {
  let path: String
  private let files: Locked<[String: any OpenFile]>

  init(path: String, manifest: [UInt8]) {
    self.path = path
    let image = MemoryImage(
      path: "\(path)/\(StoreFile.manifest)", bytes: manifest, size: UInt64(manifest.count))
    files = Locked([StoreFile.manifest: image])
  }

  func add(_ file: any OpenFile, _ name: String) { files.withLock { $0[name] = file } }

  /// Drops the references to all files. A file that a segment or the checkpoint has opened stays open there.
  func release() { files.withLock { $0 = [:] } }

  func names() throws(SystemFailure) -> [String] { files.withLock { $0.keys.sorted() } }

  func kind(of name: String) throws(SystemFailure) -> EntryKind? {
    files.withLock { $0[name] } == nil ? nil : .file
  }

  func openFile(_ name: String, _ access: FileAccess) throws(SystemFailure) -> any OpenFile {
    guard let file = files.withLock({ $0[name] }) else { throw failure("open", name, code: ENOENT) }
    return SharedFile(file)
  }

  func createFile(_ name: String) throws(SystemFailure) -> any OpenFile {
    throw failure("create", name, code: EROFS)
  }

  func rename(_ name: String, to newName: String) throws(SystemFailure) {
    throw failure("rename", name, code: EROFS)
  }

  func remove(_ name: String) throws(SystemFailure) { throw failure("unlink", name, code: EROFS) }

  func sync() throws(SystemFailure) {}

  func durability() throws(SystemFailure) -> DurabilityReport {
    DurabilityReport(fileSystem: "", medium: .unknown, sync: .fdatasync)
  }

  func lock(_ name: String?, _ access: FileAccess) throws(SystemFailure) -> DirectoryLockResult {
    throw failure("flock", name ?? "", code: EROFS)
  }

  private func failure(_ operation: String, _ name: String, code: Int32) -> SystemFailure {
    SystemFailure(operation: operation, path: "\(path)/\(name)", code: code)
  }
}

/// A file with several users. It closes when the last of them has released it.
private struct SharedFile: OpenFile {
  private let file: any OpenFile

  init(_ file: any OpenFile) { self.file = file }

  var path: String { file.path }

  func size() throws(SystemFailure) -> UInt64 { try file.size() }

  func read(into buffer: inout MutableRawSpan, at offset: UInt64) throws(SystemFailure) -> Int {
    try file.read(into: &buffer, at: offset)
  }

  func write(_ bytes: RawSpan, at offset: UInt64) throws(SystemFailure) -> Int {
    throw SystemFailure(operation: "pwrite", path: path, code: EROFS)
  }

  func sync() throws(SystemFailure) {}

  func startReading(_ range: Range<UInt64>) { file.startReading(range) }

  func close() {}
}

/// The start of a file in memory. The rest of the file reads as zeros.
struct MemoryImage: OpenFile {
  let path: String
  let bytes: [UInt8]
  /// The size of the file, including the zeros.
  private let fileBytes: UInt64

  init(path: String, bytes: [UInt8], size: UInt64) {
    self.path = path
    self.bytes = bytes
    fileBytes = size
  }

  func size() throws(SystemFailure) -> UInt64 { fileBytes }

  func read(into buffer: inout MutableRawSpan, at offset: UInt64) throws(SystemFailure) -> Int {
    guard offset < fileBytes else { return 0 }
    let count = Int(min(UInt64(buffer.byteCount), fileBytes - offset))
    let copied = min(count, max(0, bytes.count - Int(clamping: offset)))
    unsafe buffer.withUnsafeMutableBytes { target in
      unsafe bytes.withUnsafeBytes { source in
        if copied > 0 {
          unsafe target.copyMemory(
            from: UnsafeRawBufferPointer(rebasing: source[Int(offset)..<Int(offset) + copied]))
        }
      }
      unsafe UnsafeMutableRawBufferPointer(rebasing: target[copied..<count]).initializeMemory(
        as: UInt8.self, repeating: 0)
    }
    return count
  }

  func write(_ bytes: RawSpan, at offset: UInt64) throws(SystemFailure) -> Int {
    throw SystemFailure(operation: "pwrite", path: path, code: EROFS)
  }

  func sync() throws(SystemFailure) {}

  func close() {}
}
