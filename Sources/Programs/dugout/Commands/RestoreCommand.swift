// dugout restore BACKUP DIR: creates a store from a backup.

import ByteStore
import DocumentStore
import Foundation
import StoreTools

enum RestoreCommand: Command {
  static let name = "restore"
  static let summary = "Creates a store from a backup, every byte verified"
  static let usage = "BACKUP DIR [--json]"
  static let options = [
    (option: Arguments.json, meaning: "One JSON object that describes the store")
  ]
  static let positional = 2...2
  static let notes = [
    "DIR is a new or an empty directory, or one with an interrupted restore: an existing store is never",
    "replaced, so move it away first. The restored store has its own id, and the backup is not changed.",
    "",
    "  mv data data-before && dugout restore backups/monday data",
  ]
  static let shellForm = ShellForm.none

  static func run(_ arguments: Arguments) async throws {
    let (backup, target) = (arguments.positional[0], arguments.positional[1])
    // Checked before the backup is opened, because opening it can take long.
    if StoreFinder.isStore(target) { throw refusal(target, found: StoreFinder.mark) }
    guard FileManager.default.fileExists(atPath: backup) else {
      throw CommandFailure(code: .unavailable, message: "there is no backup at \(backup). Check the path.")
    }
    let outcome = try StoreCopy.make(of: backup, at: target) { refusal(target, found: $0) }
    let report = outcome.report
    let headline = "\(report.directory) is restored, as of commit \(report.sequence.value) of the backup."
    arguments.answer(StoreCopy.text(headline, outcome), StoreCopy.object(of: outcome))
    if let failure = StoreCopy.failure(outcome) { throw failure }
  }

  private static func refusal(_ target: String, found: String) -> CommandFailure {
    let (here, before) = (ShellWord.quoted(target), ShellWord.quoted(target + "-before"))
    return CommandFailure(
      code: .unavailable,
      message: "\(target) holds \(found), and a restore never replaces anything. Move it away first "
        + "(mv \(here) \(before)), or name a new directory. Nothing was touched.")
  }
}
