// The question before an edit of many documents, and its progress, on a terminal.

import DocumentStore
import Foundation
import Testing

@testable import dugout

@Suite struct EditTerminalTests {
  private let dugout = Program("dugout")

  private func fill(_ folder: borrowing TemporaryFolder, _ count: Int) throws {
    try folder.changeStore { store in
      for start in stride(from: 0, to: count, by: 500) {
        try store.commit(
          try (start..<min(start + 500, count)).map {
            .set(try DocumentPath(["c", "\($0)"]), StoredMap([("n", .integer(Int64($0)))]))
          })
      }
    }
  }

  private func count(_ folder: borrowing TemporaryFolder, _ query: String) throws -> String {
    try dugout.run("query", folder.path, query, "--count").output
  }

  @Test(arguments: [("y", 0), ("YES", 0), ("n", 1), ("", 1), ("\u{4}", 1), ("maybe", 1)])
  func theAnswerDecides(answer: String, status: Int32) throws {
    let folder = try TemporaryFolder()
    try fill(folder, 3)
    let terminal = try PseudoTerminal()
    let process = try terminal.start(
      dugout.path, ["delete", folder.path, "c where n > 0", "--query"], ["TERM": "xterm"])
    try terminal.wait(for: "Delete 2 documents? Collections below them are kept. [y/N] ")
    try terminal.type(answer == "\u{4}" ? answer : answer + "\n")
    let rest = try terminal.rest(of: process)
    #expect(process.terminationStatus == status, "\(rest)")
    #expect(
      rest.contains(status == 0 ? "2 documents deleted.\r\n" : "dugout delete: nothing was deleted.\r\n"),
      "\(rest)")
    #expect(try count(folder, "c") == "count  \(status == 0 ? 1 : 3)\n")
  }

  @Test func theQuestionNamesTheCommits() throws {
    let folder = try TemporaryFolder()
    try fill(folder, 1501)
    let terminal = try PseudoTerminal()
    let process = try terminal.start(dugout.path, ["update", folder.path, "c", "m=1"], ["TERM": "xterm"])
    try terminal.wait(for: "Update 1501 documents, in commits of 500? [y/N] ")
    try terminal.type("y\n")
    let rest = try terminal.rest(of: process)
    #expect(rest.contains(" %  ") && rest.hasSuffix("1501 documents updated.\r\n"), "\(rest)")
    #expect(try count(folder, "c where m == 1") == "count  1501\n")
  }

  @Test func nothingIsAskedWithYesOrWithoutDocuments() throws {
    let folder = try TemporaryFolder()
    try fill(folder, 3)
    for (words, said) in [
      (["update", folder.path, "c", "m=1", "--yes"], "3 documents updated."),
      (["update", folder.path, "c where n > 9", "m=1"], "0 documents updated."),
      (["update", folder.path, "c/1", "m=2"], "c/1 was updated."),
    ] {
      let terminal = try PseudoTerminal()
      let process = try terminal.start(dugout.path, words, ["TERM": "xterm"])
      let rest = try terminal.rest(of: process)
      #expect(
        process.terminationStatus == 0 && rest.hasSuffix(said + "\r\n") && !rest.contains("[y/N]"), "\(rest)")
    }
  }

  @Test func ctrlCEndsAnUpdateAfterItsCommit() throws {
    let folder = try TemporaryFolder()
    try fill(folder, 20_000)
    let terminal = try PseudoTerminal()
    let process = try terminal.start(
      dugout.path, ["update", folder.path, "c order by n", "m=1", "--yes"], ["TERM": "xterm"])
    try terminal.wait(for: " a second, ")
    // Sends the signal as a terminal does for Ctrl-C.
    kill(process.processIdentifier, SIGINT)
    let said = try terminal.rest(of: process)
    #expect(process.terminationStatus == 1, "\(said)")
    let match = try #require(
      said.firstMatch(of: #/ended by a signal\. (\d+) of 20000 documents were updated before that/#),
      "\(said)")
    let done = try #require(Int(match.1))
    #expect(done > 0 && done < 20_000 && done % 500 == 0)
    #expect(try count(folder, "c where m == 1") == "count  \(done)\n")
    let again = try dugout.run("update", folder.path, "c", "m=1", "--yes")
    #expect(
      again.output == "\(20_000 - done) documents updated. \(done) already have these values.\n", "\(again)")
  }
}
