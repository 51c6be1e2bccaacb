// The seam on a real kernel. All system calls on files and directories are here.
//
// Ownership: a `Descriptor` is the one owner of its number and closes it once. Buffers are borrowed for
// the length of a call.

internal import CFileSystem
import Synchronization

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

package struct PosixFileSystem: FileSystem {
  package init() {}

  package func createDirectory(_ path: String) throws(SystemFailure) {
    var prefix = path.hasPrefix("/") ? "" : "."
    for component in path.utf8.split(separator: UInt8(ascii: "/")).map({ String(Substring($0)) }) {
      let parent = prefix.isEmpty ? "/" : prefix
      prefix += "/\(component)"
      let isNew = unsafe mkdir(prefix, 0o700) == 0
      guard isNew || errno == EEXIST || errno == EISDIR else {
        throw SystemFailure(operation: "mkdir", path: prefix, code: errno)
      }
      // One that exists may have been made by a process that died before its sync.
      do throws(SystemFailure) {
        try openDirectory(parent).sync()
      } catch {
        // Directories of the system that we may pass through and not read: none of them is new.
        guard !isNew, error.code == EACCES else {
          // Gone again, so that the next open makes it, and does not take it for durable.
          if isNew { _ = unsafe rmdir(prefix) }
          throw error
        }
      }
    }
  }

  package func openDirectory(_ path: String) throws(SystemFailure) -> any OpenDirectory {
    let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw SystemFailure(operation: "open", path: path, code: errno) }
    return PosixDirectory(path: path, descriptor: Descriptor(descriptor))
  }
}

private final class PosixDirectory: OpenDirectory {
  let path: String
  private let descriptor: Descriptor

  init(path: String, descriptor: Descriptor) {
    self.path = path
    self.descriptor = descriptor
  }

