// What uploads are made from: bytes in memory, or a file that nobody should touch meanwhile.

import ByteStore
package import DocumentStore
import Foundation

/// For one thread at a time.
package protocol UploadBytes: AnyObject {
  var source: UploadSource { get }
  /// What there is from `offset` on, at most `count` bytes; empty at the end.
  func read(_ count: Int, at offset: UInt64) throws(StorageError) -> [UInt8]
  /// Throws if what was read may not belong together.
  func check() throws(StorageError)
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
}

package final class UploadFile: UploadBytes {
  package let source: UploadSource
  private let url: URL
  private let file: any OpenFile
  private let identity: Identity

  /// What tells that a file is the same, and was not written to.
  private struct Identity: Equatable {
    var number: UInt64
    var byteCount: UInt64
    var modified: Int64

    /// Nil unless there is a regular file.
    init?(_ path: String) {
      guard let attributes = try? FileManager.default.attributesOfItem(atPath: path),
        attributes[.type] as? FileAttributeType == .typeRegular,
        let byteCount = (attributes[.size] as? NSNumber)?.uint64Value,
        let modified = attributes[.modificationDate] as? Date
      else { return nil }
      self.byteCount = byteCount
      number = (attributes[.systemFileNumber] as? NSNumber)?.uint64Value ?? 0
      self.modified = Int64(modified.timeIntervalSince1970 * 1e9)
    }
  }

  package init(_ url: URL) throws(StorageError) {
    let unreachable = StorageError.unknown(
      message: "File at URL: \(url) is not reachable. Ensure file URL is not a directory, symbolic link, "
        + "or invalid url.", serverError: [:])
    guard url.isFileURL, let identity = Identity(url.path) else { throw unreachable }
    self.url = url
    self.identity = identity
    source = UploadSource(
      file: url.standardizedFileURL.path, byteCount: identity.byteCount, modified: identity.modified)
    do throws(SystemFailure) {
      file = try PosixFileSystem().openDirectory(url.deletingLastPathComponent().path)
        .openFile(url.lastPathComponent, .read)
    } catch {
      throw unreachable
    }
  }

  deinit { file.close() }

  package func read(_ count: Int, at offset: UInt64) throws(StorageError) -> [UInt8] {
    guard offset < source.byteCount else { return [] }
    let wanted = Int(min(UInt64(count), source.byteCount - offset))
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
