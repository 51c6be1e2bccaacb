// The preview of an edit of many documents: `--dry-run`.

import DocumentStore
import Foundation

struct EditPreview {
  static let option = "--dry-run"
  /// The number of documents that are printed for the eye.
  private static let shownMax = 20
  private static let valueMax = 28
  private static let missing = "(missing)"

  private let edit: QueryEdit
  private let fields: [StoredFieldPath]
  private let keepsAll: Bool
  private var matched = 0
  private var undecodable = Undecodable()
  /// The documents that would change; all of them if `keepsAll`, and otherwise the first ones.
  private var changes: [(before: StoredDocument, after: StoredDocument?)] = []
  private var changed = 0

  private init(_ edit: QueryEdit, _ fields: [StoredFieldPath], keepsAll: Bool) {
    self.edit = edit
    self.fields = fields
    self.keepsAll = keepsAll
  }

  /// Reads the documents. `fields` are those that the edit changes.
  static func of(
    _ edit: QueryEdit, changing fields: [StoredFieldPath], keepsAll: Bool, in store: DocumentStore
  ) throws(DocumentStoreError) -> EditPreview {
    var preview = EditPreview(edit, fields, keepsAll: keepsAll)
    let time = StoredTimestamp(microseconds: Int64(Date().timeIntervalSince1970 * 1e6))
    var failure: DocumentStoreError?
    let pages = DocumentPages(store: store, query: edit.query)
    try pages.forEach(
      checkNotInterrupted: { () throws(DocumentStoreError) in if let failure { throw failure } },
      skipped: { preview.undecodable.add($0) }
    ) { page in
      for document in page where failure == nil {
        do throws(DocumentStoreError) {
          try preview.add(document, at: time ?? document.updateTime)
        } catch { failure = error }
      }
    }
    if let failure { throw failure }
    return preview
  }

  private mutating func add(_ document: StoredDocument, at time: StoredTimestamp) throws(DocumentStoreError) {
    matched += 1
    guard let mutation = try edit.mutation(document) else { return }
    let after = try mutation.apply(to: document, at: time)
    if let after { try DocumentLimits.check(after) }
    changed += 1
    if keepsAll || changes.count < Self.shownMax { changes.append((document, after)) }
  }

  // MARK: Answers

  func text(width: Int? = Terminal.width(of: STDOUT_FILENO)) -> String {
    let rest = changed - min(changed, Self.shownMax)
    let more = rest > 0 ? ["and \(Wording.count(rest, "more document", plural: "more documents"))"] : []
    var sentences = ["\(Wording.count(changed, "document")) would be \(edit.words.participle)."]
    if matched > changed {
      sentences.append(
        "\(matched - changed) already \(matched - changed == 1 ? "has" : "have") these values.")
    }
    if changed > 0, !edit.words.scope.isEmpty { sentences.append(edit.words.scope) }
    sentences.append("Nothing was written.")
    return (rows(width) + more + [sentences.joined(separator: " ")]).joined(separator: "\n")
  }

  private func rows(_ width: Int?) -> [String] {
    let shown = changes.prefix(Self.shownMax)
    guard !fields.isEmpty else {
      return DocumentTable(shown.map(\.before), DocumentTable.Form(fullPaths: true, width: width)).lines
    }
    return shown.map { change in
      let parts = fields.compactMap { field -> String? in
        let (before, after) = (change.before.value(of: field), change.after?.value(of: field))
        guard before != after else { return nil }
        return "\(ShownText.escaped(field.canonical)): \(Self.shown(before)) -> \(Self.shown(after))"
      }
      let line = PathText.printed(change.before.path.segments) + "  " + parts.joined(separator: "  ")
      return width.map { line.shortened(toColumns: $0) } ?? line
    }
  }

  private static func shown(_ value: StoredValue?) -> String {
    guard let value else { return missing }
    let text =
      if case .string(let text) = value { text.json.description } else { DocumentText.cell(of: value) }
    return text.shortened(toColumns: valueMax)
  }

  var object: JSON {
    [
      "dryRun": true, "matched": matched, edit.words.participle: changed, "undecodable": undecodable.names,
      "documents": changes.map { change in
        var object: JSON = ["path": change.before.path.description]
        guard !fields.isEmpty else { return object }
        object["before"] = values(of: change.before)
        object["after"] = change.after.map(values) ?? .null
        return object
      },
    ]
  }

  private func values(of document: StoredDocument) -> JSON {
    .object(
      fields.compactMap { field in
        document.value(of: field).map {
          JSON.Member(name: field.canonical, value: DocumentJSON.object(of: $0))
        }
      })
  }

  var failure: CommandFailure? {
    undecodable.failure(
      edit.query.limit == nil
        ? "Whether the query matches them is unknown, and they would not be changed."
        : "The documents within the limit of the query are unknown, and nothing would be \(edit.words.participle)."
    )
  }
}
