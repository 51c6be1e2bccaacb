// Progress and emphasis. Both appear only on a terminal, and never in a file or a pipe.

import DocumentStore
import Foundation
import Testing

@testable import dugout

@Suite struct TerminalTests {
  private let dugout = Program("dugout")
  private static let bold = "\u{1B}[1m"

  /// Returns the terminal output of a command that ends by itself.
  private func shown(
    _ arguments: [String], _ environment: [String: String] = [:], columns: UInt16 = 80
  ) throws -> String {
    let terminal = try PseudoTerminal(columns: columns)
    let process = try terminal.start(dugout.path, arguments, ["TERM": "xterm"].merging(environment) { $1 })
    return try terminal.rest(of: process)
  }

  @Test func boldTextNeedsATerminalWithoutNoColor() throws {
    let folder = try TemporaryFolder()
    try folder.makeStore()
    let command = ["get", folder.path, "users/ada"]
    #expect(try !shown(command, ["NO_COLOR": "1"]).contains("\u{1B}"))
    #expect(try shown(command, ["NO_COLOR": ""]).contains("\(Self.bold)users/ada\u{1B}[0m"))
    let piped = try dugout.run("get", folder.path, "users/ada")
    #expect(piped.output.hasPrefix("users/ada\n") && !piped.output.contains("\u{1B}"))
  }

  @Test func progressIsShownOnlyOnATerminal() throws {
    let folder = try TemporaryFolder()
    try folder.makeStore()
    let text = try shown(["check", folder.path])
    #expect(text.contains("[########################] 100 %  "), "\(text)")
    // The line is erased before the result is printed.
    let end = try #require(text.range(of: "\r\u{1B}[K", options: .backwards))
    #expect(!text[end.upperBound...].contains("%") && text[end.upperBound...].contains("No damage."))
    let piped = try dugout.run("check", folder.path)
    #expect(piped.complaint.isEmpty && !piped.output.contains("%") && !piped.output.contains("\u{1B}"))
  }

