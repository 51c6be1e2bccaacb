// dugout export DIR FILE [QUERY]: writes documents as JSON, as CSV, or as an export of Firestore.

import DocumentStore
import FirebaseFirestore
import Foundation

enum ExportCommand: Command {
  static let name = "export"
  static let summary = "Writes documents as JSON, as CSV, or as an export of Firestore"
  static let usage =
    "DIR FILE [QUERY] [--plain] [--format FORMAT] [--fields FIELDS] [--id NAME] [--csv] "
    + "[--firestore] [--project ID] [--json]"
  static let options = [
    (option: "--plain", meaning: "Plain JSON or CSV, without types, as other programs read it"),
    (
      option: "--format FORMAT",
      meaning: "With --plain: jsonl or csv; by default as the name of FILE says, or jsonl"
    ),
    (
      option: "--fields FIELDS",
      meaning: "With --plain: only these fields, in this order, such as name,address.city"
    ),
    (option: "--id NAME", meaning: "With --plain: the name of the column with the ids, in place of id"),
    (
      option: "--csv",
      meaning: "A column for each top-level field and one for the path, in place of JSON with types"
    ),
    (option: "--firestore", meaning: "FILE becomes a folder that gcloud and Firestore's emulator import"),
    (option: "--project ID", meaning: "With --firestore: the project of the documents"),
    (
      option: Arguments.json,
      meaning: "One JSON object with the number of documents, when the file is written"
    ),
  ]
  static let positional = 2...3
  static let shellForm = ShellForm.text(wordsBefore: 1)
  static let notes = [
    "FILE is - for standard output. Without a query all documents are written, each a line",
    "{\"path\": …, \"createTime\": …, \"updateTime\": …, \"fields\": {…}} that \"dugout import\" reads. The file gets its",
    "name when it is complete, and is FILE.dugout-export-… until then. Ctrl-C ends the export with code 1 and leaves",
    "no file; a second one ends it at once. The next export to FILE removes the leftovers of a killed one, if",
    "the file system has locks. A pipe or a device is written to directly: there, and on standard output,",
    "the first Ctrl-C ends it at once. Files of the storage are not in it: \"dugout backup\" has them.",
    "",
    "With --plain, the first column is id, or path if the documents are from several collections. Timestamps are in RFC",
    "3339, bytes are Base64, and a reference is a path. In CSV, the fields of a map are columns such as address.city,",
    "and arrays and vectors are JSON. \"dugout import --into COLLECTION --id id\" reads the documents of one collection.",
    "",
    "  dugout export data people.csv 'people where age >= 18' --plain --fields name,address.city,born",
    "",
    "With --csv, bytes are Base64, a reference is a path, a geo point is \"latitude,longitude\", and arrays, maps and vectors",
    "are JSON. A column does not say which type a value had.",
    "",
    "A document that cannot be decoded is left out: all others are written, it is named, and the code is 65. If a query",
    "with a limit might match it, nothing is written: the documents within the limit are unknown.",
  ]

  static func run(_ arguments: Arguments) async throws {
    let path = try PathArgument.file(arguments.positional[1])
    let file = ExportFile.isStandardOutput(path) ? "-" : path
    // An export to this path would replace a file of the store, or create a file in its directory.
    if file != "-" {
      try StoreCopy.checkOutside(ExportFile.destination(of: file), of: arguments.positional[0])
    }
    let query = try arguments.positional.count > 2 ? QueryText.query(arguments.positional[2]) : nil
    let makeSink = try sink(arguments, file, of: query)
    let isMixed = file == "-" && isatty(STDOUT_FILENO) == 1
    let done = try ProgressLine.during(isWanted: !isMixed) { line in
      try StoreAccess.withStore(arguments.positional[0], readOnly: true) { store throws(DocumentStoreError) in
        let export = DocumentExport(store, query, line: line)
        if let refused = try export.undecodableWithinLimit() { return refused }
        var done = try export.write(to: try makeSink())
        if let query, done.documents == 0 { done.hint = try CollectionHint.text(query, store) }
        return done
      }
    }
    if done.isRefused,
      let failure = done.undecodable.failure(
        "The documents within the limit of the query are unknown, and nothing was exported.")
    {
      throw failure
    }
    if file == "-" {
      for remark in done.remarks { Terminal.printToStandardError("dugout export: \(remark)") }
      ShownSnapshot.last?.printAge()
    } else {
      arguments.answer(
        (["\(Wording.count(done.documents, "document")) in \(file)"] + done.remarks).joined(separator: "\n"),
        [
          "documents": done.documents, "file": file, "filesOfStorage": done.files,
          "undecodable": done.undecodable.names,
        ])
    }
    if let failure = done.undecodable.failure("All others are in the export.") { throw failure }
  }

  // MARK: Formats

  private typealias MakeSink = () throws(DocumentStoreError) -> any DocumentSink

  /// Returns a closure that creates the sink, because a sink creates a file.
  private static func sink(
    _ arguments: Arguments, _ file: String, of query: StructuredQuery?
  ) throws -> MakeSink {
    try requireCompatible(arguments)
    if arguments.has("--firestore") {
      guard file != "-" else {
        throw CommandFailure(
          code: .usage, message: "--firestore writes a folder, and not to standard output.")
      }
      let project = arguments.value(of: "--project") ?? DocumentJSON.ownProject
      return { () throws(DocumentStoreError) in try FirestoreFolder(file, project: project) }
    }
    let format = try lineFormat(arguments, file, of: query)
    return { () throws(DocumentStoreError) in try LineSink(file, format) }
  }

  private static func requireCompatible(_ arguments: Arguments) throws {
    for (option, other) in [
      ("--format", "--plain"), ("--fields", "--plain"), ("--id", "--plain"), ("--project", "--firestore"),
    ]
    where arguments.has(option) && !arguments.has(other) {
      throw CommandFailure(code: .usage, message: "\(option) needs \(other).")
    }
    guard !arguments.has("--firestore") || !(arguments.has("--plain") || arguments.has("--csv")) else {
      throw CommandFailure(
        code: .usage, message: "--firestore is a format of its own: leave out --plain and --csv.")
    }
  }

  private static func lineFormat(
    _ arguments: Arguments, _ file: String, of query: StructuredQuery?
  ) throws -> any LineFormat {
    guard arguments.has("--plain") else { return arguments.has("--csv") ? TopLevelColumns() : TypedLines() }
    var isOneCollection = false
    if case .collection? = query?.scope { isOneCollection = true }
    let layout = PlainLayout(
      idName: arguments.value(of: "--id") ?? (isOneCollection ? "id" : "path"), hasPaths: !isOneCollection,
      fields: try ExportedFields.fields(arguments))
    return try isCSV(arguments, file) ? PlainColumns(layout: layout) : PlainLines(layout: layout)
  }

  private static func isCSV(_ arguments: Arguments, _ file: String) throws -> Bool {
    if arguments.has("--csv") { return true }
    switch arguments.value(of: "--format")?.lowercased() {
    case nil: return file.lowercased().hasSuffix(".csv")
    case "csv"?: return true
    case "jsonl"?, "json"?, "ndjson"?: return false
    case let other?:
      throw CommandFailure(
        code: .usage, message: "there is no format \"\(other)\" for an export. The formats are jsonl and csv."
      )
    }
  }
}
