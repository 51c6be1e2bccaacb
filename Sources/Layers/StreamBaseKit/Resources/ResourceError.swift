// Errors of resources that are found before anything is written.

import Foundation

/// The domain of this module's errors. Errors of the database keep their own domain.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let StreamBaseErrorDomain = "StreamBaseKit"

/// The codes of this module's errors.
public enum StreamBaseErrorCode: Int, Sendable {
  /// No path is registered for the class.
  case unregistered = 1
  /// The path names an object that is not in the context or has no key.
  case missingName = 2
  /// The record has no key but needs one.
  case missingKey = 3
  /// No record can have this key.
  case invalidKey = 4
  /// The class has no single collection, because the collection depends on the record's key.
  case noCollection = 5
}

struct ResourceError: Error {
  let code: StreamBaseErrorCode
  let message: String

  init(_ code: StreamBaseErrorCode, _ message: String) {
    self.code = code
    self.message = message
  }

  var nsError: NSError {
    NSError(
      domain: StreamBaseErrorDomain, code: code.rawValue, userInfo: [NSLocalizedDescriptionKey: message])
  }
}
