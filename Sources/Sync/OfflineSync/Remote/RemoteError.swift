// How a remote says no.

/// Why a remote refused, or could not be reached.
public struct RemoteError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The numbers of gRPC.
  public enum Code: Int, Sendable, CaseIterable {
    /// Those of gRPC, and with their numbers.
    case cancelled = 1, unknown, invalidArgument, deadlineExceeded, notFound, alreadyExists, permissionDenied,
      resourceExhausted, failedPrecondition, aborted, outOfRange, unimplemented, `internal`, unavailable,
      dataLoss, unauthenticated
  }

  /// What went wrong.
  public var code: Code
  /// Why, for people.
  public var message: String

  /// An error of the remote.
  public init(_ code: Code, _ message: String = "") {
    self.code = code
    self.message = message
  }

  /// What takes the place of an answer that does not come. A commit with this answer may have happened, and another
  /// attempt could do it twice.
  public static let unanswered = RemoteError(.deadlineExceeded, "The remote has not answered.")

  public var description: String { message.isEmpty ? "\(code)" : "\(code): \(message)" }
}

extension RemoteError.Code {
  /// The same question will have the same answer.
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

  /// A write that was only in the way of another one can be sent again.
  package var isPermanentForWrites: Bool { isPermanent && self != .aborted }

  /// What was read may be different the next time.
  package var isWorthAnotherTransaction: Bool {
    !isPermanent || self == .aborted || self == .alreadyExists || self == .failedPrecondition
  }
}
