// A table of documents: one row each, with columns for chosen fields or for the most frequent ones.

import DocumentStore
import Foundation

struct DocumentTable {
  private static let columnsMax = 8
  private static let cellMax = 28
  private static let pathMax = 60
  /// The maximum width of a chosen field in a table of unlimited width.
  private static let chosenMax = 200

  struct Form {
    /// Whether rows begin with the path of the document, and not only with its id.
    var fullPaths: Bool
    /// The fields to show, in this order; nil for the most frequent ones.
    var fields: FieldList?
    /// Nil is unlimited.
    var width = Terminal.width(of: STDOUT_FILENO)
  }

  /// The titles and one line for each document; empty without documents.
  let lines: [String]
  /// The number of fields that the table does not show.
  let hiddenFields: Int

  /// Columns that exceed the width are left out. Chosen fields are shortened first.
  init(_ documents: [StoredDocument], _ form: Form) {
    guard !documents.isEmpty else {
      (lines, hiddenFields) = ([], 0)
      return
    }
    if let fields = form.fields {
      var table = TextTable(Self.columns(of: fields, in: documents, form: form))
      table.squeeze(form.width)
      hiddenFields = table.removeExcess(form.width)
      lines = table.lines
    } else {
      let fields = Self.frequentFields(of: documents).map { name in
        let path = StoredFieldPath(unchecked: [name])
        return Self.column(ShownText.escaped(name), path, in: documents, cellMax: Self.cellMax)
      }
      var table = TextTable([Self.names(of: documents, form)] + fields)
      _ = table.removeExcess(form.width)
      let all = Set(documents.flatMap { $0.fields.entries.map(\.name) }).count
      hiddenFields = all - (table.columns.count - 1)
      lines = table.lines
    }
  }

  private static func names(of documents: [StoredDocument], _ form: Form) -> TextTable.Column {
    TextTable.Column(
      title: form.fullPaths ? "path" : "id",
      cells: documents.map { document in
        PathText.printed(form.fullPaths ? document.path.segments : [document.path.id])
          .shortened(toColumns: min(pathMax, form.width ?? pathMax))
      })
  }

  /// The name of the document is the first column unless the fields say where it is.
  private static func columns(
    of fields: FieldList, in documents: [StoredDocument], form: Form
  ) -> [TextTable.Column] {
    let first = fields.paths.contains(.documentID) ? [] : [names(of: documents, form)]
    return first
      + fields.paths.map { field in
        field == .documentID
          ? names(of: documents, form)
          : column(
            ShownText.escaped(field.canonical), field, in: documents, cellMax: form.width ?? chosenMax)
      }
  }

  private static func column(
    _ title: String, _ field: StoredFieldPath, in documents: [StoredDocument], cellMax: Int
  ) -> TextTable.Column {
    TextTable.Column(
      title: title,
      cells: documents.map { document in
        document.value(of: field).map { DocumentText.cell(of: $0).shortened(toColumns: cellMax) } ?? ""
      })
  }

  /// Returns the most frequent fields, sorted by name.
  private static func frequentFields(of documents: [StoredDocument]) -> [String] {
    var counts: [String: Int] = [:]
    for document in documents { for (name, _) in document.fields.entries { counts[name, default: 0] += 1 } }
    let most = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(columnsMax)
    return most.map(\.key).sorted()
  }
}
