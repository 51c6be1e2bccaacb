// The error codes of this module, for code that catches errors.

public import Foundation

/// The domain of every error of this module.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let FirestoreErrorDomain = "FIRFirestoreErrorDomain"

/// An error of this module, for matching by code. The library throws `NSError`, which is matched like this:
///
/// ```swift
/// do {
///   try await Firestore.firestore().document("cities/tokyo").updateData(["mayor": "Koike"])
/// } catch FirestoreErrorCode.notFound {
///   print("no such city")
/// } catch let error as FirestoreErrorCode where error.code == .resourceExhausted {
///   print("the disk is full")
/// }
/// ```
public struct FirestoreErrorCode: Error, Hashable, Sendable {
  /// The kinds of errors, with Firestore's numbers.
  public enum Code: Int, Sendable, Hashable {
    // swift-format-ignore: AlwaysUseLowerCamelCase
    /// Success; no error has this code.
    case OK = 0
    /// The caller cancelled the operation.
    case cancelled = 1
    /// The cause is unknown.
    case unknown = 2
    /// An argument is invalid.
    case invalidArgument = 3
    /// The operation did not complete in time.
    case deadlineExceeded = 4
    /// The document does not exist.
    case notFound = 5
    /// The document already exists.
    case alreadyExists = 6
    /// The remote denied permission.
    case permissionDenied = 7
    /// The disk is full, or a limit is reached.
    case resourceExhausted = 8
    /// The operation is not allowed in the current state.
    case failedPrecondition = 9
    /// A conflict with another write ended the operation; a retry may succeed.
    case aborted = 10
    /// A value or a position is outside the valid range.
    case outOfRange = 11
    /// The operation is not implemented.
    case unimplemented = 12
    /// A fault of the library.
    case `internal` = 13
    /// The remote cannot be reached, or another process uses the store.
    case unavailable = 14
    /// Acknowledged data is damaged.
    case dataLoss = 15
    /// The remote does not recognize the user.
    case unauthenticated = 16
  }

  private let error: NSError

  /// Returns nil unless the error belongs to this module.
  private init?(_ error: NSError) {
    guard error.domain == FirestoreErrorDomain, Code(rawValue: error.code) != nil else { return nil }
    self.error = error
  }

  /// Creates an error with a code and additional information.
  public init(_ code: Code, userInfo: [String: Any] = [:]) {
    error = NSError(domain: FirestoreErrorDomain, code: code.rawValue, userInfo: userInfo)
  }

  /// The code of the error.
  public var code: Code { Code(rawValue: error.code) ?? .unknown }

  /// Additional information about the error.
  public var userInfo: [String: Any] { error.userInfo }

  public var localizedDescription: String { error.localizedDescription }

  // swift-format-ignore: AlwaysUseLowerCamelCase
  /// Success.
  public static var OK: Code { .OK }
  /// The code for an operation that the caller cancelled.
  public static var cancelled: Code { .cancelled }
  /// The code for an unknown cause.
  public static var unknown: Code { .unknown }
  /// The code for an invalid argument.
  public static var invalidArgument: Code { .invalidArgument }
  /// The code for an operation that did not complete in time.
  public static var deadlineExceeded: Code { .deadlineExceeded }
  /// The code for a document that does not exist.
  public static var notFound: Code { .notFound }
  /// The code for a document that already exists.
  public static var alreadyExists: Code { .alreadyExists }
  /// The code for a permission that the remote denied.
  public static var permissionDenied: Code { .permissionDenied }
  /// The code for a full disk or a reached limit.
  public static var resourceExhausted: Code { .resourceExhausted }
  /// The code for an operation that is not allowed in the current state.
  public static var failedPrecondition: Code { .failedPrecondition }
  /// The code for a conflict with another write.
  public static var aborted: Code { .aborted }
  /// The code for a value or position outside the valid range.
  public static var outOfRange: Code { .outOfRange }
  /// The code for an operation that is not implemented.
  public static var unimplemented: Code { .unimplemented }
  /// The code for a fault of the library.
  public static var `internal`: Code { .internal }
  /// The code for a remote that cannot be reached, or a store in use.
  public static var unavailable: Code { .unavailable }
  /// The code for damaged data that had been acknowledged.
  public static var dataLoss: Code { .dataLoss }
  /// The code for a user that the remote does not recognize.
  public static var unauthenticated: Code { .unauthenticated }
}

extension FirestoreErrorCode.Code {
  /// Matches errors by code, as in `catch FirestoreErrorCode.unavailable`.
  public static func ~= (code: FirestoreErrorCode.Code, error: any Error) -> Bool {
    let error = error as NSError
    return error.domain == FirestoreErrorDomain && error.code == code.rawValue
  }
}

extension FirestoreErrorCode: CustomNSError {
  public static var errorDomain: String { FirestoreErrorDomain }
  public var errorCode: Int { error.code }
  public var errorUserInfo: [String: Any] { error.userInfo }
}

// MARK: `error as? FirestoreErrorCode`

#if canImport(ObjectiveC)
extension FirestoreErrorCode: _ObjectiveCBridgeableError {
  public init?(_bridgedNSError error: NSError) { self.init(error) }
}
#else
// The bridging that the runtime uses to cast an object to a struct on systems without Objective-C.
extension FirestoreErrorCode: _ObjectiveCBridgeable {
  public func _bridgeToObjectiveC() -> NSError { error }

  public static func _forceBridgeFromObjectiveC(
    _ source: NSError, result: inout FirestoreErrorCode?
  ) {
    result = FirestoreErrorCode(source)
  }

  public static func _conditionallyBridgeFromObjectiveC(
    _ source: NSError, result: inout FirestoreErrorCode?
  ) -> Bool {
    result = FirestoreErrorCode(source)
    return result != nil
  }

  public static func _unconditionallyBridgeFromObjectiveC(_ source: NSError?) -> FirestoreErrorCode {
    source.flatMap { FirestoreErrorCode($0) } ?? FirestoreErrorCode(.unknown)
  }
}
#endif
