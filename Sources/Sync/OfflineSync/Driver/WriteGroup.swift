// Writes that are made durable together.

internal import DocumentStore

/// A write of a user on its way into the queue.
struct IssuedWrite: Sendable {
  let mutations: [Mutation]
  let acknowledgement: SyncDriver.Acknowledgement
  let taken: @Sendable () -> Void
  let completion: SyncDriver.Completion
}

/// Writes between which nobody has asked for anything else.
final class WriteGroup: @unchecked Sendable {
  // Unchecked, because it is only touched under the lock of its driver's `gathering`.
  private static let countMax = 100

  private(set) var writes: [IssuedWrite]

  init(_ first: IssuedWrite) { writes = [first] }

  /// False if it is full.
  func add(_ write: IssuedWrite) -> Bool {
    guard writes.count < Self.countMax else { return false }
    writes.append(write)
    return true
  }
}
