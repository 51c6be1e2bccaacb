// dugout import DIR FILE: imports documents from lines of JSON with types, from plain JSON or CSV, or from a
// Firestore export.

import DocumentStore
import Foundation

enum ImportCommand: Command {
  static let name = "import"
  static let summary = "Reads documents from JSON, from CSV, or from an export of Firestore"
  static let usage =
    "DIR FILE [--into COLLECTION] [--id FIELD] [--keep-id] [--time FIELD…] [--type FIELD=TYPE…] "
    + "[--format FORMAT] [--separator CHARACTER] [--dry-run] [--from-start] [--json]"
  static let options = [
    (
      option: PlainOptions.into,
      meaning: "The file is plain JSON or CSV; its rows become documents of COLLECTION"
    ),
    (option: PlainOptions.id, meaning: "The field with the ids of the documents; otherwise ids are computed"),
    (option: PlainOptions.keepsID, meaning: "That field stays a field of the documents"),
    (option: PlainOptions.time, meaning: "A field that is a timestamp or a date; once for each field"),
    (
      option: PlainOptions.type,
      meaning: "The type of a field, in place of the one that was found; once for each field"
    ),
    (option: PlainOptions.format, meaning: "json, jsonl, csv or tsv, if the file does not show it"),
    (option: PlainOptions.separator, meaning: "The character between the columns of CSV, or the word tab"),
    (option: PlainOptions.dryRun, meaning: "Only show the fields, their types and the first document"),
    (option: "--from-start", meaning: "Ignore the progress of an earlier import of the file"),
    (option: Arguments.json, meaning: "One JSON object with the number of documents"),
  ]
  static let positional = 2...2
  static let notes = [
    "With --into, FILE is CSV with the names of the columns in its first line, or JSON: an object on each line, a list",
    "of objects, or objects over several lines. The fields and their types are shown before the first document is",
    "written. A column of CSV is integer, double, boolean or timestamp (RFC 3339) if all of its values are, and",
    "otherwise string, also if a number has leading zeros. Empty values are left out. A column named address.city is",
    "the field city of the map address. Of standard input, the first megabyte decides.",
    "TYPE is \(FieldType.names):",
    "seconds and milliseconds are timestamps as numbers since 1970.",
    "",
    "  dugout import data people.csv --into people --id email --time born --type zip=string",
    "",
    "Without --into, each line is {\"path\": \"users/ada\", \"fields\": {\"age\": {\"integerValue\": \"36\"}}}, as",
    "\"dugout export\" writes them; Firestore's \"name\": \"projects/…/documents/users/ada\" does for the path.",
    "If FILE is a directory, it is an export from Firestore or its emulator, with files output-0, output-1, …",
    "",
    "FILE is - for standard input. An existing document is replaced. Ctrl-C ends the import after the current commit,",
    "with code 1: what was written is kept, and the same command continues from there, also after a crash. The progress",
    "is recorded in FILE.dugout-import; where that cannot be written, the command starts over, as it does with standard",
    "input and pipes, where Ctrl-C just ends it. The store is created if DIR has none.",
    "Records of a storage, which exports had before, are left out: their files are not in an export.",
  ]

  static func run(_ arguments: Arguments) async throws {
    let directory = arguments.positional[0]
    let path = try PathArgument.file(arguments.positional[1])
    let file = DocumentSources.isStandardInput(path) ? "-" : path
    // The source is opened before the store, so that a mistyped file name does not create a store.
    let source: any DocumentSource
    var summary: PlainSummary?
    if let options = try PlainOptions(arguments) {
      let plain = try PlainSources.open(file, options)
      let shown = try ProgressLine.during { try plain.prepare($0) }
      guard !arguments.has(PlainOptions.dryRun) else { return try show(shown, plain, as: arguments) }
      if !arguments.has(Arguments.json) { Terminal.printToStandardError(shown.text) }
      (source, summary) = (plain, shown)
    } else {
      source = try DocumentSources.open(file)
    }
    let done = try read(source, at: file, into: directory, fromStart: arguments.has("--from-start"))
    let counted = "\(Wording.count(done.documents, "document")) imported"
    let before = done.documentsBefore == 0 ? "" : ", \(done.documentsBefore) by an earlier run"
    guard !done.isInterrupted else {
      throw CommandFailure(
        code: .checkFailed,
        message: "\(counted)\(before), and all of them are safe. "
          + (done.next == .resumes
            ? "Run the same command again to continue from there."
            : "The progress could not be recorded in \(ImportJob.markPath(of: file)): the same command starts over, "
              + "and writes them again."))
    }
    var remarks = (source as? any PlainSource)?.remarks ?? []
    if done.recordsSkipped > 0 {
      remarks.append(
        "\(Wording.count(done.recordsSkipped, "record")) of a storage left out: an export has none of its files."
      )
    }
    var object: JSON = [
      "documents": done.documents, "documentsBefore": done.documentsBefore,
      "recordsSkipped": done.recordsSkipped,
    ]
    if let summary {
      object["fields"] = summary.object
      object["remarks"] = remarks.json
    }
    arguments.answer(([counted + before + "."] + remarks).joined(separator: "\n"), object)
  }

  private static func read(
    _ source: any DocumentSource, at file: String, into directory: String, fromStart: Bool
  ) throws -> ImportJob.Outcome {
    // Ctrl-C also reaches a program that writes to a pipe. When that program ends, the documents seem to end,
    // too. An import from a pipe cannot be resumed either, so Ctrl-C just ends this process.
    let interruption = source.readsFiles ? Interruption(by: [SIGINT]) : nil
    let outcome = try ProgressLine.during { line in
      try StoreAccess.withStore(directory, creates: true, writesDocuments: true) {
        store throws(DocumentStoreError) in
        var job = ImportJob(store, source, at: file, line: line, fromStart: fromStart)
        return Result { try job.run(until: { interruption?.isSignaled ?? false }) }
      }
    }
    return try outcome.get()
  }

  /// Shows what an import would do.
  private static func show(
    _ summary: PlainSummary, _ source: any PlainSource, as arguments: Arguments
  ) throws {
    let first: (path: DocumentPath, fields: StoredMap)?
    do { first = try source.next() } catch let problem as JSONProblem {
      throw CommandFailure(code: .badData, message: "\(source.startText): \(problem)")
    }
    let document = first.map {
      "\n\nThe first document is \(PathText.printed($0.path.segments)):\n  \(PlainJSON.object(of: $0.fields))"
    }
    arguments.answer(
      "\(summary.text)\(document ?? "")\n\nNothing was imported.",
      [
        "fields": summary.object,
        "first": first.map {
          ["path": $0.path.description, "fields": DocumentJSON.object(of: .map($0.fields))] as JSON
        },
      ])
  }
}
