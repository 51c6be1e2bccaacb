// A terminal that hands over every key as it is pressed.

import Foundation

enum RawTerminal {
  /// Whether a person sits at both ends.
  static var isThere: Bool {
    isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1
      && ProcessInfo.processInfo.environment["TERM"] != "dumb"
  }

  /// Runs `body` while nothing is echoed and no key is a signal; then everything is as before, however it ends.
  static func during<Result>(_ body: () throws -> Result) rethrows -> Result {
    var before = termios()
    guard tcgetattr(STDIN_FILENO, &before) == 0 else { return try body() }
    var raw = before
    cfmakeraw(&raw)
    // What other threads print still has whole lines.
    raw.c_oflag |= tcflag_t(OPOST)
    tcsetattr(STDIN_FILENO, TCSADRAIN, &raw)
    defer { tcsetattr(STDIN_FILENO, TCSADRAIN, &before) }
    return try body()
  }

  /// The next byte; nil at the end.
  static func byte() -> UInt8? {
    var byte: UInt8 = 0
    while true {
      let count = read(STDIN_FILENO, &byte, 1)
      if count == 1 { return byte }
      guard count < 0, errno == EINTR else { return nil }
    }
  }

  /// In columns.
  static var width: Int { Terminal.width(of: STDOUT_FILENO) ?? Terminal.usualWidth }
}
