// Downloading to a file.
//
//   0. look     at the destination, before the first byte and before the last step: a regular file, or nothing yet
//   1. note     in the store, where the part will be: a process that dies leaves it, and the next one removes it
//   2. write    the part, beside the file, under a name that nobody else has; nobody else may read it
//   3. permit   what was permitted with the file that it replaces, or else what the process permits with a new one
//   4. sync     the part, then rename it, then sync the folder: after a crash the file is the old one or the new one

import ByteStore
import DocumentStore
import FirebaseCore
import Foundation
import ObjectStore

/// A file that has its name once it is whole and on stable storage. For the transfer's queue, but for what it was made
/// with.
final class DownloadFile: DownloadTarget {
  let bytesMax = Int64.max
  private let url: URL
  private let fileSystem: any FileSystem
  private var objects: ObjectStore?
  private var part: Part?

  private struct Part {
    let number: RandomID
    /// Of a new file of this process; nil if that could not be found out.
    var newMode: mode_t?
    /// Nil during a pause.
    var open: Open?
    var offset: UInt64 = 0

    var name: String { DownloadFile.name(number) }
  }

  private struct Open {
    let directory: any OpenDirectory
    let file: any OpenFile
  }

  init(_ url: URL, _ fileSystem: any FileSystem = PosixFileSystem()) {
    self.url = url
    self.fileSystem = fileSystem
  }

  private static func name(_ number: RandomID) -> String { ".dugout-\(number)" }

  private var folder: URL { url.deletingLastPathComponent() }

  private func path(of part: Part) -> String { folder.appendingPathComponent(part.name).path }

  func begin(_ byteCount: UInt64, _ objects: ObjectStore) throws(StorageError) {
    discard()
    guard url.namesLocalFile else {
      throw .unknown(message: "The URL to download to does not name a file: \(url)", serverError: [:])
    }
    try checkDestination()
    self.objects = objects
    try wrapped { () throws(SystemFailure) in
      let directory = try fileSystem.openDirectory(folder.path)
      var part = Part(number: objects.beginDownload(in: folder.standardizedFileURL.path))
      self.part = part
      part.newMode = Self.modeOfNewFile(at: path(of: part))
      part.open = Open(directory: directory, file: try directory.createFile(part.name))
      self.part = part
    }
  }

  func append(_ bytes: [UInt8]) throws(StorageError) {
    guard let part else { return }
    try wrapped { () throws(SystemFailure) in
      try opened(part).file.writeAll(bytes.rawSpan, at: part.offset, .real)
    }
    self.part?.offset += UInt64(bytes.count)
  }

  func finish() throws(StorageError) {
    guard let part else { return }
    // Once more: it may have become something else since.
    try checkDestination()
    try wrapped { () throws(SystemFailure) in
      let open = try opened(part)
      permit(part)
      try open.file.syncOnce(.real)
      open.file.close()
      try open.directory.rename(part.name, to: url.lastPathComponent)
      objects?.endDownload(part.number)
      self.part = nil
      try open.directory.sync()
    }
  }

  func discard() {
    guard let part else { return }
    self.part = nil
    part.open?.file.close()
    do throws(SystemFailure) {
      let directory: any OpenDirectory
      if let open = part.open {
        directory = open.directory
      } else {
        directory = try fileSystem.openDirectory(folder.path)
      }
      try directory.remove(part.name)
    } catch {
      // What cannot be removed now stays noted for the next process.
      guard error.code == ENOENT else { return }
    }
    objects?.endDownload(part.number)
  }

  // MARK: Pauses

  /// Synced before: a failure to write may not be told to another opening.
  func close() throws(StorageError) {
    guard let open = part?.open else { return }
    part?.open = nil
    defer { open.file.close() }
    try wrapped { () throws(SystemFailure) in try open.file.syncOnce(.real) }
  }

  private func opened(_ part: Part) throws(SystemFailure) -> Open {
    if let open = part.open { return open }
    let directory = try fileSystem.openDirectory(folder.path)
    let open = Open(directory: directory, file: try directory.openFile(part.name, .readAndWrite))
    self.part?.open = open
    // What has come is written once, and nobody else is to have touched it.
    guard try open.file.size() == part.offset else {
      throw SystemFailure(operation: "go on with a part", path: open.file.path, code: ESTALE)
    }
    return open
  }

  // MARK: What may be replaced

  /// Throws unless the destination is a regular file, or nothing yet, outside of the stores that this process has opened.
  private func checkDestination() throws(StorageError) {
    if let store = AppStores.shared.directories.first(where: { StorePath.isInside(url.path, $0) }) {
      throw refusal("lies in the store \(store), which keeps its own files there")
    }
    var status = stat()
    guard unsafe lstat(url.path, &status) == 0, let kind = Self.nameOfOtherKind(status.st_mode) else {
      return
    }
    throw refusal("is \(kind), which a download does not replace")
  }

  /// Nil for a regular file.
  private static func nameOfOtherKind(_ mode: mode_t) -> String? {
    switch mode & S_IFMT {
    case S_IFREG: nil
    case S_IFLNK: "a symbolic link"
    case S_IFDIR: "a directory"
    case S_IFIFO: "a FIFO"
    case S_IFSOCK: "a socket"
    case S_IFCHR, S_IFBLK: "a device"
    default: "no regular file"
    }
  }

  private func refusal(_ reason: String) -> StorageError {
    .unknown(
      message: "\(url.path) \(reason). Name a regular file, or one that is not there yet.",
      serverError: ["DugoutFile": url.path])
  }

  // MARK: Permissions

  /// The process has a mask for them, which nobody can ask for without changing it for a moment, for all threads: so a file
  /// is made that says it. It has the name of the part, and goes with that if the process dies.
  private static func modeOfNewFile(at path: String) -> mode_t? {
    let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    let file = unsafe open(path, flags, 0o666 as mode_t)
    guard file >= 0 else { return nil }
    var status = stat()
    let isKnown = unsafe fstat(file, &status) == 0
    _ = unsafe unlink(path)
    FileHandle(fileDescriptor: file, closeOnDealloc: true).closeFile()
    return isKnown ? status.st_mode & 0o777 : nil
  }

  /// If the file system does not know of modes, there is nothing to do.
  private func permit(_ part: Part) {
    var status = stat()
    let isReplaced = unsafe lstat(url.path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    guard let mode = isReplaced ? status.st_mode & 0o777 : part.newMode else { return }
    _ = unsafe chmod(path(of: part), mode)
  }

  /// What processes that died left of their downloads. A file that cannot be removed now is tried again next time.
  static func removeLeftParts(_ objects: ObjectStore) {
    guard let left = try? objects.abandonedDownloads() else { return }
    for (number, folder) in left {
      let path = URL(fileURLWithPath: folder).appendingPathComponent(name(number)).path
      if FileManager.default.fileExists(atPath: path) {
        guard (try? FileManager.default.removeItem(atPath: path)) != nil else { continue }
      }
      objects.endDownload(number)
    }
  }

  private func wrapped(_ body: () throws(SystemFailure) -> Void) throws(StorageError) {
    do throws(SystemFailure) { try body() } catch { throw StorageErrors.translate(error) }
  }
}
