// The command line as users see it: output and exit codes.

import DocumentStore
import Foundation
import Testing

@Suite struct DugoutTests {
  private let dugout = Program("dugout")

  @Test func getPrintsTheFieldsOfADocument() throws {
    let folder = try TemporaryFolder()
    try folder.makeStore()
    let outcome = try dugout.run("get", folder.path, "users/ada")
    #expect(outcome.status == 0)
    #expect(outcome.output.contains("users/ada\n  name: \"Ada\"\n  tags:\n    [0]: \"mathematics\"\n"))
    #expect(outcome.complaint.isEmpty)
  }

  @Test func getPrintsJSONWithTheTypeOfEveryValue() throws {
    let folder = try TemporaryFolder()
    try folder.makeStore()
    let outcome = try dugout.run("get", folder.path, "users/ada", "--json")
    #expect(outcome.status == 0)
    let fields =
      #""fields":{"name":{"stringValue":"Ada"},"tags":{"arrayValue":{"values":["#
      + #"{"stringValue":"mathematics"},{"integerValue":"1"}]}}}"#
    #expect(outcome.output.contains(fields))
  }

  @Test func anAbsentDocumentExitsWithCodeOne() throws {
    let folder = try TemporaryFolder()
    try folder.makeStore()
    let outcome = try dugout.run("get", folder.path, "users/bob")
    #expect(outcome.status == 1)
    #expect(outcome.complaint.contains("there is no document users/bob"))
  }

  @Test func aDirectoryWithoutAStoreExitsAsUnavailableAndIsUntouched() throws {
    let folder = try TemporaryFolder()
    let missing = try dugout.run("get", folder.path + "/nothing", "users/ada")
    #expect(missing.status == 69)
    #expect(missing.complaint.contains("There is no Dugout store"))
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/nothing"))

    try Data("mine".utf8).write(to: folder.url.appendingPathComponent("letter.txt"))
    let foreign = try dugout.run("get", folder.path, "users/ada")
    #expect(foreign.status == 69)
    #expect(foreign.complaint.contains("is not a Dugout store: it contains letter.txt"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["letter.txt"])
  }

  @Test func aStoreInUseExitsAsUnavailableAndItsHolderIsReported() throws {
    let folder = try TemporaryFolder()
    let store = try DocumentStore.open(folder.path)
    let outcome = try dugout.run("set", folder.path, "users/ada", "{}")
    #expect(outcome.status == 69)
    #expect(outcome.complaint.contains("in use by process \(getpid())"))
    try store.close()
  }

  @Test func aDamagedStoreExitsAsBadDataAndReportsTheLocation() throws {
    let folder = try TemporaryFolder()
    try folder.makeStore()
    let log = folder.url.appendingPathComponent("log-0000000001")
    var bytes = try Data(contentsOf: log)
    bytes[4096 + 40] ^= 1
    try bytes.write(to: log)
    let outcome = try dugout.run("get", folder.path, "users/ada")
    #expect(outcome.status == 65)
    #expect(outcome.complaint.contains("log-0000000001 is damaged at byte 4096"))
  }

  @Test func usageErrorsExitWithCodeTwoAndPrintTheUsage() throws {
    var wrong: [String] = []
    for arguments in [
      ["get"], ["get", "a"], ["get", "a", "b", "--colour"], ["fetch"], ["stat"], ["backup", "a"],
      ["compact", "a", "b"],
    ] {
      let outcome = try dugout.run(arguments)
      if outcome.status != 2 || outcome.complaint.isEmpty { wrong.append("\(arguments): \(outcome)") }
    }
    #expect(wrong == [])
    #expect(try dugout.run("get", "a", "users").complaint.contains("users/ada"))
    var unsuggested: [String] = []
    for (slip, command) in [("chekc", "check"), ("quer", "query"), ("exxport", "export"), ("stot", "stat")] {
      let complaint = try dugout.run(slip).complaint
      if !complaint.contains("Did you mean \(command)?") { unsuggested.append("\(slip): \(complaint)") }
    }
    #expect(unsuggested == [])
    #expect(try !dugout.run("fetch").complaint.contains("Did you mean"))
  }

  @Test func versionPrintsProgramFormatAndLZ4() throws {
    let outcome = try dugout.run("--version")
    #expect(outcome.status == 0)
    #expect(outcome.output.contains("store format 0, lz4 1."))
  }

  @Test func quickstartCommandsWorkAsDescribed() throws {
    let outcome = try dugout.run("quickstart")
    #expect(outcome.status == 0, "\(outcome.complaint)")
    let lines = [
      "It said: users/ada is saved", "users/ada: Ada, 36, [\"mathematics\"]", "users/kurt: Kurt, 71",
      "5 users in all",
      "added    ada: 86", "counters/visits: 100", "1 write waits in the queue, and the server has nothing",
      "the server has \"written on a train\"", "no damage", "Everything that was acknowledged is there.",
    ]
    #expect(lines.filter { !outcome.output.contains($0) } == [], "\(outcome.output)")
    #expect(!outcome.output.contains("blaise: Blaise, 85"))
  }

  @Test func quickstartKeepsItsStoreWhenAsked() throws {
    let outcome = try dugout.run("quickstart", "--keep")
    #expect(outcome.status == 0, "\(outcome.complaint)")
    let match = try #require(outcome.output.firstMatch(of: #/Look again: (.* get '(.*)' users\/ada)/#))
    // Run the command exactly as printed, in a shell without dugout in its PATH.
    let again = try Program(path: "/bin/sh").run(
      ["-c", String(match.1)], environment: ["PATH": "/usr/bin:/bin"])
    #expect(again.output.contains("age: 86"), "\(again.complaint)")
    let store = String(match.2)
    let folder = try #require(store.firstRange(of: "dugout-quickstart-"))
    let name = store[folder.lowerBound...].prefix { $0 != "/" }
    try FileManager.default.removeItem(atPath: String(store[..<folder.lowerBound] + name))
  }
}
