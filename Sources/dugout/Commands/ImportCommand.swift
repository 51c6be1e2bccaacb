// dugout import DIR FILE: documents from lines of JSON.

import ByteStore
import DocumentStore
import Foundation
import Synchronization

enum ImportCommand: Command {
  static let name = "import"
  static let summary = "Reads documents from lines of JSON"
  static let usage = "DIR FILE [--from-start] [--json]"
  static let options = [
    (option: "--from-start", meaning: "Forget how far an earlier import of the file came"),
    (option: Arguments.json, meaning: "One JSON object with the number of documents"),
  ]
  static let positional = 2...2
  static let notes = [
    "Each line is {\"path\": \"users/ada\", \"fields\": {\"age\": {\"integerValue\": \"36\"}}}, as \"dugout export\" writes",
    "them; Firestore's \"name\": \"projects/…/documents/users/ada\" does for the path. FILE is - for standard input.",
    "A document that is there already is replaced. Ctrl-C ends the import after the commit under way: what was",
    "written stays, and the same command goes on from there. How far it came stands in FILE.dugout-import.",
    "The store is made if the directory has none.",
  ]

  static func run(_ arguments: Arguments) async throws {
    let (directory, file) = (arguments.positional[0], arguments.positional[1])
    let interruption = Interruption()
    let outcome = try ProgressLine.during { line in
      try StoreAccess.withStore(directory, creates: true) { store throws(DocumentStoreError) in
        var job = ImportJob(store, file, line, fromStart: arguments.has("--from-start"))
        return Result { try job.run(until: { interruption.hasCome }) }
      }
    }
    let done = try outcome.get()
    let counted = "\(Wording.count(done.documents, "document")) imported"
    guard !done.isInterrupted else {
      throw CommandFailure(
        code: .checkFailed,
        message: "\(counted), and all of them are safe. Run the same command again to go on from there.")
    }
    let before = done.documentsBefore == 0 ? "" : ", \(done.documentsBefore) by an earlier run"
    try arguments.answer(
      counted + before + ".", ["documents": done.documents, "documentsBefore": done.documentsBefore])
  }
}

/// Ctrl-C, as a question that is asked between commits.
private final class Interruption: Sendable {
  private static let count = Atomic<Int>(0)

  init() {
    // Made here: the handler does nothing but note that it was called.
    Self.count.store(0, ordering: .relaxed)
    signal(SIGINT) { _ in Interruption.count.store(1, ordering: .relaxed) }
  }

  var hasCome: Bool { Self.count.load(ordering: .relaxed) > 0 }
}

struct ImportJob {
  struct Outcome {
    var documents = 0
    var documentsBefore = 0
    var isInterrupted = false
  }

  /// How far it came, for the next run.
  private struct Mark: Codable {
    var store: String
    var fileBytes: UInt64
    var bytesDone: UInt64
    var documents: Int
  }

  private static let batchMax = 500
  private static let batchBytesMax = 4 << 20

  private let store: DocumentStore
  private let path: String
  private let line: ProgressLine
  private let fromStart: Bool
  private var outcome = Outcome()
  private var batch: [Mutation] = []
  private var batchBytes = 0
  private var lineNumber = 0

  init(_ store: DocumentStore, _ path: String, _ line: ProgressLine, fromStart: Bool) {
    self.store = store
    self.path = path
    self.line = line
    self.fromStart = fromStart
  }

