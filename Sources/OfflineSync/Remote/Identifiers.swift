// Numbers by which a client and a remote know what they speak of.

/// A query that a client follows. Even ones are those of users, odd ones the engine's own.
public struct TargetID: Hashable, Comparable, Sendable, CustomStringConvertible {
  public let value: Int32

  public init(_ value: Int32) { self.value = value }

  public static func < (left: Self, right: Self) -> Bool { left.value < right.value }

  public var description: String { "\(value)" }
}

/// A batch of writes in a client's queue. Later ones have greater numbers, and none is used twice.
public struct BatchID: Hashable, Comparable, Sendable, CustomStringConvertible {
  public let value: Int64

  public init(_ value: Int64) { self.value = value }

  public static func < (left: Self, right: Self) -> Bool { left.value < right.value }

  public var description: String { "\(value)" }
}

/// A batch of writes wherever it goes: a remote that sees it again has it already.
public struct WriteID: Hashable, Sendable {
  /// The queue: one user's on one client.
  public let queue: String
  public let batch: BatchID

  public init(queue: String, batch: BatchID) {
    self.queue = queue
    self.batch = batch
  }
}
