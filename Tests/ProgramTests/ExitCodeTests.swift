// The exit code of each error of the engine.

import DocumentStore
import Foundation
import Testing

@testable import dugout

@Suite struct ExitCodeTests {
  private static let evidence = StorageEvidence(message: "what happened")

  static let errors: [(error: DocumentStoreError, code: Int32)] = [
    (.invalidArgument("what happened"), 2), (.notFound("what happened"), 1),
    (.alreadyExists("what happened"), 1), (.failedPrecondition("what happened"), 1),
    (.notAStore(evidence), 69), (.unsuitableDirectory(evidence), 69), (.locked(evidence), 69),
    (.newerFormat(evidence), 65), (.corrupted(evidence), 65), (.full(evidence), 74),
    (.failed(evidence), 74), (.outcomeUnknown(evidence), 74), (.closed(evidence), 69),
    (.memoryExceeded("what happened"), 69),
  ]

  @Test(arguments: errors) func errorsMapToTheirExitCodes(error: DocumentStoreError, code: Int32) {
    #expect(StoreAccess.exitCode(for: error).rawValue == code)
  }

  // MARK: The table

  /// The program, the guide and the errors have the same table.
  @Test func theGuideHasTheTableOfTheProgram() throws {
    let guide = try String(
      contentsOf: URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("docs/guides/operating.md"), encoding: .utf8)
    let section = try #require(guide.components(separatedBy: "## Exit codes\n").last)
    let rows = section.matches(of: #/\n\| (\d+) \| (.+) \|/#).map { row in
      let plain = row.2.replacing(#/\[([^\]]+)\]\([^)]+\)/#) { String($0.1) }.replacing("`", with: "")
      return "\(row.1) \(plain)"
    }
    #expect(rows == HelpTopic.codes.map { "\($0.code.rawValue) \($0.meaning)" })
    let page = try Program("dugout").run("help", "exit-codes")
    #expect(
      page.status == 0 && HelpTopic.codes.allSatisfy { page.output.contains("\n  \($0.code.rawValue) ") })
  }

  /// Each sentence of the table, as far as a command can cause it here.
  @Test func everyCodeOfTheTableOccurs() throws {
    let dugout = Program("dugout")
    let folder = try TemporaryFolder()
    let (store, other, newer) = (folder.path + "/store", folder.path + "/other", folder.path + "/newer")
    let bad = folder.path + "/bad.jsonl"
    for path in [store, other, newer] {
      try #require(try dugout.run("set", path, "users/ada", "{age: 36}").status == 0)
    }
    try #require(try dugout.run("set", other, "users/bob", "{}").status == 0)
    try Data("no document".utf8).write(to: URL(fileURLWithPath: bad))
    var manifest = try Data(contentsOf: URL(fileURLWithPath: newer + "/MANIFEST"))
    // The version of the format, and a checksum of it that is right, are written by a newer release only,
    // so the manifest is damaged here.
    manifest[8] = 200
    try manifest.write(to: URL(fileURLWithPath: newer + "/MANIFEST"))
    let cases: [(arguments: [String], code: Int32)] = [
      (["get", store, "users/ada"], 0), (["diff", store, store], 0), (["help"], 0),
      (["get", store, "users/none"], 1), (["diff", store, other], 1), (["check", newer], 1),
      ([], 2), (["nonsense"], 2), (["get", store, "users"], 2), (["query", store, "users where"], 2),
      (["ls", store, "--nonsense"], 2), (["ls", store, "--limit", "0"], 2), (["get"], 2),
      (["get", newer, "users/ada"], 65), (["import", store, bad], 65),
      (["get", folder.path + "/none", "users/ada"], 69), (["restore", store, other], 69),
      (["backup", store, other], 69), (["diff", store, folder.path + "/none"], 69),
      (["export", store, folder.path + "/none/file"], 74), (["import", store, folder.path + "/none"], 74),
    ]
    var wrong: [String] = []
    for (arguments, code) in cases {
      let outcome = try dugout.run(arguments)
      if outcome.status != code { wrong.append("\(arguments): \(outcome.status) \(outcome.complaint)") }
    }
    #expect(wrong == [])
    let limited = try dugout.run(["ls", store], environment: ["DUGOUT_MEMORY_BUDGET": "nonsense"])
    #expect(limited.status == 2, "\(limited.complaint)")
  }

