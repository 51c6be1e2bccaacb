// Lines of a file, of any length.

import Foundation

final class LineReader {
  private static let chunkBytes = 1 << 20

  let bytes: UInt64
  /// Behind the last line that was handed out.
  private(set) var bytesDone: UInt64 = 0
  private(set) var lineStart: UInt64 = 0
  private let handle: FileHandle
  private let path: String
  private var buffer = Data()
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
    bytesDone = offset
  }

  func next() throws -> Data? {
    while true {
      if let end = buffer.firstIndex(of: 0x0A) {
        let line = buffer[buffer.startIndex..<end]
        take(line.count + 1)
        return Data(line)
      }
      guard !isAtEnd else {
        guard !buffer.isEmpty else { return nil }
        let line = Data(buffer)
        take(line.count)
        return line
      }
      let chunk: Data
      do { chunk = try handle.read(upToCount: Self.chunkBytes) ?? Data() } catch {
        throw CommandFailure(
          code: .inputOutput, message: "\(path) cannot be read: \(error.localizedDescription)")
      }
      if chunk.isEmpty { isAtEnd = true } else { buffer.append(chunk) }
    }
  }

  private func take(_ count: Int) {
    lineStart = bytesDone
    bytesDone += UInt64(count)
    buffer = buffer.dropFirst(count)
  }
}
