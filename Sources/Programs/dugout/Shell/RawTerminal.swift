// A terminal in raw mode, which delivers each key at once.

import Foundation

enum RawTerminal {
  /// Whether input and output are both terminals.
  static var isAvailable: Bool {
    isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1
      && ProcessInfo.processInfo.environment["TERM"] != "dumb"
  }

  /// Runs `body` without echo and without signals from keys, and restores the terminal in any case.
  static func during<Result>(_ body: () throws -> Result) rethrows -> Result {
    var before = termios()
    guard tcgetattr(STDIN_FILENO, &before) == 0 else { return try body() }
    var raw = before
    cfmakeraw(&raw)
    // Other threads may print meanwhile, so newlines still return the carriage.
    raw.c_oflag |= tcflag_t(OPOST)
    tcsetattr(STDIN_FILENO, TCSADRAIN, &raw)
    defer { tcsetattr(STDIN_FILENO, TCSADRAIN, &before) }
    return try body()
  }

  /// Returns the next byte; nil at the end of the input.
  static func byte() -> UInt8? {
    var byte: UInt8 = 0
    while true {
      let count = read(STDIN_FILENO, &byte, 1)
      if count == 1 { return byte }
      guard count < 0, errno == EINTR else { return nil }
    }
  }

  /// The width in columns.
  static var width: Int { Terminal.width(of: STDOUT_FILENO) ?? Terminal.usualWidth }
}
