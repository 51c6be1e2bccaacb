// dugout ls DIR [PATH]: lists collections, or the documents of a collection.

import DocumentStore

enum ListCommand: Command {
  static let name = "ls"
  static let summary = "Lists collections, or the documents of one"
  static let usage = "DIR [PATH] [--limit N] [--json]"
  static let options = [
    (option: "--limit N", meaning: "Maximum number of documents; default 100"),
    (option: Arguments.json, meaning: "One JSON object"),
  ]
  static let positional = 1...2
  static let notes = [
    "Without a path, and with that of a document, it lists collections and how many documents each has; with that of",
    "a collection, its documents. Collections below a document that is not there, such as version/1/user without",
    "version/1, are listed with those above. In PATH, names may be quoted with backticks. Documents that cannot be",
    "decoded are named after the others, and the code is 65.",
  ]

  static func run(_ arguments: Arguments) async throws {
    let directory = arguments.positional[0]
    let limit = try arguments.count(of: "--limit") ?? 100
    let segments = try PathArgument.segments(arguments.positional.count > 1 ? arguments.positional[1] : "")
    do {
      guard segments.count % 2 == 1 else {
        let document = segments.isEmpty ? nil : try DocumentPath(segments)
        return try listCollections(directory, below: document, arguments: arguments)
      }
      try listDocuments(directory, in: try CollectionPath(segments), limit: limit, arguments: arguments)
    } catch let error as PathError {
      throw CommandFailure(code: .usage, message: error.description)
    }
  }

  private static func listCollections(
    _ directory: String, below document: DocumentPath?, arguments: Arguments
  ) throws {
    let (found, unreachable) = try StoreAccess.withStore(directory, readOnly: true) {
      store throws(DocumentStoreError) in
      let found = try store.collections(below: document).sorted { $0.path.description < $1.path.description }
      return (found, try UnreachableCollections(below: document?.segments ?? [], in: store))
    }
    let lines = UnreachableCollections.lines(found) + unreachable.lines
    arguments.answer(
      lines.isEmpty ? "no collections" : lines.joined(separator: "\n"),
      [
        "collections": UnreachableCollections.objects(found),
        "deeper": UnreachableCollections.objects(unreachable.found),
        "deeperIsComplete": unreachable.omitted == nil,
      ])
  }

  private static func listDocuments(
    _ directory: String, in collection: CollectionPath, limit: Int, arguments: Arguments
  ) throws {
    let (found, count, unreachable) = try StoreAccess.withStore(directory, readOnly: true) {
      store throws(DocumentStoreError) in
      let query = StructuredQuery(.collection(collection))
      let found = try store.decodableDocuments(query.limited(to: .first(limit)))
      // An empty collection may still have subcollections below documents that do not exist.
      let unreachable =
        found.documents.isEmpty ? try UnreachableCollections(below: collection.segments, in: store) : nil
      return (found, try store.count(query), unreachable)
    }
    let documents = found.documents
    var undecodable = Undecodable()
    undecodable.add(found.skipped)
    let table = DocumentTable(documents, DocumentTable.Form(fullPaths: false))
    var summary = ResultSummary(shown: documents.count, howToShow: "--json")
    summary.total = .exactly(count - undecodable.paths.count)
    summary.hiddenFields = table.hiddenFields
    if count > documents.count + undecodable.paths.count { summary.remarks = ["more with --limit"] }
    var text = (table.lines + [summary.text]).joined(separator: "\n")
    if let lines = unreachable?.lines, !lines.isEmpty {
      text += ", but collections below:\n" + lines.joined(separator: "\n")
    }
    var object: JSON = [
      "documents": documents.map(DocumentJSON.object), "count": count, "undecodable": undecodable.names,
    ]
    if let unreachable {
      object["deeper"] = UnreachableCollections.objects(unreachable.found)
      object["deeperIsComplete"] = (unreachable.omitted == nil).json
    }
    arguments.answer(text, object)
    if let failure = undecodable.failure("All others up to the limit are listed.") { throw failure }
  }
}

extension Arguments {
  /// Returns the value of an option that takes a positive integer; nil if the option is absent.
  func count(of option: String) throws -> Int? {
    guard let text = value(of: option) else { return nil }
    guard let number = Int(text), number > 0 else {
      throw CommandFailure(
        code: .usage,
        message: "\(option) needs a whole number above 0, such as \(option) 5, not \"\(text)\".")
    }
    return number
  }
}
