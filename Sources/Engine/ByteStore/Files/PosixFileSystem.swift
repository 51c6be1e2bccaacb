// The file system interface on a real kernel. It contains all system calls on files and directories.
//
// Ownership: a `Descriptor` owns its file descriptor and closes it once. Buffers are borrowed for the
// duration of a call.

internal import CFileSystem
import Libc
import Synchronization

package struct PosixFileSystem: FileSystem {
  package init() {}

  package func createDirectory(_ path: String) throws(SystemFailure) {
    try refuseNul(in: path, "mkdir")
    var prefix = path.hasPrefix("/") ? "" : "."
    for component in path.utf8.split(separator: UInt8(ascii: "/")).map({ String(Substring($0)) }) {
      let parent = prefix.isEmpty ? "/" : prefix
      prefix += "/\(component)"
      let isNew = unsafe mkdir(prefix, 0o700) == 0
      guard isNew || errno == EEXIST || errno == EISDIR else {
        throw SystemFailure(operation: "mkdir", path: prefix, code: errno)
      }
      // Sets the full mode again, because the umask may have removed bits.
      if isNew { _ = unsafe chmod(prefix, 0o700) }
      // An existing directory may have been created by a process that died before it synced the parent
      // directory.
      do throws(SystemFailure) {
        try openDirectory(parent).sync()
      } catch {
        // A system directory that we may traverse but not read. It is not new.
        guard !isNew, error.code == EACCES else {
          // The new directory is removed, so that the next open creates it again and does not assume that it
          // is durable.
          if isNew { _ = unsafe rmdir(prefix) }
          throw error
        }
      }
    }
  }

  package func openDirectory(_ path: String) throws(SystemFailure) -> any OpenDirectory {
    try refuseNul(in: path, "open")
    let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw SystemFailure(operation: "open", path: path, code: errno) }
    return PosixDirectory(path: path, descriptor: Descriptor(descriptor))
  }
}

/// Throws if the path contains a NUL, because the system would use the text before the NUL as the whole path.
private func refuseNul(in path: String, _ operation: String) throws(SystemFailure) {
  guard path.utf8.contains(0) else { return }
  throw SystemFailure(operation: operation, path: StorePath.escaped(path), code: EINVAL)
}

private final class PosixDirectory: OpenDirectory {
  let path: String
  private let descriptor: Descriptor
  /// The path at the time of the open, from the root; nil if the system does not tell.
  private let absolutePath: String?

  init(path: String, descriptor: Descriptor) {
    self.path = path
    self.descriptor = descriptor
    absolutePath = path.hasPrefix("/") ? path : Self.workingDirectory.map { "\($0)/\(path)" }
  }

