// What may go wrong between a client and its loopback authority.

/// What goes wrong on the way to a loopback remote.
public struct LoopbackFaults: Sendable {
  /// Of each message, in microseconds.
  public var latency: ClosedRange<Int64> = 0...0
  /// One message in so many is lost, and its connection with it. Each question outside the streams has a connection of
  /// its own: if it or its answer is lost, that is `unavailable`, and for the answer of a commit
  /// `RemoteError.unanswered`.
  public var lossOneIn: Int?
  /// One message of a stream in so many comes twice, where that makes no difference to a correct receiver.
  public var duplicationOneIn: Int?
  /// Documents of one moment come in any order.
  public var reorders = false
  /// One batch in so many is refused for now, with a code that says so.
  public var transientRejectionOneIn: Int?

  /// Nothing goes wrong.
  public init() {}
}
