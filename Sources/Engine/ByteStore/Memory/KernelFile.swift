// Reads the small text files in which Linux describes a process, below /proc and /sys.
//
// The parsers accept any content. They work on bytes, because a path may contain any byte except zero.

import Libc

enum KernelFile {
  /// A longer file is cut after its last complete line within this size.
  static let bytesMax = 64 << 10

  private static let newline = UInt8(ascii: "\n")

  /// Returns nil if the file does not exist or cannot be read.
  static func text(of path: String) -> String? {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { _ = close(descriptor) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 16 << 10)
    // The kernel returns long files in several parts.
    while bytes.count < bytesMax {
      let room = min(chunk.count, bytesMax - bytes.count)
      let count = unsafe chunk.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, room) }
      if count < 0 {
        guard errno == EINTR else { return nil }
      } else if count == 0 {
        return String(decoding: bytes, as: UTF8.self)
      } else {
        bytes += chunk.prefix(count)
      }
    }
    let end = bytes.lastIndex(of: newline) ?? 0
    return String(decoding: bytes[..<end], as: UTF8.self)
  }

  static func lines(of text: String) -> [Substring] {
    text.utf8.split(separator: newline).map(Substring.init)
  }

  /// Splits a line at a separator. Two separators in sequence have an empty field between them.
  static func fields(of line: Substring, at separator: Unicode.Scalar, max: Int = .max) -> [Substring] {
    let splits = max == .max ? max : max - 1
    return line.utf8.split(
      separator: UInt8(ascii: separator), maxSplits: splits, omittingEmptySubsequences: false
    ).map(Substring.init)
  }

  /// Parses a file that consists of one number. The word `max`, which stands for no limit, is not a number.
  static func number(_ text: String) -> UInt64? {
    lines(of: text).first.flatMap { UInt64($0) }
  }

  /// Parses the number after `name` in a file with lines such as `inactive_file 4096` or `MemFree:   10 kB`.
  static func number(named name: String, in text: String) -> UInt64? {
    for line in lines(of: text) {
      let words = fields(of: line, at: " ").filter { !$0.isEmpty }
      if words.count > 1, words[0] == name { return UInt64(words[1]) }
    }
    return nil
  }
}
