// Documents as a table: one a line, a column for each field that most of them have.

import DocumentStore

enum DocumentTable {
  private static let columnsMax = 8
  private static let cellMax = 28

  static func text(of documents: [StoredDocument], fullPaths: Bool) -> String {
    guard !documents.isEmpty else { return "no documents" }
    let columns = columns(of: documents)
    var rows = [[fullPaths ? "path" : "id"] + columns.map(ShownText.escaped)]
    for document in documents {
      rows.append(
        [shortened(PathText.printed(fullPaths ? document.path.segments : [document.path.id]), to: 60)]
          + columns.map { name in
            let value = document.fields.entries.first { $0.name == name }?.value
            return value.map { shortened(DocumentText.cell(of: $0), to: cellMax) } ?? ""
          })
    }
    let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    let lines = rows.enumerated().map { number, row in
      let line = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
        .joined(separator: "  ")
      let trimmed = String(line.reversed().drop { $0 == " " }.reversed())
      return number == 0 ? Terminal.emphasised(trimmed) : trimmed
    }
    let others = Set(documents.flatMap { $0.fields.entries.map(\.name) }).count - columns.count
    var end = Wording.count(documents.count, "document")
    if others > 0 { end += "; \(Wording.count(others, "more field")) with --json" }
    return (lines + [end]).joined(separator: "\n")
  }

  /// Those that most documents have, in the order of their names.
  private static func columns(of documents: [StoredDocument]) -> [String] {
    var counts: [String: Int] = [:]
    for document in documents { for (name, _) in document.fields.entries { counts[name, default: 0] += 1 } }
    let most = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(columnsMax)
    return most.map(\.key).sorted()
  }

  private static func shortened(_ text: String, to count: Int) -> String {
    text.count <= count ? text : text.prefix(count - 1) + "…"
  }
}
