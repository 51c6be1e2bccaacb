// Errors of resources that are found before the write starts.

import Foundation

/// The domain of this module's errors. Errors of the database keep their own domain.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let StreamBaseErrorDomain = "StreamBaseKit"

/// The codes of this module's errors.
public enum StreamBaseErrorCode: Int, Sendable {
  /// No path is registered for the class.
  case unregistered = 1
  /// The path uses the name of an object that is not in the context or has no key.
  case missingName = 2
  /// The record needs a key but has none.
  case missingKey = 3
  /// The key is not valid for a record.
  case invalidKey = 4
  /// The class has more than one collection, because the path of the collection contains the record's key.
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
