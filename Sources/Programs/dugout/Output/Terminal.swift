// Output: results to standard output, errors and progress to standard error.

import Foundation

enum Terminal {
  /// Ends the program if the output cannot be written, because the disk is full or the reader has exited.
  static func print(_ text: String) { write(ShownText.sanitized(text) + "\n") }

  private static let chunkBytes = 1 << 16

  /// Prints lines for programs unchanged, unless a terminal shows them.
  static func print(lines: [String]) {
    let isShown = isatty(STDOUT_FILENO) == 1
    var text = ""
    for line in lines {
      text += (isShown ? ShownText.sanitized(line) : line) + "\n"
      guard text.utf8.count >= chunkBytes else { continue }
      write(text)
      text = ""
    }
    if !text.isEmpty { write(text) }
  }

  private static func write(_ text: String) {
    do {
      try FileHandle.standardOutput.write(contentsOf: Data(text.utf8))
    } catch {
      printToStandardError("dugout: the output could not be written: \(error.localizedDescription)")
      exit(ExitCode.inputOutput.rawValue)
    }
  }

  static func printToStandardError(_ text: String) {
    try? FileHandle.standardError.write(contentsOf: Data((ShownText.sanitized(text) + "\n").utf8))
  }

  /// Emphasizes text on a terminal, unless the user has disabled colours.
  static func emphasised(_ text: String) -> String {
    let wantsNone = ProcessInfo.processInfo.environment["NO_COLOR"].map { !$0.isEmpty } ?? false
    guard !wantsNone, isatty(STDOUT_FILENO) == 1 else { return text }
    return ShownText.emphasis + text + ShownText.plain
  }

  /// The width if a terminal does not report its own.
  static let usualWidth = 80

  private static let helpWidthMin = 40

  /// The width to which help is filled: `COLUMNS`, or that of the terminal, or 80.
  static var helpWidth: Int {
    let wanted = ProcessInfo.processInfo.environment["COLUMNS"].flatMap { Int($0) }.flatMap {
      $0 > 0 ? $0 : nil
    }
    return max(helpWidthMin, wanted ?? width(of: STDOUT_FILENO) ?? usualWidth)
  }

  /// Returns the current width in columns; nil if the descriptor is not a terminal.
  static func width(of descriptor: Int32) -> Int? {
    guard isatty(descriptor) == 1 else { return nil }
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return usualWidth }
    return Int(size.ws_col)
  }
}
