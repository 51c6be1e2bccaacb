// dugout bench: measures operations on a small store in a given directory, and verifies every result.

import ByteStore
import DocumentStore
import Foundation
import StoreTools

enum BenchCommand: Command {
  static let name = "bench"
  static let summary = "Measures a small store on this machine, and checks every answer"
  static let usage = "[DIR] [--documents N] [--json]"
  static let options = [
    (option: "--documents N", meaning: "How many; default 20000"),
    (option: Arguments.json, meaning: "One JSON object with all numbers"),
  ]
  static let positional = 0...1
  static let notes = [
    "A new store is created in DIR, or in a temporary directory, and removed at the end: name a directory on the disk",
    "to measure. It takes a few seconds; Ctrl-C ends it with code 1, and removes the store too. Comparisons with other",
    "engines are in Benchmarks, and take longer.",
  ]
  static let shellForm = ShellForm.none

  static func run(_ arguments: Arguments) async throws {
    let parent =
      arguments.positional.first.map { URL(fileURLWithPath: $0) } ?? FileManager.default.temporaryDirectory
    let count = try arguments.count(of: "--documents") ?? 20_000
    var isDirectory: ObjCBool = false
    guard FileManager.default.fileExists(atPath: parent.path, isDirectory: &isDirectory),
      isDirectory.boolValue
    else {
      throw CommandFailure(code: .unavailable, message: "there is no directory \(parent.path).")
    }
    // A foreign file in a store's directory would make the next backup or restore fail.
    guard !StoreFinder.isStore(parent.path) else {
      throw CommandFailure(
        code: .usage,
        message: "\(parent.path) is a store, and a bench creates one of its own: name the directory "
          + "that it lies in.")
    }
    let interruption = Interruption(by: [SIGINT, SIGTERM])
    let folder = parent.appendingPathComponent("dugout-bench-\(UUID().uuidString)")
    defer {
      // A signal must not end the process before the directory is removed.
      withExtendedLifetime(interruption) { try? FileManager.default.removeItem(at: folder) }
    }
    let outcome = Result {
      try ProgressLine.during { line in
        try StoreAccess.translating { () throws(DocumentStoreError) in
          try Bench(documents: count, line: line, isOver: { interruption.isSignaled }).run(in: folder.path)
        }
      }
    }
    guard !interruption.isSignaled else {
      throw CommandFailure(code: .checkFailed, message: "ended by a signal. Its store was removed.")
    }
    let result = try outcome.get()
    if let wrong = result.wrong {
      throw CommandFailure(
        code: .checkFailed, message: "\(wrong). Please report this: an answer was wrong.")
    }
    arguments.answer(text(result), object(result))
  }

  private static func text(_ result: BenchResult) -> String {
    let rows = result.rows.map { ($0.what, number($0.perSecond), $0.unit) }
    let widths = (rows.map { $0.0.count }.max() ?? 0, rows.map { $0.1.count }.max() ?? 0)
    let lines = rows.map { what, number, unit in
      what + String(repeating: " ", count: widths.0 + 2 + widths.1 - number.count - what.count) + number
        + "  "
        + unit
    }
    return
      (lines + [
        "\(Wording.count(result.documents, "document")) in \(Wording.bytes(result.bytes)); \(result.durability)",
        Terminal.emphasised("All answers were right, and the check found no damage."),
      ]).joined(separator: "\n")
  }

  /// Formats a number with a space between groups of three digits.
  private static func number(_ value: Double) -> String {
    var digits = Array("\(Int(value.rounded()))")
    var place = digits.count - 3
    while place > 0 {
      digits.insert(" ", at: place)
      place -= 3
    }
    return String(digits)
  }

  private static func object(_ result: BenchResult) -> JSON {
    [
      "documents": result.documents, "bytes": result.bytes, "durability": result.durability,
      "rows": result.rows.map {
        ["what": $0.what, "perSecond": $0.perSecond, "unit": $0.unit] as JSON
      },
    ]
  }
}

struct BenchResult {
  var documents: Int
  var bytes: UInt64 = 0
  var durability = ""
  var rows: [(what: String, perSecond: Double, unit: String)] = []
  /// A description of the first wrong result; nil if all results were right.
  var wrong: String?
}

/// A benchmark over the documents `items/item-0`, `items/item-1` and so on. All results are known in advance.
struct Bench {
  private static let batchDocuments = 500
  private static let groups = 10
  private static let hashedPieceBytes = 1_000_000

  let documents: Int
  /// Shows the row that is being measured.
  let line: ProgressLine
  /// Returns whether the run was cancelled. The benchmark checks this between two steps.
  let isOver: () -> Bool

  /// The number of pieces to hash. It depends on the number of documents, so that a small run stays short.
  private var hashedPieces: Int { min(100, 10 + documents / 100) }

  private func checkNotInterrupted() throws(DocumentStoreError) {
    if isOver() { throw .aborted("The bench was ended.") }
  }

  func run(in directory: String) throws(DocumentStoreError) -> BenchResult {
    var result = BenchResult(documents: documents)
    let store = try DocumentStore.open(directory)
    do throws(DocumentStoreError) {
      try load(store, &result)
      try commitSingly(store, &result)
      try read(store, &result)
      try query(store, &result)
      result.durability = store.durabilityText
      try store.close()
    } catch {
      try? store.close()
      throw error
    }
    try openAgain(directory, &result)
    try hash(&result)
    return result
  }

