// The exit code of each error of the engine: what scripts tell failures apart by.

import DocumentStore
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

  @Test(arguments: errors) func anErrorHasItsExitCode(error: DocumentStoreError, code: Int32) {
    #expect(StoreAccess.exitCode(for: error).rawValue == code)
  }
}
