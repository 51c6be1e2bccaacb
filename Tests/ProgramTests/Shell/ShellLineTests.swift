// Parsing a line of the shell into arguments of a command.

import CAllocations
import Foundation
import Testing

@testable import dugout

@Suite struct ShellLineTests {
  private func arguments(_ text: String) throws -> [String]? {
    let line = try #require(try ShellLine(text))
    let command = try #require(Dugout.commands.first { $0.name == line.command })
    return line.arguments(of: command, in: "DIR")
  }

  @Test func theDirectoryIsInsertedAtItsPosition() throws {
    #expect(try arguments("get users/ada --json") == ["DIR", "users/ada", "--json"])
    #expect(try arguments("index create users age") == ["create", "DIR", "users", "age"])
    #expect(try arguments("ls") == ["DIR"])
    #expect(try arguments("stat") == ["DIR"])
    #expect(try arguments("salvage") == nil)
  }

  @Test func aQueryNeedsNoOuterQuotesAndKeepsInnerQuotes() throws {
    #expect(
      try arguments("query users where name == \"Ada  L\" --count --sum age")
        == ["--count", "--sum", "age", "--", "DIR", "users where name == \"Ada  L\""])
    #expect(
      try arguments("set users/ada {name: \"--json\", age: -3} --merge")
        == ["--merge", "--", "DIR", "users/ada", "{name: \"--json\", age: -3}"])
    #expect(
      try arguments("query users --sum=`a b` --count") == ["--sum=`a b`", "--count", "--", "DIR", "users"])
    #expect(
      try arguments("query users --sum='age' where a = 1")
        == ["--sum=age", "--", "DIR", "users where a = 1"])
    #expect(try arguments("export 'my file' users") == ["--", "DIR", "my file", "users"])
  }

  /// Regression: on the command line, a whole query can be quoted. In the shell, these quotes caused the
  /// error "a text that does not end".
  @Test func quotesAroundAWholeQueryAreRemoved() throws {
    #expect(try arguments("query \"a where x == 1\"") == ["--", "DIR", "a where x == 1"])
    #expect(
      try arguments("query 'a where x == \"b\"' --count") == ["--count", "--", "DIR", "a where x == \"b\""])
    #expect(try arguments("query \"a where x == \\\"b\\\"\"") == ["--", "DIR", "a where x == \"b\""])
    #expect(try arguments("set users/ada '{a: 1}'") == ["--", "DIR", "users/ada", "{a: 1}"])
    // Here, more than one text is quoted, so the quotes are not removed.
    #expect(try arguments("query \"a\"b\"c\"") == ["--", "DIR", "\"a\"b\"c\""])
  }

  @Test func linesAreReturnedAsSoonAsTheyAreComplete() throws {
    let pipe = Pipe()
    var input = ShellInput(pipe.fileHandleForReading.fileDescriptor)
    try pipe.fileHandleForWriting.write(contentsOf: Data("one\r\n\ntwo\nthr".utf8))
    let lines = try [input.next(), input.next(), input.next()]
    #expect(lines == ["one", "", "two"])
    try pipe.fileHandleForWriting.write(contentsOf: Data("ee".utf8))
    try pipe.fileHandleForWriting.close()
    let (last, end) = (try input.next(), try input.next())
    #expect(last == "three" && end == nil)
    try pipe.fileHandleForReading.close()
  }

  /// Regression: "dugout shell w < /dev/full" consumed all memory.
  @Test func anEndlessLineIsRefused() throws {
    let zeros = try #require(FileHandle(forReadingAtPath: "/dev/zero"))
    let failure = #expect(throws: CommandFailure.self) {
      var input = ShellInput(zeros.fileDescriptor, lineBytesMax: 1 << 20)
      _ = try input.next()
    }
    #expect(failure?.message == "the line is longer than 1 MiB, and a line is one command.")
    #expect(failure?.code == .badData)
    try zeros.close()
  }

  @Test func unterminatedQuotesAreReportedAndEmptyLinesIgnored() throws {
    #expect(throws: CommandFailure.self) { try ShellLine("get 'users/ada") }
    #expect(try ShellLine("   ") == nil)
    #expect(try ShellLine("# a comment 'with a quote'") == nil)
  }

  @Test func onlyTheOwnerCanReadTheHistory() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/state/history"
    var history = ShellHistory(path: path)
    for line in ["one", "two", "two", "", "three"] { history.add(line) }
    #expect(history.lines == ["one", "two", "three"])
    #expect(ShellHistory(path: path).lines == ["one", "two", "three"])
    let permissions = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    #expect(permissions == 0o600)
    for number in 0..<(ShellHistory.linesMax + 10) { history.add("line \(number)") }
    #expect(ShellHistory(path: path).lines.count == ShellHistory.linesMax)
  }

  /// Regression: each of two shells rewrote the whole file, so the lines of the other shell were lost.
  @Test func concurrentShellsKeepEachOthersHistory() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/history"
    var (one, other) = (ShellHistory(path: path), ShellHistory(path: path))
    one.add("of one")
    other.add("of the other")
    one.add("of one again")
    #expect(one.lines == ["of one", "of one again"])
    #expect(ShellHistory(path: path).lines == ["of one", "of the other", "of one again"])

    let many = (0..<ShellHistory.linesMax + 500).map { "line \($0)" }
    try Data((many.joined(separator: "\n") + "\n").utf8).write(to: URL(fileURLWithPath: path))
    var later = ShellHistory(path: path)
    #expect(later.lines == many.suffix(ShellHistory.linesMax))
    // Old lines are removed from the file permanently, and later lines of other shells are kept.
    let kept = try String(contentsOfFile: path, encoding: .utf8)
    #expect(kept == many.suffix(ShellHistory.linesMax).map { $0 + "\n" }.joined())
    one.add("of one at last")
    later.add("of a later one")
    #expect(ShellHistory(path: path).lines.suffix(2) == ["of one at last", "of a later one"])
  }

  @Test func theHistoryPathFollowsTheXDGSpecification() {
    #expect(ShellHistory.path(["HOME": "/h"]) == "/h/.local/state/dugout/history")
    #expect(ShellHistory.path(["HOME": "/h", "XDG_STATE_HOME": "/s"]) == "/s/dugout/history")
    #expect(ShellHistory.path(["HOME": "/h", "DUGOUT_HISTORY": "/x"]) == "/x")
    #expect(ShellHistory.path(["HOME": "/h", "DUGOUT_HISTORY": ""]) == nil)
    #expect(ShellHistory.path([:]) == nil)
  }

  /// Regression: each letter copied the whole word, so a word of a mebibyte took half a minute. With these
  /// copies, the word in this test would allocate 200 MB.
  @Test(.enabled(if: allocations_are_counted())) func aLongWordIsNotCopiedForEachCharacter() throws {
    let text = String(repeating: "a", count: 20_000)
    var wrong: [String] = []
    for line in [
      "set a/b {a: \"\(text)\"}", "get `\(text)`", "get '\(text)'", "get \(text)", "get \"\\\(text)\"",
    ] {
      let before = allocated_bytes_of_this_thread()
      let words = try #require(try ShellLine(line)).words
      let bytes = allocated_bytes_of_this_thread() - before
      if words.last?.value.contains(text) != true { wrong.append("\(line.prefix(12)): the text is missing") }
      if bytes >= 20_000_000 { wrong.append("\(line.prefix(12)): \(bytes) bytes") }
    }
    #expect(wrong == [])
  }
}
