// dugout get DIR PATH: prints one document as text or as JSON.

import DocumentStore

enum GetCommand: Command {
  static let name = "get"
  static let summary = "Prints a document of a store"
  static let usage = "DIR PATH [--fields LIST] [--json]"
  static let options = [
    (option: "--fields LIST", meaning: "Only these fields: name,address.city"),
    (option: Arguments.json, meaning: "One JSON object with the type of every value"),
  ]
  static let positional = 2...2
  static let notes = [
    "In PATH, names may be quoted with backticks; a name that begins with a backtick must be."
  ]

  static func run(_ arguments: Arguments) async throws {
    let fields = try FieldList(arguments)
    let directory = arguments.positional[0]
    let text = arguments.positional[1]
    let isCollection = (try? CollectionPath(PathText.segments(text))) != nil
    let path = try PathArgument.document(
      text, hint: isCollection ? "\"dugout ls\" lists the documents of a collection." : nil)
    let document = try StoreAccess.withStore(directory, readOnly: true) { store throws(DocumentStoreError) in
      try store.document(at: path)
    }
    guard let document else {
      throw CommandFailure(
        code: .checkFailed,
        message: "there is no document \(PathText.printed(path.segments)) in \(directory).")
    }
    let shown = fields?.projected(document) ?? document
    arguments.answer(DocumentText.text(of: shown), DocumentJSON.object(of: shown))
    if let absent = fields?.remark(about: [document]) {
      Terminal.printToStandardError("dugout get: \(absent)")
    }
  }
}
