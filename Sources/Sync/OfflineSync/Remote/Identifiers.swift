// The identifiers that a client and a remote exchange.

/// Identifies a query that a client watches. Even numbers are queries of users, odd numbers are the
/// engine's own.
public struct TargetID: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The number itself.
  public let value: Int32

  /// Creates a target id.
  public init(_ value: Int32) { self.value = value }

  public static func < (left: Self, right: Self) -> Bool { left.value < right.value }

  public var description: String { "\(value)" }
}

/// Identifies a batch in a client's queue. Ids ascend. A copy of the client continues from the id at
/// which it was copied, and a client that lost commits in a power failure reuses ids: see `RunID`.
public struct BatchID: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The number itself.
  public let value: Int64

  /// Creates a batch id.
  public init(_ value: Int64) { self.value = value }

  public static func < (left: Self, right: Self) -> Bool { left.value < right.value }

  public var description: String { "\(value)" }
}

/// A random number that identifies one open of a client's store. Within a run no batch id is used twice,
/// even if the store was copied or lost commits.
public struct RunID: Hashable, Sendable, CustomStringConvertible {
  /// The number itself.
  public let value: UInt64

  /// Creates a run id.
  public init(_ value: UInt64) { self.value = value }

  public var description: String { String(value, radix: 36) }
}

/// Identifies a batch globally, so that a remote recognizes a batch that it has already accepted.
public struct WriteID: Hashable, Sendable {
  /// The queue's name: one user on one client.
  public let queue: String
  /// The run that created the batch; a later run may send it.
  public let run: RunID
  /// The batch's id in its queue.
  public let batch: BatchID

  /// Creates the id of a batch from its queue, run and number.
  public init(queue: String, run: RunID, batch: BatchID) {
    self.queue = queue
    self.run = run
    self.batch = batch
  }
}
