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
