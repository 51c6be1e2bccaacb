// A commit between `enqueue` and `finish`.

/// A commit that has its position in the order. `ByteStore.finish` must still be called with it.
package struct PendingCommit: @unchecked Sendable {
  // Why `@unchecked Sendable` holds: the ticket is only accessed under the lock of its queue's state,
  // and by the leader.
  let ticket: Ticket

  /// Whether the commit has failed for good.
  package var isRefused: Bool { ticket.isRefused }
}
