// The program's help, manual page and completions, all generated from the command table.

import Foundation
import Testing

@testable import dugout

@Suite struct HelpTests {
  private let dugout = Program("dugout")

  @Test func everyDocumentedCommandExists() {
    let promised = [
      "quickstart", "shell", "ls", "get", "set", "delete", "query", "explain", "index", "import", "export",
      "watch",
      "stat", "check", "backup", "restore", "compact", "salvage", "bench", "completions", "man",
    ]
    #expect(Dugout.commands.map { $0.name } == promised)
  }

  @Test func theOverviewListsEveryCommandAndEveryExitCode() throws {
    for outcome in [try dugout.run("--help"), try dugout.run("-h"), try dugout.run("help")] {
      #expect(outcome.status == 0)
      for command in Dugout.commands {
        #expect(outcome.output.contains("  \(command.name) "))
        #expect(outcome.output.contains(command.summary))
      }
      for code in [0, 1, 2, 65, 69, 74] { #expect(outcome.output.contains("\n  \(code) ")) }
    }
    let nothing = try dugout.run([])
    #expect(nothing.status == 2 && nothing.output.contains("Usage: dugout COMMAND"))
  }

  @Test(arguments: Dugout.commands.map { $0.name })
  func everyCommandHasAHelpPage(name: String) throws {
    let command = try #require(Dugout.commands.first { $0.name == name })
    let page = try dugout.run(name, "--help")
    #expect(page.status == 0 && page.complaint.isEmpty)
    #expect(page.output.hasPrefix(command.summary + "\n\nUsage: dugout \(name)"))
    for (option, meaning) in command.options {
      #expect(page.output.contains("  \(option)") && page.output.contains(meaning))
    }
    for note in command.notes where !note.isEmpty { #expect(page.output.contains(note)) }
    #expect(try dugout.run("help", name).output == page.output)
    #expect(try dugout.run(name, "-h").output == page.output)
  }

  /// Each line fits on a screen of 120 columns.
  @Test func noHelpPageLineIsTooLong() {
    for command in Dugout.commands {
      for line in Help.page(command).split(separator: "\n") {
        #expect(line.count <= 120, "\(command.name): \(line)")
      }
    }
  }

  /// The usage of each command names exactly the command's existing options.
  @Test func usageLinesMatchTheOptions() {
    for command in Dugout.commands {
      let named = Set(command.usage.matches(of: #/--[a-z-]+/#).map { String($0.output) })
      let options = Set(command.options.map { String($0.option.prefix { $0 != " " }) })
      #expect(named == options, "\(command.name)")
    }
  }

  /// Every command that prints data has `--json`, except commands that print text for other programs and
  /// interactive commands.
  @Test func everyDataCommandAcceptsTheJSONOption() {
    let others = ["quickstart", "shell", "completions", "man"]
    for command in Dugout.commands where !others.contains(command.name) {
      #expect(command.options.contains { $0.option == "--json" }, "\(command.name)")
    }
  }

  @Test func helpPagesDescribeTheirArguments() throws {
    let shell = try dugout.run("shell", "--help").output
    for word in ["watch", "unwatch", "help", "exit"] { #expect(shell.contains("\"\(word)\"")) }
    for name in ["get", "set", "delete", "ls", "query"] {
      #expect(try dugout.run(name, "--help").output.contains("backticks"), "\(name)")
    }
    for name in ["query", "explain"] {
      let examples = try dugout.run(name, "--help").output.split(separator: "\n")
        .filter { $0.hasPrefix("  dugout ") }
      #expect(examples.count == 2, "\(name)")
      for example in examples { #expect(example.hasPrefix("  dugout \(name) data ")) }
    }
    #expect(try dugout.run("--help").output.contains("Ctrl-C ended an import, an export or a bench"))
    for name in ["check", "stat", "salvage"] {
      #expect(try dugout.run(name, "--help").output.contains("A record is a document, or what"), "\(name)")
    }
  }

  // MARK: The manual page

  @Test func theManualPageHasEveryCommandAndOption() throws {
    let page = try dugout.run("man")
    #expect(page.status == 0 && page.output.hasPrefix(".TH DUGOUT 1"))
    for command in Dugout.commands {
      #expect(page.output.contains("\n.SS \(command.name)\n"))
      for (option, _) in command.options {
        let set = option.replacing("-", with: "\\-").replacing("…", with: "\\[u2026]")
        #expect(page.output.contains("\n\\fB\(set)\\fR\n"), "\(option)")
      }
    }
    // A line starts with a request character only if the line is a request.
    let requests: Set = [".TH", ".SH", ".SS", ".PP", ".TP", ".B", ".nf", ".fi"]
    for line in page.output.split(separator: "\n") where line.hasPrefix(".") || line.hasPrefix("'") {
      #expect(requests.contains(String(line.prefix { $0 != " " })), "\(line)")
    }
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
    #expect(set.output.contains("Leave the store behind and say where it is"))
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
    #expect(
      try Set(offers(["dugout", "query", "data", "users", "--"])) == [
        "--count", "--sum", "--average", "--json", "--help",
      ])
    #expect(
      try Set(offers(["dugout", "set", "data", "users/ada", "--"])) == [
        "--merge", "--delete", "--increment", "--json", "--help",
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
    // Users can install the completions in two ways: by sourcing the file, or by putting the file in a folder
    // of functions.
    for install in ["source '\(file)'", "fpath=('\(folder.path)' $fpath) && compinit -u -D"] {
      let script = "autoload -U compinit && compinit -u -D && \(install) && print -r -- $_comps[dugout]"
      let installed = try zsh.run("-f", "-c", script)
      #expect(installed.output == "_dugout\n", "\(install): \(installed.complaint)")
    }
  }

  @Test func everyShellCompletesEveryCommand() throws {
    for shell in ["bash", "zsh", "fish"] {
      let script = try dugout.run("completions", shell)
      #expect(script.status == 0)
      for command in Dugout.commands { #expect(script.output.contains(command.name), "\(shell)") }
      #expect(script.output.contains("average"), "\(shell)")
    }
    let zsh = try dugout.run("completions", "zsh").output
    #expect(zsh.contains(" '*--increment[Add a number") && zsh.contains(" '*--sum[Only the sum"))
    #expect(zsh.contains(" '--limit[At most so many"))
    #expect(try dugout.run("completions", "tcsh").status == 2)
  }
}
