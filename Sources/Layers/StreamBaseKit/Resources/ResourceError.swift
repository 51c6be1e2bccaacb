// What can be wrong with a resource before anything is written.

import Foundation

/// The domain of errors of this module. What the database says keeps its own.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let StreamBaseErrorDomain = "StreamBaseKit"

/// Codes in that domain.
public enum StreamBaseErrorCode: Int, Sendable {
  /// No path is registered for the class.
  case unregistered = 1
  /// The path names an object that the context has not, or that has no key.
  case missingName = 2
  /// The record has no key, and needs one.
  case missingKey = 3
  /// No record can have this key.
  case invalidKey = 4
  /// The path says in which collection a record is only once its key is known.
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