  private static var workingDirectory: String? {
    var text = [CChar](repeating: 0, count: Int(PATH_MAX))
    guard unsafe getcwd(&text, text.count) != nil else { return nil }
    return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  func isAtItsPath() -> Bool {
    var (own, found) = (stat(), stat())
    guard let absolutePath, unsafe fstat(descriptor.number, &own) == 0 else { return true }
    guard unsafe stat(absolutePath, &found) == 0 else { return errno != ENOENT && errno != ENOTDIR }
    return own.st_dev == found.st_dev && own.st_ino == found.st_ino
  }

  func names() throws(SystemFailure) -> [String] {
    // `fdopendir` takes ownership of its descriptor and moves the descriptor's position, so it gets a
    // separate descriptor.
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

  func kind(of name: String) throws(SystemFailure) -> EntryKind? {
    try refuseNul(in: name, "lstat")
    var status = stat()
    guard unsafe fstatat(descriptor.number, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
      guard errno == ENOENT else { throw failure("lstat", name) }
      return nil
    }
    return EntryKind(mode: status.st_mode)
  }

  func createFile(_ name: String) throws(SystemFailure) -> any OpenFile {
    try refuseNul(in: name, "create")
    let file = unsafe openat(
      descriptor.number, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw failure("create", name).withObstacle(obstacle(name)) }
    let owner = Descriptor(file)
    // The umask may have removed permissions that the next open needs. A file system without modes reports a
    // mode of its own.
    var status = stat()
    guard unsafe fstat(file, &status) == 0 else { throw failure("fstat", name) }
    if status.st_mode & 0o777 != 0o600, fchmod(file, 0o600) != 0, status.st_mode & 0o600 != 0o600 {
      throw failure("fchmod", name)
    }
    return PosixFile(path: "\(path)/\(name)", descriptor: owner)
  }

  func openFile(_ name: String, _ access: FileAccess) throws(SystemFailure) -> any OpenFile {
    try refuseNul(in: name, "open")
    let mode = access == .read ? O_RDONLY : O_RDWR
    // `O_NONBLOCK` is set because opening a pipe would otherwise wait until another process opens the other
    // end.
    let file = unsafe openat(descriptor.number, name, mode | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard file >= 0 else { throw failure("open", name).withObstacle(obstacle(name)) }
    return PosixFile(path: "\(path)/\(name)", descriptor: try plainFile(file, name))
  }

  /// Takes ownership of the descriptor.
  private func plainFile(_ file: Int32, _ name: String) throws(SystemFailure) -> Descriptor {
    let owner = Descriptor(file)
    var status = stat()
    guard unsafe fstat(file, &status) == 0 else { throw failure("fstat", name) }
    guard let kind = EntryKind(mode: status.st_mode), kind != .file else { return owner }
    throw SystemFailure(operation: "open", path: "\(path)/\(name)", code: EINVAL, found: kind)
  }

  func rename(_ name: String, to newName: String) throws(SystemFailure) {
    try refuseNul(in: name, "rename")
    try refuseNul(in: newName, "rename")
    guard unsafe renameat(descriptor.number, name, descriptor.number, newName) == 0 else {
      let failure = failure("rename", name)
      guard let obstacle = obstacle(newName) else { throw failure }
      throw SystemFailure(
        operation: failure.operation, path: "\(path)/\(newName)", code: failure.code, found: obstacle)
    }
  }

  func remove(_ name: String) throws(SystemFailure) {
    try refuseNul(in: name, "unlink")
    guard unsafe unlinkat(descriptor.number, name, 0) == 0 else {
      throw failure("unlink", name).withObstacle(obstacle(name))
    }
  }

  /// The kind of an entry that is not a regular file; nil for a file or no entry.
  private func obstacle(_ name: String) -> EntryKind? {
    guard let kind = try? kind(of: name), kind != .file else { return nil }
    return kind
  }

  func sync() throws(SystemFailure) {
    #if canImport(Darwin)
    try fullSync(descriptor, path)
    #else
    guard fsync(descriptor.number) == 0 else { throw failure("fsync", nil) }
    #endif
  }

  func durability() throws(SystemFailure) -> DurabilityReport {
    #if canImport(Darwin)
    var status = statfs()
    guard unsafe fstatfs(descriptor.number, &status) == 0 else { throw failure("fstatfs", nil) }
    let name = unsafe withUnsafePointer(to: &status.f_fstypename) { tuple in
      unsafe tuple.withMemoryRebound(to: CChar.self, capacity: 16) { unsafe String(cString: $0) }
    }
    // A directory supports the same sync calls as the files in it.
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

  /// Locks the directory first and then the lock file. Before the first writer has run, there is no lock
  /// file, and a reader may not create one. The lock of the directory alone still lets such a reader exclude
  /// later writers. On media where nothing can be locked, no writer can open the store, and a reader
  /// continues without a lock.
  func lock(_ name: String?, _ access: FileAccess) throws(SystemFailure) -> DirectoryLockResult {
    let place = unsafe openat(descriptor.number, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard place >= 0 else { throw failure("open", nil) }
    var whole: PosixLock?
    do throws(SystemFailure) {
      switch try PosixLock.acquire(Descriptor(place), access, path: path) {
      case .acquired(let lock): whole = lock
      case .held(let holder): return .held(by: holder ?? name.flatMap(recordedHolder))
      }
    } catch {
      // If directories cannot be locked, the lock file still excludes writers from each other.
      guard name != nil || access == .read, error.operation == PosixLock.operation else { throw error }
    }
    guard let name, let file = try openLock(name, access, isOptional: whole != nil) else {
      return .acquired(PosixLockPair(whole, nil))
    }
    do throws(SystemFailure) {
      switch try PosixLock.acquire(file, access, path: "\(path)/\(name)") {
      case .held(let holder): return .held(by: holder ?? PosixLock.recordedHolder(in: file))
      case .acquired(let lock):
        if access == .readAndWrite { PosixLock.recordHolder(in: file) }
        return .acquired(PosixLockPair(whole, lock))
      }
    } catch {
      guard access == .read, error.operation == PosixLock.operation else { throw error }
      return .acquired(PosixLockPair(whole, nil))
    }
  }

  /// Opens the lock file. Returns nil to a reader if the file does not exist, or if the file is optional and
  /// the reader has no permission to open it.
  private func openLock(
    _ name: String, _ access: FileAccess, isOptional: Bool
  ) throws(SystemFailure) -> Descriptor? {
    do throws(SystemFailure) {
      return try openLock(name, access)
    } catch {
      guard access == .read, isOptional, error.code == EACCES, error.found == nil else { throw error }
      return nil
    }
  }

  /// Opens the lock file. Returns nil if the file does not exist and may not be created.
  private func openLock(_ name: String, _ access: FileAccess) throws(SystemFailure) -> Descriptor? {
    try refuseNul(in: name, "open")
    let flags = access == .read ? O_RDONLY : O_RDWR | O_CREAT
    let file = unsafe openat(
      descriptor.number, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
    guard file >= 0 else {
      if access == .read, errno == ENOENT { return nil }
      throw failure("open", name).withObstacle(obstacle(name))
    }
    let owner = try plainFile(file, name)
    var status = stat()
    guard unsafe fstat(file, &status) == 0 else { throw failure("fstat", name) }
    // The file may just have been created, with a mode that the umask reduced.
    if access == .readAndWrite, status.st_size == 0 { _ = fchmod(file, 0o600) }
    return owner
  }

  func readerLock(_ name: String, _ access: FileAccess) throws(SystemFailure) -> (any ReaderLock)? {
    try openLock(name, access).map { PosixReaderLock(descriptor: $0) }
  }

  private func recordedHolder(_ name: String) -> Int32? {
    (try? openLock(name, .read)).flatMap { $0 }.flatMap { PosixLock.recordedHolder(in: $0) }
  }

  private func failure(_ operation: String, _ name: String?) -> SystemFailure {
    SystemFailure(operation: operation, path: name.map { "\(path)/\($0)" } ?? path, code: errno)
  }
}

extension EntryKind {
  /// Returns nil for an unknown kind.
  fileprivate init?(mode: mode_t) {
    switch mode & S_IFMT {
    case S_IFREG: self = .file
    case S_IFDIR: self = .directory
    case S_IFLNK: self = .link
    case S_IFIFO: self = .pipe
    case S_IFSOCK: self = .socket
    case S_IFCHR, S_IFBLK: self = .device
    default: return nil
    }
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
    let count = unsafe buffer.withUnsafeMutableBytes {
      unsafe pread(descriptor.number, $0.baseAddress, $0.count, off_t(offset))
    }
    guard count >= 0 else { throw failure("pread") }
    return count
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
    try fullSync(descriptor, path)
    #else
    guard fdatasync(descriptor.number) == 0 else { throw failure("fdatasync") }
    #endif
  }

  func startWriteback(_ range: Range<UInt64>) {
    dugout_start_writing(descriptor.number, range.lowerBound, UInt64(range.count))
  }

  func startReading(_ range: Range<UInt64>) {
    // A length of 0 would mean everything from the offset to the end of the file.
    guard !range.isEmpty else { return }
    #if canImport(Darwin)
    var wanted = radvisory(ra_offset: off_t(range.lowerBound), ra_count: Int32(clamping: range.count))
    _ = unsafe fcntl(descriptor.number, F_RDADVISE, &wanted)
    #else
    _ = posix_fadvise(
      descriptor.number, off_t(range.lowerBound), off_t(range.count), Int32(POSIX_FADV_WILLNEED))
    #endif
  }

  func close() { descriptor.close() }

  private func failure(_ operation: String) -> SystemFailure {
    SystemFailure(operation: operation, path: path, code: errno)
  }
}

#if canImport(Darwin)
/// Flushes a file or a directory to stable storage.
private func fullSync(_ descriptor: Descriptor, _ path: String) throws(SystemFailure) {
  if fcntl(descriptor.number, F_FULLFSYNC) == 0 { return }
  // Some file systems do not support the full flush and offer only a plain fsync. Any other error is a
  // failure.
  guard errno == ENOTSUP || errno == EINVAL || errno == ENOTTY else {
    throw SystemFailure(operation: "fullfsync", path: path, code: errno)
  }
  guard fsync(descriptor.number) == 0 else {
    throw SystemFailure(operation: "fsync", path: path, code: errno)
  }
}
#endif

/// The locks of a directory and of its lock file, as far as they could be taken, released in the opposite
/// order.
private struct PosixLockPair: DirectoryLock {
  let directory: PosixLock?
  let file: PosixLock?

  init(_ directory: PosixLock?, _ file: PosixLock?) {
    self.directory = directory
    self.file = file
  }

  func release() {
    file?.release()
    directory?.release()
  }
}

/// A lock based on flock, because a record lock is lost when any descriptor of its file is closed. On some
/// file systems, flock does not exclude other openers in the same process. A process-wide list of held locks
/// covers this case.
private final class PosixLock: DirectoryLock {
  private struct Identity: Hashable {
    var device: UInt64
    var inode: UInt64
  }

  enum Attempt {
    case acquired(PosixLock)
    /// The lock is held. The process id of the holder is given if the list of held locks contains it.
    case held(by: Int32?)
  }

  static let operation = "flock"
  private static let recordBytes = 4096

  private struct Holder: Equatable {
    /// The process that took the lock. A forked child has a copy of its parent's list but holds none of the
    /// locks in it.
    var processID: Int32
    var isReleasing = false
  }

  private static let held = Locked<[Identity: Holder]>([:])

  private let descriptor: Descriptor
  private let identity: Identity
  private let processID = getpid()
  private let isHeld = Atomic(true)

  private init(descriptor: Descriptor, identity: Identity) {
    self.descriptor = descriptor
    self.identity = identity
  }

  deinit { release() }

  static func acquire(
    _ file: Descriptor, _ access: FileAccess, path: String
  ) throws(SystemFailure) -> Attempt {
    var status = stat()
    guard unsafe fstat(file.number, &status) == 0 else {
      throw SystemFailure(operation: "fstat", path: path, code: errno)
    }
    let identity = Identity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
    let me = getpid()
    // If a removed file's lock is just being released, a new file may already have the same inode number. The
    // call waits until the release is complete.
    let releasingHolder = Holder(processID: me, isReleasing: true)
    let isNew = held.withLock(when: { $0[identity] != releasingHolder }) { held in
      guard held[identity]?.processID != me else { return false }
      held[identity] = Holder(processID: me)
      return true
    }
    guard isNew else { return .held(by: me) }
    if let code = failureCode(ofLocking: file, access) {
      held.withLock { $0[identity] = nil }
      if code == EWOULDBLOCK { return .held(by: nil) }
      throw SystemFailure(operation: Self.operation, path: path, code: code)
    }
    return .acquired(PosixLock(descriptor: file, identity: identity))
  }

  /// Locks a file. Returns the error code, or nil if the lock was acquired.
  private static func failureCode(ofLocking file: Descriptor, _ access: FileAccess) -> Int32? {
    if flock(file.number, LOCK_EX | LOCK_NB) == 0 { return nil }
    // Some file systems grant an exclusive lock only on a descriptor for writing. A shared lock also excludes
    // writers.
    guard errno == EBADF, access == .read else { return errno }
    return flock(file.number, LOCK_SH | LOCK_NB) == 0 ? nil : errno
  }

  func release() {
    guard isHeld.exchange(false, ordering: .acquiringAndReleasing) else { return }
    // A forked child shares the lock and must not unlock it during cleanup.
    guard processID == getpid() else {
      descriptor.close()
      return
    }
    Self.held.withLock { $0[identity] = Holder(processID: processID, isReleasing: true) }
    // The descriptor is closed without holding the list's lock. A child process that is forked while that
    // lock is held could never acquire it.
    descriptor.close(unlocking: true)
    Self.held.withLock { $0[identity] = nil }
    Self.held.wakeAll()
  }

  /// The process id that the holder wrote, if it can be parsed. It is only used in the text of an error.
  static func recordedHolder(in file: Descriptor) -> Int32? {
    var text = [UInt8](repeating: 0, count: 16)
    let count = unsafe pread(file.number, &text, text.count, 0)
    guard count > 0 else { return nil }
    return Int32(String(decoding: text[..<count].prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
  }

  static func recordHolder(in file: Descriptor) {
    // The process id is for openers that find the store locked. The lock does not depend on it, so errors are
    // ignored. Overwriting a whole block needs no read from the disk, unlike writing a few bytes or
    // truncating the file.
    var text = Array("\(getpid())\n".utf8)
    text += [UInt8](repeating: UInt8(ascii: " "), count: Self.recordBytes - 1 - text.count)
    text.append(UInt8(ascii: "\n"))
    let taken = unsafe pwrite(file.number, text, text.count, 0)
    // A file without a process id is better than a file with the process id of the previous holder.
    if taken != text.count { _ = ftruncate(file.number, 0) }
  }
}

/// The readers' lock, on a file of its own. The writer asks with a lock that it never keeps. Its mark belongs
/// to the open file, as the lock does.
private final class PosixReaderLock: ReaderLock {
  private static let attemptsMax = 100
  private let descriptor: Descriptor
  /// The process whose writer has the mark. A forked child must not remove the mark of its parent.
  private let processID = getpid()
  private let isMarked = Atomic(false)

  init(descriptor: Descriptor) { self.descriptor = descriptor }

  deinit { release() }

  func set(_ mark: WriterMark) -> Bool {
    guard dugout_mark_writer(descriptor.number, mark.rawValue) != 0 else {
      isMarked.store(true, ordering: .releasing)
      return true
    }
    // A forked child of an earlier writer may still have that writer's mark.
    return errno != EAGAIN && errno != EACCES && errno != EINTR
  }

  func isShared() -> Bool {
    guard flock(descriptor.number, LOCK_EX | LOCK_NB) == 0 else { return true }
    _ = flock(descriptor.number, LOCK_UN)
    return false
  }

  func share() -> Bool {
    for _ in 0..<Self.attemptsMax {
      if flock(descriptor.number, LOCK_SH | LOCK_NB) == 0 { return true }
      // The writer may be asking. It keeps the lock only between two system calls.
      guard errno == EWOULDBLOCK || errno == EINTR else { return false }
      usleep(1000)
    }
    return false
  }

  func mayHave(_ mark: WriterMark) -> Bool { dugout_has_writer(descriptor.number, mark.rawValue) != 0 }

  /// A shared lock is only closed. A forked child has a copy of the descriptor, and the writer recycles no
  /// log until the child ends. The mark is removed, because a child's copy would keep it after this writer.
  func release() {
    if processID == getpid(), isMarked.exchange(false, ordering: .acquiringAndReleasing) {
      _ = dugout_unmark_writer(descriptor.number)
    }
    descriptor.close()
  }
}

/// The only owner of a descriptor. Closes it once, on `close` or on deinit.
private final class Descriptor: Sendable {
  let number: Int32
  private let isOpen = Atomic(true)

  init(_ number: Int32) { self.number = number }

  deinit { close() }

  /// Closes the descriptor; returns true only for the call that actually closed it. `unlocking` releases the
  /// lock explicitly, because a forked child that has not called exec yet holds a copy of the descriptor, and
  /// thus the lock.
  @discardableResult
  func close(unlocking: Bool = false) -> Bool {
    guard isOpen.exchange(false, ordering: .acquiringAndReleasing) else { return false }
    if unlocking { _ = flock(number, LOCK_UN) }
    _ = Libc.close(number)
    return true
  }
}
