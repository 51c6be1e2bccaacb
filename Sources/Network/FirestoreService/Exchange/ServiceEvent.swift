// The events that a call delivers to its caller.

public import OfflineSync

/// A part of the answer of a call. Messages come first, in order, and `ended` comes once, after them.
public enum ServiceEvent: Sendable, Equatable {
  /// An encoded message.
  case message([UInt8])
  /// The call has ended, with an error unless it succeeded.
  case ended(RemoteError?)
}
