// The manual page in roff, generated from the command table.

enum ManualPage {
  static func text(_ commands: [any Command.Type]) -> String {
    var lines = [
      ".TH DUGOUT 1 \"\" \"dugout \(Version.number)\" \"User Commands\"", ".SH NAME",
      "dugout \\- \(escaped(Help.about))",
      ".SH SYNOPSIS", ".B dugout", "\\fICOMMAND\\fR [\\fIARGUMENTS\\fR]", ".SH COMMANDS",
    ]
    for command in commands { lines += section(command) }
    lines += [".PP", escaped(Help.optionValues)]
    for (title, topic) in [("EXIT STATUS", HelpTopic.exitCodes), ("ENVIRONMENT", .environment)] {
      lines.append(".SH \(title)")
      for (name, meaning) in topic.rows { lines += [".TP", ".B \(name)", escaped(meaning)] }
    }
    return lines.joined(separator: "\n")
  }

  private static func section(_ command: any Command.Type) -> [String] {
    var lines = [
      ".SS \(command.name)", escaped(command.summary) + ".", ".PP", "\\fB\(escaped(Help.usage(command)))\\fR",
    ]
    for (option, meaning) in command.allOptions {
      lines += [".TP", "\\fB\(escaped(option))\\fR", escaped(meaning)]
    }
    return lines + notes(of: command)
  }

  /// Paragraphs are filled by the reader of the page. Lines with an indent keep their form.
  private static func notes(of command: any Command.Type) -> [String] {
    var lines: [String] = []
    var kept: [String] = []
    var isText = false
    func endKept() {
      if !kept.isEmpty { lines += [".PP", ".nf"] + kept + [".fi"] }
      kept = []
    }
    for note in command.notes {
      if note.hasPrefix(" ") {
        kept += FilledText.lines([note], width: columnsMax).map(escaped)
        isText = false
        continue
      }
      endKept()
      guard !note.isEmpty else {
        isText = false
        continue
      }
      if !isText { lines.append(".PP") }
      isText = true
      lines.append(escaped(note))
    }
    endKept()
    return lines
  }

  /// The width of kept lines. The reader indents the page by seven columns.
  private static let columnsMax = 70

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
