// dugout stat DIR: prints the contents and the health of a store.

import DocumentStore

enum StatCommand: Command {
  static let name = "stat"
  static let summary = "Says what a store holds, how it is doing, and what its open found"
  static let usage = "DIR [--json]"
  static let options = [(option: Arguments.json, meaning: "One JSON object with all numbers and reports")]
  static let positional = 1...1
  static let notes = [
    "Nothing in the store is changed: what a crash cut off is listed, and the next command or app that writes drops it.",
    "It also works while an app has the store open. docs/guides/operating.md goes through the lines.",
    "",
    StoreStatus.records,
  ]

  static func run(_ arguments: Arguments) async throws {
    let status = try StoreAccess.withStore(arguments.positional[0], readOnly: true) { StoreStatus(of: $0) }
    arguments.answer(status.text, status.object)
  }
}
