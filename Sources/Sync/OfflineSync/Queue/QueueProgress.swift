// The progress of a write queue.

package import DocumentStore

package struct QueueProgress: Hashable, Sendable {
  /// The number of writes that have left the queue, by outcome.
  package struct Answers: Hashable, Sendable {
    package var accepted = 0
    package var rejected = 0
    package var cancelled = 0
  }

  package let user: String?
  package let pendingCount: Int
  /// The number of pending writes that have been sent.
  package let sentCount: Int
  /// Counts since the client last changed its user.
  package let answers: Answers
  /// The creation time of the oldest pending write.
  package let oldest: StoredTimestamp?
}
