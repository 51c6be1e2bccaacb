// A group of writes that a single fsync makes durable.

internal import DocumentStore

/// A user's write before it is queued.
struct IssuedWrite: Sendable {
  let mutations: [PendingMutation]
  let acknowledgement: SyncDriver.Acknowledgement
  let taken: @Sendable () -> Void
  let completion: SyncDriver.Completion
}

/// Consecutive writes without any other call between them.
final class WriteGroup: @unchecked Sendable {
  // The conformance is unchecked, because a group is only accessed under the lock of the driver's
  // `openGroup`.
  private static let countMax = 100

  private(set) var writes: [IssuedWrite]

  init(_ first: IssuedWrite) { writes = [first] }

  /// Adds a write to the group. Returns false if the group is full.
  func add(_ write: IssuedWrite) -> Bool {
    guard writes.count < Self.countMax else { return false }
    writes.append(write)
    return true
  }
}
