// Reads a table once for the types of its columns, and for problems, before anything is written.

import DocumentStore

struct TableExamination {
  private(set) var columns: [Column] = []
  private(set) var guesses: [ColumnGuess] = []
  private(set) var rows = 0

  private static let rowsBetweenProgress = 10_000

  /// Throws a `JSONProblem` about the row that the reader has read last.
  init(_ reader: CSVReader, _ options: PlainOptions, progress: ProgressLine) throws {
    guard try reader.next() else {
      throw JSONProblem(message: "there is no line with the names of the columns")
    }
    let headers = try reader.record.cells.indices.map { column throws(JSONProblem) in try reader.text(column)
    }
    let header = try Columns.columns(headers, options)
    var guesses = [ColumnGuess](repeating: ColumnGuess(), count: header.count)
    let open = header.indices.filter { header[$0].isField && header[$0].type == nil }
    let given = header.indices.filter { header[$0].isField && header[$0].type != nil }
    let unnamed = header.indices.filter { header[$0].name.isEmpty }
    let known = TableRows(header)
    let names = DocumentNames(in: options.collection, of: reader.input.path, content: [])
    while try reader.next() {
      try reader.requireCells(header.count)
      try reader.requireUTF8()
      for column in unnamed { try TableRows.requireEmpty(reader.record.cells[column], column) }
      for column in given { _ = try known.value(column, reader) }
      if let id = try known.id(reader) { _ = try names.path(id: id) }
      for column in open {
        guesses[column].see(reader.record.cells[column], in: reader.input.bytes, line: reader.line)
      }
      rows += 1
      if rows % Self.rowsBetweenProgress == 0 {
        progress.show(reader.end, of: reader.input.total, what: "looking for the types in \(rows) rows")
      }
    }
    self.guesses = guesses
    columns = header
    for column in open { columns[column].type = guesses[column].type }
  }

  /// The columns with their types, for the user.
  var fields: [PlainSummary.Field] {
    zip(columns, guesses).filter { !$0.0.name.isEmpty }.map { column, guess in
      let type = column.type?.rawValue ?? "empty"
      let isOnlyID = column.isID && !column.isField
      return PlainSummary.Field(
        name: FieldName.text(of: column.path), type: isOnlyID ? "the document's id" : type,
        remark: column.isID && !isOnlyID ? "also the document's id" : guess.remark)
    }
  }
}
