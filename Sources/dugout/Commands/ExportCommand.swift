// dugout export DIR FILE [QUERY]: documents as lines of JSON, or as CSV.

import DocumentStore
import Foundation

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
    "{\"path\": …, \"createTime\": …, \"updateTime\": …, \"fields\": {…}} that \"dugout import\" reads. The file has its",
    "name when it is complete.",
  ]

  static func run(_ arguments: Arguments) async throws {
    let file = arguments.positional[1]
    let query = try arguments.positional.count > 2 ? QueryText.query(arguments.positional[2]) : nil
    let count = try ProgressLine.during { line in
      try StoreAccess.withStore(arguments.positional[0], readOnly: true) { store throws(DocumentStoreError) in
        try Export(store, query, line).write(to: file, asCSV: arguments.has("--csv"))
      }
    }
    guard file != "-" else { return }
    arguments.answer(
      "\(Wording.count(count, "document")) in \(file)", ["documents": count, "file": file])
  }
}

/// Goes through documents in pages, so that memory does not grow with the store.
private struct Export {
  private static let pageDocuments = 1000

  private let store: DocumentStore
  private let query: StructuredQuery?
  private let line: ProgressLine

  init(_ store: DocumentStore, _ query: StructuredQuery?, _ line: ProgressLine) {
    self.store = store
    self.query = query
    self.line = line
  }

  func write(to path: String, asCSV: Bool) throws(DocumentStoreError) -> Int {
    let output = try Output(path)
    var count = 0
    if asCSV {
      // As bytes: names that look alike are columns of their own.
      var names = Set<[UInt8]>()
      try forEach { for (name, _) in $0.fields.entries { names.insert(Array(name.utf8)) } }
      let columns = names.sorted { $0.lexicographicallyPrecedes($1) }.map {
        String(decoding: $0, as: UTF8.self)
      }
      output.write(CSV.row(["path"] + columns))
      try forEach { document in
        let cells = columns.map { document.fields[$0].map(DocumentText.cell) ?? "" }
        output.write(CSV.row([document.path.description] + cells))
        count += 1
      }
    } else {
      try forEach { document in
        output.write(DocumentJSON.object(of: document).description)
        count += 1
      }
    }
    try output.finish()
    return count
  }

  private func forEach(_ body: (StoredDocument) -> Void) throws(DocumentStoreError) {
    if let query {
      guard query.limit == nil, query.start == nil else { return try store.documents(query).forEach(body) }
      return try forEach(in: query, of: try store.count(query), from: 0, body)
    }
    let total = store.count
    var done = 0
    for id in try store.collectionGroups() {
      let group = StructuredQuery(.collectionGroup(id))
      try forEach(in: group, of: total, from: done, body)
      done += try store.count(group)
    }
  }

  private func forEach(
    in query: StructuredQuery, of total: Int, from start: Int, _ body: (StoredDocument) -> Void
  ) throws(DocumentStoreError) {
    var done = start
    var page = try query.limited(to: .first(Self.pageDocuments))
    while true {
      let documents = try store.documents(page)
      for document in documents { body(document) }
      done += documents.count
      line.show(UInt64(done), of: UInt64(total), Wording.count(done, "document"))
      guard documents.count == Self.pageDocuments else { return }
      page = try query.starting(.after, documents.last).limited(to: .first(Self.pageDocuments))
    }
  }
}

/// A file that gets its name at the end, or standard output.
private final class Output {
  private let path: String
  private let handle: FileHandle
  private var buffer: [UInt8] = []

  init(_ path: String) throws(DocumentStoreError) {
    self.path = path
    guard path != "-" else {
      handle = .standardOutput
      return
    }
    var isDirectory: ObjCBool = false
    guard !FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) || !isDirectory.boolValue
    else { throw .failed(StorageEvidence(message: "\(path) is a directory: name a file in it.")) }
    let part = path + ".part"
    guard FileManager.default.createFile(atPath: part, contents: nil),
      let file = FileHandle(forWritingAtPath: part)
    else { throw Self.failure(part) }
    handle = file
  }

  func write(_ line: String) {
    buffer.append(contentsOf: line.utf8)
    buffer.append(UInt8(ascii: "\n"))
    if buffer.count > 1 << 20 { flush() }
  }

  private func flush() {
    do {
      try handle.write(contentsOf: Data(buffer))
    } catch {
      Terminal.complain("dugout export: \(path) could not be written: \(error.localizedDescription)")
      if path != "-" { try? FileManager.default.removeItem(atPath: path + ".part") }
      exit(ExitCode.inputOutput.rawValue)
    }
    buffer.removeAll(keepingCapacity: true)
  }

  func finish() throws(DocumentStoreError) {
    flush()
    guard path != "-" else { return }
    try? handle.synchronize()
    try? handle.close()
    guard rename(path + ".part", path) == 0 else { throw Self.failure(path) }
  }

  private static func failure(_ path: String) -> DocumentStoreError {
    let cause = String(cString: strerror(errno))
    return .failed(StorageEvidence(message: "\(path) cannot be written: \(cause)."))
  }
}

enum CSV {
  /// After RFC 4180: what has a comma, a quote or a line's end stands in quotes.
  static func row(_ cells: [String]) -> String {
    cells.map { cell in
      guard cell.contains(where: { $0 == "," || $0 == "\"" || $0.isNewline }) else { return cell }
      return "\"" + cell.replacing("\"", with: "\"\"") + "\""
    }.joined(separator: ",")
  }
}
