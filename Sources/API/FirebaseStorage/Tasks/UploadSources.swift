// The sources of uploads: bytes in memory, or a file that must not change during the upload.

import ByteStore
import DocumentStore
import FirebaseCore
import Foundation
package import ObjectStore

/// The bytes of an upload. Used by one thread at a time.
package protocol UploadBytes: AnyObject {
  var source: UploadSource { get }
  /// Returns at most `count` bytes, starting at `offset`. Returns an empty array at the end.
  func read(_ count: Int, at offset: UInt64) throws(StorageError) -> [UInt8]
  /// Throws if the source may have changed since the first read.
  func check() throws(StorageError)
  /// Closes the file until the next read.
  func close()
}

package final class UploadData: UploadBytes {
  package let source: UploadSource
  private let data: Data

  package init(_ data: Data) {
    self.data = data
    source = UploadSource(file: nil, byteCount: UInt64(data.count), modified: 0)
  }

  package func read(_ count: Int, at offset: UInt64) throws(StorageError) -> [UInt8] {
    let start = data.startIndex + Int(offset)
    return Array(data[start..<min(data.endIndex, start + count)])
  }

  package func check() throws(StorageError) {}

  package func close() {}
}

package final class UploadFile: UploadBytes {
  package let source: UploadSource
  private let url: URL
  /// The open file. Nil during a pause.
  private var file: (any OpenFile)?
  private let identity: Identity

  /// The identity of a file and of its version. A write changes the identity even if the modification time is
  /// reset afterwards.
  private struct Identity: Equatable {
    let device: UInt64
    let number: UInt64
    let byteCount: UInt64
    /// The modification time in nanoseconds since 1970; `changed` uses the same unit.
    let modified: Int64
    let changed: Int64

    /// Reads the identity of a file. Returns nil if there is no regular file at the path.
    init?(_ path: String) {
      var status = stat()
      guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
      device = UInt64(truncatingIfNeeded: status.st_dev)
      number = UInt64(truncatingIfNeeded: status.st_ino)
      byteCount = UInt64(clamping: status.st_size)
      #if canImport(Darwin)
      (modified, changed) = (Self.nanoseconds(status.st_mtimespec), Self.nanoseconds(status.st_ctimespec))
      #else
      (modified, changed) = (Self.nanoseconds(status.st_mtim), Self.nanoseconds(status.st_ctim))
      #endif
    }

    private static func nanoseconds(_ time: timespec) -> Int64 {
      Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
  }

  package init(_ url: URL) throws(StorageError) {
    let unreachable = StorageError.unknown(
      message: "File at URL: \(url) is not reachable. Ensure file URL is not a directory, symbolic link, "
        + "or invalid url.", serverError: [:])
    guard url.namesLocalFile, let identity = Identity(url.path) else { throw unreachable }
    self.url = url
    self.identity = identity
    source = UploadSource(
      file: url.standardizedFileURL.path, byteCount: identity.byteCount, modified: identity.modified)
    do throws(SystemFailure) {
      file = try Self.open(url)
    } catch {
      throw unreachable
    }
    // Check that the opened file is the file whose identity was read before.
    guard Identity(url.path) == identity else { throw unreachable }
  }

  private static func open(_ url: URL) throws(SystemFailure) -> any OpenFile {
    try PosixFileSystem().openDirectory(url.deletingLastPathComponent().path)
      .openFile(url.lastPathComponent, .read)
  }

  deinit { close() }

  package func close() {
    file?.close()
    file = nil
  }

  /// Returns the open file. After a pause, opens the file again; throws if it has changed.
  private func opened() throws(StorageError) -> any OpenFile {
    if let file { return file }
    try check()
    let opened: any OpenFile
    do throws(SystemFailure) { opened = try Self.open(url) } catch { throw StorageErrors.translate(error) }
    file = opened
    try check()
    return opened
  }

  package func read(_ count: Int, at offset: UInt64) throws(StorageError) -> [UInt8] {
    guard offset < source.byteCount else { return [] }
    let wanted = Int(min(UInt64(count), source.byteCount - offset))
    let file = try opened()
    let bytes: [UInt8]
    do throws(SystemFailure) {
      bytes = try file.readAll(wanted, at: offset)
    } catch {
      throw StorageErrors.translate(error)
    }
    guard bytes.count == wanted else { throw changed }
    return bytes
  }

  package func check() throws(StorageError) {
    guard Identity(url.path) == identity else { throw changed }
  }

  private var changed: StorageError {
    .unknown(
      message: "File at URL: \(url) was changed, moved or deleted during the upload. Nothing was stored.",
      serverError: [:])
  }
}
