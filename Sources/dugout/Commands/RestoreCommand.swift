// dugout restore BACKUP DIR: a store out of a backup.

import ByteStore
import DocumentStore

enum RestoreCommand: Command {
  static let name = "restore"
  static let summary = "Makes a store of a backup, every byte verified on the way"
  static let usage = "BACKUP DIR [--json]"
  static let options = [
    (option: Arguments.json, meaning: "One JSON object that says what the store became")
  ]
  static let positional = 2...2
  static let notes = [
    "DIR is a new or an empty directory: a store that is there is never replaced, so move it away first. The",
    "restored store has an id of its own, and the backup stays as it is.",
    "",
    "  mv data data-before && dugout restore backups/monday data",
  ]
  static let shellForm = ShellForm.none

  static func run(_ arguments: Arguments) async throws {
    let report = try StoreCopy.make(of: arguments.positional[0], at: arguments.positional[1])
    let headline = "\(report.directory) is restored, as of commit \(report.sequence.value) of the backup."
    try arguments.answer(StoreCopy.text(headline, report), StoreCopy.object(of: report))
  }
}
