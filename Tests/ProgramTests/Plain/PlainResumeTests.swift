// Plain imports that are repeated, interrupted or corrected.

import DocumentStore
import Foundation
import Testing

@testable import dugout

@Suite struct PlainResumeTests {
  private let dugout = Program("dugout")

  private func rows(_ count: Int) -> String { (0..<count).map { "\($0),text\n" }.joined() }

  private func write(_ text: String, to path: String) throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
  }

  private func count(_ store: String) throws -> String {
    try dugout.run("query", store, "c", "--count").output
  }

  @Test func aRepeatedImportAddsNoDocuments() throws {
    let folder = try TemporaryFolder()
    let (store, file, other) = (folder.path + "/store", folder.path + "/a.csv", folder.path + "/b.csv")
    // The rows are equal, so only their places tell them apart.
    try write("n,t\n" + String(repeating: "1,x\n", count: 700), to: file)
    for _ in 1...2 {
      #expect(try dugout.run("import", store, file, "--into", "c").output == "700 documents imported.\n")
      #expect(try count(store) == "count  700\n")
    }
    // A pipe has no name, so its documents are others.
    let text = try String(contentsOfFile: file, encoding: .utf8)
    for _ in 1...2 {
      let piped = try dugout.run(["import", store, "-", "--into", "c"], input: text)
      #expect(piped.output == "700 documents imported.\n")
      #expect(try count(store) == "count  1400\n")
    }
    // Another file has its own documents.
    try write("n,t\n2,x\n" + String(repeating: "1,x\n", count: 699), to: other)
    #expect(try dugout.run("import", store, other, "--into", "c").status == 0)
    #expect(try count(store) == "count  2100\n")
  }

  /// The row at the end ends each import, as a signal or a full disk would.
  @Test func anImportContinuesAfterItsLastCommit() throws {
    let folder = try TemporaryFolder()
    let (store, file) = (folder.path + "/store", folder.path + "/a.json")
    let good = (0..<700).map { "{\"n\":\($0)}\n" }.joined()
    try write(good + "no\n", to: file)
    let refused = try dugout.run("import", store, file, "--into", "c")
    #expect(refused.status == 65)
    #expect(refused.complaint.contains("a.json, line 701: this is not a JSON object"), "\(refused.complaint)")
    #expect(refused.complaint.contains("All documents before it were imported."))
    #expect(refused.complaint.contains("repeat the command: it continues from there."))
    #expect(try dugout.run("import", store, file, "--into", "c").complaint.contains("a.json, line 701: "))
    // The beginning of the file decides about generated ids, and stays the beginning of the first run.
    try write(good + "{\"n\":700}\n{\"n\":701}\n", to: file)
    #expect(
      try dugout.run("import", store, file, "--into", "c").output
        == "2 documents imported, 700 by an earlier run.\n")
    #expect(try count(store) == "count  702\n")
    #expect(!FileManager.default.fileExists(atPath: file + ".dugout-import"))
    // An import that starts over writes the same documents.
    #expect(
      try dugout.run("import", store, file, "--into", "c", "--from-start").output
        == "702 documents imported.\n")
    #expect(try count(store) == "count  702\n")
  }

  @Test func aListContinuesInItsMiddle() throws {
    let folder = try TemporaryFolder()
    let (store, file) = (folder.path + "/store", folder.path + "/a.json")
    let good = (0..<700).map { "{\"n\":\($0)}" }.joined(separator: ",\n")
    try write("[\(good),\nno]", to: file)
    #expect(
      try dugout.run("import", store, file, "--into", "c").complaint.contains(
        "line 701: this is not a JSON object"))
    try write("[\(good),\n{\"n\":700}]", to: file)
    #expect(
      try dugout.run("import", store, file, "--into", "c").output
        == "1 document imported, 700 by an earlier run.\n")
    #expect(try count(store) == "count  701\n")
  }

  @Test func otherOptionsStartOver() throws {
    let folder = try TemporaryFolder()
    let (store, file) = (folder.path + "/store", folder.path + "/a.json")
    let good = (0..<700).map { "{\"n\":\($0)}\n" }.joined()
    try write(good + "no\n", to: file)
    _ = try dugout.run("import", store, file, "--into", "c")
    try write(good, to: file)
    let typed = try dugout.run("import", store, file, "--into", "c", "--type", "n=double")
    #expect(typed.output == "700 documents imported.\n", "\(typed)")
    #expect(try count(store) == "count  700\n")
    // A typed import does not continue a plain one.
    try write(good + "no\n", to: file)
    _ = try dugout.run("import", store, file, "--into", "c")
    #expect(try dugout.run("import", store, file).complaint.contains("line 1: there is no \"path\""))
  }

  /// Regression: the mark of the first command survived an import with other types, so the first command
  /// continued and left documents with both types.
  @Test func anImportWithOtherOptionsRemovesTheMark() throws {
    let folder = try TemporaryFolder()
    let (store, file) = (folder.path + "/store", folder.path + "/b.jsonl")
    let lines = (0..<2000).map { "{\"id\":\"\($0)\",\"n\":\($0),\"x\":\"\($0 == 700 ? "abc" : "1")\"}\n" }
    let command = ["import", store, file, "--into", "c", "--id", "id"]
    try write((lines[..<1600] + ["{bad}\n"] + lines[1600...]).joined(), to: file)
    #expect(try dugout.run(command).complaint.contains("line 1601"))
    #expect(
      try dugout.run(command + ["--type", "n=string", "--type", "x=integer"]).complaint.contains("line 701"))
    try write(lines.joined(), to: file)
    #expect(try dugout.run(command).output == "2000 documents imported.\n")
    let numbers = try dugout.run("query", store, "c where n >= 0", "--count").output
    #expect(numbers == "count  2000\n")
  }

  /// Regression: the corrected line lost its value, because the column was empty in the first run.
  @Test func aColumnThatWasEmptyGetsTheTypeOfTheCorrectedLine() throws {
    let folder = try TemporaryFolder()
    let (store, file) = (folder.path + "/store", folder.path + "/a.csv")
    let good = "id,note,t\n" + (0..<700).map { "\($0),,x\n" }.joined()
    try write(good + "bad,,\(String(repeating: "x", count: 1 << 20))\n", to: file)
    #expect(try dugout.run("import", store, file, "--into", "c", "--id", "id").status == 65)
    try write(good + "bad,HELLO,x\n", to: file)
    #expect(
      try dugout.run("import", store, file, "--into", "c", "--id", "id").output
        == "1 document imported, 700 by an earlier run.\n")
    #expect(
      try dugout.run("export", store, "-", "c where note == \"HELLO\"", "--plain").output.contains("bad"))
  }

  /// The types of a column stay those of the first run, even if a later row is corrected.
  @Test func aCSVContinuesWithTheTypesOfTheFirstRun() throws {
    let folder = try TemporaryFolder()
    let (store, file) = (folder.path + "/store", folder.path + "/a.csv")
    let long = String(repeating: "x", count: 1 << 20)
    try write("n,t\n" + rows(700) + "700,\(long)\n", to: file)
    let refused = try dugout.run("import", store, file, "--into", "c")
    #expect(
      refused.status == 65 && refused.complaint.contains("a.csv, line 702: "),
      "\(refused.complaint.prefix(500))")
    try write("n,t\n" + rows(700) + "seven,short\n", to: file)
    let other = try dugout.run("import", store, file, "--into", "c")
    #expect(
      other.status == 65
        && other.complaint.contains("line 702: in the field n: \"seven\" is not an integer of 64 bits."),
      "\(other.complaint)")
    try write("n,t\n" + rows(700) + "700,short\n", to: file)
    #expect(
      try dugout.run("import", store, file, "--into", "c").output
        == "1 document imported, 700 by an earlier run.\n")
    #expect(try count(store) == "count  701\n")
  }

  @Test(arguments: ["csv", "json"]) func aKilledImportContinues(format: String) throws {
    let folder = try TemporaryFolder()
    let (store, file) = (folder.path + "/store", folder.path + "/a.\(format)")
    let documents = 20_000
    let lines =
      format == "csv" ? "n,t\n" + rows(documents) : (0..<documents).map { "{\"n\":\($0)}\n" }.joined()
    try write(lines, to: file)
    for signal in [SIGKILL, SIGINT] {
      let terminal = try PseudoTerminal()
      let process = try terminal.start(
        dugout.path, ["import", store, file, "--into", "c"], ["TERM": "xterm"])
      try terminal.wait(for: " left")
      try #require(process.isRunning, "the import was over before it could be ended")
      kill(process.processIdentifier, signal)
      let said = try terminal.rest(of: process)
      if signal == SIGINT {
        #expect(said.contains("Run the same command again to continue from there."), "\(said)")
      }
    }
    let rest = try dugout.run("import", store, file, "--into", "c")
    #expect(rest.status == 0 && rest.output.contains(" by an earlier run."), "\(rest)")
    #expect(try count(store) == "count  \(documents)\n")
    #expect(try dugout.run("check", store).status == 0)
  }
}
