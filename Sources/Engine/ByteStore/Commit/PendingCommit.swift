// A commit between `enqueue` and `finish`.

/// A commit that has its position in the commit order. `ByteStore.finish` must still be called with it.
package struct PendingCommit: @unchecked Sendable {
  // Why `@unchecked Sendable` holds: the ticket is accessed only by the leader, or under the lock of the
  // state whose queue contains the ticket.
  let ticket: Ticket

  /// Whether the commit has failed for good.
  package var isRefused: Bool { ticket.isRefused }
}
