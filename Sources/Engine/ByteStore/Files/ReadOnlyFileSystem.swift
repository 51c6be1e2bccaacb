// A directory that is read but never written. The writes of an open are kept in memory.
//
// An open rewrites the bytes of the last group, deletes leftovers and creates a missing manifest. With this
// file system, only the store that made these changes sees them, and they are discarded together with the
// store.

import Libc
import Synchronization

/// Another file system, with one directory and the directories in it protected against changes.
package struct ReadOnlyFileSystem: FileSystem {
  private let base: any FileSystem
  private let protected: String

  package init(base: any FileSystem, protected: String) {
    self.base = base
    self.protected = protected
  }

  package func createDirectory(_ path: String) throws(SystemFailure) {
    guard !isProtected(path) else {
      throw SystemFailure(operation: "mkdir", path: path, code: EROFS)
    }
    try base.createDirectory(path)
  }

  package func openDirectory(_ path: String) throws(SystemFailure) -> any OpenDirectory {
    let directory = try base.openDirectory(path)
    return isProtected(path) ? ReadOnlyDirectory(directory) : directory
  }

  private func isProtected(_ path: String) -> Bool {
    path == protected || path.hasPrefix(protected + "/")
  }
}

/// Names and bytes as they would be if all writes had been applied.
private final class ReadOnlyDirectory: OpenDirectory {
  private let base: any OpenDirectory
  /// Differences from the disk: opened, created and renamed files; nil marks a deleted file.
  private let changes = Locked<[String: ReadOnlyContent?]>([:])

  init(_ base: any OpenDirectory) { self.base = base }

  var path: String { base.path }

  func isAtItsPath() -> Bool { base.isAtItsPath() }

  func names() throws(SystemFailure) -> [String] {
    let found = try base.names()
    return changes.withLock { changes in
      found.filter { changes[$0] == nil } + changes.compactMap { $0.value == nil ? nil : $0.key }
    }
  }

  func kind(of name: String) throws(SystemFailure) -> EntryKind? {
    switch changes.withLock({ $0[name] }) {
    case .some(.some): .file
    case .some(nil): nil
    case nil: try base.kind(of: name)
    }
  }

  func createFile(_ name: String) throws(SystemFailure) -> any OpenFile {
    guard try !names().contains(name) else { throw failure("open", name, code: EEXIST) }
    let content = ReadOnlyContent(name: nil)
    changes.withLock { $0[name] = .some(content) }
    return ReadOnlyFile("\(path)/\(name)", nil, content: content)
  }

  func openFile(_ name: String, _ access: FileAccess) throws(SystemFailure) -> any OpenFile {
    let known = changes.withLock { $0[name] }
    if case .some(nil) = known { throw failure("open", name, code: ENOENT) }
    let content = (known ?? nil) ?? ReadOnlyContent(name: name)
    let file = try content.name.map { name throws(SystemFailure) in try base.openFile(name, .read) }
    // Another thread may have opened the file meanwhile. All openers of a file must share the same written
    // pages.
    let shared = changes.withLock { changes in
      if case .some(.some(let other)) = changes[name] { return other }
      changes[name] = .some(content)
      return content
    }
    return ReadOnlyFile("\(path)/\(name)", file, content: shared)
  }

  func rename(_ name: String, to newName: String) throws(SystemFailure) {
    guard try names().contains(name) else { throw failure("rename", name, code: ENOENT) }
    changes.withLock { changes in
      changes[newName] = .some((changes[name] ?? nil) ?? ReadOnlyContent(name: name))
      changes[name] = .some(nil)
    }
  }

  func remove(_ name: String) throws(SystemFailure) {
    guard try names().contains(name) else { throw failure("unlink", name, code: ENOENT) }
    changes.withLock { $0[name] = .some(nil) }
  }

  func sync() throws(SystemFailure) {}

  func durability() throws(SystemFailure) -> DurabilityReport { try base.durability() }

