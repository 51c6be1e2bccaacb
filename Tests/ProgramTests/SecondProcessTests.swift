// Commands that read a store while this process has it open for writing.

import DocumentStore
import Foundation
import Testing

@Suite struct SecondProcessTests {
  private let dugout = Program("dugout")
  private let isWritten = "process \(getpid()) has the store open for writing"

  /// Runs `body` while a writer has a store with one document open. The earlier close of the store has made
  /// the document visible to readers.
  private func besideAWriter(_ body: (String) throws -> Void) throws {
    let folder = try TemporaryFolder()
    try folder.makeStore()
    let store = try DocumentStore.open(folder.path)
    try body(folder.path)
    // The writer was not disturbed.
    try store.commit([.set(try DocumentPath(["users", "eve"]), StoredMap())])
    try store.close()
  }

  @Test func readingCommandsReportTheAgeOfWhatTheyShow() throws {
    let target = try TemporaryFolder()
    try besideAWriter { path in
      var wrong: [String] = []
      for arguments in [
        ["stat", path], ["get", path, "users/ada"], ["query", path, "users"], ["explain", path, "users"],
        ["ls", path], ["export", path, "-"], ["export", path, target.path + "/users.jsonl"], ["check", path],
        ["backup", path, target.path + "/backup"],
      ] {
        let outcome = try dugout.run(arguments)
        let lines = outcome.complaint.split(separator: "\n").filter { $0.contains(isWritten) }
        if outcome.status != 0 || lines.count != 1 || outcome.output.contains(isWritten) {
          wrong.append("\(arguments): \(outcome)")
        }
      }
      #expect(wrong == [])
      #expect(try dugout.run("get", path, "users/ada").output.contains("Ada"))
      #expect(try dugout.run("get", target.path + "/backup", "users/ada").output.contains("Ada"))
    }
  }

  @Test func jsonHasTheAgeAsAField() throws {
    let target = try TemporaryFolder()
    try besideAWriter { path in
      var wrong: [String] = []
      for arguments in [
        ["stat", path], ["get", path, "users/ada"], ["query", path, "users"], ["check", path],
        ["backup", path, target.path + "/backup"],
      ] {
        let outcome = try dugout.run(arguments + ["--json"])
        let object = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any]
        let snapshot = object?["snapshot"] as? [String: Any]
        let isComplete =
          snapshot?["writer"] as? Int == Int(getpid()) && snapshot?["lastCommit"] is String
          && snapshot?["secondsSinceRefresh"] is Double && snapshot?["bytesNotDurable"] is Int
        if outcome.status != 0 || !isComplete || outcome.complaint.contains(isWritten) {
          wrong.append("\(arguments): \(outcome)")
        }
      }
      #expect(wrong == [])
    }
  }

  @Test func aCheckBesideAWriterSaysThatItChecksACapture() throws {
    try besideAWriter { path in
      let text = try dugout.run("check", path)
      #expect(text.status == 0 && text.output.contains("1 document compared with"))
      #expect(text.output.contains("a check of a capture"))
      let object = try dugout.run("check", path, "--json").output
      #expect(object.contains("\"capture\":true") && object.contains("\"sound\":true"))
    }
    let folder = try TemporaryFolder()
    try folder.makeStore()
    #expect(try !dugout.run("check", folder.path).output.contains("capture"))
  }

  @Test func withoutAWriterThereIsNoAge() throws {
    let folder = try TemporaryFolder()
    try folder.makeStore()
    let text = try dugout.run("get", folder.path, "users/ada")
    #expect(text.status == 0 && text.complaint == "")
    #expect(try !dugout.run("get", folder.path, "users/ada", "--json").output.contains("snapshot"))
  }
}
