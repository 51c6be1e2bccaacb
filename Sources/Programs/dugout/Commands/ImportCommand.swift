// dugout import DIR FILE: imports documents from lines of JSON, or from a Firestore export.

import DocumentStore
import Foundation

enum ImportCommand: Command {
  static let name = "import"
  static let summary = "Reads documents from lines of JSON, or from an export of Firestore"
  static let usage = "DIR FILE [--from-start] [--json]"
  static let options = [
    (option: "--from-start", meaning: "Ignore the progress of an earlier import of the file"),
    (option: Arguments.json, meaning: "One JSON object with the number of documents"),
  ]
  static let positional = 2...2
  static let notes = [
    "Each line is {\"path\": \"users/ada\", \"fields\": {\"age\": {\"integerValue\": \"36\"}}}, as \"dugout export\" writes",
    "them; Firestore's \"name\": \"projects/…/documents/users/ada\" does for the path. FILE is - for standard input.",
    "If FILE is a directory, it is an export from Firestore or its emulator, with files output-0, output-1, …",
    "An existing document is replaced. Ctrl-C ends the import after the current commit, with code 1: what",
    "was written is kept, and the same command continues from there, also after a crash. The progress is recorded in",
    "FILE.dugout-import; where that cannot be written, the command starts over, as it does with standard input and pipes,",
    "where Ctrl-C just ends it. The store is created if DIR has none.",
    "Records of a storage, which exports had before, are left out: their files are not in an export.",
  ]

  static func run(_ arguments: Arguments) async throws {
    let directory = arguments.positional[0]
    let path = try PathArgument.file(arguments.positional[1])
    let file = DocumentSources.isStandardInput(path) ? "-" : path
    // The source is opened before the store, so that a mistyped file name does not create a store.
    let source = try DocumentSources.open(file)
    // Ctrl-C also reaches a program that writes to a pipe. When that program ends, the documents seem to end,
    // too. An import from a pipe cannot be resumed either, so Ctrl-C just ends this process.
    let interruption = source.readsFiles ? Interruption(by: [SIGINT]) : nil
    let outcome = try ProgressLine.during { line in
      try StoreAccess.withStore(directory, creates: true, writesDocuments: true) {
        store throws(DocumentStoreError) in
        var job = ImportJob(
          store, source, at: file, line: line, fromStart: arguments.has("--from-start"))
        return Result { try job.run(until: { interruption?.isSignaled ?? false }) }
      }
    }
    let done = try outcome.get()
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
    let skipped =
      done.recordsSkipped == 0
      ? ""
      : "\n\(Wording.count(done.recordsSkipped, "record")) of a storage left out: an export has none of its files."
    arguments.answer(
      counted + before + "." + skipped,
      [
        "documents": done.documents, "documentsBefore": done.documentsBefore,
        "recordsSkipped": done.recordsSkipped,
      ])
  }
}
