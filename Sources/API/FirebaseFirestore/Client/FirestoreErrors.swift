// The only translation of the engine's errors to `NSError` with Firestore's domain and codes.

import DocumentStore
import Foundation
import OfflineSync

/// Keys for the details that the engine adds to an error's `userInfo`.
public enum FirestoreErrorEvidence {
  /// The path of the file or directory in which the error occurred.
  public static let file = "DugoutFile"
  /// The offset in the file.
  public static let offset = "DugoutOffset"
  /// The expected contents.
  public static let expected = "DugoutExpected"
  /// The actual contents.
  public static let found = "DugoutFound"
  /// The system call that failed.
  public static let operation = "DugoutOperation"
  /// The system's error number, an `errno`.
  public static let systemCode = "DugoutSystemCode"
  /// The process that holds the store's lock.
  public static let holder = "DugoutHolder"
}

enum FirestoreErrors {
  static func make(_ code: FirestoreErrorCode.Code, _ message: String) -> any Error {
    NSError(
      domain: FirestoreErrorDomain, code: code.rawValue, userInfo: [NSLocalizedDescriptionKey: message])
  }

  /// The error of a call to a terminated instance.
  static var terminated: any Error { translate(terminatedStore) }

  static var terminatedStore: DocumentStoreError {
    .failedPrecondition("The client has already been terminated.")
  }

  /// The error of a write to a database in the directory `path` that is open for reading only.
  static func readOnly(_ path: String) -> any Error {
    make(
      .failedPrecondition,
      "The database in \(path) is open for reading only. Write in the process that has it open for writing, or open "
        + "it with the access readAndWrite.")
  }

  /// Translates an engine error, and returns any other error unchanged.
  static func translate(any error: any Error) -> any Error {
    if let error = error as? DocumentStoreError { return translate(error) }
    if error is UnansweredCommit { return translate(.remote(RemoteReply<Void>.unanswered)) }
    return (error as? OfflineSyncError).map { translate($0) } ?? error
  }

  static func translate(_ error: OfflineSyncError) -> any Error {
    switch error {
    case .store(let error): translate(error)
    case .refused(let refusal): make(.outOfRange, refusal.description)
    case .remote(let error):
      make(FirestoreErrorCode.Code(rawValue: error.code.rawValue) ?? .unknown, error.message)
    }
  }

  static func translate(_ error: DocumentStoreError) -> any Error {
    switch error {
    case .invalidArgument(let message): make(.invalidArgument, message)
    case .notFound(let message): make(.notFound, message)
    case .alreadyExists(let message): make(.alreadyExists, message)
    case .failedPrecondition(let message): make(.failedPrecondition, message)
    case .aborted(let message): make(.aborted, message)
    case .feedTruncated(let message): make(.outOfRange, message)
    case .notAStore(let evidence): make(.failedPrecondition, evidence)
    case .unsuitableDirectory(let evidence): make(.failedPrecondition, evidence)
    case .locked(let evidence): make(.unavailable, evidence)
    case .newerFormat(let evidence): make(.failedPrecondition, evidence)
    case .corrupted(let evidence): make(.dataLoss, evidence)
    case .memoryExceeded(let message): make(.resourceExhausted, message)
    case .full(let evidence): make(.resourceExhausted, evidence)
    case .failed(let evidence): make(.internal, evidence)
    case .outcomeUnknown(let evidence): make(.unknown, evidence)
    case .closed(let evidence): make(.failedPrecondition, evidence)
    }
  }

  static func translate(_ error: PathError) -> any Error { make(.invalidArgument, error.description) }

  /// Translates the error for data that exceeds a limit, which a server would refuse too. Other errors of
  /// this type trap.
  static func translate(_ error: UserDataError) -> any Error { make(.invalidArgument, error.message) }

  static func translate(_ error: BundleError) -> any Error { make(.invalidArgument, error.message) }

  private static func make(
    _ code: FirestoreErrorCode.Code, _ evidence: StorageEvidence
  ) -> any Error {
    var information: [String: Any] = [NSLocalizedDescriptionKey: evidence.message]
    information[FirestoreErrorEvidence.file] = evidence.file
    information[FirestoreErrorEvidence.offset] = evidence.offset
    information[FirestoreErrorEvidence.expected] = evidence.expected
    information[FirestoreErrorEvidence.found] = evidence.found
    information[FirestoreErrorEvidence.operation] = evidence.operation
    information[FirestoreErrorEvidence.systemCode] = evidence.code
    information[FirestoreErrorEvidence.holder] = evidence.holder
    return NSError(domain: FirestoreErrorDomain, code: code.rawValue, userInfo: information)
  }
}

/// An invalid bundle.
struct BundleError: Error {
  var message: String

  init(_ message: String) { self.message = message }
}
