// Errors of a remote.

/// The reason why a remote refused a request or could not be reached.
public struct RemoteError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The status codes of gRPC.
  public enum Code: Int, Sendable, CaseIterable {
    /// The codes with their gRPC numbers.
    case cancelled = 1, unknown, invalidArgument, deadlineExceeded, notFound, alreadyExists, permissionDenied,
      resourceExhausted, failedPrecondition, aborted, outOfRange, unimplemented, `internal`, unavailable,
      dataLoss, unauthenticated
  }

  /// The status code.
  public var code: Code
  /// A description for people.
  public var message: String

  /// Creates an error.
  public init(_ code: Code, _ message: String = "") {
    self.code = code
    self.message = message
  }

  /// The error for an answer that never arrived. If a commit fails with it, the outcome is unknown and a
  /// retry could apply the writes twice.
  public static let unanswered = RemoteError(.deadlineExceeded, "The remote has not answered.")

  /// The error for a write that was sent before, when the authority no longer knows whether it has applied
  /// the write. The client has reverted the write. If the documents do not have it, it has to be made again.
  public static let outcomeUnknown = RemoteError(
    .failedPrecondition,
    "The outcome of this write is unknown: it was sent before, and the database no longer knows whether it was "
      + "applied. Read the documents, and make the write again if it is missing.")

  public var description: String { message.isEmpty ? "\(code)" : "\(code): \(message)" }
}

extension RemoteError.Code {
  /// Whether a repeated request would fail with the same code.
  package var isPermanent: Bool {
    switch self {
    case .cancelled, .unknown, .deadlineExceeded, .resourceExhausted, .internal, .unavailable,
      .unauthenticated:
      false
    case .invalidArgument, .notFound, .alreadyExists, .permissionDenied, .failedPrecondition, .aborted,
      .outOfRange, .unimplemented, .dataLoss:
      true
    }
  }

  /// Whether a write that failed with this error would fail again. An aborted write collided with another
  /// write and can be sent again.
  package var isPermanentForWrites: Bool { isPermanent && self != .aborted }

  /// Whether a transaction should be tried again, because a new read may give other results.
  package var isRetryableTransaction: Bool {
    !isPermanent || self == .aborted || self == .alreadyExists || self == .failedPrecondition
  }
}
