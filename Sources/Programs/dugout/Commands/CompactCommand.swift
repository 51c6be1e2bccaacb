// dugout compact DIR: reclaims the space of deleted and replaced data.

import ByteStore
import DocumentStore
import ObjectStore

enum CompactCommand: Command {
  static let name = "compact"
  static let summary = "Reclaims the space of deleted and replaced data"
  static let usage = "DIR [--json]"
  static let options = [
    (option: Arguments.json, meaning: "One JSON object with the sizes before and after")
  ]
  static let positional = 1...1
  static let notes = [
    "Moves all commits from logs to segments, and rewrites segments of which more than a twentieth is dead.",
    "It needs free space for the live data in them; with less, it takes a few at a time. It can be interrupted at",
    "any time: nothing is lost. First it removes contents that no file of the storage has any more, uploads not",
    "resumed for seven days, and packs of small contents of which half is dead.",
  ]

  static func run(_ arguments: Arguments) async throws {
    let directory = arguments.positional[0]
    var contents: Result<ObjectSweep, DocumentStoreError> = .success(ObjectSweep())
    let (before, after) = try StoreAccess.withStore(directory) { store throws(DocumentStoreError) in
      let before = Sizes(of: store)
      // Documents are compacted even if the sweep of the contents fails.
      contents = Result { () throws(DocumentStoreError) in
        try store.contentByteCount() > 0 ? try store.objects.sweep(.everything) : ObjectSweep()
      }
      try store.compact()
      return (before, Sizes(of: store))
    }
    arguments.answer(text(before, after), object(before, after))
    try throwIfIncomplete(contents, after.store)
  }

  /// Reports everything that could not be compacted.
  private static func throwIfIncomplete(
    _ contents: Result<ObjectSweep, DocumentStoreError>, _ store: Statistics
  ) throws {
    var (codes, sentences): ([ExitCode], [String]) = ([], [])
    if let damaged = store.damagedSegments.first {
      codes.append(.badData)
      sentences.append(
        "\(Wording.count(store.damagedSegments.count, "segment")) could not be read and stayed as it was: "
          + "\(damaged.error) \"dugout check\" lists all damage.")
    }
    switch contents {
    case .success(let swept) where swept.packsNotEmptied > 0:
      codes.append(.inputOutput)
      sentences.append(
        "\(Wording.count(swept.packsNotEmptied, "pack")) of contents could not be emptied for lack of space. "
          + "\(StoreAccess.room), and run the same command again.")
    case .success: break
    case .failure(let error):
      codes.append(StoreAccess.exitCode(for: error))
      sentences.append(
        "contents of files of the storage were not examined to the end: "
          + "\(StoreAccess.ended(error.description)) Documents were compacted.")
    }
    guard let code = codes.first else { return }
    throw CommandFailure(code: code, message: sentences.joined(separator: " And "))
  }

  private struct Sizes {
    var store: Statistics
    /// Nil in two cases: the storage has no files, so no index of them is built; or the files cannot be read.
    var contents: ContentStatistics?
    /// The bytes of documents and of the storage's files.
    var bytes: UInt64 { store.directoryBytes + (contents?.bytes ?? 0) }

    init(of store: DocumentStore) {
      self.store = store.statistics
      if let bytes = try? store.contentByteCount(), bytes > 0 { contents = try? store.contentStatistics() }
    }
  }

  private static func text(_ before: Sizes, _ after: Sizes) -> String {
    var lines = [
      Terminal.emphasised(headline(before.bytes, after.bytes)),
      "  holds     \(Wording.count(after.store.keys, "record")), as of commit \(after.store.lastCommit.value)",
      "  segments  \(segments(before.store.segments)) before, \(segments(after.store.segments)) now",
      "  logs      \(before.store.logs.count) before, \(after.store.logs.count) now",
    ]
    if before.contents != nil {
      lines.append("  contents  \(contents(before.contents)) before, \(contents(after.contents)) now")
    }
    return lines.joined(separator: "\n")
  }

  private static func headline(_ before: UInt64, _ after: UInt64) -> String {
    let now = "The store has \(Wording.bytes(after)) on disk"
    if before == after { return "\(now), as before: there was nothing to reclaim." }
    return before > after
      ? "\(now), and \(Wording.bytes(before - after)) came back."
      : "\(now), \(Wording.bytes(after - before)) more than before: its commits went from logs to segments."
  }

  private static func segments(_ segments: Statistics.Segments) -> String {
    "\(segments.count) with \(Wording.bytes(segments.deadBytes)) dead"
  }

  private static func contents(_ contents: ContentStatistics?) -> String {
    guard let contents else { return "none" }
    return "\(contents.contents) with \(Wording.bytes(contents.bytes))"
  }

  private static func object(_ before: Sizes, _ after: Sizes) -> JSON {
    [
      "bytesBefore": before.bytes, "bytesAfter": after.bytes,
      "bytesReturned": before.bytes - min(after.bytes, before.bytes),
      "deadBytesBefore": before.store.segments.deadBytes, "deadBytesAfter": after.store.segments.deadBytes,
      "contentsBefore": before.contents?.contents ?? 0, "contentsAfter": after.contents?.contents ?? 0,
      "keys": after.store.keys, "lastCommit": after.store.lastCommit.value,
      "damagedSegments": after.store.damagedSegments.map(\.object),
    ]
  }
}