  private func path(_ number: Int) throws(DocumentStoreError) -> DocumentPath {
    do { return try DocumentPath(["items", "item-\(number)"]) } catch {
      throw DocumentStoreError.invalidArgument("\(error)")
    }
  }

  private func fields(_ number: Int) -> StoredMap {
    StoredMap([
      ("number", .integer(Int64(number))), ("group", .string("group-\(number % Self.groups)")),
      ("text", .string("This is the document number \(number), with a text of an ordinary length.")),
      ("flags", .array([.boolean(number % 2 == 0), .boolean(number % 3 == 0)])),
    ])
  }

  // MARK: The rows

  private func load(_ store: DocumentStore, _ result: inout BenchResult) throws(DocumentStoreError) {
    try measure("documents written in batches of 500", documents, unit: "documents a second", result: &result)
    {
      () throws(DocumentStoreError) in
      for start in stride(from: 0, to: documents, by: Self.batchDocuments) {
        try checkNotInterrupted()
        var batch: [Mutation] = []
        for number in start..<min(start + Self.batchDocuments, documents) {
          batch.append(.set(try path(number), fields(number)))
        }
        try store.commit(batch)
      }
    }
    let count = store.count
    if count != documents {
      result.note("\(Wording.count(count, "document is", plural: "documents are")) there, not \(documents)")
    }
  }

  private func commitSingly(_ store: DocumentStore, _ result: inout BenchResult) throws(DocumentStoreError) {
    let count = min(documents, 200)
    try measure("durable commits of one document", count, unit: "commits a second", result: &result) {
      () throws(DocumentStoreError) in
      for number in 0..<count {
        try checkNotInterrupted()
        try store.commit([.set(try path(number), fields(number))])
      }
    }
  }

  private func read(_ store: DocumentStore, _ result: inout BenchResult) throws(DocumentStoreError) {
    var wrong: String?
    try measure("documents read by path", documents, unit: "reads a second", result: &result) {
      () throws(DocumentStoreError) in
      for step in 0..<documents {
        try checkNotInterrupted()
        let number = (step &* 7919) % documents
        if try store.document(at: try path(number))?.fields != fields(number) {
          wrong = "item-\(number) is not as written"
        }
      }
    }
    if let wrong { result.note(wrong) }
  }

  private func query(_ store: DocumentStore, _ result: inout BenchResult) throws(DocumentStoreError) {
    let query: StructuredQuery
    do {
      query = try QueryText.query("items where group == \"group-7\" order by number desc limit 20")
    } catch { throw DocumentStoreError.invalidArgument("\(error)") }
    let expected = (0..<documents).reversed().lazy.filter { $0 % Self.groups == 7 }.prefix(20).map {
      "item-\($0)"
    }
    try measure("index made for a query", 1, unit: "a second", result: &result) {
      () throws(DocumentStoreError) in
      _ = try store.documents(query)
    }
    let count = 500
    var wrong: String?
    try measure("queries: equality, order, limit 20", count, unit: "queries a second", result: &result) {
      () throws(DocumentStoreError) in
      for _ in 0..<count {
        try checkNotInterrupted()
        if try store.documents(query).map(\.path.id) != Array(expected) {
          wrong = "a query's answer is wrong"
        }
      }
    }
    if let wrong { result.note(wrong) }
  }

  private func openAgain(_ directory: String, _ result: inout BenchResult) throws(DocumentStoreError) {
    try measure("open, and read one document", 1, unit: "a second", result: &result) {
      () throws(DocumentStoreError) in
      let store = try DocumentStore.open(directory)
      let document = try store.document(at: try path(documents - 1))
      try store.close()
      if document?.fields != fields(documents - 1) {
        throw .failedPrecondition("the last document is not as written")
      }
    }
    let report = try DocumentStore.check(directory)
    result.bytes = report.bytesVerified
    if let finding = report.findings.first { result.note(finding.line) }
  }

  /// Measures SHA-256, whose hashes address the contents of files. Measures it both with and without the
  /// processor's special instructions.
  private func hash(_ result: inout BenchResult) throws(DocumentStoreError) {
    let piece = (0..<Self.hashedPieceBytes).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }
    var digests: [[UInt8]] = []
    for isPortable in [false, true] {
      let what = isPortable ? "contents hashed without special instructions" : "contents hashed"
      let megabytes = hashedPieces * Self.hashedPieceBytes / 1_000_000
      try measure(what, megabytes, unit: "MB a second", result: &result) { () throws(DocumentStoreError) in
        var digest = SHA256Stream(isPortable: isPortable)
        for _ in 0..<hashedPieces {
          try checkNotInterrupted()
          digest.update(piece.span.bytes)
        }
        digests.append(digest.digest)
      }
    }
    if digests[0] != digests[1] { result.note("two hash implementations disagree") }
  }

  private func measure(
    _ what: String, _ count: Int, unit: String, result: inout BenchResult,
    _ body: () throws(DocumentStoreError) -> Void
  ) throws(DocumentStoreError) {
    line.show(what)
    let start = ContinuousClock.now
    try body()
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    result.rows.append((what, Double(count) / max(seconds, 1e-9), unit))
  }
}

extension BenchResult {
  mutating func note(_ wrong: String) { if self.wrong == nil { self.wrong = wrong } }
}

extension DocumentStore {
  fileprivate var durabilityText: String { "\(statistics.durability)" }
}
