// Help texts, all from the command table.

enum Help {
  static func usage(_ command: any Command.Type) -> String {
    "dugout \(command.name)" + (command.usage.isEmpty ? "" : " \(command.usage)")
  }

  static func overview(_ commands: [any Command.Type]) -> String {
    let rows = commands.map { "  \(padded($0.name, 14))\($0.summary)" }
    return """
      dugout: look at, check and try an embedded document database

      Usage: dugout COMMAND [ARGUMENTS]

      \(rows.joined(separator: "\n"))

        dugout help COMMAND   tells more about one
        dugout --version      prints the versions of program, store format and lz4

      Exit codes: 0 done, 1 a check failed, 2 usage, 65 bad data, 69 unavailable (the store is in use
      or missing), 74 input or output failed.
      """
  }

  static func page(_ command: any Command.Type) -> String {
    var lines = ["\(command.summary)", "", "Usage: \(usage(command))"]
    if !command.options.isEmpty { lines.append("") }
    for (option, meaning) in command.options { lines.append("  \(padded(option, 18))\(meaning)") }
    if !command.notes.isEmpty { lines.append("") }
    return (lines + command.notes).joined(separator: "\n")
  }

  private static func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(1, width - text.count))
  }
}
