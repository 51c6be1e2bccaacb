// The faults between a client and its loopback authority.

/// The faults that a loopback remote injects.
public struct LoopbackFaults: Sendable {
  /// The latency of each message, in microseconds.
  public var latency: ClosedRange<Int64> = 0...0
  /// One in this many messages is lost, and the connection breaks. Each call outside the streams has its own
  /// connection. If such a call or its answer is lost, the error is `unavailable`. If the answer to a commit
  /// is lost, the error is `RemoteError.unanswered` instead.
  public var lossOneIn: Int?
  /// One in this many stream messages is duplicated, if it is a message whose duplicates a correct receiver
  /// must tolerate.
  public var duplicationOneIn: Int?
  /// Whether document changes of one snapshot are reordered.
  public var reorders = false
  /// One in this many batches is refused with a transient error.
  public var transientRejectionOneIn: Int?

  /// Creates a configuration without faults.
  public init() {}
}
