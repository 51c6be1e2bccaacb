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
}
