// Help texts, generated from the command table.

enum Help {
  static func usage(_ command: any Command.Type) -> String {
    "dugout \(command.name)" + (command.usage.isEmpty ? "" : " \(command.usage)")
  }

  static let about = "look at, check and try an embedded document database"

  static let optionValues =
    "The value of an option is the next word, or follows a sign: --limit 5, --limit=5."

  static let exitCodes: [(code: ExitCode, meaning: String)] = [
    (.ok, "done"),
    (
      .checkFailed,
      "a check failed, a salvage lost something or may have, a backup has documents that cannot be decoded, what was requested does not exist, the store does not allow it, or Ctrl-C ended an import, an export or a bench, an update or a deletion, or its question was answered with no"
    ),
    (.usage, "wrong usage"),
    (
      .badData,
      "bad data: a damaged or a newer store, documents that cannot be decoded, or input that cannot be read as documents"
    ),
    (
      .unavailable,
      "unavailable: the store is in use or missing, a directory is not suitable, or the memory budget does not allow the operation"
    ),
    (.inputOutput, "input or output failed"),
  ]

  static func overview(_ commands: [any Command.Type]) -> String {
    let rows = commands.map { "  \(padded($0.name, 14))\($0.summary)" }
    let codes = exitCodes.map { "  \(padded("\($0.code.rawValue)", 4))\($0.meaning)" }
    return """
      dugout: \(about)

      Usage: dugout COMMAND [ARGUMENTS]

      \(rows.joined(separator: "\n"))

        dugout help COMMAND   describes one command
        dugout --version      prints the versions of program, store format and lz4

      \(optionValues)

      Exit codes:
      \(codes.joined(separator: "\n"))
      """
  }

  static func page(_ command: any Command.Type) -> String {
    page(command, usage: usage(command)) { $0 }
  }

  /// Formats a help page for a command in another context, with its own usage and modified notes.
  static func page(_ command: any Command.Type, usage: String, _ note: (String) -> String) -> String {
    var lines = ["\(command.summary)", "", "Usage: \(usage)"]
    if !command.options.isEmpty { lines.append("") }
    let width = max(18, 2 + (command.options.map(\.option.count).max() ?? 0))
    for (option, meaning) in command.options { lines.append("  \(padded(option, width))\(meaning)") }
    if !command.notes.isEmpty { lines.append("") }
    return (lines + command.notes.map(note)).joined(separator: "\n")
  }

  private static func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(1, width - text.count))
  }
}
