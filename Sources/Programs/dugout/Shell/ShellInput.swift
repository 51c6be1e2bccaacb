// Reads lines from a pipe or a file, each as soon as it is complete: the writer may wait for an answer.

import Foundation

struct ShellInput {
  /// No command is longer, so longer lines are not buffered.
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

  /// Returns the next line without its end; nil after the last one.
  mutating func next() throws -> String? {
    while true {
      switch buffer.next() {
      case .line(let line, _):
        return try ProgramArguments.text(
          line.last == 0x0D ? line.dropLast() : line, of: "the line", code: .badData)
      case .needsMore: buffer.append(try piece())
      case .tooLong:
        throw CommandFailure(
          code: .badData,
          message: "the line is longer than \(lineBytesMax >> 20) MiB, and a line is one command.")
      case .end: return nil
      }
    }
  }

  /// Returns the available bytes, at least one; empty at the end of the input.
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