  @Test func exportProgressShowsRateAndTimeLeftButNotInItsOutput() throws {
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

  /// Returns the rows of each drawing.
  private func rows(_ text: String) -> [String] {
    text.split(whereSeparator: \.isNewline).map { String($0).replacing("\u{1B}[K", with: "") }
  }

  /// Regression: from a hundred thousand documents on, the progress line wrapped and only its last row was
  /// erased. A long import therefore left thousands of rows.
  @Test func progressTakesOneRow() throws {
    let pace = ProgressLine.pace(documents: 123_456, seconds: 10, done: 123, doneAtStart: 0, of: 1000)
    let bar = { (full: Int, cells: Int) in
      "[" + String(repeating: "#", count: full) + String(repeating: ".", count: cells - full) + "]"
    }
    #expect(pace == "123456 documents, 12345 a second, 71 seconds left")
    #expect(ProgressLine.row(12, pace, width: 120) == bar(2, 24) + " 12 %  " + pace)
    // In a narrow terminal, the bar shrinks first, and then the text is shortened.
    #expect(ProgressLine.row(12, pace, width: 80) == bar(2, 21) + " 12 %  " + pace)
    #expect(
      ProgressLine.row(50, pace, width: 60) == bar(4, 8) + " 50 %  123456 documents, 12345 a second, 71 seco…"
    )
    #expect(ProgressLine.row(nil, pace, width: 21) == "123456 documents, 1…")
    #expect((1...120).filter { ProgressLine.row(99, "東京 " + pace, width: $0).columns >= $0 } == [])

    let folder = try TemporaryFolder()
    let files = try TemporaryFolder()
    let path = files.path + "/items.jsonl"
    let lines = (0..<2500).map { #"{"path":"items/\#($0)","fields":{}}"# }
    try Data(lines.joined(separator: "\n").utf8).write(to: URL(fileURLWithPath: path))
    let text = try shown(["import", folder.path, path], columns: 50)
    let drawn = rows(text).filter { $0.hasPrefix("[") }
    #expect(drawn.first?.contains(#/^\[#\.{7}\] \d+ %  500 documents, \d+ a sec/#) == true, "\(text)")
    #expect(drawn.filter { $0.columns >= 50 } == [])
    #expect(text.hasSuffix("\r\u{1B}[K2500 documents imported.\r\n"), "\(text)")
  }

  @Test func progressIsDrawnAtIntervalsAndAtTheEnd() {
    var time = ContinuousClock.now
    var drawn: [String] = []
    let line = ProgressLine(width: { 80 }, now: { time }, write: { drawn.append($0) })
    for done in 0...1000 as ClosedRange<UInt64> {
      line.show(done, of: 1000, what: "\(done) done")
      time += .milliseconds(1)
    }
    // The progress is drawn at the start, every tenth of a second, and at the end.
    #expect(drawn.count == 11)
    #expect(drawn.first?.contains(" 0 done") == true && drawn.last?.contains(" 100 %  1000 done") == true)
    time += ProgressLine.pause
    line.show(1000, of: 1000, what: "1000 done")
    #expect(drawn.count == 11)
    line.show("of a pipe")
    #expect(drawn.last == "\rof a pipe\u{1B}[K")
  }

  /// Regression: the width of a text was counted in letters, so wide letters made rows wrap.
  @Test func aTableHasTheWidthOfTheTerminal() throws {
    let folder = try TemporaryFolder()
    let long = String(repeating: "long ", count: 10)
    try folder.changeStore { store in
      for (id, city) in [("ada", "London"), ("kenji", "東京")] {
        let fields = StoredMap([
          ("city", .string(city)), ("name", .string(id)), ("text", .string(long)), ("zone", .integer(1)),
        ])
        try store.commit([.set(try DocumentPath(["users", id]), fields)])
      }
      let documents = try store.documents(StructuredQuery(.collection(try CollectionPath(["users"]))))
      // This text does not depend on the terminal that runs the tests.
      func text(_ width: Int?) -> String {
        let table = DocumentTable(documents, DocumentTable.Form(fullPaths: true, width: width))
        var summary = ResultSummary(shown: 2, total: .exactly(2))
        summary.hiddenFields = table.hiddenFields
        return (table.lines + [summary.text]).joined(separator: "\n")
          .replacing(ShownText.emphasis, with: "").replacing(ShownText.plain, with: "")
      }
      let cell = "long long long long long lo…"
      #expect(
        text(nil) == """
          path         city    name   text                          zone
          users/ada    London  ada    \(cell)  1
          users/kenji  東京    kenji  \(cell)  1
          2 documents
          """)
      #expect(text(62) == text(nil))
      let narrow = """
        path         city    name
        users/ada    London  ada
        users/kenji  東京    kenji
        2 documents; 2 fields hidden (use --fields or --json)
        """
      #expect([26, 40, 55].map { text($0) } == [narrow, narrow, narrow])
      #expect(text(61).hasSuffix("; 1 field hidden (use --fields or --json)"))
      #expect(text(8).hasPrefix("path\nusers/a…\nusers/k…\n2 documents; 4 fields hidden"))
    }
    let rows = rows(try shown(["query", folder.path, "users"], ["NO_COLOR": "1"], columns: 40))
    #expect(
      rows == [
        "id     city    name", "ada    London  ada", "kenji  東京    kenji",
        "2 documents; 2 fields hidden (use --fields or --json)",
      ])
    let piped = try dugout.run("query", folder.path, "users").output
    #expect(piped.hasPrefix("id     city    name   text                          zone\n"), "\(piped)")
  }

  @Test func aSlowTemporaryIndexBuildSuggestsCreatingTheIndex() throws {
    let index = try IndexDefinition(
      "users", .collection, [IndexDefinition.Field(StoredFieldPath(dotted: "age"))])
    #expect(
      IndexAdvice.text(afterSeconds: 9.44, building: [index], in: "my data")
        == "The query took 9.4 s and built an index that is gone now. To keep it:\n"
        + "  dugout index create 'my data' users age")
    #expect(IndexAdvice.text(afterSeconds: 0.09, building: [index], in: "data") == nil)
    #expect(IndexAdvice.text(afterSeconds: 9, building: [], in: "data") == nil)
  }

  @Test func importProgressShowsRateAndTimeLeftAndEndsAtCtrlC() throws {
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
    // Sends the signal as a terminal does for Ctrl-C.
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
