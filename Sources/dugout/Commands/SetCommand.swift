// dugout set DIR PATH VALUE: writes one document.

import DocumentStore
import Foundation

enum SetCommand: Command {
  static let name = "set"
  static let summary = "Writes a document"
  static let usage = "DIR PATH FIELDS [--merge] [--json]"
  static let options = [
    (option: "--merge", meaning: "Leave the fields alone that are not named"),
    (option: Arguments.json, meaning: "One JSON object with the path and the time of the commit"),
  ]
  static let positional = 3...3
  static let shellForm = ShellForm.text(wordsBefore: 1)
  static let notes = [
    "FIELDS is JSON, or - to read it from standard input. Names need no quotes, and those that are not letters, digits",
    "and underscores stand in quotes or between backticks: {`a b`: 1}. Beside the values of JSON there are",
    "timestamp(\"2026-03-01T12:00:00Z\"), bytes(\"AQID\"), ref(\"users/ada\"), geo(48.1, 11.6), vector(1, 2), nan and",
    "infinity. A number without a point is an integer. The store is made if the directory has none. In PATH, names may",
    "stand between backticks.",
    "",
    "  dugout set data users/ada '{name: \"Ada\", born: timestamp(\"1815-12-10T00:00:00Z\"), languages: [\"en\", \"fr\"]}'",
  ]

  static func run(_ arguments: Arguments) async throws {
    let path = try PathArgument.document(arguments.positional[1])
    var text = arguments.positional[2]
    if text == "-" { text = String(decoding: FileHandle.standardInput.readDataToEndOfFile(), as: UTF8.self) }
    // What is wrong with the value helps nobody who does not know that it is to be an object.
    guard text.first(where: { !$0.isWhitespace }) == "{", case .map(let fields) = try QueryText.value(text)
    else {
      throw CommandFailure(
        code: .usage, message: "the fields of a document look like {name: \"Ada\", age: 36}.")
    }
    let merges = arguments.has("--merge")
    let directory = arguments.positional[0]
    let isNew = StoreAccess.session == nil && !StoreFinder.isStore(directory)
    let time = try StoreAccess.withStore(directory, creates: true, writesDocuments: true) {
      store throws(DocumentStoreError) in
      try store.commit([merges ? .merge(path, fields) : .set(path, fields)])
    }
    let at = DocumentText.text(of: time)
    // Whoever has mistyped the directory sees it here.
    let made = isNew ? " A new store in \(directory)." : ""
    arguments.answer(
      "\(PathText.printed(path.segments)) was written at \(at).\(made)",
      ["path": path.description, "updateTime": at, "newStore": isNew])
  }
}
