// One line on standard error that says how far a command is, where a person looks.

import ByteStore
import Foundation

/// Nothing of it goes to a file or a pipe.
final class ProgressLine {
  private static let barCells = 24

  private let isShown: Bool
  private var shown: (percent: Int, what: String)?

  private init(isWanted: Bool) { isShown = isWanted && isatty(STDERR_FILENO) == 1 }

  /// Runs `body`, and takes the line away however it ends. It is not wanted where results go to the same terminal.
  static func during<Result>(
    isWanted: Bool = true, _ body: (ProgressLine) throws -> Result
  ) rethrows -> Result {
    let line = ProgressLine(isWanted: isWanted)
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

  /// How many, how fast, and how long it takes still if it goes on so; `begun` is what was there at the start.
  static func pace(
    documents: Int, seconds: Double, done: UInt64, begun: UInt64 = 0, of total: UInt64
  ) -> String {
    let text =
      "\(Wording.count(documents, "document")), \(Int(Double(documents) / max(seconds, 0.001))) a second"
    guard total > 0, done > begun else { return text }
    let left = seconds * Double(total - min(done, total)) / Double(done - begun)
    return "\(text), \(Wording.duration(seconds: left)) left"
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
