// Shows progress on standard error. If standard error is a terminal, the progress is one changing line.

import Foundation

enum Progress {
  static let isTerminal = isatty(STDERR_FILENO) == 1

  static func step(_ text: String, done: Int, of total: Int) {
    guard isTerminal else { return }
    let width = 24
    let filled = width * done / max(total, 1)
    let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
    write("\r\u{1B}[K\(bar) \(text)")
  }

  static func clear() { if isTerminal { write("\r\u{1B}[K") } }

  /// Shows that a longer operation has started.
  static func note(_ text: String) { write(isTerminal ? "\r\u{1B}[K\(text) …" : "\(text)\n") }

  static func say(_ text: String) {
    clear()
    write(text + "\n")
  }

  /// Prints results immediately, so that a run that is interrupted later has already shown them.
  static func print(_ text: String) { FileHandle.standardOutput.write(Data(text.utf8)) }

  private static func write(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }
}
