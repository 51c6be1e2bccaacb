// Downloads to a file.
//
//   0. look     Check the destination, before the first byte and before the last step. It must be a regular
//               file or not exist.
//   1. note     Record the part's location in the store. If the process dies, the next one removes the part.
//   2. write    Write the part, in the destination's folder, under a unique name. Only this user may read it.
//   3. permit   Copy the mode of the file that it replaces, or use the process's default for new files.
//   4. sync     Sync the part, rename it, and sync the folder. After a crash, the file is the old or the new
//               one.

import ByteStore
import DocumentStore
import FirebaseCore
import Foundation
import ObjectStore

/// A file that gets its final name when it is complete and on stable storage. All methods run on the
/// transfer's queue; only `init` may run elsewhere.
final class DownloadFile: DownloadTarget {
  let bytesMax = Int64.max
  private let url: URL
  private let fileSystem: any FileSystem
  private var objects: ObjectStore?
  private var part: Part?

  private struct Part {
    let number: RandomID
    /// The mode that this process gives to new files. Nil if it is unknown.
    var newMode: mode_t?
    /// The open part and its directory. Nil during a pause.
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
      try opened(part).file.writeAll(bytes.rawSpan, at: part.offset, platform: .real)
    }
    self.part?.offset += UInt64(bytes.count)
  }

  func finish() throws(StorageError) {
    guard let part else { return }
    // Check the destination again, because it may have changed since `begin`.
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
      // If the part cannot be removed now, its record stays, so that the next process removes the part.
      guard error.code == ENOENT else { return }
    }
    objects?.endDownload(part.number)
  }

  // MARK: Pauses

  /// Syncs the part before closing it: after the file is reopened, a failure to write earlier bytes may go
  /// unreported.
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
    // A different size means that another process has changed the file.
    guard try open.file.size() == part.offset else {
      throw SystemFailure(operation: "resuming a part", path: open.file.path, code: ESTALE)
    }
    return open
  }

  // MARK: The destination

  /// Throws if the destination exists and is not a regular file, or if it is inside a store that this process
  /// has opened.
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

  /// Returns the name of a file's kind for an error message. Returns nil for a regular file.
  private static func nameOfOtherKind(_ mode: mode_t) -> String? {
    switch mode & S_IFMT {
    case S_IFREG: nil
    case S_IFLNK: "a symbolic link"
    case S_IFDIR: "a directory"
    case S_IFIFO: "a FIFO"
    case S_IFSOCK: "a socket"
    case S_IFCHR, S_IFBLK: "a device"
    default: "not a regular file"
    }
  }

  private func refusal(_ reason: String) -> StorageError {
    .unknown(
      message: "\(url.path) \(reason). Name a regular file, or one that is not there yet.",
      serverError: ["DugoutFile": url.path])
  }

  // MARK: Permissions

  /// Determines the mode of new files. A process can read its umask only by changing it briefly, which would
  /// affect all threads. Instead this method creates a temporary file and reads the mode of that file. The
  /// temporary file has the name of the part, so that a later process removes it if this process dies.
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

  /// Sets the mode of the part. Does nothing if the file system does not support modes.
  private func permit(_ part: Part) {
    var status = stat()
    let isReplaced = unsafe lstat(url.path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    guard let mode = isReplaced ? status.st_mode & 0o777 : part.newMode else { return }
    _ = unsafe chmod(path(of: part), mode)
  }

  /// Removes parts that earlier processes left behind when they died. If a part cannot be removed now, the
  /// next process tries again.
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
