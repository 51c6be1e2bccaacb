// Reads files that may be damaged. An unreadable page does not prevent reading the others.

import ByteStore
import Libc

/// A file that may be damaged and is open for reading.
struct TolerantFile {
  let file: any OpenFile
  let name: String
  let size: UInt64

  var path: String { file.path }

  /// Nil if the file does not exist or is not a regular file.
  init?(_ name: String, in directory: any OpenDirectory) throws(ByteStoreError) {
    do throws(SystemFailure) {
      file = try directory.openFile(name, .read)
    } catch {
      guard error.isMissingOrNotAFile else { throw .system(error) }
      return nil
    }
    self.name = name
    do throws(SystemFailure) {
      size = try file.size()
    } catch {
      file.close()
      throw .system(error)
    }
  }

  func close() { file.close() }

  /// Reads `count` bytes at `offset`, or fewer if the file ends earlier. Returns nil after a device error.
  func read(_ count: Int, at offset: UInt64) throws(ByteStoreError) -> [UInt8]? {
    let left = offset < size ? size - offset : 0
    // Tries twice, because a device error may be transient.
    for _ in 0..<2 {
      do throws(SystemFailure) {
        return try file.readAll(Int(min(UInt64(count), left)), at: offset)
      } catch {
        guard error.code == EIO else { throw .system(error) }
      }
    }
    return nil
  }

  /// Reads `count` pages from `start` on and passes each page to `body`, numbered from 0. Passes nil for a
  /// page that is unreadable or beyond the end of the file.
  func forEachPage(
    of pageBytes: Int, at start: UInt64, count: Int,
    _ body: (Int, RawSpan?) throws(ByteStoreError) -> Void
  ) throws(ByteStoreError) {
    let pagesAtOnce = (256 << 10) / pageBytes
    for first in stride(from: 0, to: count, by: pagesAtOnce) {
      let pages = min(pagesAtOnce, count - first)
      let offset = start + UInt64(first * pageBytes)
      if let bytes = try read(pages * pageBytes, at: offset) {
        try Self.forEachPage(of: pageBytes, in: bytes, first: first, count: pages, body)
      } else {
        for page in first..<first + pages {
          let bytes = try read(pageBytes, at: start + UInt64(page * pageBytes))
          try Self.forEachPage(of: pageBytes, in: bytes ?? [], first: page, count: 1, body)
        }
      }
    }
  }

  private static func forEachPage(
    of pageBytes: Int, in bytes: [UInt8], first: Int, count: Int,
    _ body: (Int, RawSpan?) throws(ByteStoreError) -> Void
  ) throws(ByteStoreError) {
    for page in 0..<count {
      let start = page * pageBytes
      if start + pageBytes <= bytes.count {
        try body(first + page, bytes.rawSpan.extracting(start..<start + pageBytes))
      } else {
        try body(first + page, nil)
      }
    }
  }

  func damage(at offset: UInt64, expected: String, found: String) -> Damage {
    Damage(file: path, offset: offset, expected: expected, found: found)
  }

  /// The finding for bytes that `read` could not return.
  func unreadable(at offset: UInt64, expected: String) -> Damage {
    damage(
      at: offset, expected: expected,
      found: offset < size ? "bytes that the device does not return" : "the end of the file"
    )
  }

  /// The offset of the first nonzero byte in `range`, which should contain only zeros.
  func firstNonZero(in range: Range<UInt64>) throws(ByteStoreError) -> UInt64? {
    guard !range.isEmpty,
      let bytes = try read(Int(clamping: range.upperBound - range.lowerBound), at: range.lowerBound)
    else { return nil }
    return bytes.firstIndex { $0 != 0 }.map { range.lowerBound + UInt64($0) }
  }
}
