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
  public enum Code: Int, Sendable, Hashable {
    // swift-format-ignore: AlwaysUseLowerCamelCase
    case OK = 0
    case cancelled = 1
    case unknown = 2
    case invalidArgument = 3
    case deadlineExceeded = 4
    case notFound = 5
    case alreadyExists = 6
    case permissionDenied = 7
    case resourceExhausted = 8
    case failedPrecondition = 9
    case aborted = 10
    case outOfRange = 11
    case unimplemented = 12
    case `internal` = 13
    case unavailable = 14
    case dataLoss = 15
    case unauthenticated = 16
  }

  private let error: NSError

  /// Nil unless it is an error of this module.
  private init?(_ error: NSError) {
    guard error.domain == FirestoreErrorDomain, Code(rawValue: error.code) != nil else { return nil }
    self.error = error
  }

  public init(_ code: Code, userInfo: [String: Any] = [:]) {
    error = NSError(domain: FirestoreErrorDomain, code: code.rawValue, userInfo: userInfo)
  }

  public var code: Code { Code(rawValue: error.code) ?? .unknown }

  public var userInfo: [String: Any] { error.userInfo }

  public var localizedDescription: String { error.localizedDescription }

  // swift-format-ignore: AlwaysUseLowerCamelCase
  public static var OK: Code { .OK }
  public static var cancelled: Code { .cancelled }
  public static var unknown: Code { .unknown }
  public static var invalidArgument: Code { .invalidArgument }
  public static var deadlineExceeded: Code { .deadlineExceeded }
  public static var notFound: Code { .notFound }
  public static var alreadyExists: Code { .alreadyExists }
  public static var permissionDenied: Code { .permissionDenied }
  public static var resourceExhausted: Code { .resourceExhausted }
  public static var failedPrecondition: Code { .failedPrecondition }
  public static var aborted: Code { .aborted }
  public static var outOfRange: Code { .outOfRange }
  public static var unimplemented: Code { .unimplemented }
  public static var `internal`: Code { .internal }
  public static var unavailable: Code { .unavailable }
  public static var dataLoss: Code { .dataLoss }
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
