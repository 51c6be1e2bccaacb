// The output of an export: a file that is replaced atomically, or a destination that is not a regular file.
//
//   standard output         is written to
//   a pipe or a device      is written to and stays what it is
//   a link                  stays, and the file that it points to is replaced
//   a file, or no file      is replaced at once by a complete file, written beside it under a unique name
//
// The temporary file is removed whatever ends the export, a signal or an error. If the process is killed,
// the next export to the file removes it. A lock shows whether a temporary file is in use:
//
//   1. an export locks its temporary file, and creates another one if the file was removed meanwhile
//   2. a temporary file that can be locked has no owner, and is removed
//
// On a file system without locks this cannot be determined, so the files of killed exports stay.

import DocumentStore
import Foundation

final class ExportFile {
  private static let linksMax = 40
  private static let bufferBytes = 1 << 20
  /// The marker in the name of a temporary file. A fixed number of hexadecimal digits follows it, so that no
  /// other file is mistaken for a temporary file.
  static let partMark = ".dugout-export-"
  private static let partDigits = 16
  private static let digits = Set("0123456789abcdef")
  private static let partsMax = 10

  /// The path as the user gave it.
  private let path: String
  private let handle: FileHandle
  /// The temporary file and the name that it gets at the end; nil if the destination is written directly.
  private let part: (path: String, target: String)?
  /// The permissions of the file that is replaced.
  private let mode: mode_t?
  /// Catches signals while there is a temporary file to remove; nil if the destination is written directly.
  private let interruption: Interruption?
  private var isFinished = false
  private var buffer: [UInt8] = []

