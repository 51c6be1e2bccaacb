// dugout compact DIR: the space of what was deleted and replaced comes back.

import ByteStore
import DocumentStore

enum CompactCommand: Command {
  static let name = "compact"
  static let summary = "Gets the space back of what was deleted and replaced"
  static let usage = "DIR [--json]"
  static let options = [
    (option: Arguments.json, meaning: "One JSON object with the sizes before and after")
  ]
  static let positional = 1...1
  static let notes = [
    "Moves all commits from logs to segments, and writes segments anew of which more than a twentieth is dead.",
    "It needs as much free space as is alive in them, and with less it takes a few at a time. It can be interrupted at",
    "any time: nothing is lost.",
  ]

  static func run(_ arguments: Arguments) async throws {
    let directory = arguments.positional[0]
    let (before, after) = try StoreAccess.withStore(directory) { store throws(DocumentStoreError) in
      let before = store.statistics
      try store.compact()
      return (before, store.statistics)
    }
    arguments.answer(text(before, after), object(before, after))
    guard let damaged = after.damagedSegments.first else { return }
    throw CommandFailure(
      code: .badData,
      message:
        "\(Wording.count(after.damagedSegments.count, "segment")) could not be read and stayed as it was: "
        + "\(damaged.error) \"dugout check\" lists all damage.")
  }

  private static func text(_ before: Statistics, _ after: Statistics) -> String {
    """
    \(Terminal.emphasised(headline(before.directoryBytes, after.directoryBytes)))
      holds     \(Wording.count(after.keys, "record")), as of commit \(after.lastCommit.value)
      segments  \(segments(before.segments)) before, \(segments(after.segments)) now
      logs      \(before.logs.count) before, \(after.logs.count) now
    """
  }

  private static func headline(_ before: UInt64, _ after: UInt64) -> String {
    let now = "The store has \(Wording.bytes(after)) on disk"
    if before == after { return "\(now), as before: there was nothing to gain." }
    return before > after
      ? "\(now), and \(Wording.bytes(before - after)) came back."
      : "\(now), \(Wording.bytes(after - before)) more than before: its commits went from logs to segments."
  }

  private static func segments(_ segments: Statistics.Segments) -> String {
    "\(segments.count) with \(Wording.bytes(segments.deadBytes)) dead"
  }

  private static func object(_ before: Statistics, _ after: Statistics) -> JSON {
    [
      "bytesBefore": before.directoryBytes, "bytesAfter": after.directoryBytes,
      "bytesReturned": before.directoryBytes - min(after.directoryBytes, before.directoryBytes),
      "deadBytesBefore": before.segments.deadBytes, "deadBytesAfter": after.segments.deadBytes,
      "keys": after.keys, "lastCommit": after.lastCommit.value,
      "damagedSegments": after.damagedSegments.map(\.object),
    ]
  }
}
