// dugout export DIR FILE [QUERY]: writes documents as lines of JSON, or as CSV.

import DocumentStore
import Foundation
import ObjectStore

enum ExportCommand: Command {
  static let name = "export"
  static let summary = "Writes documents as lines of JSON, or as CSV"
  static let usage = "DIR FILE [QUERY] [--csv] [--json]"
  static let options = [
    (option: "--csv", meaning: "A column for each field, in place of JSON with types"),
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
    "With --csv, bytes are Base64, a reference is a path, a geo point is \"latitude,longitude\", and arrays, maps and vectors",
    "are JSON. A column does not say which type a value had, and \"dugout import\" does not read it.",
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
    let isMixed = file == "-" && isatty(STDOUT_FILENO) == 1
    let done = try ProgressLine.during(isWanted: !isMixed) { line in
      try StoreAccess.withStore(arguments.positional[0], readOnly: true) { store throws(DocumentStoreError) in
        let export = Export(store, query, line: line)
        if let refused = try export.undecodableWithinLimit() { return refused }
        return try export.write(to: file, asCSV: arguments.has("--csv"))
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
}

/// Reads documents in pages, so that memory use does not grow with the store.
private struct Export {
  struct Outcome {
    var documents = 0
    /// The number of storage files, which an export does not contain.
    var files = 0
    /// Documents that were skipped because they cannot be decoded.
    var undecodable = Undecodable()
    /// Nothing was written, because undecodable documents might match a query with a limit.
    var isRefused = false
    /// The reason why no document was found.
    var hint: String?

    var remarks: [String] {
      let left =
        files == 0
        ? nil
        : "\(Wording.count(files, "file")) of the storage \(files == 1 ? "is" : "are") not in it; \"dugout backup\" "
          + "has everything."
      return [hint, left].compactMap { $0 }
    }
  }

  /// The number of documents that the queries of one pass have read.
  private struct Progress {
    let total: Int
    let start: ContinuousClock.Instant
    var done = 0
  }

  /// Each object of the storage has a record in one of these collections.
  private static let objects = StructuredQuery(.collectionGroup("__objects__"))

  private let store: DocumentStore
  private let query: StructuredQuery?
  private let line: ProgressLine

  init(_ store: DocumentStore, _ query: StructuredQuery?, line: ProgressLine) {
    self.store = store
    self.query = query
    self.line = line
  }

  /// Returns a refusal if undecodable documents might match a query with a limit; otherwise nil.
  func undecodableWithinLimit() throws(DocumentStoreError) -> Outcome? {
    guard let query, query.limit != nil else { return nil }
    var outcome = Outcome()
    let pages = DocumentPages(store: store, query: query)
    try pages.forEach(checkNotInterrupted: {}, skipped: { outcome.undecodable.add($0) }) { _ in }
    guard !outcome.undecodable.paths.isEmpty else { return nil }
    outcome.isRefused = true
    return outcome
  }

  func write(to path: String, asCSV: Bool) throws(DocumentStoreError) -> Outcome {
    let output = try ExportFile(path)
    var outcome = Outcome()
    if asCSV {
      // Compared as bytes, because canonically equivalent Unicode names are different columns.
      var names = Set<[UInt8]>()
      try forEach(for: output, &outcome) {
        for (name, _) in $0.fields.entries { names.insert(Array(name.utf8)) }
      }
      let columns = names.sorted { $0.lexicographicallyPrecedes($1) }.map {
        String(decoding: $0, as: UTF8.self)
      }
      output.write(CSV.row(["path"] + columns))
      var documents = 0
      try forEach(for: output, &outcome) { document in
        let cells = columns.map { document.fields[$0].map(CSV.cell) ?? "" }
        output.write(CSV.row([document.path.description] + cells))
        documents += 1
      }
      outcome.documents = documents
    } else {
      var documents = 0
      try forEach(for: output, &outcome) { document in
        output.write(DocumentJSON.object(of: document).description)
        documents += 1
      }
      outcome.documents = documents
    }
    try output.finish()
    if let query {
      if outcome.documents == 0 { outcome.hint = try CollectionHint.text(query, store) }
    } else {
      outcome.files = try store.count(Self.objects)
    }
    return outcome
  }

  /// Visits the documents of users only. The store's own documents, such as records of files, cannot be
  /// imported.
  private func forEach(
    for output: ExportFile, _ outcome: inout Outcome, _ body: (StoredDocument) -> Void
  ) throws(DocumentStoreError) {
    func take(_ document: StoredDocument) { if !document.path.isReserved { body(document) } }
    let start = ContinuousClock.now
    if let query {
      let total = try DocumentPages(store: store, query: query).documentsMax()
      var progress = Progress(total: total, start: start)
      try forEach(in: query, for: output, progress: &progress, outcome: &outcome, take)
      return
    }
    var progress = Progress(total: store.count, start: start)
    for id in try store.collectionGroups() where PathArgument.isCollectionID(id) {
      let query = StructuredQuery(.collectionGroup(id))
      try forEach(in: query, for: output, progress: &progress, outcome: &outcome, take)
    }
  }

  private func forEach(
    in query: StructuredQuery, for output: ExportFile, progress: inout Progress, outcome: inout Outcome,
    _ body: (StoredDocument) -> Void
  ) throws(DocumentStoreError) {
    let pages = DocumentPages(store: store, query: query)
    try pages.forEach(
      checkNotInterrupted: output.checkNotInterrupted, skipped: { outcome.undecodable.add($0) }
    ) { documents in
      for document in documents { body(document) }
      progress.done += documents.count
      let done = progress.done
      let (all, seconds) = (
        UInt64(max(progress.total, done)), (ContinuousClock.now - progress.start) / .seconds(1)
      )
      line.show(
        UInt64(done), of: all,
        what: ProgressLine.pace(documents: done, seconds: seconds, done: UInt64(done), of: all))
    }
  }
}
