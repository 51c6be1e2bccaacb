// A table of documents: one row each, with columns for the most frequent fields.

import DocumentStore
import Foundation

enum DocumentTable {
  private static let columnsMax = 8
  private static let cellMax = 28
  private static let pathMax = 60
  private static let gap = "  "

  /// Formats the table. Columns that exceed the terminal's width are left out and counted at the end; a
  /// nil width is unlimited.
  static func text(
    of documents: [StoredDocument], fullPaths: Bool, width: Int? = Terminal.width(of: STDOUT_FILENO)
  ) -> String {
    guard !documents.isEmpty else { return "no documents" }
    let paths = documents.map { document in
      PathText.printed(fullPaths ? document.path.segments : [document.path.id])
        .shortened(toColumns: min(pathMax, width ?? pathMax))
    }
    let fields = fields(of: documents).map { [ShownText.escaped($0)] + cells(of: $0, in: documents) }
    let columns = fitting([[fullPaths ? "path" : "id"] + paths] + fields, width)
    let lines = (0...documents.count).map { row in
      let line = columns.map { $0.cells[row].filled(toColumns: $0.width) }.joined(separator: gap)
      let trimmed = String(line.reversed().drop { $0 == " " }.reversed())
      return row == 0 ? Terminal.emphasised(trimmed) : trimmed
    }
    let others = Set(documents.flatMap { $0.fields.entries.map(\.name) }).count - (columns.count - 1)
    var end = Wording.count(documents.count, "document")
    if others > 0 { end += "; \(Wording.count(others, "more field")) with --json" }
    return (lines + [end]).joined(separator: "\n")
  }

  /// Returns the most frequent fields, sorted by name.
  private static func fields(of documents: [StoredDocument]) -> [String] {
    var counts: [String: Int] = [:]
    for document in documents { for (name, _) in document.fields.entries { counts[name, default: 0] += 1 } }
    let most = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(columnsMax)
    return most.map(\.key).sorted()
  }

  private static func cells(of field: String, in documents: [StoredDocument]) -> [String] {
    documents.map { document in
      let value = document.fields.entries.first { $0.name == field }?.value
      return value.map { DocumentText.cell(of: $0).shortened(toColumns: cellMax) } ?? ""
    }
  }

  /// Returns the leftmost columns that fit, but at least the first.
  private static func fitting(_ columns: [[String]], _ room: Int?) -> [(cells: [String], width: Int)] {
    var shown: [(cells: [String], width: Int)] = []
    var used = 0
    for cells in columns {
      let width = cells.map(\.columns).max() ?? 0
      used += width + (shown.isEmpty ? 0 : gap.count)
      if let room, used > room, !shown.isEmpty { break }
      shown.append((cells, width))
    }
    return shown
  }
}

// MARK: Text in terminal columns

extension Character {
  /// The number of columns in almost all terminals.
  var columns: Int {
    guard let scalar = unicodeScalars.first else { return 0 }
    switch scalar.value {
    case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
      0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F900...0x1F9FF, 0x20000...0x3FFFD:
      return 2
    default: return 1
    }
  }
}

extension String {
  /// The number of columns in a terminal.
  var columns: Int { reduce(0) { $0 + $1.columns } }

  /// Truncates the text to the width, with an ellipsis if something is cut off.
  func shortened(toColumns room: Int) -> String {
    guard columns > room else { return self }
    guard room > 0 else { return "" }
    var used = 1
    let start = prefix { letter in
      used += letter.columns
      return used <= room
    }
    return start + "…"
  }

  /// Pads the text with spaces.
  func filled(toColumns room: Int) -> String { self + String(repeating: " ", count: max(0, room - columns)) }
}
