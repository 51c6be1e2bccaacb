// What only a person sees: progress, and emphasis. Nothing of either goes to a file or a pipe.

import DocumentStore
import Foundation
import Testing

@testable import dugout

@Suite struct TerminalTests {
  private let dugout = Program("dugout")
  private static let bold = "\u{1B}[1m"

  /// What a terminal shows of a command that ends by itself.
  private func shown(_ arguments: [String], _ environment: [String: String] = [:]) throws -> String {
    let terminal = try PseudoTerminal()
    let process = try terminal.start(dugout.path, arguments, ["TERM": "xterm"].merging(environment) { $1 })
    return try terminal.rest(of: process)
  }

  @Test func emphasisIsForPeopleWhoHaveNotAskedForNone() throws {
    let folder = try TemporaryFolder()
    try folder.makeStore()
    let command = ["get", folder.path, "users/ada"]
    #expect(try !shown(command, ["NO_COLOR": "1"]).contains("\u{1B}"))
    #expect(try shown(command, ["NO_COLOR": ""]).contains("\(Self.bold)users/ada\u{1B}[0m"))
    let piped = try dugout.run("get", folder.path, "users/ada")
    #expect(piped.output.hasPrefix("users/ada\n") && !piped.output.contains("\u{1B}"))
  }

  @Test func progressIsShownOnATerminalAndNowhereElse() throws {
    let folder = try TemporaryFolder()
    try folder.makeStore()
    let text = try shown(["check", folder.path])
    #expect(text.contains("[########################] 100 %  "), "\(text)")
    // It is gone when the result is printed.
    let end = try #require(text.range(of: "\r\u{1B}[K", options: .backwards))
    #expect(!text[end.upperBound...].contains("%") && text[end.upperBound...].contains("No damage."))
    let piped = try dugout.run("check", folder.path)
    #expect(piped.complaint.isEmpty && !piped.output.contains("%") && !piped.output.contains("\u{1B}"))
  }

  @Test func anExportShowsRateAndTimeLeftButNotBetweenItsLines() throws {
    let folder = try TemporaryFolder()
    try folder.changeStore { store in
      for start in stride(from: 0, to: 2500, by: 500) {
        try store.commit(
          try (start..<start + 500).map { .set(try DocumentPath(["items", "\($0)"]), StoredMap()) })
      }
    }
    let file = folder.path + "-export"
    defer { try? FileManager.default.removeItem(atPath: file) }
    let text = try shown(["export", folder.path, file])
    #expect(text.contains(#/\] 40 %  1000 documents, \d+ a second, \d+ \w+ left/#), "\(text)")
    let end = try #require(text.range(of: "\r\u{1B}[K", options: .backwards))
    #expect(text[end.upperBound...].hasPrefix("2500 documents in "), "\(text)")
    #expect(try !shown(["export", folder.path, "-"]).contains("\u{1B}"))
    #expect(try dugout.run("export", folder.path, file).complaint.isEmpty)
  }

  @Test func whoeverWaitedForAnIndexLearnsHowToKeepIt() throws {
    let index = try IndexDefinition(
      declared: "users", .collection, [IndexDefinition.Field(StoredFieldPath(dotted: "age"))])
    #expect(
      QueryCommand.advice(afterSeconds: 9.4, making: index, in: "my data")
        == "This took 9 seconds and made an index that is gone again. To keep it:\n"
        + "  dugout index create 'my data' users age")
    #expect(QueryCommand.advice(afterSeconds: 1.9, making: index, in: "data") == nil)
  }

  @Test func anImportShowsRateAndTimeLeftAndEndsAtCtrlC() throws {
    let folder = try TemporaryFolder()
    let files = try TemporaryFolder()
    let path = files.path + "/items.jsonl"
    let count = 20_000
    let lines = (0..<count).map { #"{"path":"items/\#($0)","fields":{"n":{"integerValue":"\#($0)"}}}"# }
    try Data(lines.joined(separator: "\n").utf8).write(to: URL(fileURLWithPath: path))
    let terminal = try PseudoTerminal()
    let process = try terminal.start(dugout.path, ["import", folder.path, path], ["TERM": "xterm"])
    try terminal.wait(for: "] ")
    try terminal.wait(for: " %  ")
    try terminal.wait(for: " documents, ")
    try terminal.wait(for: " a second, ")
    try terminal.wait(for: " left")
    // As the terminal itself does for the Ctrl-C of whoever sits at it.
    kill(process.processIdentifier, SIGINT)
    let said = try terminal.rest(of: process)
    #expect(process.terminationStatus == 1)
    let match = try #require(
      said.firstMatch(
        of: #/dugout import: (\d+) documents imported, and all of them are safe. Run the same command again/#),
      "\(said)")
    let safe = try #require(Int(match.1))
    #expect(safe > 0 && safe < count)
    #expect(try dugout.run("query", folder.path, "items", "--count").output == "count  \(safe)\n")
    #expect(
      try dugout.run("import", folder.path, path).output
        == "\(count - safe) documents imported, \(safe) by an earlier run.\n")
  }
}
