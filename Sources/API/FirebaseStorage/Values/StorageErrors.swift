// Translates engine and system errors to errors of the API. All such translations are in this file.

import ByteStore
import DocumentStore
import Foundation
import ObjectSync
import OfflineSync

enum StorageErrors {
  /// The domain in which Firebase's SDK reports the HTTP status of its server.
  private static let statusDomain = "com.google.HTTPStatus"

  static func objectNotFound(_ bucket: String, _ object: String) -> StorageError {
    .objectNotFound(object: object, serverError: status(404, bucket, object: object))
  }

  static func unauthorized(_ message: String, _ bucket: String, object: String) -> StorageError {
    .unauthorized(
      bucket: bucket, object: object, serverError: status(403, bucket, object: object, message: message))
  }

  static func badRequest(_ message: String, _ bucket: String, object: String) -> StorageError {
    .unknown(message: message, serverError: status(400, bucket, object: object))
  }

  /// Returns the error for an HTTP status. `message` is the message of the server, if there is one.
  private static func status(
    _ code: Int, _ bucket: String, object: String, message: String? = nil
  ) -> [String: Any] {
    var details: [String: Any] = [
      "ResponseErrorDomain": statusDomain, "ResponseErrorCode": code, "bucket": bucket, "object": object,
      NSUnderlyingErrorKey: NSError(domain: statusDomain, code: code),
    ]
    details["ResponseBody"] = message
    return details
  }

  /// Translates an error of the system.
  static func posix(_ code: Int32, file: String? = nil) -> StorageError {
    var details: [String: Any] = [
      "ResponseErrorDomain": NSPOSIXErrorDomain, "ResponseErrorCode": Int(code),
      NSUnderlyingErrorKey: NSError(domain: NSPOSIXErrorDomain, code: Int(code)),
    ]
    details["DugoutFile"] = file
    return .unknown(
      message: "POSIX errno \(code) (\(SystemFailure.message(for: code)))", serverError: details)
  }

  static func translate(_ error: SystemFailure) -> StorageError { posix(error.code, file: error.path) }

  static func translate(_ error: DocumentStoreError, _ bucket: String, object: String) -> StorageError {
    switch error {
    case .invalidArgument(let message): badRequest(message, bucket, object: object)
    case .notFound: objectNotFound(bucket, object)
    case .alreadyExists(let message), .failedPrecondition(let message), .aborted(let message),
      .feedTruncated(let message), .memoryExceeded(let message):
      .unknown(message: message, serverError: ["bucket": bucket, "object": object])
    case .full(let evidence), .failed(let evidence):
      evidence.code.map { posix($0, file: evidence.file) } ?? unknown(evidence, bucket, object: object)
    case .corrupted: .nonMatchingChecksum
    case .notAStore(let evidence), .unsuitableDirectory(let evidence), .locked(let evidence),
      .newerFormat(let evidence), .outcomeUnknown(let evidence), .closed(let evidence):
      unknown(evidence, bucket, object: object)
    }
  }

  static let closed = StorageError.unknown(
    message: "The app of this bucket was deleted.", serverError: [:])

  static func translate(_ error: BlobSyncError, _ bucket: String, object: String) -> StorageError {
    switch error {
    case .remote(.notFound): objectNotFound(bucket, object)
    case .remote(.unavailable(let message)), .remote(.rejected(let message)):
      .unknown(message: message, serverError: ["bucket": bucket, "object": object])
    case .remote(.unauthenticated(let message)):
      .unauthenticated(serverError: status(401, bucket, object: object, message: message))
    case .remote(.quotaExceeded(let message)):
      .quotaExceeded(bucket: bucket, serverError: status(402, bucket, object: object, message: message))
    case .remote(.unauthorized(let message)): unauthorized(message, bucket, object: object)
    case .remote(.wrongOffset(let offset)):
      .unknown(
        message: "The remote is at \(offset), not at the offset that it reported.",
        serverError: ["bucket": bucket, "object": object])
    case .store(let error): translate(error, bucket, object: object)
    case .cancelled: .cancelled
    // A remote that could not be reached in time is reported as `unknown`. `retryLimitExceeded` is never
    // thrown.
    case .overdue(let last): overdue(last, bucket, object: object)
    case .stopped: closed
    }
  }

  private static func overdue(_ last: BlobSyncError?, _ bucket: String, object: String) -> StorageError {
    let waits = "The change was made locally, and is still pending."
    var message = "The remote has not answered in time. \(waits)"
    switch last {
    case .remote(.unavailable(let reason))?, .remote(.rejected(let reason))?,
      .remote(.unauthenticated(let reason))?, .remote(.unauthorized(let reason))?,
      .remote(.quotaExceeded(let reason))?:
      message += " The last attempt has failed: \(reason)"
    case .remote(.notFound)?, .remote(.wrongOffset)?:
      message += " The remote has lost the upload, which starts over."
    case .store(let error)?:
      return overdue(waits, here: translate(error, bucket, object: object), bucket: bucket, object: object)
    case .overdue?, .cancelled?, .stopped?, nil: break
    }
    return .unknown(message: message, serverError: ["bucket": bucket, "object": object])
  }

  /// Returns the error for an overdue change that was delayed by a local failure and not by the remote.
  private static func overdue(
    _ waits: String, here cause: StorageError, bucket: String, object: String
  ) -> StorageError {
    var details: [String: Any] = ["bucket": bucket, "object": object, NSUnderlyingErrorKey: cause as NSError]
    if case .unknown(_, let evidence) = cause { details.merge(evidence) { _, new in new } }
    return .unknown(
      message: "\(waits) The cause is local, not at the remote: \(cause.localizedDescription)",
      serverError: details)
  }

  private static func unknown(
    _ evidence: StorageEvidence, _ bucket: String, object: String
  ) -> StorageError {
    var details: [String: Any] = ["bucket": bucket, "object": object]
    details["DugoutFile"] = evidence.file
    details["DugoutSystemCode"] = evidence.code.map { Int($0) }
    details["DugoutHolder"] = evidence.holder.map { Int($0) }
    return .unknown(message: evidence.message, serverError: details)
  }
}
