// Where output goes: results to standard output, complaints and progress to standard error.

import Foundation

enum Terminal {
  /// Ends the program if nobody takes the output: a full disk, or a reader that has gone.
  static func print(_ text: String) {
    do {
      try FileHandle.standardOutput.write(contentsOf: Data((ShownText.harmless(text) + "\n").utf8))
    } catch {
      complain("dugout: the output could not be written: \(error.localizedDescription)")
      exit(ExitCode.inputOutput.rawValue)
    }
  }

  static func complain(_ text: String) {
    try? FileHandle.standardError.write(contentsOf: Data((ShownText.harmless(text) + "\n").utf8))
  }

  /// Colours only where a person looks, and has not asked for none.
  static func emphasised(_ text: String) -> String {
    let wantsNone = ProcessInfo.processInfo.environment["NO_COLOR"].map { !$0.isEmpty } ?? false
    guard !wantsNone, isatty(STDOUT_FILENO) == 1 else { return text }
    return ShownText.emphasis + text + ShownText.plain
  }

  /// Where a terminal does not say how wide it is.
  static let usualWidth = 80

  /// In columns, as they are now; nil if it is no terminal.
  static func width(of descriptor: Int32) -> Int? {
    guard isatty(descriptor) == 1 else { return nil }
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return usualWidth }
    return Int(size.ws_col)
  }
}
