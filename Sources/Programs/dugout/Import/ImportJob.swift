// One import: writes documents from a source into a store, and records its progress beside the file.

import ByteStore
import DocumentStore
import Foundation

struct ImportJob {
  struct Outcome {
    var documents = 0
    var documentsBefore = 0
    var isInterrupted = false
    /// Records of storage files; see `DocumentSource`.
    var recordsSkipped = 0
    var next = NextRun.startsFresh
  }

  /// How the next run of the command treats the documents imported so far.
  enum NextRun {
    case resumes, restarts
    /// There are no imported documents.
    case startsFresh

    /// Appended to the advice to repeat the command.
    var text: String {
      switch self {
      case .resumes: ": it continues from there"
      case .restarts: ": it starts over, and writes them again"
      case .startsFresh: ""
      }
    }
  }

  /// The progress, stored for the next run.
  private struct Mark: Codable {
    var store: String
    /// The stamp of the last commit. An older copy of the store has a smaller stamp.
    var stamp: UInt64
    var bytesDone: UInt64
    /// The checksum of the processed bytes, which detects a different file. Later bytes are not included,
    /// because the user may have corrected them.
    var checksum: UInt32
    var documents: Int
    /// See `DocumentSource`.
    var plan: Data?
  }

  private static let batchMax = 500
  private static let batchBytesMax: UInt64 = 4 << 20
  /// The maximum size of a batch, measured as commits measure it. This measure may exceed the size in the
  /// file. A batch of this size plus one document is within the limit of a commit.
  private static let batchSizeMax = 8 << 20

  private let store: DocumentStore
  private let source: any DocumentSource
  private let path: String
  private let line: ProgressLine
  private let fromStart: Bool
  /// Whether the store is dropped unless all documents were imported. Then there is no progress to record.
  var isWholeOrNothing = false
  private var outcome = Outcome()
  private var batch: [Mutation] = []
  private var batchStart: UInt64 = 0
  private var batchSize = 0
  private var prefix = FilePrefix(of: [])
  /// Whether the mark of the last commit was written.
  private var isMarked = false

  init(
    _ store: DocumentStore, _ source: any DocumentSource, at path: String, line: ProgressLine,
    fromStart: Bool
  ) {
    self.store = store
    self.source = source
    self.path = path
    self.line = line
    self.fromStart = fromStart
  }

  mutating func run(until isOver: () -> Bool) throws -> Outcome {
    let start = ContinuousClock.now
    prefix = FilePrefix(of: source.files)
    if let mark = mark(),
      try source.resume(at: mark.bytesDone, after: mark.documents, plan: mark.plan)
    {
      outcome.documentsBefore = mark.documents
      isMarked = true
    } else {
      prefix = FilePrefix(of: source.files)
    }
    let bytesSkipped = source.bytesDone
    batchStart = bytesSkipped
    while let (mutation, size) = try next() {
      batch.append(mutation)
      batchSize += size
      let isFull =
        batch.count >= Self.batchMax || batchSize >= Self.batchSizeMax
        || source.bytesDone - batchStart >= Self.batchBytesMax
      guard isFull else { continue }
      try commit(upTo: source.bytesDone)
      show(bytesSkipped, since: start)
      if isOver() { return ended(isInterrupted: true) }
    }
    try commit(upTo: source.bytesDone)
    // A total size of 0 is unknown, as for a pipe. The same signal may have ended the program that writes to
    // the pipe, so the documents may be incomplete.
    if source.bytes == 0, isOver() { return ended(isInterrupted: true) }
    // Only an import of files has a mark.
    if source.readsFiles, !isWholeOrNothing { unlink(markPath) }
    return ended(isInterrupted: false)
  }

  private func ended(isInterrupted: Bool) -> Outcome {
    var outcome = outcome
    outcome.isInterrupted = isInterrupted
    outcome.recordsSkipped = source.recordsSkipped
    outcome.next = nextRun
    return outcome
  }

  private var nextRun: NextRun {
    guard outcome.documents + outcome.documentsBefore > 0, !isWholeOrNothing else { return .startsFresh }
    return isMarked ? .resumes : .restarts
  }

  private mutating func next() throws -> (mutation: Mutation, size: Int)? {
    do {
      guard let (path, fields) = try source.next() else { return nil }
      let mutation = Mutation.set(path, fields)
      return (mutation, try Self.size(of: mutation))
    } catch let problem as JSONProblem {
      try commit(upTo: source.start)
      throw CommandFailure(code: .badData, message: message(problem))
    }
  }

