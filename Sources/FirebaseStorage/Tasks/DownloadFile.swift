// Downloading to a file.
//
//   1. note     in the store, where the part will be: a process that dies leaves it, and the next one removes it
//   2. write    the part, beside the file, under a name that nobody else has
//   3. sync     the part, then rename it, then sync the folder: after a crash the file is the old one or the new one

import ByteStore
import DocumentStore
import Foundation

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
    let directory: any OpenDirectory
    var file: (any OpenFile)?
    var offset: UInt64 = 0
  }

  init(_ url: URL, _ fileSystem: any FileSystem = PosixFileSystem()) {
    self.url = url
    self.fileSystem = fileSystem
  }

  private static func name(_ number: RandomID) -> String { ".dugout-\(number)" }

  func begin(_ byteCount: UInt64, _ objects: ObjectStore) throws(StorageError) {
    let folder = url.deletingLastPathComponent()
    self.objects = objects
    try wrapped { () throws(SystemFailure) in
      let directory = try fileSystem.openDirectory(folder.path)
      let number = objects.beginDownload(in: folder.standardizedFileURL.path)
      part = Part(number: number, directory: directory)
      part?.file = try directory.createFile(Self.name(number))
      // Private while it is a part, and then like any other file.
      let path = folder.appendingPathComponent(Self.name(number)).path
      try? FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
    }
  }

  func append(_ bytes: [UInt8]) throws(StorageError) {
    guard let (file, offset) = part.map({ ($0.file, $0.offset) }) else { return }
    try wrapped { () throws(SystemFailure) in try file?.writeAll(bytes.rawSpan, at: offset, .real) }
    part?.offset += UInt64(bytes.count)
  }

  func finish() throws(StorageError) {
    guard let part else { return }
    try wrapped { () throws(SystemFailure) in
      try part.file?.syncOnce(.real)
      part.file?.close()
      self.part?.file = nil
      try part.directory.rename(Self.name(part.number), to: url.lastPathComponent)
      objects?.endDownload(part.number)
      self.part = nil
      try part.directory.sync()
    }
  }

  func discard() {
    guard let part else { return }
    part.file?.close()
    try? part.directory.remove(Self.name(part.number))
    objects?.endDownload(part.number)
    self.part = nil
  }

  /// What processes that died left of their downloads. A file that cannot be removed now is tried again next time.
  static func removeLeftParts(_ objects: ObjectStore) {
    guard let left = try? objects.leftDownloads() else { return }
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
