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

  @Test func aFileOwnedByAnotherUserIsReported() throws {
    let folder = try TemporaryFolder()
    let somebody = geteuid() + 4242
    let advice = try #require(FileOwner.advice(folder.path, user: somebody))
    #expect(advice.hasPrefix("\(folder.path) belongs to "), "\(advice)")
    #expect(advice.contains(", and you are user \(somebody): run the command as "), "\(advice)")
    #expect(advice.contains("(sudo chown \(somebody) "), "\(advice)")
    // For a missing or invisible file, the advice names the owner of the file's folder.
    #expect(FileOwner.advice(folder.path + "/not/there", user: somebody) == advice)
    #expect(FileOwner.advice(folder.path, user: 0) == nil)
  }
}
