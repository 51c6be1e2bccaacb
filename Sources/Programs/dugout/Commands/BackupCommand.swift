// dugout backup DIR TARGET: creates a verified copy of a store.

import ByteStore
import DocumentStore
import StoreTools

enum BackupCommand: Command {
  static let name = "backup"
  static let summary = "Makes a verified copy of a store in another directory"
  static let usage = "DIR TARGET [--json]"
  static let options = [
    (option: Arguments.json, meaning: "One JSON object that describes the backup")
  ]
  static let positional = 2...2
  static let notes = [
    "TARGET is a new or an empty directory, or one with an interrupted backup, which is cleared and started over.",
    "A backup is complete once every byte is read back. It is a store with its own id; \"dugout restore\" turns it",
    "back into a store. An app may have the store open meanwhile, and is not delayed.",
  ]

  static func run(_ arguments: Arguments) async throws {
    let target = try PathArgument.file(arguments.positional[1])
    let outcome = try StoreCopy.make(of: arguments.positional[0], at: target) { refusal(target, found: $0) }
    let report = outcome.report
    let headline = "\(report.directory) is a backup as of commit \(report.sequence.value)."
    arguments.answer(StoreCopy.text(headline, outcome), StoreCopy.object(of: outcome))
    if let failure = StoreCopy.failure(outcome) { throw failure }
  }

  /// Returns the error for a target directory that holds a store or an interrupted copy. Returns nil for any
  /// other directory.
  private static func refusal(_ target: String, found: String) -> CommandFailure? {
    if StoreFinder.isStore(target) {
      return CommandFailure(
        code: .unavailable,
        message:
          "\(target) holds a store, such as an earlier backup, and a backup never replaces one. Name a "
          + "new directory. Nothing was touched.")
    }
    guard StoreFinder.isCutOffCopy(target) else { return nil }
    return CommandFailure(
      code: .unavailable,
      message:
        "\(target) holds a backup or a restore that was cut off, and also \(found), which is not one of "
        + "its files. Move that away and repeat the command, or name a new directory. Nothing was touched."
    )
  }
}
