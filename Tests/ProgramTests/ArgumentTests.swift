// The arguments of the program: their encoding, and the announcement of what a command creates.

import Foundation
import Testing

@testable import dugout

@Suite struct ArgumentTests {
  private let dugout = Program("dugout")

  // MARK: UTF-8

  /// Regression: bytes that are not UTF-8 were replaced, and the document got another name than the user
  /// gave.
  @Test func anArgumentThatIsNotUTF8IsRefusedByName() throws {
    let folder = try TemporaryFolder()
    let script = "'\(dugout.path)' set '\(folder.path)/store' $'users/caf\\xe9\\t' '{a: 1}'"
    let outcome = try Program(path: "/bin/bash").run("--norc", "-c", script)
    #expect(outcome.status == 2)
    #expect(
      outcome.complaint.hasPrefix("dugout: argument 3 is not UTF-8: users/caf\\xe9\\t. "),
      "\(outcome.complaint)")
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/store"))
    let sound = try Program(path: "/bin/bash").run(
      "--norc", "-c", "'\(dugout.path)' set '\(folder.path)/store' users/café '{a: 1}'")
    #expect(sound.status == 0 && sound.output.hasPrefix("users/café was written"), "\(sound)")
  }

  /// Regression: bytes that are not UTF-8 were replaced, so another document was written.
  @Test func standardInputThatIsNotUTF8IsRefused() throws {
    let folder = try TemporaryFolder()
    let store = folder.path + "/store"
    func run(_ bytes: String, _ command: String) throws -> Program.Outcome {
      try Program(path: "/bin/bash").run(
        "--norc", "-c", "printf '\(bytes)' | '\(dugout.path)' \(command)")
    }
    try #require(try dugout.run("set", store, "users/ada", "{}", "--create").status == 0)
    let line = try run("set users/caf\\xe9 {a:1}\\n", "shell '\(store)'")
    #expect(line.status == 65 && line.complaint.contains("users/caf\\xe9"), "\(line)")
    let fields = try run("{name: \"caf\\xe9\"}", "set '\(store)' users/ada -")
    #expect(fields.status == 65 && fields.complaint.contains("caf\\xe9"), "\(fields)")
    #expect(try dugout.run("export", store, "-", "users", "--plain").output == "{\"id\":\"ada\"}\n")
  }

  @Test func invalidBytesAreShownAsEscapes() {
    #expect(ProgramArguments.escaped(Array("aé😀".utf8)) == "aé😀")
    #expect(ProgramArguments.escaped([0x61, 0xE9, 0x62]) == "a\\xe9b")
    // The first half of a letter, a stray continuation, a surrogate and an overlong form.
    #expect(ProgramArguments.escaped([0xC3]) == "\\xc3")
    #expect(ProgramArguments.escaped([0x80, 0x0A]) == "\\x80\\n")
    #expect(ProgramArguments.escaped([0xED, 0xA0, 0x80, 0xC0, 0xAF]) == "\\xed\\xa0\\x80\\xc0\\xaf")
  }

  // MARK: Announcements

  @Test func aNewStoreAndNewDirectoriesAreAnnouncedOnStandardError() throws {
    let folder = try TemporaryFolder()
    let deep = folder.path + "/a/b/store"
    let above = "\(folder.path)/a and \(folder.path)/a/b"
    let first = try dugout.run("set", deep, "users/ada", "{}")
    #expect(first.complaint == "Created a new store in \(deep), and the directories above it: \(above).\n")
    #expect(first.status == 0 && first.output.hasPrefix("users/ada was written at "))
    let second = try dugout.run("set", deep, "users/ada", "{}")
    #expect(second.complaint == "" && second.status == 0)
    let shell = try dugout.run(["shell", folder.path + "/shell"], input: "ls\n")
    #expect(shell.complaint == "Created a new store in \(folder.path)/shell.\n")
    #expect(shell.output == "no collections\n")
    let imported = try dugout.run(["import", folder.path + "/imported", "-"], input: "")
    #expect(imported.complaint == "Created a new store in \(folder.path)/imported.\n", "\(imported)")
    let backup = try dugout.run("backup", deep, folder.path + "/backups/monday")
    #expect(backup.complaint == "Created the directory \(folder.path)/backups.\n", "\(backup)")
    let restored = try dugout.run("restore", folder.path + "/backups/monday", folder.path + "/again")
    #expect(restored.complaint == "" && restored.status == 0, "\(restored)")
  }

  @Test(arguments: ["set", "shell", "import", "backup"]) func createSilencesTheAnnouncement(name: String)
    throws
  {
    let folder = try TemporaryFolder()
    try folder.makeStore()
    let new = folder.path + "-2/new"
    defer { try? FileManager.default.removeItem(atPath: folder.path + "-2") }
    let arguments =
      switch name {
      case "set": ["set", new, "users/ada", "{}", "--create"]
      case "shell": ["shell", "--create", new]
      case "import": ["import", new, "-", "--create"]
      default: ["backup", folder.path, new, "--create"]
      }
    let outcome = try dugout.run(arguments, input: "")
    #expect(outcome.status == 0 && outcome.complaint == "", "\(outcome)")
    #expect(FileManager.default.fileExists(atPath: new + "/MANIFEST"))
  }

  @Test func commandsThatReadCreateNothingAndHaveNoSuchOption() throws {
    let folder = try TemporaryFolder()
    let none = folder.path + "/none/store"
    var wrong: [String] = []
    for arguments in [
      ["get", none, "users/ada"], ["ls", none], ["query", none, "users"], ["stat", none], ["check", none],
      ["diff", none, none], ["compact", none], ["delete", none, "users/ada"], ["export", none, "-"],
      ["salvage", none], ["index", "list", none], ["set", none, "users/ada", "--delete", "age"],
    ] {
      let outcome = try dugout.run(arguments)
      if outcome.status != 69 || outcome.complaint.contains("Created") {
        wrong.append("\(arguments): \(outcome)")
      }
    }
    #expect(wrong == [])
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
    #expect(try dugout.run("get", none, "users/ada", "--create").status == 2)
  }

  /// A command that fails after it created directories announces those.
  @Test func directoriesOfACommandThatFailsAreAnnounced() throws {
    #expect(
      CreationNotice.text(store: nil, directories: ["a", "a/b"]) == "Created the directories a and a/b.")
    #expect(CreationNotice.text(store: nil, directories: []) == nil)
    #expect(
      CreationNotice.text(store: "a b/c", directories: ["a b"])
        == "Created a new store in 'a b/c', and the directory above it: 'a b'.")
    #expect(
      CreationNotice.text(store: "a/b/c/d/e", directories: ["a", "a/b", "a/b/c", "a/b/c/d"])
        == "Created a new store in a/b/c/d/e, and the directories above it: a, …, a/b/c/d.")
  }
}
