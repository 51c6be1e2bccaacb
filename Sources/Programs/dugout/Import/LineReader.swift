// Reads a file line by line, with at most one line and one chunk in memory.

import Foundation

final class LineReader {
  /// No document has a longer line, so longer ones are not buffered.
  static let lineBytesMax = 128 << 20
  private static let chunkBytes = 1 << 20

  let bytes: UInt64
  /// The offset after the last line that was returned.
  private(set) var bytesDone: UInt64 = 0
  private(set) var lineStart: UInt64 = 0
  /// The number of lines returned, and the offset of the first one.
  private var linesRead = 0
  private var readFrom: UInt64 = 0
  private let handle: FileHandle
  private let path: String
  private let lineBytesMax: Int
  private var buffer: LineBuffer

  init(_ path: String, lineBytesMax: Int = LineReader.lineBytesMax) throws {
    self.path = path
    self.lineBytesMax = lineBytesMax
    buffer = LineBuffer(lineBytesMax: lineBytesMax)
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
    buffer = LineBuffer(lineBytesMax: lineBytesMax)
    bytesDone = offset
    (linesRead, readFrom) = (0, offset)
  }

  /// The number of the last returned line, from 1. Skipped lines are counted only on request, because few
  /// callers need the number.
  var lineNumber: Int { linesRead + ((try? Self.lines(of: path, upTo: readFrom)) ?? 0) }

  static func lines(of path: String, upTo end: UInt64) throws -> Int {
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

  /// The number of buffered bytes.
  var bytesHeld: Int { buffer.bytesHeld }

  /// Returns the next line. If a `JSONProblem` about a line is thrown, that line counts as returned.
  func next() throws -> Data? {
    while true {
      switch buffer.next() {
      case .line(let line, let byteCount):
        begin()
        bytesDone += UInt64(byteCount)
        return Data(line)
      case .needsMore: buffer.append(try piece())
      case .tooLong:
        begin()
        throw JSONProblem(message: "the line is longer than \(lineBytesMax >> 20) MiB, and no document is")
      case .end: return nil
      }
    }
  }

  private func begin() {
    linesRead += 1
    lineStart = bytesDone
  }

  private func piece() throws -> Data {
    do { return try handle.read(upToCount: Self.chunkBytes) ?? Data() } catch {
      throw CommandFailure(
        code: .inputOutput, message: "\(path) cannot be read: \(error.localizedDescription)")
    }
  }
}
