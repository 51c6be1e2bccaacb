// The groups of a query as a table, as JSON and as CSV.

import DocumentStore
import Foundation

struct GroupOutput {
  private static let cellMax = 40
  /// The cell of a field that the documents of a group lack. In CSV it is empty, and in JSON there is no
  /// member.
  private static let missing = "(missing)"

  private let groups: GroupedDocuments
  private let rows: [GroupedDocuments.Row]
  private let offset: Int
  /// A sentence about fields that no document has.
  private let remark: String?

  init(_ groups: GroupedDocuments, after offset: Int, remark: String?) {
    self.groups = groups
    rows = groups.rows(after: offset)
    self.offset = offset
    self.remark = remark
  }

  private var grouping: Grouping { groups.grouping }

  // MARK: For the eye

  func text(width: Int? = Terminal.width(of: STDOUT_FILENO)) -> String {
    guard !grouping.fields.isEmpty else {
      let results = rows.first?.results ?? []
      let lines = zip(grouping.results, results).map {
        "\(ShownText.escaped($0.name))  \(DocumentText.cell(of: $1))"
      }
      return (lines + (remark.map { [$0] } ?? [])).joined(separator: "\n")
    }
    var table = TextTable(fieldColumns + resultColumns)
    table.squeeze(width)
    let hidden = table.removeExcess(width)
    var summary = ResultSummary(shown: rows.count, noun: noun)
    summary.total = .exactly(groups.count)
    summary.offset = offset
    summary.hiddenFields = hidden
    summary.howToShow = "--json or --csv"
    summary.remarks = [
      groups.documents == 0 ? nil : "counted \(Wording.count(groups.documents, "document"))", remark,
    ]
    return ((rows.isEmpty ? [] : table.lines) + [summary.text]).joined(separator: "\n")
  }

  private var noun: (String, String) {
    guard grouping.results.isEmpty else { return ("group", "groups") }
    return grouping.fields.count == 1
      ? ("different value", "different values") : ("different combination", "different combinations")
  }

  private var fieldColumns: [TextTable.Column] {
    grouping.fields.indices.map { place in
      TextTable.Column(
        title: ShownText.escaped(grouping.fields[place].canonical),
        cells: rows.map { row in
          (row.values[place].map(DocumentText.cell) ?? Self.missing).shortened(toColumns: Self.cellMax)
        })
    }
  }

  private var resultColumns: [TextTable.Column] {
    grouping.results.indices.map { place in
      let values = rows.map { $0.results[place] }
      return TextTable.Column(
        title: ShownText.escaped(grouping.results[place].name),
        cells: values.map { DocumentText.cell(of: $0).shortened(toColumns: Self.cellMax) },
        isNumeric: values.contains { StoredNumber($0) != nil })
    }
  }

  // MARK: For programs

  var object: JSON {
    guard !grouping.fields.isEmpty else { return results(rows.first?.results ?? []) }
    return [
      "documents": groups.documents, "total": groups.count,
      "groups": rows.map { row in
        [
          "fields": JSON.object(
            zip(grouping.fields, row.values).compactMap { field, value in
              value.map { JSON.Member(name: field.canonical, value: DocumentJSON.object(of: $0)) }
            }), "results": results(row.results),
        ] as JSON
      },
    ]
  }

  private func results(_ values: [StoredValue]) -> JSON {
    .object(
      zip(grouping.results, values).map { JSON.Member(name: $0.name, value: DocumentJSON.object(of: $1)) })
  }

  /// The titles and one line for each group.
  var csv: [String] {
    let titles = grouping.fields.map(\.canonical) + grouping.results.map(\.name)
    return [CSV.row(titles)]
      + rows.map { row in CSV.row(row.values.map { $0.map(CSV.cell) ?? "" } + row.results.map(CSV.cell)) }
  }

  /// Prints the sentence about missing fields where the output itself has no place for it.
  func showRemark() {
    if let remark { Terminal.printToStandardError("dugout query: \(remark)") }
  }
}
