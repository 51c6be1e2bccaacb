// What goes wrong, as existing code knows it: one enum that bridges to NSError with the original's domain and codes.

public import Foundation

// swift-format-ignore: AlwaysUseLowerCamelCase
/// The domain of these errors.
public let StorageErrorDomain = "FIRStorageErrorDomain"

/// The codes of storage errors as `NSError`s.
public enum StorageErrorCode: Int, Error, Sendable {
  /// Nobody knows what happened.
  case unknown = -13000
  /// There is no object under the name.
  case objectNotFound = -13010
  /// There is no such bucket.
  case bucketNotFound = -13011
  /// There is no such project.
  case projectNotFound = -13012
  /// The remote has no room for it. A full disk of this machine is `unknown`, with errno 28.
  case quotaExceeded = -13013
  /// The remote does not know the user.
  case unauthenticated = -13020
  /// The remote refused it.
  case unauthorized = -13021
  /// The remote has not answered in time. The change that it was asked for waits.
  case retryLimitExceeded = -13030
  /// The bytes are not those that were stored.
  case nonMatchingChecksum = -13031
  /// There are more bytes than were asked for.
  case downloadSizeExceeded = -13032
  /// It was given up.
  case cancelled = -13040
  /// The caller asked for what cannot be.
  case invalidArgument = -13050
  /// Two references are of different buckets.
  case bucketMismatch = -13051
  /// A fault of the library or of the system.
  case internalError = -13052
  /// What should be a path is none.
  case pathError = -13053
}

/// Why an operation failed. Match its cases, or bridge it and look at the code:
///
/// ```swift
/// do {
///   _ = try await reference.data(maxSize: 1 << 20)
/// } catch StorageError.objectNotFound(let object, _) {
///   print("There is no \(object).")
/// }
/// ```
public enum StorageError: Error, CustomNSError, @unchecked Sendable {
  // Unchecked, because a payload has values of any type; they are texts, numbers and errors, and never change.

  /// Nobody knows what happened.
  case unknown(message: String, serverError: [String: Any])
  /// There is no object under the name.
  case objectNotFound(object: String, serverError: [String: Any])
  /// There is no such bucket.
  case bucketNotFound(bucket: String)
  /// There is no such project.
  case projectNotFound(project: String)
  /// The remote has no room for it. A full disk of this machine is `unknown`, with errno 28.
  case quotaExceeded(bucket: String, serverError: [String: Any])
  /// The remote does not know the user.
  case unauthenticated(serverError: [String: Any])
  /// The remote refused it.
  case unauthorized(bucket: String, object: String, serverError: [String: Any])
  /// The remote has not answered in time. The change that it was asked for waits, and is among `pendingChanges()`.
  case retryLimitExceeded
  /// A content is not what was stored.
  case nonMatchingChecksum
  /// There are more bytes than were asked for.
  case downloadSizeExceeded(total: Int64, maxSize: Int64)
  /// It was given up.
  case cancelled
  /// The caller asked for what cannot be.
  case invalidArgument(message: String)
  /// Two references are of different buckets.
  case bucketMismatch(message: String)
  /// A fault of the library or of the system.
  case internalError(message: String)
  /// What should be a path is none.
  case pathError(message: String)

  public static var errorDomain: String { StorageErrorDomain }

  public var errorCode: Int { code.rawValue }

  /// The case without what comes with it.
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
    case .quotaExceeded(let bucket, _): "The bucket \(bucket) may not grow further."
    case .unauthenticated: "Nobody is signed in who may do this."
    case .unauthorized(let bucket, let object, _): "gs://\(bucket)/\(object) may not be accessed."
    case .retryLimitExceeded: "It was tried for as long as was allowed."
    case .nonMatchingChecksum: "The stored bytes are damaged: they are not those that their checksum is of."
    case .downloadSizeExceeded(let total, let maxSize):
      "The object has \(total) bytes, and at most \(maxSize) were to be downloaded."
    case .cancelled: "The transfer was cancelled."
    }
  }
}

extension StorageError: LocalizedError {
  public var errorDescription: String? { text }
}