  func lock(_ name: String?, _ access: FileAccess) throws(SystemFailure) -> DirectoryLockResult {
    try base.lock(name, .read)
  }

  private func failure(_ operation: String, _ name: String, code: Int32) -> SystemFailure {
    SystemFailure(operation: operation, path: "\(path)/\(name)", code: code)
  }
}

/// The pages written to a file. All other pages are read from the disk.
private final class ReadOnlyContent: Sendable {
  static let pageBytes = 4096

  struct State {
    /// The size of the file; nil while it equals the size on disk.
    var size: UInt64?
    var pages: [UInt64: [UInt8]] = [:]
  }

  /// The name on disk; nil for a new file.
  let name: String?
  let state = Locked(State())

  init(name: String?) { self.name = name }
}

private final class ReadOnlyFile: OpenFile {
  let path: String
  private let base: (any OpenFile)?
  private let content: ReadOnlyContent

  init(_ path: String, _ base: (any OpenFile)?, content: ReadOnlyContent) {
    self.path = path
    self.base = base
    self.content = content
  }

  func startReading(_ range: Range<UInt64>) { base?.startReading(range) }

  func size() throws(SystemFailure) -> UInt64 {
    if let size = content.state.withLock({ $0.size }) { return size }
    return try base?.size() ?? 0
  }

  func read(into buffer: inout MutableRawSpan, at offset: UInt64) throws(SystemFailure) -> Int {
    let left = try size().subtractingReportingOverflow(offset)
    guard !left.overflow, left.partialValue > 0 else { return 0 }
    // A short transfer: it ends at the point where the bytes stop coming from memory and start coming from
    // disk, or the reverse.
    let (page, place) = Self.page(at: offset)
    let inPage = min(UInt64(ReadOnlyContent.pageBytes - place), left.partialValue, UInt64(buffer.byteCount))
    if let written = content.state.withLock({ $0.pages[page] }) {
      for index in 0..<Int(inPage) {
        buffer.storeBytes(of: written[place + index], toByteOffset: index, as: UInt8.self)
      }
      return Int(inPage)
    }
    let isUntouched = content.state.withLock { $0.pages.isEmpty }
    let wanted = isUntouched ? min(left.partialValue, UInt64(buffer.byteCount)) : inPage
    if let base {
      var window = buffer._mutatingExtracting(first: Int(wanted))
      let count = try base.read(into: &window, at: offset)
      guard count == 0 else { return count }
    }
    // A hole between the end of the file on disk and bytes that were written after it.
    for index in 0..<Int(inPage) { buffer.storeBytes(of: 0, toByteOffset: index, as: UInt8.self) }
    return Int(inPage)
  }

  func write(_ bytes: RawSpan, at offset: UInt64) throws(SystemFailure) -> Int {
    guard bytes.byteCount > 0 else { return 0 }
    let (page, place) = Self.page(at: offset)
    let count = min(bytes.byteCount, ReadOnlyContent.pageBytes - place)
    let size = try size()
    let known = content.state.withLock { $0.pages[page] }
    var written = if let known { known } else { try pageOnDisk(page) }
    written.replaceSubrange(place..<place + count, with: [UInt8](copying: bytes.extracting(first: count)))
    content.state.withLock { [written] state in
      state.pages[page] = written
      state.size = max(size, offset + UInt64(count))
    }
    return count
  }

  private func pageOnDisk(_ page: UInt64) throws(SystemFailure) -> [UInt8] {
    let bytes =
      try base?.readAll(ReadOnlyContent.pageBytes, at: page * UInt64(ReadOnlyContent.pageBytes)) ?? []
    return bytes + [UInt8](repeating: 0, count: ReadOnlyContent.pageBytes - bytes.count)
  }

  private static func page(at offset: UInt64) -> (page: UInt64, place: Int) {
    let (page, place) = offset.quotientAndRemainder(dividingBy: UInt64(ReadOnlyContent.pageBytes))
    return (page, Int(place))
  }

  func sync() throws(SystemFailure) {}

  func close() { base?.close() }
}
