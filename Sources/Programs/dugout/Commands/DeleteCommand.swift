// dugout delete DIR PATH: deletes one document, or all results of a query.

import DocumentStore

enum DeleteCommand: Command {
  static let name = "delete"
  static let summary = "Deletes a document, or all that a query finds"
  static let usage = "DIR PATH|QUERY [--query] [--dry-run] [--yes] [--json]"
  static let options =
    [(option: "--query", meaning: "The argument is a query, as for dugout query: deletes all that it finds")]
    + EditRun.options
    + [(option: Arguments.json, meaning: "One JSON object with the number of documents deleted")]
  static let positional = 2...2
  static let shellForm = ShellForm.text(wordsBefore: 0)
  static let notes = [
    "Collections below a document are kept. In PATH, names may be quoted with backticks.",
    "",
    "The documents of a query are deleted in commits of 500. At a terminal the command asks before; elsewhere it needs",
    "--yes. --dry-run prints the documents. A document that changes meanwhile is matched again. Ctrl-C ends the command",
    "after the current commit, with code 1. A document that cannot be decoded is deleted by its PATH; a query that it",
    "might match leaves it, names it, and ends with code 65. If such a query has a limit, it deletes nothing: the",
    "documents within the limit are unknown.",
  ]

  static func run(_ arguments: Arguments) async throws {
    let text = arguments.positional[1]
    guard !arguments.has("--query") else {
      let words = QueryEdit.Words(
        verb: "Delete", participle: "deleted", scope: "Collections below them are kept.")
      let edit = QueryEdit(query: try QueryText.query(text), words: words) { .delete($0.path) }
      return try EditRun.perform(edit, arguments: arguments)
    }
    let isQuery = (try? QueryText.query(text)) != nil
    let path = try PathArgument.document(
      text, hint: isQuery ? "To delete all that a query finds, add --query." : nil)
    try delete(path, arguments)
  }

  /// Deletes one document, without a question.
  private static func delete(_ path: DocumentPath, _ arguments: Arguments) throws {
    let isPreview = arguments.has(EditPreview.option)
    let wasThere = try StoreAccess.withStore(
      arguments.positional[0], readOnly: isPreview, writesDocuments: !isPreview
    ) { store throws(DocumentStoreError) in
      // The document is not read, so that an undecodable one can be deleted.
      guard try store.holdsDocument(at: path) else { return false }
      if !isPreview { try store.commit([.delete(path)]) }
      return true
    }
    let name = PathText.printed(path.segments)
    guard wasThere else {
      throw CommandFailure(code: .checkFailed, message: "there is no document \(name).")
    }
    var object: JSON = ["deleted": 1, "undecodable": [String]()]
    if isPreview { object["dryRun"] = .boolean(true) }
    arguments.answer(
      isPreview ? "\(name) would be deleted. Nothing was written." : "1 document deleted.", object)
  }
}
