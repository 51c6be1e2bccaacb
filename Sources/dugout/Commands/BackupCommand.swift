// dugout backup DIR TARGET: a verified copy of a store, for the day that the store is gone.

import ByteStore
import DocumentStore

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
    "the backup counts. It is a store with an id of its own; \"dugout restore\" makes a store of it again.",
  ]

  static func run(_ arguments: Arguments) async throws {
    let report = try StoreCopy.make(of: arguments.positional[0], at: arguments.positional[1])
    let headline = "\(report.directory) is a backup as of commit \(report.sequence.value)."
    arguments.answer(StoreCopy.text(headline, report), StoreCopy.object(of: report))
  }
}
