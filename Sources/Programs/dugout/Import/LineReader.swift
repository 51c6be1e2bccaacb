// Lines of a file. No more of it is in memory than the line and a piece.

import Foundation

final class LineReader {
  /// Beyond that it is no document, whatever its values take as JSON, and nobody has to hold it.
  static let lineBytesMax = 128 << 20
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
  var bytesHeld: Int { buffer.bytesHeld }

  /// A `JSONProblem` is about a line, which counts as handed out then.
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
