// Runs an edit of a query's documents as a command: preview or question, progress, Ctrl-C, report.

import DocumentStore
import Foundation

enum EditRun {
  /// The options that commands with such an edit have.
  static let options = [
    (option: EditPreview.option, meaning: "Print what would change, and write nothing"),
    (option: Confirmation.option, meaning: "Do not ask before the documents of a query are changed"),
  ]

  /// `fields` are those that the edit changes; none for a deletion.
  static func perform(_ edit: QueryEdit, changing fields: [StoredFieldPath] = [], arguments: Arguments)
    throws
  {
    if arguments.has(EditPreview.option) { return try preview(edit, fields, arguments: arguments) }
    try Confirmation.checkPossible(arguments)
    let report = try StoreAccess.withStore(arguments.positional[0], writesDocuments: true) {
      store throws(DocumentStoreError) in
      try run(edit, asks: !arguments.has(Confirmation.option), in: store)
    }
    if !report.isDeclined, report.outcome.failure == nil, !report.outcome.isInterrupted {
      arguments.answer(report.text, report.object)
    }
    if let failure = report.failure { throw failure }
  }

  private static func preview(_ edit: QueryEdit, _ fields: [StoredFieldPath], arguments: Arguments) throws {
    let preview = try StoreAccess.withStore(arguments.positional[0], readOnly: true) {
      store throws(DocumentStoreError) in
      try EditPreview.of(edit, changing: fields, keepsAll: arguments.has(Arguments.json), in: store)
    }
    arguments.answer(preview.text(), preview.object)
    if let failure = preview.failure { throw failure }
  }

  private static func run(
    _ edit: QueryEdit, asks: Bool, in store: DocumentStore
  ) throws(DocumentStoreError) -> EditReport {
    var report = EditReport(edit: edit)
    report.matches = try ProgressLine.during { line in
      Result { () throws(DocumentStoreError) in try edit.matches(in: store, line) }
    }.get()
    // With a limit, an undecodable document might belong to the result in place of a document that was found.
    report.isRefused = edit.query.limit != nil && !report.matches.undecodable.paths.isEmpty
    if report.isRefused { return report }
    let count = report.matches.paths.count
    guard count > 0 else {
      report.hint = try CollectionHint.text(edit.query, store)
      return report
    }
    if asks, !Confirmation.ask(question(edit, count)) {
      report.isDeclined = true
      return report
    }
    let interruption = Interruption(by: [SIGINT, SIGTERM], waits: false)
    report.outcome = ProgressLine.during { line in
      edit.apply(to: report.matches.paths, in: store, line: line, until: { interruption.isSignaled })
    }
    return report
  }

  private static func question(_ edit: QueryEdit, _ count: Int) -> String {
    let batches = count > QueryEdit.batchMax ? ", in commits of \(QueryEdit.batchMax)" : ""
    let scope = edit.words.scope.isEmpty ? "" : " \(edit.words.scope)"
    return "\(edit.words.verb) \(Wording.count(count, "document"))\(batches)?\(scope)"
  }
}
