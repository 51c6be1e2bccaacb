// Lines from a pipe or a file, each handed out as soon as it is there: whoever writes them may wait for an answer.

import Foundation

struct ShellInput {
  /// Beyond that it is no command, and nobody has to hold it.
  static let lineBytesMax = 16 << 20
  private static let chunkBytes = 1 << 16

  private let descriptor: Int32
  private let lineBytesMax: Int
  private var buffer: LineBuffer

  init(_ descriptor: Int32, lineBytesMax: Int = ShellInput.lineBytesMax) {
    self.descriptor = descriptor
    self.lineBytesMax = lineBytesMax
    buffer = LineBuffer(lineBytesMax: lineBytesMax)
  }

  /// Without what ends it. Nil behind the last one.
  mutating func next() throws -> String? {
    while true {
      switch buffer.next() {
      case .line(let line, _):
        return String(decoding: line.last == 0x0D ? line.dropLast() : line, as: UTF8.self)
      case .needsMore: buffer.append(try piece())
      case .tooLong:
        throw CommandFailure(
          code: .badData,
          message: "the line is longer than \(lineBytesMax >> 20) MiB, and a line is one command.")
      case .end: return nil
      }
    }
  }

  /// What is there, once anything is; empty at the end.
  private func piece() throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: Self.chunkBytes)
    while true {
      let count = read(descriptor, &bytes, bytes.count)
      if count >= 0 { return Array(bytes[..<count]) }
      guard errno == EINTR else {
        throw CommandFailure(
          code: .inputOutput, message: "standard input cannot be read: \(String(cString: strerror(errno))).")
      }
    }
  }
}
