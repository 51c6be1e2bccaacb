// dugout delete DIR PATH: deletes one document, or all results of a query.

import DocumentStore

enum DeleteCommand: Command {
  static let name = "delete"
  static let summary = "Deletes a document, or all that a query finds"
  static let usage = "DIR PATH|QUERY [--query] [--json]"
  static let options = [
    (option: "--query", meaning: "The argument is a query, as for dugout query: deletes all that it finds"),
    (option: Arguments.json, meaning: "One JSON object with the number of documents deleted"),
  ]
  static let positional = 2...2
  static let shellForm = ShellForm.text(wordsBefore: 0)
  static let notes = [
    "Collections below a document are kept. A query's documents are deleted in commits of 500. In PATH, names may",
    "be quoted with backticks. A document that cannot be decoded is deleted by its PATH; a query that it might match",
    "leaves it, names it, and ends with code 65. If such a query has a limit, it deletes nothing: the documents",
    "within the limit are unknown.",
  ]

  static func run(_ arguments: Arguments) async throws {
    let text = arguments.positional[1]
    let deleted: Int
    var undecodable = Undecodable()
    var isLimited = false
    if arguments.has("--query") {
      let query = try QueryText.query(text)
      isLimited = query.limit != nil
      deleted = try StoreAccess.withStore(arguments.positional[0], writesDocuments: true) {
        store throws(DocumentStoreError) in
        let found = try store.decodableDocuments(query)
        undecodable.add(found.skipped)
        // With a limit, an undecodable document might belong to the result in place of a document that was
        // found. Nothing is deleted then.
        if isLimited, !found.skipped.isEmpty { return 0 }
        var rest = found.documents.map(\.path)[...]
        let count = rest.count
        while !rest.isEmpty {
          try store.commit(rest.prefix(500).map { .delete($0) })
          rest = rest.dropFirst(500)
        }
        return count
      }
    } else {
      let isQuery = (try? QueryText.query(text)) != nil
      let path = try PathArgument.document(
        text, hint: isQuery ? "To delete all that a query finds, add --query." : nil)
      deleted = try StoreAccess.withStore(arguments.positional[0], writesDocuments: true) {
        store throws(DocumentStoreError) in
        // The document is not read, so that an undecodable one can be deleted.
        guard try store.holdsDocument(at: path) else { return 0 }
        try store.commit([.delete(path)])
        return 1
      }
      if deleted == 0 {
        throw CommandFailure(
          code: .checkFailed, message: "there is no document \(PathText.printed(path.segments)).")
      }
    }
    arguments.answer(
      "\(Wording.count(deleted, "document")) deleted.",
      ["deleted": deleted, "undecodable": undecodable.names])
    let consequence =
      isLimited
      ? "The documents within the limit of the query are unknown, and nothing was deleted."
      : "Whether the query matches them is unknown, and they are kept."
    if let failure = undecodable.failure(consequence) { throw failure }
  }
}
