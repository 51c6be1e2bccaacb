// Turns the rows of a table into ids and fields.

import DocumentStore

struct TableRows {
  let columns: [Column]
  /// The types of the columns, apart from the rest, because every cell needs them.
  private let types: [FieldType?]
  private let idColumn: Int?
  private let layout: RowLayout
  /// The columns in which no value was found, so that they have no type.
  private let emptyColumns: [Int]
  /// The number of rows from which the types were taken; nil if these were all rows.
  private let rowsSampled: Int?

  init(_ columns: [Column], rowsSampled: Int? = nil) {
    self.columns = columns
    self.rowsSampled = rowsSampled
    types = columns.map(\.type)
    idColumn = columns.firstIndex(where: \.isID)
    layout = RowLayout(columns)
    emptyColumns = columns.indices.filter { place in
      columns[place].name.isEmpty || columns[place].isField && columns[place].type == nil
    }
  }

  /// Returns the id in the row that was read last; nil if no column has ids.
  func id(_ reader: CSVReader) throws(JSONProblem) -> String? {
    guard let idColumn else { return nil }
    let text = try reader.text(idColumn)
    let id = reader.record.cells[idColumn].isQuoted ? text : text.withoutOuterBlanks
    guard !id.isEmpty else {
      throw JSONProblem(
        message: "the column \"\(columns[idColumn].name)\" is empty, and has the ids of the documents")
    }
    return id
  }

  /// Throws if a column without a type has a value, which would be lost.
  func requireEmptyColumns(_ reader: CSVReader) throws(JSONProblem) {
    for column in emptyColumns {
      let cell = reader.record.cells[column]
      guard !columns[column].name.isEmpty else {
        try Self.requireEmpty(cell, column)
        continue
      }
      guard cell.isQuoted || !cell.range.isEmpty, let text = try? reader.text(column) else { continue }
      guard cell.isQuoted || !text.withoutOuterBlanks.isEmpty else { continue }
      var problem = JSONProblem(
        message: "the column has a value here, and none in the rows from which the types were taken")
      problem.field = columns[column].path
      problem.hint =
        "Give the column its type with \(ShellWord.quoted("--type=\(columns[column].name)=string")), and repeat "
        + "the command."
      throw problem
    }
  }

  /// Spreadsheet programs write columns without names after the last one.
  static func requireEmpty(_ cell: CSVRecord.Cell, _ column: Int) throws(JSONProblem) {
    guard cell.range.isEmpty else {
      throw JSONProblem(message: "column \(column + 1) has a value here and no name in the first line")
    }
  }

  func fields(_ reader: CSVReader) throws(JSONProblem) -> StoredMap {
    try layout.fields { column throws(JSONProblem) in try value(column, reader) }
  }

  /// Returns the value of a cell; nil if it is empty. Only a string can be empty between quotes.
  func value(_ column: Int, _ reader: CSVReader) throws(JSONProblem) -> StoredValue? {
    guard let type = types[column] else { return nil }
    let cell = reader.record.cells[column]
    guard !cell.range.isEmpty else { return cell.isQuoted && type == .string ? .string("") : nil }
    let text = try reader.text(column)
    if let value = type.value(of: text) { return value }
    guard !text.withoutOuterBlanks.isEmpty else { return nil }
    throw mismatch(text, column, type: type)
  }

  private func mismatch(_ text: String, _ column: Int, type: FieldType) -> JSONProblem {
    var problem = PlainValue.mismatch(text, type)
    let option = ShellWord.quoted("--type=\(columns[column].name)=string")
    problem.field = columns[column].path
    if let rowsSampled {
      problem.message += ", as the values in the first \(Wording.count(rowsSampled, "row")) are"
      problem.hint =
        "Give the column its type with \(option), or import a file, which is read as a whole before the types are "
        + "chosen."
    } else {
      problem.hint =
        "Correct it, or give the column another type, such as \(option), and repeat the command."
    }
    return problem
  }
}
