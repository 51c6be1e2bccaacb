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
