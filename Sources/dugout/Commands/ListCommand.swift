// dugout ls DIR [PATH]: collections, or the documents of one.

import DocumentStore

enum ListCommand: Command {
  static let name = "ls"
  static let summary = "Lists collections, or the documents of one"
  static let usage = "DIR [PATH] [--limit N] [--json]"
  static let options = [
    (option: "--limit N", meaning: "At most so many documents; 100 without it"),
    (option: Arguments.json, meaning: "One JSON object"),
  ]
  static let positional = 1...2
  static let notes = [
    "Without a path, and with that of a document, it lists collections and how many documents each has; with that of",
    "a collection, its documents.",
  ]

  static func run(_ arguments: Arguments) async throws {
    let directory = arguments.positional[0]
    let limit = try arguments.count(of: "--limit") ?? 100
    let segments = try PathArgument.segments(arguments.positional.count > 1 ? arguments.positional[1] : "")
    do {
      guard segments.count % 2 == 1 else {
        let document = segments.isEmpty ? nil : try DocumentPath(segments)
        return try listCollections(directory, below: document, arguments)
      }
      try listDocuments(directory, in: try CollectionPath(segments), limit, arguments)
    } catch let error as PathError {
      throw CommandFailure(code: .usage, message: error.description)
    }
  }

  private static func listCollections(
    _ directory: String, below document: DocumentPath?, _ arguments: Arguments
  ) throws {
    let found = try StoreAccess.withStore(directory, readOnly: true) { store throws(DocumentStoreError) in
      try store.collections(below: document)
    }.sorted { $0.path.description < $1.path.description }
    let lines = found.map { "\($0.path.description)  \(Wording.count($0.documents, "document"))" }
    arguments.answer(
      lines.isEmpty ? "no collections" : lines.joined(separator: "\n"),
      [
        "collections": found.map {
          ["path": $0.path.description, "documents": $0.documents] as JSON
        }
      ])
  }

  private static func listDocuments(
    _ directory: String, in collection: CollectionPath, _ limit: Int, _ arguments: Arguments
  ) throws {
    let (documents, count) = try StoreAccess.withStore(directory, readOnly: true) {
      store throws(DocumentStoreError) in
      let query = StructuredQuery(.collection(collection))
      return (try store.documents(query.limited(to: .first(limit))), try store.count(query))
    }
    var text = DocumentTable.text(of: documents, fullPaths: false)
    if count > documents.count { text += " of \(count); more with --limit" }
    arguments.answer(text, ["documents": documents.map(DocumentJSON.object), "count": count])
  }
}

extension Arguments {
  /// Of an option that takes a whole number above 0.
  func count(of option: String) throws -> Int? {
    guard let text = value(of: option) else { return nil }
    guard let number = Int(text), number > 0 else {
      throw CommandFailure(code: .usage, message: "\(option) needs a number above 0, not \(text).")
    }
    return number
  }
}
