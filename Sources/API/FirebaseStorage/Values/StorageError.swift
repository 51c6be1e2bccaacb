// The errors of Storage, as an enum that bridges to `NSError`. The domain and the codes are those of
// Firebase's SDK.

public import Foundation

// swift-format-ignore: AlwaysUseLowerCamelCase
/// The domain of storage errors.
public let StorageErrorDomain = "FIRStorageErrorDomain"

/// The codes of storage errors when they are bridged to `NSError`.
public enum StorageErrorCode: Int, Error, Sendable {
  /// The cause is unknown.
  case unknown = -13000
  /// The object does not exist.
  case objectNotFound = -13010
  /// The bucket does not exist.
  case bucketNotFound = -13011
  /// The project does not exist.
  case projectNotFound = -13012
  /// The remote's quota is exhausted. A full local disk is reported as `unknown`, with errno 28.
  case quotaExceeded = -13013
  /// The remote does not recognize the user.
  case unauthenticated = -13020
  /// The remote denied permission.
  case unauthorized = -13021
  /// Never used. A remote that does not respond in time is reported as `unknown`.
  case retryLimitExceeded = -13030
  /// The bytes do not match their checksum.
  case nonMatchingChecksum = -13031
  /// The object is larger than the permitted maximum.
  case downloadSizeExceeded = -13032
  /// The operation was cancelled.
  case cancelled = -13040
  /// An argument is invalid.
  case invalidArgument = -13050
  /// The URL names a bucket other than that of the `Storage` instance.
  case bucketMismatch = -13051
  /// A fault of the library or of the system.
  case internalError = -13052
  /// A path is invalid.
  case pathError = -13053
}

/// The reason why an operation failed. Match its cases, or bridge it to `NSError` and check the code:
///
/// ```swift
/// do {
///   _ = try await reference.data(maxSize: 1 << 20)
/// } catch StorageError.objectNotFound(let object, _) {
///   print("There is no \(object).")
/// }
/// ```
public enum StorageError: Error, CustomNSError, @unchecked Sendable {
  // The conformance is unchecked, because payloads contain values of type `Any`. These values are strings,
  // numbers and errors, and never change.

  /// The cause is unknown.
  case unknown(message: String, serverError: [String: Any])
  /// The object does not exist.
  case objectNotFound(object: String, serverError: [String: Any])
  /// The bucket does not exist.
  case bucketNotFound(bucket: String)
  /// The project does not exist.
  case projectNotFound(project: String)
  /// The remote's quota is exhausted. A full local disk is reported as `unknown`, with errno 28.
  case quotaExceeded(bucket: String, serverError: [String: Any])
  /// The remote does not recognize the user.
  case unauthenticated(serverError: [String: Any])
  /// The remote denied permission.
  case unauthorized(bucket: String, object: String, serverError: [String: Any])
  /// Never thrown. A remote that does not respond in time is reported as `unknown`, and the requested change
  /// stays in `pendingChanges()`.
  case retryLimitExceeded
  /// The stored bytes do not match their checksum.
  case nonMatchingChecksum
  /// The object is larger than the permitted maximum.
  case downloadSizeExceeded(total: Int64, maxSize: Int64)
  /// The operation was cancelled.
  case cancelled
  /// An argument is invalid.
  case invalidArgument(message: String)
  /// The URL names a bucket other than that of the `Storage` instance.
  case bucketMismatch(message: String)
  /// A fault of the library or of the system.
  case internalError(message: String)
  /// A path is invalid.
  case pathError(message: String)

  public static var errorDomain: String { StorageErrorDomain }

  public var errorCode: Int { code.rawValue }

  /// The code of the case, without its payload.
  public var code: StorageErrorCode {
    switch self {
    case .unknown: .unknown
    case .objectNotFound: .objectNotFound
    case .bucketNotFound: .bucketNotFound
    case .projectNotFound: .projectNotFound
    case .quotaExceeded: .quotaExceeded
    case .unauthenticated: .unauthenticated
    case .unauthorized: .unauthorized
    case .retryLimitExceeded: .retryLimitExceeded
    case .nonMatchingChecksum: .nonMatchingChecksum
    case .downloadSizeExceeded: .downloadSizeExceeded
    case .cancelled: .cancelled
    case .invalidArgument: .invalidArgument
    case .bucketMismatch: .bucketMismatch
    case .internalError: .internalError
    case .pathError: .pathError
    }
  }

  public var errorUserInfo: [String: Any] {
    var information = details
    information[NSLocalizedDescriptionKey] = text
    return information
  }

  private var details: [String: Any] {
    switch self {
    case .unknown(_, let serverError), .objectNotFound(_, let serverError),
      .quotaExceeded(_, let serverError),
      .unauthenticated(let serverError), .unauthorized(_, _, let serverError):
      return serverError
    case .downloadSizeExceeded(let total, let maxSize):
      return ["totalSize": total, "maxAllowedSize": maxSize]
    case .bucketNotFound(let bucket): return ["bucket": bucket]
    case .projectNotFound, .retryLimitExceeded, .nonMatchingChecksum, .cancelled, .invalidArgument,
      .bucketMismatch, .internalError, .pathError:
      return [:]
    }
  }

  private var text: String {
    switch self {
    case .unknown(let message, _), .invalidArgument(let message), .bucketMismatch(let message),
      .internalError(let message), .pathError(let message):
      message
    case .objectNotFound(let object, _): "There is no object \(object)."
    case .bucketNotFound(let bucket): "There is no bucket \(bucket)."
    case .projectNotFound(let project): "There is no project \(project)."
    case .quotaExceeded(let bucket, _): "The bucket \(bucket) has reached its quota."
    case .unauthenticated: "No signed-in user may do this."
    case .unauthorized(let bucket, let object, _): "gs://\(bucket)/\(object) may not be accessed."
    case .retryLimitExceeded: "The time limit for retries was exceeded."
    case .nonMatchingChecksum: "The stored bytes are damaged: they do not match their checksum."
    case .downloadSizeExceeded(let total, let maxSize):
      "The object has \(total) bytes, and at most \(maxSize) were to be downloaded."
    case .cancelled: "The transfer was cancelled."
    }
  }
}

extension StorageError: LocalizedError {
  public var errorDescription: String? { text }
}
