// Sentences for the person who runs the server, on the standard error output. The log is there, too, so they
// have its form if a program reads it.

import DugoutServer

struct ServeNotes: Sendable {
  private let log: ServerLog

  init(_ log: ServerLog) { self.log = log }

  func write(_ level: LogLevel, _ text: String) {
    if log.isOn, log.format == .json { return log.note(level, text) }
    let line = (level == .warning ? "Warning: " : "") + text
    // The log does not block, and keeps its lines and these sentences in order.
    if log.isOn { log.write(ShownText.sanitized(line)) } else { Terminal.printToStandardError(line) }
  }

  /// Writes a sentence about an event that the server itself logs, unless there is a log.
  func writeUnlessLogged(_ level: LogLevel, _ text: String) {
    if !log.isOn { write(level, text) }
  }

  /// Waits until all sentences are written, for a second at most.
  func flush() async { await log.flush() }
}
