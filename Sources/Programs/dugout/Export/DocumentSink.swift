// The destinations of an export.

import DocumentStore

protocol DocumentSink: AnyObject {
  /// Whether all documents are passed to `examine` before the first one is written.
  var examinesFirst: Bool { get }
  func examine(_ document: StoredDocument)
  /// Called once, before the first document is written.
  func begin() throws(DocumentStoreError)
  func write(_ document: StoredDocument) throws(DocumentStoreError)
  /// Throws if a signal has been received. Called between two steps of an export.
  func checkNotInterrupted() throws(DocumentStoreError)
  /// Completes the output, and gives it its name.
  func finish() throws(DocumentStoreError)
}

/// A format with a line for each document.
protocol LineFormat {
  var examinesFirst: Bool { get }
  mutating func examine(_ document: StoredDocument)
  /// The line before the documents.
  mutating func header() -> String?
  func line(of document: StoredDocument) throws(DocumentStoreError) -> String
}

extension LineFormat {
  var examinesFirst: Bool { false }
  mutating func examine(_ document: StoredDocument) {}
  mutating func header() -> String? { nil }
}

/// Writes a line for each document to a file.
final class LineSink: DocumentSink {
  private let file: ExportFile
  private var format: any LineFormat

  init(_ path: String, _ format: any LineFormat) throws(DocumentStoreError) {
    file = try ExportFile(path)
    self.format = format
  }

  var examinesFirst: Bool { format.examinesFirst }
  func examine(_ document: StoredDocument) { format.examine(document) }
  func begin() { if let header = format.header() { file.write(header) } }
  func write(_ document: StoredDocument) throws(DocumentStoreError) {
    file.write(try format.line(of: document))
  }
  func checkNotInterrupted() throws(DocumentStoreError) { try file.checkNotInterrupted() }
  func finish() throws(DocumentStoreError) { try file.finish() }
}

// MARK: Formats with all types, or with none

/// Lines of JSON with the type of every value.
struct TypedLines: LineFormat {
  func line(of document: StoredDocument) -> String { DocumentJSON.object(of: document).description }
}

/// CSV with a column for each top-level field, and the path of each document.
struct TopLevelColumns: LineFormat {
  /// Compared as bytes, because canonically equivalent Unicode names are different columns.
  private var names = Set<[UInt8]>()
  private var columns: [String] = []

  var examinesFirst: Bool { true }

  mutating func examine(_ document: StoredDocument) {
    for (name, _) in document.fields.entries { names.insert(Array(name.utf8)) }
  }

  mutating func header() -> String? {
    columns = names.sorted { $0.lexicographicallyPrecedes($1) }.map { String(decoding: $0, as: UTF8.self) }
    return CSV.row(["path"] + columns)
  }

  func line(of document: StoredDocument) -> String {
    CSV.row([document.path.description] + columns.map { document.fields[$0].map(CSV.cell) ?? "" })
  }
}
