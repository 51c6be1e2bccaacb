// Documents from the rows of a CSV file or pipe.
//
// A file is read twice: first for the types of its columns, so that a column has one type in all documents.
// The types of a pipe are those of its first rows, and a later row that does not fit is an error.

import DocumentStore
import Foundation

final class CSVSource: PlainSource {
  private let options: PlainOptions
  private let reader: CSVReader
  private let sample: InputBytes
  private let separator: UInt8
  private var rows = TableRows([])
  private var names: DocumentNames
  /// Encoded once, because every commit stores it.
  private var storedPlan: Data?

  let files: [String]

  init(_ input: InputBytes, sample: InputBytes, options: PlainOptions) {
    self.options = options
    self.sample = sample
    let content = sample.bytes.drop { JSONReader.byteOrderMark.contains($0) }
    separator = options.separator ?? PlainFormat.separator(input.path, content)
    reader = CSVReader(input, separator: separator)
    names = DocumentNames(in: options.collection, of: input.path, content: sample.bytes)
    files = input.path == "-" ? [] : [input.path]
  }

  var bytes: UInt64 { reader.input.total }
  var bytesDone: UInt64 { reader.end }
  var start: UInt64 { reader.start }
  var startText: String { "line \(reader.line)" }
  var remarks: [String] { [names.repeated.remark].compactMap { $0 } }

  func prepare(_ line: ProgressLine) throws -> PlainSummary {
    let isFile = readsFiles
    let examined = isFile ? reader : CSVReader(sample, separator: separator)
    let table: TableExamination
    do { table = try TableExamination(examined, options, progress: line) } catch let problem as JSONProblem {
      throw CommandFailure(code: .badData, message: message(problem, inLine: examined.line))
    }
    let isWhole = isFile || sample.isAtEnd
    rows = TableRows(table.columns, rowsSampled: isWhole ? nil : table.rows)
    storedPlan = PlainPlan(options: options, head: names.head, columns: rows.columns).data
    if isFile { try reader.seek(to: 0) }
    // Skips the header.
    _ = try reader.next()
    return PlainSummary(
      headline: "\(name): CSV with \(Wording.count(table.fields.count, "column")), separated by "
        + "\(PlainFormat.name(ofSeparator: separator)), types from "
        + (isWhole ? "" : "the first ") + Wording.count(table.rows, "row"),
      fields: table.fields)
  }

  private func message(_ problem: JSONProblem, inLine line: Int) -> String {
    let hint = problem.hint.map { " " + $0 } ?? ""
    return "\(name), line \(line): \(StoreAccess.ended("\(problem)")) Nothing was imported.\(hint)"
  }

  // MARK: Documents

  var plan: Data? { storedPlan }

  func skip(to offset: UInt64) throws { try reader.seek(to: offset) }

  func resume(at offset: UInt64, after documents: Int, plan: Data?) throws -> Bool {
    guard let plan = PlainPlan(plan, options: options) else { return false }
    try skip(to: offset)
    // A column that was empty in the first run may have values now that the user has corrected a line.
    var columns = plan.columns
    for place in columns.indices where columns[place].type == nil && place < rows.columns.count {
      columns[place].type = rows.columns[place].type
    }
    rows = TableRows(columns)
    names.resume(after: documents, head: plan.head)
    storedPlan = PlainPlan(options: options, head: plan.head, columns: columns).data
    return true
  }

  func next() throws -> (path: DocumentPath, fields: StoredMap)? {
    guard try reader.next() else { return nil }
    try reader.requireCells(rows.columns.count)
    try rows.requireEmptyColumns(reader)
    let fields = try rows.fields(reader)
    guard let id = try rows.id(reader) else { return (try names.path(ofRow: reader.bytes), fields) }
    names.see(id, line: reader.line)
    return (try names.path(id: id), fields)
  }
}
