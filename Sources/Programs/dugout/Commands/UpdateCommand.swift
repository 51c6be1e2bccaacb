// dugout update DIR PATH|QUERY FIELD=VALUE…: changes fields of a document, or of all that a query finds.

import DocumentStore

enum UpdateCommand: Command {
  static let name = "update"
  static let summary = "Changes fields of a document, or of all that a query finds"
  static let usage = "DIR PATH|QUERY FIELD=VALUE… [--dry-run] [--yes] [--json]"
  static let options =
    EditRun.options + [
      (option: Arguments.json, meaning: "One JSON object with the number of documents updated")
    ]
  static let positional = 3...100
  static let shellForm = ShellForm.text(wordsBefore: 1)
  static let notes = [
    "The other fields stay as they are, and no document is created. A VALUE is as for \"dugout set\", or one of",
    "  delete()   serverTimestamp()   increment(N)   arrayUnion(VALUE, …)   arrayRemove(VALUE, …)",
    "A FIELD inside a map is address.city, and other names need backticks. Quotes of a text need quotes of the command",
    "line around them: 'city=\"Paris\"'.",
    "",
    "The documents of a query are updated in commits of 500, each of which is made whole or not at all. At a terminal",
    "the command asks before; elsewhere it needs --yes. --dry-run prints each change. A document that changes meanwhile",
    "is matched again. Ctrl-C ends the command after the current commit, with code 1, and the message says how many",
    "documents are updated. A document that cannot be decoded is left alone and named, and the code is 65.",
    "",
    "  dugout update data users/ada age=37 'city=\"London\"' address.zip='delete()'",
    "  dugout update data \"users where age >= 18\" adult=true 'visits=increment(1)' --dry-run",
  ]

  static func run(_ arguments: Arguments) async throws {
    let query = try QueryText.query(arguments.positional[1])
    let changes = try FieldChanges(Array(arguments.positional[2...]))
    let edit = QueryEdit(
      query: query, words: QueryEdit.Words(verb: "Update", participle: "updated"),
      isRepeatable: changes.areRepeatable
    ) { document throws(DocumentStoreError) in
      let mutation = try changes.mutation(of: document.path)
      let after = try mutation.apply(to: document, at: document.updateTime)
      let isComputed = changes.list.contains { $0.change == .compute(.serverTimestamp) }
      return !isComputed && after?.fields == document.fields ? nil : mutation
    }
    if case .document(let path) = query.scope, query == StructuredQuery(.document(path)) {
      return try update(path, edit, changes: changes, arguments: arguments)
    }
    try EditRun.perform(edit, changing: changes.list.map(\.field), arguments: arguments)
  }

  /// Updates one document, without a question.
  private static func update(
    _ path: DocumentPath, _ edit: QueryEdit, changes: FieldChanges, arguments: Arguments
  ) throws {
    let directory = arguments.positional[0]
    let isPreview = arguments.has(EditPreview.option)
    let outcome = try StoreAccess.withStore(directory, readOnly: isPreview, writesDocuments: !isPreview) {
      store throws(DocumentStoreError) in
      guard !isPreview else {
        var outcome = QueryEdit.Outcome()
        if try !store.holdsDocument(at: path) { outcome.gone = 1 }
        return outcome
      }
      return ProgressLine.during(isWanted: false) {
        edit.apply(to: [path], in: store, line: $0, until: { false })
      }
    }
    if let error = outcome.failure {
      try StoreAccess.translating(directory) { () throws(DocumentStoreError) in throw error }
    }
    guard outcome.gone == 0 else {
      throw CommandFailure(
        code: .checkFailed,
        message:
          "there is no document \(PathText.printed(path.segments)) to update. \"dugout set\" creates one.")
    }
    if isPreview {
      return try EditRun.perform(edit, changing: changes.list.map(\.field), arguments: arguments)
    }
    var report = EditReport(edit: edit)
    report.outcome = outcome
    let name = PathText.printed(path.segments)
    arguments.answer(
      outcome.changed > 0 ? "\(name) was updated." : "\(name) already has these values.", report.object)
  }
}
