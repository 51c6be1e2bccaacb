// The command line as its users meet it: what it prints, and the codes that scripts read.

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

  @Test func anAbsentDocumentIsAFailedCheck() throws {
    let folder = try TemporaryFolder()
    try folder.makeStore()
    let outcome = try dugout.run("get", folder.path, "users/bob")
    #expect(outcome.status == 1)
    #expect(outcome.complaint.contains("there is no document users/bob"))
  }

  @Test func aMissingOrForeignDirectoryIsUnavailableAndUntouched() throws {
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

  @Test func aStoreInUseIsUnavailableAndItsHolderIsNamed() throws {
    let folder = try TemporaryFolder()
    let store = try DocumentStore.open(folder.path)
    let outcome = try dugout.run("get", folder.path, "users/ada")
    #expect(outcome.status == 69)
    #expect(outcome.complaint.contains("in use by process \(getpid())"))
    try store.close()
  }

  @Test func aDamagedStoreIsBadDataAndTheSentenceSaysWhere() throws {
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

  @Test func wrongUsageIsCodeTwoWithTheRightUsage() throws {
    for arguments in [
      ["get"], ["get", "a"], ["get", "a", "b", "--colour"], ["fetch"], ["stat"], ["backup", "a"],
      ["compact", "a", "b"],
    ] {
      let outcome = try dugout.run(arguments)
      #expect(outcome.status == 2, "\(arguments)")
      #expect(!outcome.complaint.isEmpty, "\(arguments)")
    }
    #expect(try dugout.run("get", "a", "users").complaint.contains("users/ada"))
  }

  @Test func helpListsEveryCommandAndEachHasAPage() throws {
    let overview = try dugout.run("--help")
    #expect(overview.status == 0)
    for command in ["quickstart", "get", "stat", "check", "backup", "compact", "salvage"] {
      #expect(overview.output.contains("  \(command) "))
      let page = try dugout.run(command, "--help")
      #expect(page.status == 0)
      #expect(page.output.contains("Usage: dugout \(command)"))
    }
  }

  @Test func versionNamesTheProgramTheFormatAndLZ4() throws {
    let outcome = try dugout.run("--version")
    #expect(outcome.status == 0)
    #expect(outcome.output.contains("store format 0, lz4 1."))
  }

  @Test func quickstartIsKilledAndFindsTheDocument() throws {
    let outcome = try dugout.run("quickstart")
    #expect(outcome.status == 0, "\(outcome.complaint)")
    #expect(outcome.output.contains("users/ada is saved"))
    #expect(outcome.output.contains("users/ada: Ada, 36, [\"mathematics\"]"))
  }
}