  mutating func run(until isOver: () -> Bool) throws -> Outcome {
    let reader = try LineReader(path)
    let start = ContinuousClock.now
    if let mark = mark(reader.bytes) {
      try reader.skip(to: mark.bytesDone)
      outcome.documentsBefore = mark.documents
    }
    while let text = try reader.next() {
      lineNumber += 1
      guard !text.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) else { continue }
      do throws(JSONProblem) {
        let (path, fields) = try DocumentJSON.document(text)
        batch.append(.set(path, fields))
      } catch {
        try commit(reader, upTo: reader.lineStart)
        throw CommandFailure(
          code: .badData,
          message: "\(path), byte \(reader.lineStart): \(error). All lines before it were imported.")
      }
      batchBytes += text.count
      guard batch.count >= Self.batchMax || batchBytes >= Self.batchBytesMax else { continue }
      try commit(reader)
      show(reader, since: start)
      if isOver() {
        outcome.isInterrupted = true
        return outcome
      }
    }
    try commit(reader)
    try? FileManager.default.removeItem(atPath: markPath)
    return outcome
  }

  private mutating func commit(_ reader: LineReader, upTo place: UInt64? = nil) throws {
    guard !batch.isEmpty else { return }
    do {
      try store.commit(batch)
    } catch {
      throw CommandFailure(
        code: StoreAccess.exitCode(for: error),
        message: "\(error) \(Wording.count(outcome.documents, "document")) before that were imported.")
    }
    outcome.documents += batch.count
    batch = []
    batchBytes = 0
    remember(reader, place ?? reader.bytesDone)
  }

  private func show(_ reader: LineReader, since start: ContinuousClock.Instant) {
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    let rate = Double(outcome.documents) / max(seconds, 0.001)
    var text = "\(Wording.count(outcome.documents, "document")), \(Int(rate)) a second"
    let read = reader.bytesDone - reader.bytesSkipped
    if reader.bytes > 0, read > 0 {
      let left = seconds * Double(reader.bytes - min(reader.bytesDone, reader.bytes)) / Double(read)
      text += ", \(Wording.duration(seconds: left)) left"
    }
    line.show(reader.bytesDone, of: max(reader.bytes, reader.bytesDone), text)
  }

  // MARK: Going on

  private var markPath: String { path + ".dugout-import" }

  private func mark(_ fileBytes: UInt64) -> Mark? {
    guard path != "-", !fromStart, let data = FileManager.default.contents(atPath: markPath),
      let mark = try? JSONDecoder().decode(Mark.self, from: data), mark.fileBytes == fileBytes,
      mark.store == store.bytes.storeID.description
    else { return nil }
    return mark
  }

  /// Without it the next run begins at the start: documents are written again, and nothing is wrong.
  private func remember(_ reader: LineReader, _ bytesDone: UInt64) {
    guard path != "-" else { return }
    let mark = Mark(
      store: store.bytes.storeID.description, fileBytes: reader.bytes, bytesDone: bytesDone,
      documents: outcome.documentsBefore + outcome.documents)
    try? JSONEncoder().encode(mark).write(to: URL(fileURLWithPath: markPath), options: .atomic)
  }
}

/// Lines of a file, of any length.
final class LineReader {
  private static let chunkBytes = 1 << 20

  let bytes: UInt64
  private(set) var bytesSkipped: UInt64 = 0
  /// Behind the last line that was handed out.
  private(set) var bytesDone: UInt64 = 0
  private(set) var lineStart: UInt64 = 0
  private let handle: FileHandle
  private let path: String
  private var buffer = Data()
  private var isAtEnd = false

  init(_ path: String) throws {
    self.path = path
    guard path != "-" else {
      handle = .standardInput
      bytes = 0
      return
    }
    guard let handle = FileHandle(forReadingAtPath: path) else {
      throw CommandFailure(
        code: .inputOutput, message: "\(path) cannot be read: \(String(cString: strerror(errno))).")
    }
    self.handle = handle
    bytes = (try? handle.seekToEnd()) ?? 0
    try? handle.seek(toOffset: 0)
  }

  func skip(to offset: UInt64) throws {
    try handle.seek(toOffset: offset)
    bytesSkipped = offset
    bytesDone = offset
  }

  func next() throws -> Data? {
    while true {
      if let end = buffer.firstIndex(of: 0x0A) {
        let line = buffer[buffer.startIndex..<end]
        take(line.count + 1)
        return Data(line)
      }
      guard !isAtEnd else {
        guard !buffer.isEmpty else { return nil }
        let line = Data(buffer)
        take(line.count)
        return line
      }
      let chunk: Data
      do { chunk = try handle.read(upToCount: Self.chunkBytes) ?? Data() } catch {
        throw CommandFailure(
          code: .inputOutput, message: "\(path) cannot be read: \(error.localizedDescription)")
      }
      if chunk.isEmpty { isAtEnd = true } else { buffer.append(chunk) }
    }
  }

  private func take(_ count: Int) {
    lineStart = bytesDone
    bytesDone += UInt64(count)
    buffer = buffer.dropFirst(count)
  }
}
