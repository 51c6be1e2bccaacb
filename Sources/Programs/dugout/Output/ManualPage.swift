// The manual page in roff, generated from the command table.

import ByteStore

enum ManualPage {
  static func text(_ commands: [any Command.Type]) -> String {
    var lines = [
      ".TH DUGOUT 1 \"\" \"dugout \(Version.number)\" \"User Commands\"", ".SH NAME",
      "dugout \\- \(escaped(Help.about))",
      ".SH SYNOPSIS", ".B dugout", "\\fICOMMAND\\fR [\\fIARGUMENTS\\fR]", ".SH COMMANDS",
    ]
    for command in commands { lines += section(command) }
    lines += [".PP", escaped(Help.optionValues)]
    lines.append(".SH EXIT STATUS")
    for (code, meaning) in Help.exitCodes { lines += [".TP", ".B \(code.rawValue)", escaped(meaning)] }
    lines += [".SH ENVIRONMENT"]
    for (name, meaning) in environment { lines += [".TP", ".B \(name)", escaped(meaning)] }
    return lines.joined(separator: "\n")
  }

  private static let environment = [
    (
      MemoryBudget.variable,
      "The limit for the memory of each open store, such as 192MiB; at least \(MemorySize.text(MemoryBudget.bytesMin)). Without it, a process in a container with a memory limit uses at most half of that limit for a store."
    ),
    ("NO_COLOR", "No emphasis in the output."),
    (ShellHistory.variable, "The file with the lines of earlier sessions of the shell; none if it is empty."),
    ("XDG_STATE_HOME", "Where that file is unless the variable above says so; ~/.local/state without it."),
  ]

  private static func section(_ command: any Command.Type) -> [String] {
    var lines = [
      ".SS \(command.name)", escaped(command.summary) + ".", ".PP", "\\fB\(escaped(Help.usage(command)))\\fR",
    ]
    for (option, meaning) in command.options {
      lines += [".TP", "\\fB\(escaped(option))\\fR", escaped(meaning)]
    }
    guard !command.notes.isEmpty else { return lines }
    return lines + [".PP", ".nf"] + command.notes.map(escaped) + [".fi"]
  }

  /// Escapes hyphens, quotes and non-ASCII letters, and keeps a leading dot from being read as a request.
  private static func escaped(_ text: String) -> String {
    let text = text.unicodeScalars.map { scalar in
      switch scalar {
      case "\\": "\\e"
      case "-": "\\-"
      case "'": "\\(aq"
      case "`": "\\(ga"
      case "^": "\\(ha"
      case "~": "\\(ti"
      case _ where !scalar.isASCII: "\\[u" + hexadecimal(scalar.value) + "]"
      default: String(scalar)
      }
    }.joined()
    return text.hasPrefix(".") ? "\\&" + text : text
  }

  private static func hexadecimal(_ number: UInt32) -> String {
    let digits = String(number, radix: 16, uppercase: true)
    return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
  }
}