  func names() throws(SystemFailure) -> [String] {
    // A descriptor of its own: the stream takes it over and moves its position.
    let copy = unsafe openat(descriptor.number, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard copy >= 0 else { throw failure("open", nil) }
    guard let stream = unsafe fdopendir(copy) else {
      let failure = failure("fdopendir", nil)
      Descriptor(copy).close()
      throw failure
    }
    defer { unsafe closedir(stream) }
    var names: [String] = []
    while true {
      errno = 0
      guard let entry = unsafe readdir(stream) else { break }
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { tuple in
        unsafe tuple.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    guard errno == 0 else { throw failure("readdir", nil) }
    return names
  }

  func createFile(_ name: String) throws(SystemFailure) -> any OpenFile {
    let file = unsafe openat(
      descriptor.number, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw failure("create", name) }
    return PosixFile(path: "\(path)/\(name)", descriptor: Descriptor(file))
  }

  func openFile(_ name: String, _ access: FileAccess) throws(SystemFailure) -> any OpenFile {
    let mode = access == .read ? O_RDONLY : O_RDWR
    // Without blocking: a pipe that lies there would keep us waiting for its other end.
    let file = unsafe openat(descriptor.number, name, mode | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard file >= 0 else { throw failure("open", name) }
    let owner = Descriptor(file)
    var status = stat()
    guard unsafe fstat(file, &status) == 0 else { throw failure("fstat", name) }
    guard status.st_mode & S_IFMT == S_IFREG else {
      errno = EINVAL
      throw failure("open", name)
    }
    return PosixFile(path: "\(path)/\(name)", descriptor: owner)
  }

  func rename(_ name: String, to newName: String) throws(SystemFailure) {
    guard unsafe renameat(descriptor.number, name, descriptor.number, newName) == 0 else {
      throw failure("rename", name)
    }
  }

  func remove(_ name: String) throws(SystemFailure) {
    guard unsafe unlinkat(descriptor.number, name, 0) == 0 else { throw failure("unlink", name) }
  }

  func sync() throws(SystemFailure) {
    guard fsync(descriptor.number) == 0 else { throw failure("fsync", nil) }
  }

  func durability() throws(SystemFailure) -> DurabilityReport {
    #if canImport(Darwin)
    var status = statfs()
    guard unsafe fstatfs(descriptor.number, &status) == 0 else { throw failure("fstatfs", nil) }
    let name = unsafe withUnsafePointer(to: &status.f_fstypename) { tuple in
      unsafe tuple.withMemoryRebound(to: CChar.self, capacity: 16) { unsafe String(cString: $0) }
    }
    // A directory takes the same calls as its files.
    let hasFullFlush = fcntl(descriptor.number, F_FULLFSYNC) == 0
    return .darwin(
      typeName: name, isLocal: status.f_flags & UInt32(MNT_LOCAL) != 0, hasFullFlush: hasFullFlush)
    #else
    while true {
      let type = dugout_file_system_type(descriptor.number)
      if type >= 0 { return .linux(type: UInt32(truncatingIfNeeded: type)) }
      guard errno == EINTR else { throw failure("fstatfs", nil) }
    }
    #endif
  }

  func lock(_ name: String, _ access: FileAccess) throws(SystemFailure) -> DirectoryLockResult {
    let flags = access == .read ? O_RDONLY : O_RDWR | O_CREAT
    let file = unsafe openat(descriptor.number, name, flags | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw failure("open", name) }
    return try PosixLock.acquire(Descriptor(file), access, path: "\(path)/\(name)")
  }

  private func failure(_ operation: String, _ name: String?) -> SystemFailure {
    SystemFailure(operation: operation, path: name.map { "\(path)/\($0)" } ?? path, code: errno)
  }
}

private final class PosixFile: OpenFile {
  let path: String
  private let descriptor: Descriptor

  init(path: String, descriptor: Descriptor) {
    self.path = path
    self.descriptor = descriptor
  }

  func size() throws(SystemFailure) -> UInt64 {
    var status = stat()
    guard unsafe fstat(descriptor.number, &status) == 0 else { throw failure("fstat") }
    return UInt64(status.st_size)
  }

  func read(into buffer: inout MutableRawSpan, at offset: UInt64) throws(SystemFailure) -> Int {
    let got = unsafe buffer.withUnsafeMutableBytes {
      unsafe pread(descriptor.number, $0.baseAddress, $0.count, off_t(offset))
    }
    guard got >= 0 else { throw failure("pread") }
    return got
  }

  func write(_ bytes: RawSpan, at offset: UInt64) throws(SystemFailure) -> Int {
    let taken = unsafe bytes.withUnsafeBytes {
      unsafe pwrite(descriptor.number, $0.baseAddress, $0.count, off_t(offset))
    }
    guard taken >= 0 else { throw failure("pwrite") }
    return taken
  }

  func sync() throws(SystemFailure) {
    #if canImport(Darwin)
    if fcntl(descriptor.number, F_FULLFSYNC) == 0 { return }
    // Some file systems do not know the full flush; what the plain one promises is all they have.
    // Any other failure is one.
    guard errno == ENOTSUP || errno == EINVAL || errno == ENOTTY else { throw failure("fullfsync") }
    guard fsync(descriptor.number) == 0 else { throw failure("fsync") }
    #else
    guard fdatasync(descriptor.number) == 0 else { throw failure("fdatasync") }
    #endif
  }

  func close() { descriptor.close() }

  private func failure(_ operation: String) -> SystemFailure {
    SystemFailure(operation: operation, path: path, code: errno)
  }
}

/// flock, because a record lock vanishes with any descriptor of its file. A list of what this process
/// holds stands beside it, for file systems on which flock does not exclude the same process.
private final class PosixLock: DirectoryLock {
  private struct Identity: Hashable {
    var device: UInt64
    var inode: UInt64
  }

  private static let held = Locked<Set<Identity>>([])

  private let descriptor: Descriptor
  private let identity: Identity
  private let processID = getpid()

  private init(descriptor: Descriptor, identity: Identity) {
    self.descriptor = descriptor
    self.identity = identity
  }

  deinit { release() }

  static func acquire(
    _ file: Descriptor, _ access: FileAccess, path: String
  ) throws(SystemFailure) -> DirectoryLockResult {
    var status = stat()
    guard unsafe fstat(file.number, &status) == 0 else {
      throw SystemFailure(operation: "fstat", path: path, code: errno)
    }
    let identity = Identity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
    guard held.withLock({ $0.insert(identity).inserted }) else {
      file.close()
      return .held(by: getpid())
    }
    guard flock(file.number, LOCK_EX | LOCK_NB) == 0 else {
      let code = errno
      let holder = recordedHolder(in: file)
      held.withLock { _ = $0.remove(identity) }
      file.close()
      if code == EWOULDBLOCK { return .held(by: holder) }
      throw SystemFailure(operation: "flock", path: path, code: code)
    }
    if access == .readAndWrite { recordHolder(in: file) }
    return .acquired(PosixLock(descriptor: file, identity: identity))
  }

  func release() {
    // A forked child shares the lock and must leave it alone when it cleans up.
    guard descriptor.close(unlocking: processID == getpid()) else { return }
    Self.held.withLock { _ = $0.remove(identity) }
  }

  /// The process number that the holder wrote, if it reads like one. Only for the text of an error.
  private static func recordedHolder(in file: Descriptor) -> Int32? {
    var text = [UInt8](repeating: 0, count: 16)
    let got = unsafe pread(file.number, &text, text.count, 0)
    guard got > 0 else { return nil }
    return Int32(String(decoding: text[..<got].prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
  }

  private static func recordHolder(in file: Descriptor) {
    // A courtesy to whoever finds the store locked; the lock holds without it, so errors do not count.
    let text = Array("\(getpid())\n".utf8)
    _ = ftruncate(file.number, 0)
    _ = unsafe pwrite(file.number, text, text.count, 0)
  }
}

/// The one owner of a descriptor: closes it once, when told to or when released.
private final class Descriptor: Sendable {
  let number: Int32
  private let isOpen = Atomic(true)

  init(_ number: Int32) { self.number = number }

  deinit { close() }

  /// True for the call that really closed it. To unlock is not left to the closing: a child that was
  /// forked and is not yet another program holds a copy of the descriptor, and with it the lock.
  @discardableResult
  func close(unlocking: Bool = false) -> Bool {
    guard isOpen.exchange(false, ordering: .acquiringAndReleasing) else { return false }
    if unlocking { _ = flock(number, LOCK_UN) }
    #if canImport(Darwin)
    _ = Darwin.close(number)
    #elseif canImport(Musl)
    _ = Musl.close(number)
    #else
    _ = Glibc.close(number)
    #endif
    return true
  }
}
