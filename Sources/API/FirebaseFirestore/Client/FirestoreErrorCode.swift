// The errors of this module by name, for code that catches them.

public import Foundation

/// The domain of every error of this module.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let FirestoreErrorDomain = "FIRFirestoreErrorDomain"

/// An error of this module, seen as its code. What is thrown is an `NSError`; this is how to look at it:
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
  /// What went wrong, as Firestore counts it.
  public enum Code: Int, Sendable, Hashable {
    // swift-format-ignore: AlwaysUseLowerCamelCase
    /// Nothing went wrong.
    case OK = 0
    /// The caller gave it up.
    case cancelled = 1
    /// Nobody knows.
    case unknown = 2
    /// The caller asked for what cannot be.
    case invalidArgument = 3
    /// It took too long.
    case deadlineExceeded = 4
    /// The document is not there.
    case notFound = 5
    /// The document is there already.
    case alreadyExists = 6
    /// The remote refused it.
    case permissionDenied = 7
    /// The disk is full, or a limit is reached.
    case resourceExhausted = 8
    /// Something that has to hold does not.
    case failedPrecondition = 9
    /// Others were faster; it may be tried again.
    case aborted = 10
    /// Beyond what there is.
    case outOfRange = 11
    /// Not part of this.
    case unimplemented = 12
    /// A fault of the library.
    case `internal` = 13
    /// The remote cannot be reached, or the store is in use.
    case unavailable = 14
    /// Acknowledged data is damaged.
    case dataLoss = 15
    /// The remote does not know the user.
    case unauthenticated = 16
  }

  private let error: NSError

  /// Nil unless it is an error of this module.
  private init?(_ error: NSError) {
    guard error.domain == FirestoreErrorDomain, Code(rawValue: error.code) != nil else { return nil }
    self.error = error
  }

  /// An error with a code, and what else is known about it.
  public init(_ code: Code, userInfo: [String: Any] = [:]) {
    error = NSError(domain: FirestoreErrorDomain, code: code.rawValue, userInfo: userInfo)
  }

  /// What went wrong.
  public var code: Code { Code(rawValue: error.code) ?? .unknown }

  /// What else is known about it.
  public var userInfo: [String: Any] { error.userInfo }

  public var localizedDescription: String { error.localizedDescription }

  // swift-format-ignore: AlwaysUseLowerCamelCase
  /// The code of this name.
  public static var OK: Code { .OK }
  /// The code of this name.
  public static var cancelled: Code { .cancelled }
  /// The code of this name.
  public static var unknown: Code { .unknown }
  /// The code of this name.
  public static var invalidArgument: Code { .invalidArgument }
  /// The code of this name.
  public static var deadlineExceeded: Code { .deadlineExceeded }
  /// The code of this name.
  public static var notFound: Code { .notFound }
  /// The code of this name.
  public static var alreadyExists: Code { .alreadyExists }
  /// The code of this name.
  public static var permissionDenied: Code { .permissionDenied }
  /// The code of this name.
  public static var resourceExhausted: Code { .resourceExhausted }
  /// The code of this name.
  public static var failedPrecondition: Code { .failedPrecondition }
  /// The code of this name.
  public static var aborted: Code { .aborted }
  /// The code of this name.
  public static var outOfRange: Code { .outOfRange }
  /// The code of this name.
  public static var unimplemented: Code { .unimplemented }
  /// The code of this name.
  public static var `internal`: Code { .internal }
  /// The code of this name.
  public static var unavailable: Code { .unavailable }
  /// The code of this name.
  public static var dataLoss: Code { .dataLoss }
  /// The code of this name.
  public static var unauthenticated: Code { .unauthenticated }
}

extension FirestoreErrorCode.Code {
  /// `catch FirestoreErrorCode.unavailable` and the like.
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
// What the runtime asks on systems without Objective-C when an object is cast to a struct.
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
