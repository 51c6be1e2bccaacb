// One line on standard error that says how far a command is, where a person looks.

import ByteStore
import Foundation

/// Nothing of it goes to a file or a pipe.
final class ProgressLine {
  private let isShown = isatty(STDERR_FILENO) == 1
  private var shownPercent = -1

  func show(_ progress: CheckProgress) {
    guard isShown, progress.bytesTotal > 0 else { return }
    let percent = Int(100 * Double(progress.bytesDone) / Double(progress.bytesTotal))
    guard percent != shownPercent else { return }
    shownPercent = percent
    write("\r\(percent) %  \(progress.file)\u{1B}[K")
  }

  /// Takes the line away.
  func end() {
    if isShown, shownPercent >= 0 { write("\r\u{1B}[K") }
  }

  private func write(_ text: String) { try? FileHandle.standardError.write(contentsOf: Data(text.utf8)) }
}
