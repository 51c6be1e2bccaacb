// A file system that asks the test before it opens or reads a file.

import ByteStore

/// Another file system whose opens and reads can fail, or run a function of the test first.
struct InterceptedFileSystem: FileSystem {
  let base: any FileSystem
  let interception = Interception()

  final class Interception: Sendable {
    typealias Check = @Sendable (_ call: String) throws(SystemFailure) -> Void

    private let check = Locked<Check?>(nil)

    /// Calls `check` before each open and each read, with a text such as `open MANIFEST` or
    /// `read log-0000000001`; nil ends that.
    func set(_ check: Check?) {
      let old = self.check.withLock { current in
        defer { current = check }
        return current
      }
      // Released outside the lock, because it may hold the last reference to a store.
      withExtendedLifetime(old) {}
    }

    fileprivate func run(_ call: String) throws(SystemFailure) {
      if let check = check.withLock({ $0 }) { try check(call) }
    }
  }

  func createDirectory(_ path: String) throws(SystemFailure) { try base.createDirectory(path) }

  func openDirectory(_ path: String) throws(SystemFailure) -> any OpenDirectory {
    InterceptedDirectory(base: try base.openDirectory(path), interception: interception)
  }
}

private struct InterceptedDirectory: OpenDirectory {
  let base: any OpenDirectory
  let interception: InterceptedFileSystem.Interception

  var path: String { base.path }

  func names() throws(SystemFailure) -> [String] { try base.names() }

  func kind(of name: String) throws(SystemFailure) -> EntryKind? { try base.kind(of: name) }

  func createFile(_ name: String) throws(SystemFailure) -> any OpenFile { try base.createFile(name) }

  func openFile(_ name: String, _ access: FileAccess) throws(SystemFailure) -> any OpenFile {
    try interception.run("open \(name)")
    return InterceptedFile(base: try base.openFile(name, access), name: name, interception: interception)
  }

  func rename(_ name: String, to newName: String) throws(SystemFailure) {
    try base.rename(name, to: newName)
  }

  func remove(_ name: String) throws(SystemFailure) { try base.remove(name) }

  func sync() throws(SystemFailure) { try base.sync() }

  func durability() throws(SystemFailure) -> DurabilityReport { try base.durability() }

  func lock(_ name: String?, _ access: FileAccess) throws(SystemFailure) -> DirectoryLockResult {
    try base.lock(name, access)
  }

  func readerLock(_ name: String, _ access: FileAccess) throws(SystemFailure) -> (any ReaderLock)? {
    try base.readerLock(name, access)
  }
}

private struct InterceptedFile: OpenFile {
  let base: any OpenFile
  let name: String
  let interception: InterceptedFileSystem.Interception

  var path: String { base.path }

  func size() throws(SystemFailure) -> UInt64 { try base.size() }

  func read(into buffer: inout MutableRawSpan, at offset: UInt64) throws(SystemFailure) -> Int {
    try interception.run("read \(name)")
    return try base.read(into: &buffer, at: offset)
  }

  func write(_ bytes: RawSpan, at offset: UInt64) throws(SystemFailure) -> Int {
    try base.write(bytes, at: offset)
  }

  func sync() throws(SystemFailure) { try base.sync() }

  func close() { base.close() }
}
