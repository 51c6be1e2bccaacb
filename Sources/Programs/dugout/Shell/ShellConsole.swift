// The line editor on a terminal, with output of live queries above the line.

import ByteStore
import Foundation

/// Draws the edited line, and prints other output above it. Usable from any thread.
final class ShellConsole: Sendable {
  private struct Shown {
    /// The prompt and the line with its cursor; nil while no line is edited.
    var line: String?
  }

  private static let clear = "\r\u{1B}[K"

  private let shown = Locked(Shown())

  func announce(_ text: String) {
    shown.withLock { shown in
      if let line = shown.line {
        Self.write(Self.clear + ShownText.sanitized(text) + "\n" + line)
      } else {
        Terminal.print(text)
      }
    }
  }

  /// Reads a line from the terminal. Returns nil at the end of the input, and an empty line if the user
  /// abandoned it.
  func line(_ prompt: String, history: [String], completing complete: (String) -> Completion) -> String? {
    var editor = LineEditor(history: history)
    var keys = KeyDecoder()
    return RawTerminal.during {
      defer { leave() }
      draw(prompt, editor)
      while let byte = RawTerminal.byte() {
        guard let key = keys.take(byte) else { continue }
        switch editor.take(key, completing: complete) {
        case .editing: break
        case .candidates(let completion): announce(Self.list(completion, width: RawTerminal.width))
        case .clearScreen: Self.write("\u{1B}[H\u{1B}[2J")
        case .done(let text): return text
        case .cancelled:
          Self.write("^C")
          return ""
        case .ended: return nil
        }
        draw(prompt, editor)
      }
      return nil
    }
  }

  private func draw(_ prompt: String, _ editor: LineEditor) {
    let width = RawTerminal.width
    let line = Self.rendered(
      editor.searchPrompt.map { Self.shortened($0, width: width) } ?? prompt, editor.letters,
      cursor: editor.cursor, width: width)
    shown.withLock { shown in
      shown.line = line
      Self.write(line)
    }
  }

  private func leave() {
    shown.withLock { shown in
      shown.line = nil
      Self.write("\n")
    }
  }

  // MARK: Drawing

  /// Renders one row: the part of the line around the cursor that fits.
  static func rendered(_ prompt: String, _ letters: [Character], cursor: Int, width: Int) -> String {
    let room = max(8, width - prompt.count - 1)
    var start = cursor
    var before = 0
    while start > 0, before + letters[start - 1].columns <= room - 1 {
      start -= 1
      before += letters[start].columns
    }
    var end = cursor
    var used = before
    while end < letters.count, used + letters[end].columns <= room {
      used += letters[end].columns
      end += 1
    }
    let back = used - before
    return clear + prompt + String(letters[start..<end]) + (back > 0 ? "\u{1B}[\(back)D" : "")
  }

  /// Leaves half of the row to the line: drops the middle of a long prompt.
  private static func shortened(_ prompt: String, width: Int) -> String {
    guard prompt.columns > width / 2 else { return prompt }
    return prompt.prefix(1) + "…" + prompt.suffix(max(0, width / 2 - 2))
  }

  /// Lists the candidates. If there are several kinds, each has its title and its own rows.
  static func list(_ completion: Completion, width: Int) -> String {
    let groups = Dictionary(grouping: completion.candidates, by: \.kind)
    let kinds = Completion.Candidate.Kind.allCases.filter { groups[$0] != nil }
    let indent = kinds.count > 1 ? 2 + (kinds.map(\.title.count).max() ?? 0) : 0
    var lines: [String] = []
    for kind in kinds {
      let rows = columns(groups[kind, default: []].map(\.text), max(1, width - indent)).split(separator: "\n")
      for (place, row) in rows.enumerated() {
        lines.append((indent == 0 ? "" : (place == 0 ? kind.title : "").filled(toColumns: indent)) + row)
      }
    }
    if completion.isTruncated { lines.append("and more") }
    return lines.joined(separator: "\n")
  }

  static func columns(_ words: [String], _ width: Int) -> String {
    let cell = (words.map(\.columns).max() ?? 0) + 2
    // The last word of a row needs no gap after it.
    let perRow = max(1, (width + 2) / cell)
    return stride(from: 0, to: words.count, by: perRow).map { start in
      let row = words[start..<min(start + perRow, words.count)]
      return row.dropLast().map { $0.filled(toColumns: cell) }.joined() + (row.last ?? "")
    }.joined(separator: "\n")
  }

  private static func write(_ text: String) {
    try? FileHandle.standardOutput.write(contentsOf: Data(text.utf8))
  }
}
