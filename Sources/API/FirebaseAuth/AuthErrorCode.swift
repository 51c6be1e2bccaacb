// The error codes of this module, for code that catches errors.

public import Foundation

/// The domain of every error of this module.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let AuthErrorDomain = "FIRAuthErrorDomain"

/// The names in the errors of this module.
public enum AuthErrors {
  /// The domain of every error of this module.
  public static let domain = AuthErrorDomain
}

/// A code of an error of this module, with Firebase's number. The library throws `NSError`, which is matched
/// like this:
///
/// ```swift
/// do {
///   try await Auth.auth().signInAnonymously()
/// } catch AuthErrorCode.keychainError {
///   print("the file with the user cannot be read or written")
/// } catch let code as AuthErrorCode {
///   print("code \(code.rawValue)")
/// }
/// ```
///
/// The list has only codes that this module reports, and those that a provider is likely to need.
public enum AuthErrorCode: Int, Error, Hashable, Sendable {
  /// The identity is invalid: its ID is empty or too long.
  case invalidCredential = 17004
  /// The account of the user is disabled. Only a provider reports this.
  case userDisabled = 17005
  /// The app was deleted, or is the app of a database that was opened by its location.
  case operationNotAllowed = 17006
  /// There were too many requests. Only a provider reports this.
  case tooManyRequests = 17010
  /// The network failed. Only a provider reports this.
  case networkError = 17020
  /// The file that keeps the user cannot be read or written.
  case keychainError = 17995
  /// A fault of the library or the provider.
  case internalError = 17999

  /// The type under the name that earlier releases of Firebase gave it.
  public typealias Code = AuthErrorCode

  /// Matches errors by code, as in `catch AuthErrorCode.keychainError`.
  public static func ~= (code: AuthErrorCode, error: any Error) -> Bool {
    AuthErrorCode(error as NSError) == code
  }

  /// Returns nil unless the error belongs to this module.
  private init?(_ error: NSError) {
    guard error.domain == AuthErrorDomain else { return nil }
    self.init(rawValue: error.code)
  }
}

extension AuthErrorCode: CustomNSError {
  public static var errorDomain: String { AuthErrorDomain }
  public var errorCode: Int { rawValue }
}

// MARK: `error as? AuthErrorCode`

#if canImport(ObjectiveC)
extension AuthErrorCode: _ObjectiveCBridgeableError {
  public init?(_bridgedNSError error: NSError) { self.init(error) }
}
#else
// The bridging that the runtime uses to cast an object to a value on systems without Objective-C.
extension AuthErrorCode: _ObjectiveCBridgeable {
  public func _bridgeToObjectiveC() -> NSError { NSError(domain: AuthErrorDomain, code: rawValue) }

  public static func _forceBridgeFromObjectiveC(_ source: NSError, result: inout AuthErrorCode?) {
    result = AuthErrorCode(source)
  }

  public static func _conditionallyBridgeFromObjectiveC(
    _ source: NSError, result: inout AuthErrorCode?
  ) -> Bool {
    result = AuthErrorCode(source)
    return result != nil
  }

  public static func _unconditionallyBridgeFromObjectiveC(_ source: NSError?) -> AuthErrorCode {
    source.flatMap { AuthErrorCode($0) } ?? .internalError
  }
}
#endif
