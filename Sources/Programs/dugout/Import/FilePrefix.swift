// Detects whether the beginning of a file has changed.

import ByteStore
import Foundation

/// A checksum of the first bytes of several files, which are read as one sequence.
struct FilePrefix {
  private static let pieceBytes = 1 << 20

  let files: [String]
  private var checksum = Checksum()
  private var end: UInt64 = 0

  init(of files: [String]) { self.files = files }

  /// Returns the checksum of all bytes before `offset`, or nil if the files are shorter or cannot be read.
  /// `offset` must not decrease from one call to the next.
  mutating func checksum(upTo offset: UInt64) -> UInt32? {
    var fileStart: UInt64 = 0
    for path in files where end < offset {
      // Opening a pipe again would block until there is another writer.
      guard Self.isFile(path), let file = FileHandle(forReadingAtPath: path), let size = try? file.seekToEnd()
      else {
        return nil
      }
      defer { fileStart += size }
      guard end < fileStart + size, (try? file.seek(toOffset: end - fileStart)) != nil else { continue }
      let fileEnd = min(offset, fileStart + size)
      while end < fileEnd {
        let count = min(Self.pieceBytes, Int(fileEnd - end))
        guard let piece = try? file.read(upToCount: count), !piece.isEmpty else { return nil }
        checksum.update([UInt8](piece).rawSpan)
        end += UInt64(piece.count)
      }
    }
    return end == offset ? checksum.value : nil
  }

  static func isFile(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
  }
}
