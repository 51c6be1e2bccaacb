// Errors of messages that cannot be decoded or encoded.

package import OfflineSync

/// The reason why bytes are not a message, or why a message cannot be written.
package struct WireError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The status for the other end: INVALID_ARGUMENT in most cases.
  package var code: RemoteError.Code
  /// A sentence for people.
  package var message: String

  package init(_ code: RemoteError.Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// An error with the status INVALID_ARGUMENT.
  package init(_ message: String) { self.init(.invalidArgument, message) }

  package var description: String { "\(code): \(message)" }
}

extension RemoteError {
  /// Creates the error that answers a request with undecodable bytes.
  package init(_ error: WireError) { self.init(error.code, error.message) }
}