  /// Checks a document against the limits of a commit. The check is here, because the line of the document is
  /// known here.
  private static func size(of mutation: Mutation) throws(JSONProblem) -> Int {
    do throws(DocumentStoreError) {
      return try DocumentLimits.check(mutation)
    } catch {
      throw JSONProblem(message: error.description)
    }
  }

  /// Composes the error message: position, problem, imported documents, advice.
  private func message(_ problem: JSONProblem) -> String {
    let text = "\(problem)"
    var sentences = [
      "\(path == "-" ? "standard input" : path), \(source.startText): \(text)\(text.hasSuffix(".") ? "" : ".")"
    ]
    let before = outcome.documents + outcome.documentsBefore
    let isNothing = before == 0 || isWholeOrNothing
    sentences.append(isNothing ? "Nothing was imported." : "All documents before it were imported.")
    if let hint = problem.hint {
      sentences.append(hint)
    } else {
      sentences.append("Fix it and repeat the command\(nextRun.text).")
    }
    return sentences.joined(separator: " ")
  }

  /// Composes the message for a failed commit.
  static func message(
    _ error: DocumentStoreError, after documents: Int, by before: Int, next: NextRun
  ) -> String {
    let count = Wording.count(documents, "document was", plural: "documents were")
    let earlier = before == 0 ? "" : ", \(before) by an earlier run"
    var isFull = false
    if case .full(let evidence) = error { isFull = evidence.code != nil }
    let cure = isFull ? StoreAccess.room : "Once that is fixed"
    let advice = "\(cure)\(isFull ? ", and" : ",") run the same command again\(next.text)."
    let cause = StoreAccess.ended(error.description)
    return "\(cause) Before that, \(count) imported\(earlier), and all of them are safe. \(advice)"
  }

  private mutating func commit(upTo place: UInt64) throws {
    guard !batch.isEmpty else { return }
    // A mark of an import with other options must not outlive the first commit of this one.
    if source.readsFiles, !isWholeOrNothing, !isMarked, outcome.documents == 0 { unlink(markPath) }
    do {
      try store.commit(batch)
    } catch {
      throw CommandFailure(
        code: StoreAccess.exitCode(for: error),
        message: Self.message(
          error, after: outcome.documents, by: outcome.documentsBefore, next: nextRun))
    }
    outcome.documents += batch.count
    batch = []
    batchSize = 0
    batchStart = place
    remember(place)
  }

  private func show(_ bytesSkipped: UInt64, since start: ContinuousClock.Instant) {
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    let text = ProgressLine.pace(
      documents: outcome.documents, seconds: seconds, done: source.bytesDone, doneAtStart: bytesSkipped,
      of: source.bytes)
    guard source.bytes > 0 else { return line.show(text) }
    line.show(source.bytesDone, of: max(source.bytes, source.bytesDone), what: text)
  }

  // MARK: Going on

  private var markPath: String { Self.markPath(of: path) }

  /// The path of the mark, beside the imported file.
  static func markPath(of path: String) -> String {
    (path.hasSuffix("/") ? String(path.dropLast()) : path) + ".dugout-import"
  }

  private mutating func mark() -> Mark? {
    guard source.readsFiles, !fromStart, !isWholeOrNothing,
      let data = FileManager.default.contents(atPath: markPath),
      let mark = try? JSONDecoder().decode(Mark.self, from: data),
      mark.store == store.bytes.storeID.description, mark.stamp <= store.bytes.lastStamp,
      mark.bytesDone <= source.bytes
    else { return nil }
    guard prefix.checksum(upTo: mark.bytesDone) == mark.checksum else {
      prefix = FilePrefix(of: source.files)
      return nil
    }
    return mark
  }

  /// Writes the mark. Without it the next run starts over and writes the documents again, which is harmless.
  private mutating func remember(_ bytesDone: UInt64) {
    isMarked = false
    guard source.readsFiles, !isWholeOrNothing, let checksum = prefix.checksum(upTo: bytesDone) else {
      return
    }
    let mark = Mark(
      store: store.bytes.storeID.description, stamp: store.bytes.lastStamp, bytesDone: bytesDone,
      checksum: checksum, documents: outcome.documentsBefore + outcome.documents, plan: source.plan)
    do {
      let data = try JSONEncoder().encode(mark)
      try data.write(to: URL(fileURLWithPath: markPath), options: .atomic)
      isMarked = true
    } catch {}
  }
}
