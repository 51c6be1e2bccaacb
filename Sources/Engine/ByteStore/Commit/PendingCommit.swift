// A commit between its two halves.

/// A commit that has its place in the order, and that `ByteStore.finish` has still to be called with.
package struct PendingCommit: @unchecked Sendable {
  // The ticket is touched under the lock of the state that it is queued in, and by the leader alone.
  let ticket: Ticket

  /// It did not happen, and will not.
  package var isRefused: Bool { ticket.isRefused }
}
