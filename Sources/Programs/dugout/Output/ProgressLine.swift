// One line on standard error that says how far a command is, where a person looks.

import ByteStore
import Foundation
import StoreTools

/// Nothing of it goes to a file or a pipe. It takes one row, whatever there is to say: of a line that goes on in the
/// next row, only the end could be taken away again.
final class ProgressLine {
  private static let barCells = 24
  /// A shorter one says nothing.
  private static let barCellsMin = 8
  /// Between two drawings, for slow terminals and fast commands.
  static let pause = Duration.milliseconds(100)

  /// Of the terminal, as it is now; nil where nobody looks.
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

  /// Runs `body`, and takes the line away however it ends. It is not wanted where results go to the same terminal.
  static func during<Result>(
    isWanted: Bool = true, _ body: (ProgressLine) throws -> Result
  ) rethrows -> Result {
    let line = ProgressLine(
      width: { isWanted ? Terminal.width(of: STDERR_FILENO) : nil },
      write: { try? FileHandle.standardError.write(contentsOf: Data($0.utf8)) })
    defer { line.end() }
    return try body(line)
  }

  func show(_ progress: CheckProgress) { show(progress.bytesDone, of: progress.bytesTotal, progress.file) }

  func show(_ progress: BackupProgress) {
    show(progress.bytesDone, of: progress.bytesTotal, progress.step.rawValue)
  }

  func show(_ done: UInt64, of total: UInt64, _ what: String) {
    guard total > 0 else { return }
    draw(Int(100 * Double(done) / Double(total)), what)
  }

  /// Of what nobody knows the end.
  func show(_ what: String) { draw(nil, what) }

  private func draw(_ percent: Int?, _ what: String) {
    let moment = now()
    if let shown {
      let isNew = shown.percent != percent || shown.what != what
      // The end is always seen.
      let isEnd = percent == 100 && shown.percent != 100
      guard isNew, isEnd || moment - shown.since >= Self.pause else { return }
    }
    guard let width = width() else { return }
    shown = (percent, what, moment)
    write("\r\(Self.row(percent, ShownText.escaped(what), width: width))\u{1B}[K")
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

  /// The bar gives way first, and then the end of the text. The last column stays free: some terminals are in the next
  /// row once it is written.
  static func row(_ percent: Int?, _ what: String, width: Int) -> String {
    let room = width - 1
    guard let percent else { return what.shortened(toColumns: room) }
    let text = " \(percent) %  \(what)"
    // Between its brackets.
    let cells = max(barCellsMin, min(barCells, room - 2 - text.columns))
    let full = min(cells, max(0, percent) * cells / 100)
    let bar = String(repeating: "#", count: full) + String(repeating: ".", count: cells - full)
    return "[\(bar)]\(text)".shortened(toColumns: room)
  }

  private func end() {
    if shown != nil { write("\r\u{1B}[K") }
  }
}
