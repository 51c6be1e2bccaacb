// Help that belongs to no single command: the exit codes, and the environment variables.

import ByteStore

enum HelpTopic: String, CaseIterable {
  case exitCodes = "exit-codes"
  case environment

  /// The rows of the topic. The manual page has the same rows.
  var rows: [(name: String, meaning: String)] {
    switch self {
    case .exitCodes: Self.codes.map { ("\($0.code.rawValue)", $0.meaning) }
    case .environment: Self.variables
    }
  }

  func page(width: Int = Terminal.helpWidth) -> String {
    let longest = rows.map(\.name.count).max() ?? 0
    let column = min(longest + 4, 26)
    let lines = rows.flatMap { name, meaning in
      let start = "  " + name.filled(toColumns: column - 2)
      return FilledText.wrapped(meaning, width: width, start: start, indent: column)
    }
    return ([title, ""] + lines).joined(separator: "\n")
  }

  private var title: String {
    switch self {
    case .exitCodes: "The exit codes of all commands"
    case .environment: "The environment variables that dugout reads"
    }
  }

  /// docs/guides/operating.md has the same sentences.
  static let codes: [(code: ExitCode, meaning: String)] = [
    (.ok, "success"),
    (
      .checkFailed,
      "a check failed; the stores of a diff differ; a backup contains documents that cannot be decoded; a salvage lost data or may have; the requested item does not exist; the store does not allow the operation; Ctrl-C ended an import, an export, a bench, an update or a deletion; or a question was answered with no"
    ),
    (
      .usage,
      "wrong usage: an unknown command or option; a path, query or value that is not valid; an argument that is not UTF-8; options of a server that are not safe together; or a change of many documents without a terminal to ask at and without --yes"
    ),
    (
      .badData,
      "bad data: damage, documents that cannot be decoded, a store of a newer release, or lines or exports that cannot be read as documents"
    ),
    (
      .unavailable,
      "the store is in use or missing, a directory or the address of a server is unsuitable or in use, the memory budget does not allow the operation, or a query has more groups than fit into memory"
    ),
    (
      .inputOutput,
      "input or output failed, for example because you may not read or write a file. The message then names the owner and a remedy, which never changes the owner of a directory above the store"
    ),
  ]

  private static let variables = [
    (
      MemoryBudget.variable,
      "The limit for the memory of each open store, such as 192MiB; at least \(MemorySize.text(MemoryBudget.bytesMin)). Without it, a process in a container with a memory limit uses at most half of that limit for a store."
    ),
    ("NO_COLOR", "No emphasis in the output."),
    ("COLUMNS", "The width to which help is filled. Without it, the width of the terminal, or 80."),
    (ShellHistory.variable, "The file with the lines of earlier sessions of the shell; none if it is empty."),
    ("XDG_STATE_HOME", "Where that file is unless the variable above says so; ~/.local/state without it."),
  ]
}
