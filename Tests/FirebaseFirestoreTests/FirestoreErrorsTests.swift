// Errors of the engine as the API reports them: their codes, messages and evidence.

import DocumentStore
import Foundation
import Testing

@testable import FirebaseFirestore

@Suite struct FirestoreErrorsTests {
  private static let evidence = {
    var evidence = StorageEvidence(message: "what happened")
    evidence.file = "/d/log"
    return evidence
  }()

  /// Each error of the engine with the number of its Firestore code.
  static let errors: [(error: DocumentStoreError, code: Int)] = [
    (.invalidArgument("what happened"), 3), (.notFound("what happened"), 5),
    (.alreadyExists("what happened"), 6), (.failedPrecondition("what happened"), 9),
    (.notAStore(evidence), 9), (.unsuitableDirectory(evidence), 9), (.locked(evidence), 14),
    (.newerFormat(evidence), 9),
    (.corrupted(evidence), 15), (.full(evidence), 8), (.failed(evidence), 13),
    (.outcomeUnknown(evidence), 2), (.closed(evidence), 9), (.aborted("what happened"), 10),
    (.feedTruncated("what happened"), 11), (.memoryExceeded("what happened"), 8),
  ]

  @Test(arguments: errors) func errorsAreTranslatedToACodeAndAMessage(error: DocumentStoreError, code: Int) {
    let translated = FirestoreErrors.translate(error) as NSError
    #expect(translated.domain == "FIRFirestoreErrorDomain")
    #expect(translated.code == code)
    #expect(translated.localizedDescription == "what happened")
    let file = translated.userInfo[FirestoreErrorEvidence.file] as? String
    #expect(file == (Self.hasEvidence(error) ? "/d/log" : nil))
  }

  @Test func userInfoContainsAllErrorEvidence() {
    var evidence = Self.evidence
    evidence.offset = 4096
    evidence.expected = "this"
    evidence.found = "that"
    evidence.operation = "fdatasync"
    evidence.code = 5
    evidence.holder = 42
    let information = (FirestoreErrors.translate(.failed(evidence)) as NSError).userInfo
    #expect(information[FirestoreErrorEvidence.file] as? String == "/d/log")
    #expect(information[FirestoreErrorEvidence.offset] as? UInt64 == 4096)
    #expect(information[FirestoreErrorEvidence.expected] as? String == "this")
    #expect(information[FirestoreErrorEvidence.found] as? String == "that")
    #expect(information[FirestoreErrorEvidence.operation] as? String == "fdatasync")
    #expect(information[FirestoreErrorEvidence.systemCode] as? Int32 == 5)
    #expect(information[FirestoreErrorEvidence.holder] as? Int32 == 42)
  }

  /// This switch is exhaustive. A new case does not compile here, which is a reminder that the case also
  /// needs a line in `errors`.
  private static func hasEvidence(_ error: DocumentStoreError) -> Bool {
    switch error {
    case .invalidArgument, .notFound, .alreadyExists, .failedPrecondition, .aborted, .feedTruncated,
      .memoryExceeded:
      false
    case .notAStore, .unsuitableDirectory, .locked, .newerFormat, .corrupted, .full, .failed,
      .outcomeUnknown, .closed:
      true
    }
  }
}
