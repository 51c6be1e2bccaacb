// Where an export goes: a file that gets its name when it is complete, or what is there and is no file.
//
//   standard output         written to
//   a pipe or a device      written to, and stays what it is
//   a link                  stays, and the file that it leads to is replaced
//   a file, or none yet     replaced at once by a whole one, which was made beside it under a name that nobody has

import DocumentStore
import Foundation

final class ExportFile {
  private static let linksMax = 40
  private static let bufferBytes = 1 << 20

  /// As the user calls it.
  private let path: String
  private let handle: FileHandle
  /// What is renamed at the end, and to what; nil if nothing is.
  private let part: (path: String, target: String)?
  private var isFinished = false
  private var buffer: [UInt8] = []

  static func isStandardOutput(_ path: String) -> Bool {
    ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].contains(path)
  }

  init(_ path: String) throws(DocumentStoreError) {
    self.path = path
    guard !Self.isStandardOutput(path) else {
      (handle, part) = (.standardOutput, nil)
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
      part = nil
      return
    }
    let target = Self.destination(of: path)
    let suffix = String(UInt32.random(in: .min ... .max), radix: 16)
    let part = "\(target).part-\(suffix)"
    handle = try Self.handle(open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666), path)
    self.part = (part, target)
    // Whoever could read the file before can do so again, and nobody else.
    if isThere { _ = fchmod(handle.fileDescriptor, status.st_mode & 0o777) }
  }

  deinit {
    if !isFinished { removePart() }
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
      let rest = part == nil ? "" : " Nothing is left of it, and what was there before stays."
      Terminal.complain("dugout export: \(path) could not be written: \(cause)\(rest)")
      removePart()
      exit(ExitCode.inputOutput.rawValue)
    }
    buffer.removeAll(keepingCapacity: true)
  }

  func finish() throws(DocumentStoreError) {
    flush()
    guard let part else { return }
    // What did not reach the disk has no right to the name.
    guard fsync(handle.fileDescriptor) == 0, rename(part.path, part.target) == 0 else {
      throw Self.failure(path)
    }
    isFinished = true
  }

  private func removePart() {
    if let part { unlink(part.path) }
  }

  // MARK: Paths

  /// Where a link leads to, or a link to a link; there need not be a file.
  private static func destination(of path: String) -> String {
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

  private static func failure(_ path: String) -> DocumentStoreError {
    let code = errno
    var evidence = StorageEvidence(
      message: "\(path) cannot be written: \(String(cString: strerror(code))).")
    evidence.file = path
    evidence.code = code
    return .failed(evidence)
  }
}
