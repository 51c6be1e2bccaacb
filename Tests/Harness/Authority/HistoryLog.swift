// The readable record of a history: one line per event. A failure prints the last lines.

import ByteStore

package final class HistoryLog: Sendable {
  private static let linesMax = 4000
  private static let shownMax = 200

  private struct State {
    var lines: [String] = []
    var dropped = 0
    /// A hash of all lines; equal histories have equal fingerprints.
    var fingerprint: UInt64 = 0
  }

  private let state = Locked(State())

  package init() {}

  private static let columnsMax = 400

  package func note(_ text: String) {
    // Some names contain a zero byte.
    let printable = text.split(separator: "\0", omittingEmptySubsequences: false).joined(separator: "\\0")
    let line = printable.prefix(Self.columnsMax) + (printable.count > Self.columnsMax ? "…" : "")
    state.withLock { state in
      state.lines.append(String(line))
      for byte in line.utf8 { state.fingerprint = (state.fingerprint ^ UInt64(byte)) &* 0x0100_0000_01B3 }
      guard state.lines.count > 2 * Self.linesMax else { return }
      state.lines.removeFirst(Self.linesMax)
      state.dropped += Self.linesMax
    }
  }

  var fingerprint: UInt64 { state.withLock { $0.fingerprint } }

  /// The last lines, numbered from the start of the history.
  package var text: String {
    state.withLock { state in
      let shown = state.lines.suffix(Self.shownMax)
      let first = state.dropped + state.lines.count - shown.count
      return shown.enumerated().map { "  \(first + $0.offset) \($0.element)" }.joined(separator: "\n")
    }
  }
}

/// A violation of the protocol, or a difference between a client and the authority.
package struct Violation: Error, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }
}
