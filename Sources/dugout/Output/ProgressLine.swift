// One line on standard error that says how far a command is, where a person looks.

import ByteStore
import Foundation

/// Nothing of it goes to a file or a pipe.
final class ProgressLine {
  private static let barCells = 24

  private let isShown = isatty(STDERR_FILENO) == 1
  private var shown: (percent: Int, what: String)?

  /// Runs `body`, and takes the line away however it ends.
  static func during<Result>(_ body: (ProgressLine) throws -> Result) rethrows -> Result {
    let line = ProgressLine()
    defer { line.end() }
    return try body(line)
  }

  func show(_ progress: CheckProgress) { show(progress.bytesDone, of: progress.bytesTotal, progress.file) }

  func show(_ progress: BackupProgress) {
    show(progress.bytesDone, of: progress.bytesTotal, progress.step.rawValue)
  }

  func show(_ done: UInt64, of total: UInt64, _ what: String) {
    guard isShown, total > 0 else { return }
    let percent = Int(100 * Double(done) / Double(total))
    guard shown?.percent != percent || shown?.what != what else { return }
    shown = (percent, what)
    write("\r\(Self.bar(percent)) \(percent) %  \(what)\u{1B}[K")
  }

  static func bar(_ percent: Int) -> String {
    let full = min(barCells, max(0, percent) * barCells / 100)
    return "[" + String(repeating: "#", count: full) + String(repeating: ".", count: barCells - full) + "]"
  }

  private func end() {
    if shown != nil { write("\r\u{1B}[K") }
  }

  private func write(_ text: String) { try? FileHandle.standardError.write(contentsOf: Data(text.utf8)) }
}
