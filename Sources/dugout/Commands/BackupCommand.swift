// dugout backup DIR TARGET: one committed state as a verified store in another directory.

import ByteStore
import DocumentStore
import Foundation

enum BackupCommand: Command {
  static let name = "backup"
  static let summary = "Makes a verified copy of a store in another directory"
  static let usage = "DIR TARGET [--json]"
  static let options = [
    (option: Arguments.json, meaning: "One JSON object that says what the backup became")
  ]
  static let positional = 2...2
  static let notes = [
    "TARGET is a new or an empty directory, or one with a backup that was cut off. Every byte is read back before",
    "the backup counts. It is a store with an id of its own: to restore it, copy TARGET.",
  ]

  static func run(_ arguments: Arguments) async throws {
    let (directory, target) = (arguments.positional[0], arguments.positional[1])
    guard !isInside(directory, target) else {
      throw CommandFailure(
        code: .usage,
        message:
          "\(target) is the store itself or lies in it, and would be lost with it. Choose another directory."
      )
    }
    let report = try ProgressLine.during { line in
      try StoreAccess.withStore(directory, readOnly: true) { store throws(DocumentStoreError) in
        try store.backup(to: target, progress: line.show)
      }
    }
    try arguments.answer(text(report), object(of: report))
  }

  private static func isInside(_ directory: String, _ target: String) -> Bool {
    let outer = URL(fileURLWithPath: directory).resolvingSymlinksInPath().pathComponents
    let inner = URL(fileURLWithPath: target).resolvingSymlinksInPath().pathComponents
    return inner.starts(with: outer)
  }

  private static func text(_ report: BackupReport) -> String {
    """
    \(Terminal.emphasised("\(report.directory) is a backup as of commit \(report.sequence.value)."))
      holds       \(Wording.count(report.keys, "key")), \(Wording.bytes(report.bytes)), every byte read back
      id          \(report.storeID)
      durability  \(report.durability)
    """
  }

  private static func object(of report: BackupReport) -> [String: Any] {
    [
      "directory": report.directory, "storeID": report.storeID.description,
      "lastCommit": report.sequence.value, "keys": report.keys, "bytes": report.bytes,
      "durability": report.durability.object,
    ]
  }
}
