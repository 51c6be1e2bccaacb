// Help texts, generated from the command table and filled to the width of the terminal.

enum Help {
  /// The usage as one line, for messages.
  static func usage(_ command: any Command.Type) -> String {
    "dugout \(command.name)" + (command.fullUsage.isEmpty ? "" : " \(command.fullUsage)")
  }

  static let about = "look at, change and check the stores of an embedded document database"

  static let optionValues =
    "The value of an option is the next word, or follows a sign: --limit 5, --limit=5."

  // MARK: The overview

  /// The overview fits on a screen of 24 lines and 80 columns.
  static func overview(_ commands: [any Command.Type], width: Int = Terminal.helpWidth) -> String {
    let names = commands.map { $0.name }
    var lines =
      FilledText.wrapped("dugout: \(about)", width: width) + ["", "Usage: dugout COMMAND [ARGUMENTS]", ""]
    for group in CommandGroup.all(of: names) { lines += rows(of: group, width: width) }
    lines += [""]
    let pointers = [
      ("dugout COMMAND --help", "describes a command"),
      ("dugout help TOPIC", "explains one of: " + HelpTopic.allCases.map(\.rawValue).joined(separator: ", ")),
      ("dugout --version", "prints the versions of program, store format and lz4"),
    ]
    for (call, meaning) in pointers {
      lines += FilledText.wrapped(meaning, width: width, start: "  " + padded(call, 24), indent: 26)
    }
    return lines.joined(separator: "\n")
  }

  private static let titleColumns = 11
  private static let nameColumns = 13
  private static let cellColumns = 34

  /// Formats the commands of a group in as many columns as fit, at most four.
  private static func rows(of group: CommandGroup, width: Int) -> [String] {
    let perRow = max(1, min(4, (width + 2 - titleColumns) / cellColumns))
    return stride(from: 0, to: group.entries.count, by: perRow).map { start in
      let cells = group.entries[start..<min(start + perRow, group.entries.count)].map {
        padded(padded($0.name, nameColumns) + $0.brief, cellColumns)
      }
      let row = padded(start == 0 ? group.title : "", titleColumns) + cells.joined()
      return String(row.reversed().drop { $0 == " " }.reversed())
    }
  }

  // MARK: Pages

  static func page(_ command: any Command.Type, width: Int = Terminal.helpWidth) -> String {
    page(command, usage: usage(command), width: width) { $0 }
  }

  /// Formats a help page for a command in another context, with its own usage and modified notes.
  static func page(
    _ command: any Command.Type, usage: String, width: Int = Terminal.helpWidth, _ note: (String) -> String
  ) -> String {
    let words = usage.split(separator: " ", maxSplits: usage.hasPrefix("dugout ") ? 2 : 1).map(String.init)
    let name = words.prefix(usage.hasPrefix("dugout ") ? 2 : 1).joined(separator: " ")
    let rest = usage.dropFirst(name.count).drop { $0 == " " }
    var lines = FilledText.wrapped(command.summary, width: width) + [""]
    lines +=
      rest.isEmpty
      ? ["Usage: \(name)"]
      : FilledText.wrappedUsage(String(rest), width: width, start: "Usage: \(name) ")
    if !command.allOptions.isEmpty { lines.append("") }
    lines += options(of: command, width: width)
    if !command.notes.isEmpty { lines.append("") }
    return (lines + FilledText.lines(command.notes.map(note), width: width)).joined(separator: "\n")
  }

  private static func options(of command: any Command.Type, width: Int) -> [String] {
    let options = command.allOptions
    let longest = options.map(\.option.columns).max() ?? 0
    let column = min(max(18, longest + 2), 26)
    return options.flatMap { option, meaning in
      let start = "  " + padded(option, column)
      guard option.columns < column else {
        let indent = String(repeating: " ", count: column + 2)
        return ["  " + option] + FilledText.wrapped(meaning, width: width, start: indent, indent: column + 2)
      }
      return FilledText.wrapped(meaning, width: width, start: start, indent: column + 2)
    }
  }

  static func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(1, width - text.columns))
  }
}
