// Bytes that a server of WebChannel does not send.

internal import OfflineSync

/// The reason why bytes from the server are refused.
enum ChannelFault: Error, Equatable {
  /// The bytes have another form, as those of a page that a proxy has put in the place of the answer.
  case malformed
  /// A piece would take too much memory.
  case tooLong
  /// An array does not have the number after the one before.
  case gap(after: UInt64, UInt64)

  /// The error with which a call ends because of this.
  var error: RemoteError {
    switch self {
    case .malformed: RemoteError(.unavailable, "The server's answer is not one of WebChannel.")
    case .tooLong: RemoteError(.resourceExhausted, "A message of the server is too long.")
    case .gap(let last, let next):
      RemoteError(.internal, "Messages of the server are missing: \(next) follows \(last).")
    }
  }
}
