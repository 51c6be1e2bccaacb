// Asks a person before a command changes many documents.

import Foundation

enum Confirmation {
  static let option = "--yes"

  /// Throws if the command must ask and there is no terminal.
  static func checkPossible(_ arguments: Arguments) throws {
    guard !arguments.has(option), !isPossible else { return }
    throw CommandFailure(
      code: .usage,
      message:
        "this changes all documents that the query finds, and there is no terminal to ask at. Look at them "
        + "with --dry-run, and add \(option). Nothing was changed.")
  }

  private static var isPossible: Bool { isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 }

  /// Returns whether the answer is yes. The end of the input is a no.
  static func ask(_ question: String) -> Bool {
    let prompt = "\(ShownText.sanitized(question)) [y/N] "
    guard (try? FileHandle.standardOutput.write(contentsOf: Data(prompt.utf8))) != nil else { return false }
    guard let answer = line() else {
      Terminal.print("")
      return false
    }
    return ["y", "yes"].contains(answer.trimmingCharacters(in: .whitespaces).lowercased())
  }

  /// Reads byte by byte, so that the next reader gets the bytes after the line. Returns nil at the end of the
  /// input.
  private static func line() -> String? {
    var bytes: [UInt8] = []
    var byte: UInt8 = 0
    while true {
      let count = read(STDIN_FILENO, &byte, 1)
      if count < 0, errno == EINTR { continue }
      guard count == 1 else { return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self) }
      guard byte != UInt8(ascii: "\n") else { return String(decoding: bytes, as: UTF8.self) }
      bytes.append(byte)
    }
  }
}
