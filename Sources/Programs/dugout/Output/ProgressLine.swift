// A progress line on standard error, for interactive use.

import ByteStore
import Foundation
import StoreTools

/// Draws progress in one row of a terminal, and writes nothing to a file or a pipe. The text must fit in the
/// row: a longer text would wrap, and only its last row could be erased.
final class ProgressLine {
  private static let barCells = 24
  /// A shorter bar would not be readable.
  private static let barCellsMin = 8
  /// The minimum time between two drawings, for slow terminals and fast commands.
  static let pause = Duration.milliseconds(100)

  /// The current width of the terminal; nil if there is none.
  private let width: () -> Int?
  private let now: () -> ContinuousClock.Instant
  private let write: (String) -> Void
  private var shown: (percent: Int?, what: String, since: ContinuousClock.Instant)?

  init(
    width: @escaping () -> Int?, now: @escaping () -> ContinuousClock.Instant = { .now },
    write: @escaping (String) -> Void
  ) {
    self.width = width
    self.now = now
    self.write = write
  }

  /// Runs `body`. Erases the line afterwards, even if `body` throws. `isWanted` must be false if the results
  /// are printed to the same terminal.
  static func during<Result>(
    isWanted: Bool = true, _ body: (ProgressLine) throws -> Result
  ) rethrows -> Result {
    let line = ProgressLine(
      width: { isWanted ? Terminal.width(of: STDERR_FILENO) : nil },
      write: { try? FileHandle.standardError.write(contentsOf: Data($0.utf8)) })
    defer { line.end() }
    return try body(line)
  }

  func show(_ progress: CheckProgress) {
    show(progress.bytesDone, of: progress.bytesTotal, what: progress.file)
  }

  func show(_ progress: BackupProgress) {
    show(progress.bytesDone, of: progress.bytesTotal, what: progress.step.rawValue)
  }

  func show(_ done: UInt64, of total: UInt64, what: String) {
    guard total > 0 else { return }
    draw(Int(100 * Double(done) / Double(total)), what)
  }

  /// Shows an activity whose total is unknown.
  func show(_ what: String) { draw(nil, what) }

  private func draw(_ percent: Int?, _ what: String) {
    let time = now()
    if let shown {
      let isNew = shown.percent != percent || shown.what != what
      // The drawing of 100 percent is never skipped, even if the previous one was a moment ago.
      let isEnd = percent == 100 && shown.percent != 100
      guard isNew, isEnd || time - shown.since >= Self.pause else { return }
    }
    guard let width = width() else { return }
    shown = (percent, what, time)
    write("\r\(Self.row(percent, ShownText.escaped(what), width: width))\u{1B}[K")
  }

  /// Formats the count, the rate and the estimated remaining time; `doneAtStart` is the progress at the
  /// start.
  static func pace(
    documents: Int, seconds: Double, done: UInt64, doneAtStart: UInt64 = 0, of total: UInt64
  ) -> String {
    let text =
      "\(Wording.count(documents, "document")), \(Int(Double(documents) / max(seconds, 0.001))) a second"
    guard total > 0, done > doneAtStart else { return text }
    let left = seconds * Double(total - min(done, total)) / Double(done - doneAtStart)
    return "\(text), \(Wording.duration(seconds: left)) left"
  }

  /// Formats the row. If space is short, the bar shrinks first, then the text. The last column stays
  /// empty, because some terminals wrap when it is written.
  static func row(_ percent: Int?, _ what: String, width: Int) -> String {
    let room = width - 1
    guard let percent else { return what.shortened(toColumns: room) }
    let text = " \(percent) %  \(what)"
    // The cells between the brackets.
    let cells = max(barCellsMin, min(barCells, room - 2 - text.columns))
    let full = min(cells, max(0, percent) * cells / 100)
    let bar = String(repeating: "#", count: full) + String(repeating: ".", count: cells - full)
    return "[\(bar)]\(text)".shortened(toColumns: room)
  }

  private func end() {
    if shown != nil { write("\r\u{1B}[K") }
  }
}
