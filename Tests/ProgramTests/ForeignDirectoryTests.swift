// Directories that are not stores: every command refuses them with advice.

import Foundation
import Testing

@testable import dugout

@Suite struct ForeignDirectoryTests {
  private let dugout = Program("dugout")

  /// The commands that need an existing store. `DIR` marks the position of the directory.
  private static let readers: [[String]] = [
    ["get", "DIR", "users/ada"], ["ls", "DIR"], ["query", "DIR", "users"], ["explain", "DIR", "users"],
    ["delete", "DIR", "users/ada"], ["delete", "DIR", "users", "--query", "--yes"],
    ["delete", "DIR", "users", "--query", "--dry-run"], ["update", "DIR", "users/ada", "age=1"],
    ["update", "DIR", "users", "age=1", "--yes"], ["index", "list", "DIR"],
    ["index", "create", "DIR", "users", "age"],
    ["export", "DIR", "-"], ["watch", "DIR"], ["stat", "DIR"], ["check", "DIR"], ["compact", "DIR"],
    ["salvage", "DIR"], ["backup", "DIR", "DIR-backup"], ["restore", "DIR", "DIR-restored"],
  ]

  /// The commands that create the store if it is missing.
  private static let makers: [[String]] = [
    ["set", "DIR", "users/ada", "{}"], ["import", "DIR", "-"], ["shell", "DIR"],
  ]

  private func run(_ command: [String], in directory: String) throws -> Program.Outcome {
    try dugout.run(command.map { $0.replacing("DIR", with: directory) }, input: "")
  }

  @Test(arguments: readers + makers) func aDirectoryWithOtherFilesIsRefusedAndUntouched(command: [String])
    throws
  {
    let folder = try TemporaryFolder()
    let directory = folder.path + "/letters"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
    try Data("mine".utf8).write(to: URL(fileURLWithPath: directory + "/letter.txt"))
    let outcome = try run(command, in: directory)
    #expect(outcome.status == 69, "\(outcome.output)\(outcome.complaint)")
    #expect(outcome.complaint.contains("\(directory) is not a Dugout store: it contains letter.txt."))
    let advice =
      Self.makers.contains(command)
      ? "Choose an empty or a new directory."
      : "Check the path: it names the directory that has the file MANIFEST."
    #expect(outcome.complaint.hasSuffix(" \(advice)\n"), "\(outcome.complaint)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["letter.txt"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["letters"])
  }

  /// Regression: commands that only read explained how to create a store.
  @Test(arguments: readers) func aReadingCommandWithoutAStoreGivesAdvice(command: [String]) throws {
    let folder = try TemporaryFolder()
    let outcome = try run(command, in: folder.path + "/nothing")
    #expect(outcome.status == 69)
    let isRestore = command[0] == "restore"
    let said = isRestore ? "there is no backup at" : "There is no Dugout store at"
    #expect(outcome.complaint.contains("\(said) \(folder.path)/nothing"), "\(outcome.complaint)")
    #expect(outcome.complaint.contains("Check the path"), "\(outcome.complaint)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
  }

  @Test func nearbyStoresAreSuggested() throws {
    let folder = try TemporaryFolder()
    let store = folder.path + "/app/database"
    try #require(dugout.run("set", store, "users/ada", "{}").status == 0)
    var wrong: [String] = []
    for command in Self.readers where command[0] != "backup" {
      let outcome = try run(command, in: folder.path)
      if outcome.status != 69 || !outcome.complaint.contains("Did you mean \(store)?") {
        wrong.append("\(command): \(outcome)")
      }
    }
    #expect(wrong == [])
    let path = try dugout.run("ls", store + "/users/ada")
    #expect(
      path.status == 69 && path.complaint.hasSuffix("named by a separate argument: \(store) users/ada\n"),
      "\(path.complaint)")
    let slip = try dugout.run("ls", folder.path + "/app/databsae/")
    #expect(slip.status == 69 && slip.complaint.contains("Did you mean \(store)?"), "\(slip.complaint)")
    try #require(dugout.run("set", folder.path + "/app/other", "users/ada", "{}").status == 0)
    let both = try dugout.run("ls", folder.path)
    #expect(
      both.complaint.contains("Did you mean one of these?\n  \(store)\n  \(folder.path)/app/other\n"),
      "\(both.complaint)")
  }

  /// Regression: an app's store has brackets in its path, which have to be quoted for a shell.
  @Test func aSuggestedStoreIsShellQuoted() throws {
    let folder = try TemporaryFolder()
    let store = folder.path + "/app/(default)"
    try #require(dugout.run("set", store, "users/ada", "{}").status == 0)
    var wrong: [String] = []
    for directory in [folder.path + "/app", folder.path] {
      let complaint = try dugout.run("ls", directory).complaint
      if !complaint.contains("Did you mean '\(store)'?") { wrong.append("\(directory): \(complaint)") }
    }
    #expect(wrong == [])
    #expect(try dugout.run("ls", store + "/MANIFEST").complaint.contains("Did you mean '\(store)'?"))
    #expect(try dugout.run("ls", store + "/users/ada").complaint.contains(": '\(store)' users/ada"))
    #expect(ShellWord.quoted("a/B_9.-") == "a/B_9.-")
    #expect(ShellWord.quoted("it's") == "'it'\\''s'" && ShellWord.quoted("") == "''")
    #expect(ShellWord.quoted("ä$") == "'ä$'")
  }

  @Test func anInterruptedBackupIsReported() throws {
    let folder = try TemporaryFolder()
    try Data().write(to: folder.url.appendingPathComponent("BACKUP"))
    var wrong: [String] = []
    for command in [["ls", "DIR"], ["set", "DIR", "a/b", "{}"]] {
      let outcome = try run(command, in: folder.path)
      if outcome.status != 69 || !outcome.complaint.contains("was cut off before it was complete")
        || !outcome.complaint.contains("or in the same one if that holds no MANIFEST")
      {
        wrong.append("\(command): \(outcome)")
      }
    }
    #expect(wrong == [])
  }
}
