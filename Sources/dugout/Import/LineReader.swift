// Lines of a file, of any length. No more of it is in memory than the line and a piece.

import Foundation

final class LineReader {
  private static let chunkBytes = 1 << 20

  let bytes: UInt64
  /// Behind the last line that was handed out.
  private(set) var bytesDone: UInt64 = 0
  private(set) var lineStart: UInt64 = 0
  /// Lines that were handed out, and where the first of them begins.
  private var linesRead = 0
  private var readFrom: UInt64 = 0
  private let handle: FileHandle
  private let path: String
  /// What was read; before `start`, it was handed out.
  private var buffer: [UInt8] = []
  private var start = 0
  private var isAtEnd = false

  init(_ path: String) throws {
    self.path = path
    guard path != "-" else {
      handle = .standardInput
      bytes = 0
      return
    }
    guard let handle = FileHandle(forReadingAtPath: path) else {
      throw CommandFailure(
        code: .inputOutput, message: "\(path) cannot be read: \(String(cString: strerror(errno))).")
    }
    self.handle = handle
    bytes = (try? handle.seekToEnd()) ?? 0
    try? handle.seek(toOffset: 0)
  }

  func skip(to offset: UInt64) throws {
    try handle.seek(toOffset: offset)
    (buffer, start, isAtEnd) = ([], 0, false)
    bytesDone = offset
    (linesRead, readFrom) = (0, offset)
  }

  /// Of the line that was handed out last, from 1. What was skipped is counted only now: few ask.
  var lineNumber: Int { linesRead + ((try? Self.lines(of: path, upTo: readFrom)) ?? 0) }

  private static func lines(of path: String, upTo end: UInt64) throws -> Int {
    guard end > 0, let handle = FileHandle(forReadingAtPath: path) else { return 0 }
    var (count, rest) = (0, end)
    while rest > 0, let piece = try handle.read(upToCount: min(chunkBytes, Int(clamping: rest))),
      !piece.isEmpty
    {
      count += piece.reduce(0) { $0 + ($1 == 0x0A ? 1 : 0) }
      rest -= UInt64(piece.count)
    }
    return count
  }

  /// How much of the file is in memory.
  var bytesHeld: Int { buffer.count }

  func next() throws -> Data? {
    // No byte is looked at twice, however long a line is.
    var searched = start
    while true {
      if let end = buffer[searched...].firstIndex(of: 0x0A) { return take(upTo: end, of: end + 1) }
      guard !isAtEnd else {
        return start < buffer.count ? take(upTo: buffer.count, of: buffer.count) : nil
      }
      buffer.removeSubrange(..<start)
      start = 0
      searched = buffer.count
      let chunk: Data
      do { chunk = try handle.read(upToCount: Self.chunkBytes) ?? Data() } catch {
        throw CommandFailure(
          code: .inputOutput, message: "\(path) cannot be read: \(error.localizedDescription)")
      }
      if chunk.isEmpty { isAtEnd = true } else { buffer.append(contentsOf: chunk) }
    }
  }

  private func take(upTo end: Int, of next: Int) -> Data {
    defer { start = next }
    linesRead += 1
    lineStart = bytesDone
    bytesDone += UInt64(next - start)
    return Data(buffer[start..<end])
  }
}