  @Test func errorsThatNoCommandTranslatesHaveACode() throws {
    let missing = try #require(
      thrown { _ = try String(contentsOfFile: "/there/is/no/file", encoding: .utf8) })
    #expect(Dugout.code(of: missing) == .inputOutput)
    #expect(Dugout.code(of: DocumentStoreError.notFound("it")) == .checkFailed)
    let path = try #require(thrown { _ = try DocumentPath(["users"]) })
    #expect(Dugout.code(of: path) == .usage)
    #expect(Dugout.code(of: CancellationError()) == .checkFailed)
  }

  // MARK: Messages

  private func message(_ error: DocumentStoreError, _ file: String, _ code: Int32) -> String {
    var evidence = StorageEvidence(message: "open of \(file) failed: that is so (error \(code))")
    (evidence.file, evidence.code) = (file, code)
    var error = error
    switch error {
    case .full: error = .full(evidence)
    default: error = .failed(evidence)
    }
    do {
      return try StoreAccess.translating { () throws(DocumentStoreError) -> String in throw error }
    } catch let failure as CommandFailure {
      return failure.message
    } catch {
      return "\(error)"
    }
  }

  @Test func systemErrorsAreReportedWithAdvice() {
    #expect(
      message(.full(Self.evidence), "d", ENOSPC)
        == "open of d failed: that is so (error 28). Free some space on the disk, and run the same command "
        + "again.")
    #expect(message(.failed(Self.evidence), "d", EIO) == "open of d failed: that is so (error 5).")
  }

  /// Regression: for a file in a store, only this file was made the user's own. For a missing file, the
  /// advice changed the owner of the directory above it, which can be a home directory.
  @Test func aFileOwnedByAnotherUserIsReported() throws {
    let folder = try TemporaryFolder()
    try folder.makeStore()
    let (store, another) = (folder.path, geteuid() + 4242)
    let advice = try #require(FileOwner.advice("\(store)/LOCK", store: store, user: another))
    #expect(advice.hasPrefix("\(store)/LOCK belongs to "), "\(advice)")
    #expect(advice.contains(", and you are user \(another): run the command as "), "\(advice)")
    #expect(advice.hasSuffix(", or make the store yours (sudo chown -R \(another) \(store))."), "\(advice)")
    #expect(FileOwner.advice(store + "/", store: store + "/", user: another)?.contains(" -R ") == true)
    #expect(FileOwner.advice(store, store: store, user: 0) == nil)
  }

  @Test func onlyAStoreIsMadeTheUsersOwn() throws {
    let folder = try TemporaryFolder()
    let (path, another) = (folder.path, geteuid() + 4242)
    // For a missing or invisible file, the advice names the owner of the file's folder.
    let above = try #require(FileOwner.advice(path + "/not/there", store: path + "/not", user: another))
    #expect(above.hasPrefix("\(path) belongs to "), "\(above)")
    #expect(above.hasSuffix(", or use a directory that is yours."), "\(above)")
    // A directory that may hold a store.
    let unknown = try #require(FileOwner.advice(path, store: path, user: another))
    #expect(unknown.contains("if \(path) holds only a store, make it yours (sudo chown -R "), "\(unknown)")
    let others = ["/", NSHomeDirectory(), NSHomeDirectory() + "/"].compactMap {
      FileOwner.advice($0, store: $0, user: another)
    }
    #expect(others.count == 3 && !others.contains { $0.contains("chown") }, "\(others)")
  }

  /// Regression: the advice to change the mode of one file did not help, because a copy with the wrong mode
  /// has it in all files. For a file whose mode allows everything, the advice was wrong.
  @Test func aModeThatDeniesItsOwnerIsReported() throws {
    let folder = try TemporaryFolder()
    try folder.makeStore()
    // Root is not denied anything, so the files belong to another user, whose id the test passes.
    let user = geteuid() == 0 ? 4242 : geteuid()
    let lock = folder.path + "/LOCK"
    try #require(geteuid() != 0 || chown(lock, user, getegid()) == 0)
    #expect(FileOwner.advice(lock, store: folder.path, user: user) == nil)
    try #require(chmod(lock, 0o400) == 0)
    #expect(
      FileOwner.advice(lock, store: folder.path, user: user)
        == "\(lock) belongs to you, but its permissions deny access: chmod -R u+rwX \(folder.path)")
    #expect(FileOwner.advice(lock, user: user)?.hasSuffix(": chmod u+rwX \(lock)") == true)
  }
}
