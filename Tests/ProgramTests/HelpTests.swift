// The program's help, manual page and completions, all generated from the command table.

import Foundation
import Testing

@testable import dugout

@Suite struct HelpTests {
  private let dugout = Program("dugout")

  @Test func everyDocumentedCommandExists() {
    let promised = [
      "quickstart", "shell", "ls", "get", "set", "update", "delete", "query", "explain", "index", "import",
      "export",
      "watch",
      "stat", "check", "backup", "restore", "diff", "compact", "salvage", "bench", "serve",
      "completions", "man",
    ]
    #expect(Dugout.commands.map { $0.name } == promised)
  }

  @Test func theOverviewListsEveryCommandAndTopic() throws {
    let parts = Dugout.commands.map { " \($0.name) " } + HelpTopic.allCases.map(\.rawValue)
    var wrong: [String] = []
    for outcome in [try dugout.run("--help"), try dugout.run("-h"), try dugout.run("help")] {
      if outcome.status != 0 { wrong.append("status \(outcome.status)") }
      wrong += parts.filter { !outcome.output.contains($0) }
    }
    #expect(wrong == [])
    let nothing = try dugout.run([])
    #expect(nothing.status == 2 && nothing.output.contains("Usage: dugout COMMAND"))
    #expect(
      CommandGroup.all(of: Dugout.commands.map { $0.name }).map(\.title) == ["start", "documents", "stores"])
    #expect(Help.overview(Dugout.commands + [UngroupedCommand.self]).contains("\nmore       ungrouped\n"))
  }

  private enum UngroupedCommand: Command {
    static let name = "ungrouped"
    static let summary = "A command that no group lists"
    static let usage = ""
    static let options: [(option: String, meaning: String)] = []
    static let positional = 0...0
    static func run(_ arguments: Arguments) async throws {}
  }

  @Test(arguments: Dugout.commands.map { $0.name })
  func everyCommandHasAHelpPage(name: String) throws {
    let command = try #require(Dugout.commands.first { $0.name == name })
    let page = try dugout.run(name, "--help")
    #expect(page.status == 0 && page.complaint.isEmpty)
    #expect(page.output.hasPrefix(command.summary + "\n\nUsage: dugout \(name)"))
    let words = Self.words(page.output)
    let parts: [String] = command.options.flatMap { [$0.option, $0.meaning] } + command.notes
    // The continuation of a long example ends with a backslash.
    #expect(parts.filter { !$0.isEmpty && !words.contains(Self.words($0)) } == [], "\(page.output)")
    #expect(try dugout.run("help", name).output == page.output)
    #expect(try dugout.run(name, "-h").output == page.output)
  }

  /// The text with single blanks in place of all blanks and line ends.
  private static func words(_ text: String) -> String {
    text.replacing(" \\\n", with: " ").split(whereSeparator: \.isWhitespace).joined(separator: " ")
  }

  // MARK: The width

  /// All help texts at a width: the overview, the topics, and the pages of the command line and of the shell.
  private func texts(width: Int) -> [(name: String, text: String)] {
    [
      ("overview", Help.overview(Dugout.commands, width: width)),
      ("shell", ShellSession.overview(width: width)),
    ]
      + HelpTopic.allCases.map { ($0.rawValue, $0.page(width: width)) }
      + Dugout.commands.map { ($0.name, Help.page($0, width: width)) }
      + ShellSession.commands.map { command in
        ("\(command.name) in the shell", ShellSession.page(command, width: width))
      }
  }

  @Test(arguments: [80, 100, 132]) func noHelpLineIsWiderThanTheTerminal(width: Int) {
    var wrong: [String] = []
    for (name, text) in texts(width: width) {
      for line in text.split(separator: "\n") where line.count > width { wrong.append("\(name): \(line)") }
    }
    #expect(wrong == [])
  }

  @Test func theOverviewFitsOnAScreen() {
    let lines = Help.overview(Dugout.commands, width: 80).split(
      separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.count <= 24, "\(lines.joined(separator: "\n"))")
    let briefs = CommandGroup.all(of: Dugout.commands.map { $0.name }).flatMap(\.entries).map(\.brief)
    #expect(briefs.filter { $0.isEmpty || $0.count > CommandGroup.briefColumnsMax } == [])
  }

  @Test func helpIsFilledToTheWidthOfTheTerminalOrToCOLUMNS() throws {
    func longest(_ environment: [String: String]) throws -> Int {
      let page = try dugout.run(["salvage", "--help"], environment: environment).output
      return page.split(separator: "\n").map(\.count).max() ?? 0
    }
    #expect(try (71...80).contains(longest(["COLUMNS": ""])))
    #expect(try (111...120).contains(longest(["COLUMNS": "120"])))
    #expect(try (31...40).contains(longest(["COLUMNS": "1"])))
    let terminal = try PseudoTerminal(columns: 150)
    let process = try terminal.start(dugout.path, ["salvage", "--help"], ["COLUMNS": ""])
    let shown = try terminal.rest(of: process).split(whereSeparator: \.isNewline).map(\.count).max() ?? 0
    #expect((141...150).contains(shown))
  }

  @Test func textIsFilledAndExamplesStayUsable() {
    #expect(
      FilledText.lines(["one two", "three four", "", "five"], width: 11)
        == ["one two", "three four", "", "five"])
    #expect(FilledText.lines(["one two", "three"], width: 13) == ["one two three"])
    #expect(FilledText.lines(["a", "  kept as it is", "b"], width: 20) == ["a", "  kept as it is", "b"])
    // The second column stays a column.
    #expect(
      FilledText.lines(["  left   right side, and more"], width: 20)
        == ["  left   right side,", "         and more"])
    #expect(
      FilledText.lines(["  dugout set data users/ada --merge"], width: 26)
        == ["  dugout set data \\", "      users/ada --merge"])
    #expect(
      FilledText.lines(["  dugout query data 'users where age > 1'"], width: 32)
        == ["  dugout query data 'users", "      where age > 1'"])
    #expect(
      FilledText.wrappedUsage("DIR [--limit N] [--json]", width: 24, start: "Usage: ")
        == ["Usage: DIR [--limit N]", "       [--json]"])
    #expect(FilledText.lines(["averylongword"], width: 5) == ["averylongword"])
  }

  /// The usage of each command names exactly the command's existing options.
  @Test func usageLinesMatchTheOptions() {
    var wrong: [String] = []
    for command in Dugout.commands {
      let named = Set(command.usage.matches(of: #/--[a-z-]+/#).map { String($0.output) })
      let options = Set(command.options.map { String($0.option.prefix { $0 != " " }) })
      if named != options { wrong.append("\(command.name): \(named.symmetricDifference(options))") }
    }
    #expect(wrong == [])
  }

  /// Every command that prints data has `--json`, except commands that print text for other programs,
  /// interactive commands, and the server, whose log has a format of its own.
  @Test func everyDataCommandAcceptsTheJSONOption() {
    let others = ["quickstart", "shell", "serve", "completions", "man"]
    var wrong: [String] = []
    for command in Dugout.commands where !others.contains(command.name) {
      if !command.options.contains(where: { $0.option == "--json" }) { wrong.append(command.name) }
    }
    #expect(wrong == [])
  }

  @Test func helpPagesDescribeTheirArguments() throws {
    let shell = try dugout.run("shell", "--help").output
    #expect(
      ["watch", "unwatch", "help", "exit"].filter { !shell.contains("\"\($0)\"") } == [], "\(shell)")
    var wrong: [String] = []
    for name in ["get", "set", "delete", "ls", "query"] {
      if try !dugout.run(name, "--help").output.lowercased().contains("backticks") {
        wrong.append("\(name): backticks")
      }
    }
    for (name, count) in [("query", 4), ("explain", 2)] {
      let examples = try dugout.run(name, "--help").output.split(separator: "\n")
        .filter { $0.hasPrefix("  dugout ") }
      if examples.count != count || !examples.allSatisfy({ $0.hasPrefix("  dugout \(name) data ") }) {
        wrong.append("\(name): \(examples)")
      }
    }
    for name in ["check", "stat", "salvage"] {
      if try !Self.words(dugout.run(name, "--help").output).contains("A record is a document, or what") {
        wrong.append("\(name): record")
      }
    }
    #expect(wrong == [])
  }

  // MARK: The manual page

  @Test func theManualPageHasEveryCommandAndOption() throws {
    let page = try dugout.run("man")
    #expect(page.status == 0 && page.output.hasPrefix(".TH DUGOUT 1"))
    var wrong: [String] = []
    for command in Dugout.commands {
      if !page.output.contains("\n.SS \(command.name)\n") { wrong.append(command.name) }
      for (option, _) in command.options {
        let set = option.replacing("-", with: "\\-").replacing("…", with: "\\[u2026]")
        if !page.output.contains("\n\\fB\(set)\\fR\n") { wrong.append("\(command.name): \(option)") }
      }
    }
    #expect(wrong == [])
    // A line starts with a request character only if the line is a request.
    let requests: Set = [".TH", ".SH", ".SS", ".PP", ".TP", ".B", ".nf", ".fi"]
    var unknown: [String] = []
    for line in page.output.split(separator: "\n") where line.hasPrefix(".") || line.hasPrefix("'") {
      if !requests.contains(String(line.prefix { $0 != " " })) { unknown.append("\(line)") }
    }
    #expect(unknown == [])
  }

  private static let groff = ["/usr/bin/groff", "/bin/groff"].first {
    FileManager.default.isExecutableFile(atPath: $0)
  }

  @Test(.enabled(if: groff != nil, "needs groff to set the manual page: apt-get install groff"))
  func theManualPageRendersWithoutWarnings() throws {
    let folder = try TemporaryFolder()
    let file = folder.path + "/dugout.1"
    try Data(dugout.run("man").output.utf8).write(to: URL(fileURLWithPath: file))
    let set = try Program(path: #require(Self.groff)).run("-ww", "-man", "-Tutf8", file)
    #expect(set.status == 0 && set.complaint.isEmpty, "\(set.complaint)")
    #expect(set.output.contains("Keep the store and print its path"))
  }

  // MARK: Completions

  private static let bash = ["/usr/bin/bash", "/bin/bash"].first {
    FileManager.default.isExecutableFile(atPath: $0)
  }
  private static let zsh = ["/usr/bin/zsh", "/bin/zsh"].first {
    FileManager.default.isExecutableFile(atPath: $0)
  }

  /// Returns bash's completions for these words; the last word is incomplete.
  private func offers(_ words: [String]) throws -> [String] {
    let list = words.map { "'\($0)'" }.joined(separator: " ")
    let script = """
      source <("\(dugout.path)" completions bash)
      COMP_WORDS=(\(list)) COMP_CWORD=\(words.count - 1)
      _dugout
      printf '%s\\n' "${COMPREPLY[@]}"
      """
    let outcome = try Program(path: #require(Self.bash)).run("--norc", "-c", script)
    #expect(outcome.status == 0 && outcome.complaint.isEmpty, "\(outcome.complaint)")
    return outcome.output.split(separator: "\n").map(String.init)
  }

  @Test(.enabled(if: bash != nil, "needs bash")) func bashCompletionOffersCommandsOptionsAndFiles() throws {
    #expect(try offers(["dugout", "qu"]) == ["quickstart", "query"])
    #expect(try offers(["dugout", "help", "sal"]) == ["salvage"])
    #expect(try offers(["dugout", "help", "exi"]) == ["exit-codes"])
    #expect(
      try Set(offers(["dugout", "query", "data", "users", "--"])) == [
        "--fields", "--offset", "--count", "--sum", "--average", "--csv", "--json", "--help",
      ])
    #expect(
      try Set(offers(["dugout", "set", "data", "users/ada", "--"])) == [
        "--merge", "--delete", "--increment", "--json", "--create", "--help",
      ])
    #expect(try offers(["dugout", "index", "cr"]) == ["create"])
    #expect(try offers(["dugout", "completions", ""]) == ["bash", "zsh", "fish"])
    let folder = try TemporaryFolder()
    try Data().write(to: folder.url.appendingPathComponent("store-of-mine"))
    #expect(try offers(["dugout", "get", folder.path + "/sto"]) == [folder.path + "/store-of-mine"])
  }

  @Test(.enabled(if: zsh != nil, "needs zsh to read its completions: apt-get install zsh"))
  func zshLoadsTheCompletionScript() throws {
    let folder = try TemporaryFolder()
    let file = folder.path + "/_dugout"
    try Data(dugout.run("completions", "zsh").output.utf8).write(to: URL(fileURLWithPath: file))
    let zsh = try Program(path: #require(Self.zsh))
    let outcome = try zsh.run("-n", file)
    #expect(outcome.status == 0 && outcome.complaint.isEmpty, "\(outcome.complaint)")
    var wrong: [String] = []
    // Users can install the completions in two ways: by sourcing the file, or by putting the file in a folder
    // of functions.
    for install in ["source '\(file)'", "fpath=('\(folder.path)' $fpath) && compinit -u -D"] {
      let script = "autoload -U compinit && compinit -u -D && \(install) && print -r -- $_comps[dugout]"
      let installed = try zsh.run("-f", "-c", script)
      if installed.output != "_dugout\n" { wrong.append("\(install): \(installed)") }
    }
    #expect(wrong == [])
  }

  @Test func everyShellCompletesEveryCommand() throws {
    var wrong: [String] = []
    for shell in ["bash", "zsh", "fish"] {
      let script = try dugout.run("completions", shell)
      if script.status != 0 { wrong.append("\(shell): status \(script.status)") }
      for word in Dugout.commands.map({ $0.name }) + ["average"] where !script.output.contains(word) {
        wrong.append("\(shell): \(word)")
      }
    }
    #expect(wrong == [])
    let zsh = try dugout.run("completions", "zsh").output
    #expect(zsh.contains(" '*--increment[Add a number") && zsh.contains(" '*--sum[Only the sum"))
    #expect(zsh.contains(" '--limit[Maximum number of"))
    #expect(zsh.contains("SIGHUP reads them again]:value::value:'"))
    #expect(try dugout.run("completions", "tcsh").status == 2)
  }
}
