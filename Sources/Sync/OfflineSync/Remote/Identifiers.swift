// Numbers by which a client and a remote know what they speak of.

/// A query that a client follows. Even ones are those of users, odd ones the engine's own.
public struct TargetID: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The number itself.
  public let value: Int32

  /// A target with this number.
  public init(_ value: Int32) { self.value = value }

  public static func < (left: Self, right: Self) -> Bool { left.value < right.value }

  public var description: String { "\(value)" }
}

/// A batch of writes in a client's queue. Later ones have greater numbers. A copy of the client counts on from where it
/// was made, and so does one that a power loss has set back: see `RunID`.
public struct BatchID: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The number itself.
  public let value: Int64

  /// A batch with this number.
  public init(_ value: Int64) { self.value = value }

  public static func < (left: Self, right: Self) -> Bool { left.value < right.value }

  public var description: String { "\(value)" }
}

/// One opening of a client, at random: within it no number of a batch is used twice, whatever copies of the client there
/// are and whatever its store has forgotten.
public struct RunID: Hashable, Sendable, CustomStringConvertible {
  /// The number itself.
  public let value: UInt64

  /// A run with this number.
  public init(_ value: UInt64) { self.value = value }

  public var description: String { String(value, radix: 36) }
}

/// A batch of writes wherever it goes: a remote that sees it again has it already.
public struct WriteID: Hashable, Sendable {
  /// The queue: one user's on one client.
  public let queue: String
  /// In which the batch was made; it may be sent in a later one.
  public let run: RunID
  /// The batch's number in its queue.
  public let batch: BatchID

  /// Names one batch of one opening of one queue.
  public init(queue: String, run: RunID, batch: BatchID) {
    self.queue = queue
    self.run = run
    self.batch = batch
  }
}
