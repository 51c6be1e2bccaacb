// The benchmark command: small runs with verification that leave no files.

import Foundation
import Testing

@Suite struct BenchTests {
  private let dugout = Program("dugout")

  @Test func benchMeasuresVerifiesAndLeavesNoFiles() throws {
    let folder = try TemporaryFolder()
    let outcome = try dugout.run("bench", folder.path, "--documents", "1000", "--json")
    #expect(outcome.status == 0, "\(outcome.complaint)")
    let object = try #require(
      try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any])
    #expect(object["documents"] as? Int == 1000)
    let rows = try #require(object["rows"] as? [[String: Any]])
    #expect(rows.count == 8 && rows.allSatisfy { ($0["perSecond"] as? Double ?? 0) > 0 })
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    let text = try dugout.run("bench", folder.path, "--documents", "7")
    #expect(text.output.contains("All answers were right"), "\(text.output)\(text.complaint)")
  }

  @Test func anInvalidDirectoryIsReported() throws {
    let folder = try TemporaryFolder()
    let outcome = try dugout.run("bench", folder.path + "/nowhere")
    #expect(outcome.status == 69 && outcome.complaint.contains("there is no directory"))
    #expect(try dugout.run("bench", folder.path, "--documents", "none").status == 2)
  }

  /// Regression: an interrupted run left its store on the disk.
  @Test(arguments: [SIGINT, SIGTERM]) func anInterruptedBenchmarkLeavesNoFiles(signal: Int32) throws {
    let folder = try TemporaryFolder()
    let terminal = try PseudoTerminal()
    // Requests far more documents than the command can write before the signal.
    let process = try terminal.start(
      dugout.path, ["bench", folder.path, "--documents", "20000000"], ["TERM": "xterm"])
    // The command shows this row after it has created its store.
    try terminal.wait(for: "documents written")
    #expect(try !FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    kill(process.processIdentifier, signal)
    _ = try terminal.rest(of: process)
    #expect(process.terminationReason == .exit && process.terminationStatus == 1)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
  }

  @Test func aBenchmarkInsideAStoreIsRefused() throws {
    let folder = try TemporaryFolder()
    try folder.makeStore()
    let before = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    let outcome = try dugout.run("bench", folder.path, "--documents", "7")
    #expect(
      outcome.status == 2 && outcome.complaint.contains("is a store, and a bench creates one of its own"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == before)
  }

  /// Regression: `dugout export S S/MANIFEST` replaced the store's own manifest by a table of documents.
  @Test func anExportReplacesNoFileOfTheStore() throws {
    let folder = try TemporaryFolder()
    try folder.makeStore()
    try FileManager.default.createSymbolicLink(
      atPath: folder.path + ".link", withDestinationPath: folder.path)
    defer { try? FileManager.default.removeItem(atPath: folder.path + ".link") }
    let name = folder.url.lastPathComponent
    var wrong: [String] = []
    for target in ["/MANIFEST", "/new.jsonl", "/../\(name)/MANIFEST", ".link/MANIFEST", ".link/x"] {
      let outcome = try dugout.run("export", folder.path, folder.path + target)
      if outcome.status != 2 || !outcome.complaint.contains("would be lost with it") {
        wrong.append("\(target): \(outcome)")
      }
    }
    #expect(wrong == [])
    #expect(try dugout.run("check", folder.path).status == 0)
  }

  @Test func aBenchmarkWithOneDocumentRuns() throws {
    let folder = try TemporaryFolder()
    let outcome = try dugout.run("bench", folder.path, "--documents", "1")
    #expect(outcome.output.contains("\n1 document in "), "\(outcome.output)\(outcome.complaint)")
  }
}