  static func isStandardOutput(_ path: String) -> Bool {
    ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].contains(path)
  }

  init(_ path: String) throws(DocumentStoreError) {
    self.path = path
    guard !Self.isStandardOutput(path) else {
      (handle, part, mode, interruption) = (.standardOutput, nil, nil, nil)
      return
    }
    var status = stat()
    let isThere = stat(path, &status) == 0
    let kind = status.st_mode & S_IFMT
    guard !isThere || kind != S_IFDIR else {
      throw .failed(StorageEvidence(message: "\(path) is a directory: name a file in it."))
    }
    guard !isThere || kind == S_IFREG else {
      handle = try Self.handle(open(path, O_WRONLY | O_CLOEXEC), path)
      (part, mode, interruption) = (nil, nil, nil)
      return
    }
    let target = Self.destination(of: path)
    Self.removeParts(of: target)
    // Signals are caught from here on, because the query may first build an index, which can take long.
    interruption = Interruption(by: [SIGINT, SIGTERM, SIGHUP], waits: false)
    // Only the owner can read the file until it is complete. Then it gets the permissions of the replaced
    // file.
    mode = isThere ? status.st_mode & 0o777 : nil
    let (part, descriptor) = Self.makePart(of: target, mode: isThere ? 0o600 : 0o666)
    handle = try Self.handle(descriptor, path)
    self.part = (part, target)
  }

  deinit {
    if !isFinished { removePart() }
  }

  /// Throws if a signal has been received. The caller then releases this object, which removes the temporary
  /// file. Called between two steps of an export.
  func checkNotInterrupted() throws(DocumentStoreError) {
    guard interruption?.isSignaled == true else { return }
    throw .aborted("ended by a signal. Its output was removed, and \(path) is unchanged.")
  }

  func write(_ line: String) {
    buffer.append(contentsOf: line.utf8)
    buffer.append(UInt8(ascii: "\n"))
    if buffer.count > Self.bufferBytes { flush() }
  }

  private func flush() {
    do {
      try handle.write(contentsOf: Data(buffer))
    } catch {
      let cause = StoreAccess.ended(error.localizedDescription)
      let rest = part == nil ? "" : " Its output was removed, and the target is unchanged."
      Terminal.printToStandardError("dugout export: \(path) could not be written: \(cause)\(rest)")
      removePart()
      exit(ExitCode.inputOutput.rawValue)
    }
    buffer.removeAll(keepingCapacity: true)
  }

  func finish() throws(DocumentStoreError) {
    try checkNotInterrupted()
    flush()
    guard let part else { return }
    if let mode { _ = fchmod(handle.fileDescriptor, mode) }
    // The file must be completely on disk before it gets the name of the destination.
    guard fsync(handle.fileDescriptor) == 0, rename(part.path, part.target) == 0 else {
      throw Self.failure(path)
    }
    isFinished = true
  }

  private func removePart() {
    if let part { unlink(part.path) }
  }

  // MARK: Beside the file

  /// Returns a negative descriptor on failure.
  private static func makePart(of target: String, mode: mode_t) -> (path: String, descriptor: Int32) {
    var part = (path: target, descriptor: Int32(-1))
    for _ in 0..<partsMax {
      part.path = newPart(of: target)
      part.descriptor = open(part.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
      guard part.descriptor >= 0 else { return part }
      // On a file system without locks, no other process can have locked the file.
      let isTaken = flock(part.descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK
      guard isTaken || !isAt(part.path, part.descriptor) else { return part }
      close(part.descriptor)
      part.descriptor = -1
      errno = EBUSY
    }
    return part
  }

  /// Returns a name for a temporary file or folder of the target.
  static func newPart(of target: String) -> String {
    let digits = String(UInt64.random(in: .min ... .max), radix: 16)
    return target + partMark + String(repeating: "0", count: partDigits - digits.count) + digits
  }

  /// Returns the paths beside the target that have the name of a temporary file or folder.
  static func parts(of target: String) -> [String] {
    let slash = target.lastIndex(of: "/")
    let folder = slash.map { String(target[...$0]) } ?? "."
    let start = (slash.map { String(target[target.index(after: $0)...]) } ?? target) + partMark
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.filter { name in
      let digits = name.dropFirst(start.count)
      return name.hasPrefix(start) && digits.count == partDigits && digits.allSatisfy(Self.digits.contains)
    }.map { slash == nil ? $0 : folder + $0 }
  }

  /// Removes temporary files of exports that were killed.
  private static func removeParts(of target: String) {
    for path in parts(of: target) { removePart(path) }
  }

  private static func removePart(_ path: String) {
    // `O_NONBLOCK` is set because opening anything other than a regular file could block.
    let descriptor = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    var status = stat()
    // A file that another user owns, or that has a second hard link, was not left by an export of this user.
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
      status.st_nlink == 1, flock(descriptor, LOCK_EX | LOCK_NB) == 0, isAt(path, descriptor)
    else { return }
    unlink(path)
  }

  /// Whether the open file still has this name.
  private static func isAt(_ path: String, _ descriptor: Int32) -> Bool {
    var (there, opened) = (stat(), stat())
    guard lstat(path, &there) == 0, fstat(descriptor, &opened) == 0 else { return false }
    return there.st_dev == opened.st_dev && there.st_ino == opened.st_ino
  }

  // MARK: Paths

  /// Follows links to their final destination, which need not exist.
  static func destination(of path: String) -> String {
    var path = path
    for _ in 0..<linksMax {
      guard let next = try? FileManager.default.destinationOfSymbolicLink(atPath: path) else { break }
      guard !next.hasPrefix("/"), let slash = path.lastIndex(of: "/") else {
        path = next
        continue
      }
      path = path[...slash] + next
    }
    return path
  }

  private static func handle(
    _ descriptor: Int32, _ path: String
  ) throws(DocumentStoreError) -> FileHandle {
    guard descriptor >= 0 else { throw failure(path) }
    return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
  }

  /// Describes the failure of the last system call.
  static func failure(_ path: String) -> DocumentStoreError {
    let code = errno
    var evidence = StorageEvidence(
      message: "\(path) cannot be written: \(String(cString: strerror(code))).")
    evidence.file = path
    evidence.code = code
    return .failed(evidence)
  }
}
