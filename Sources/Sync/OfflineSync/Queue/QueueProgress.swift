// How far the writes of a queue are.

package import DocumentStore

package struct QueueProgress: Hashable, Sendable {
  /// How many writes have left the queue, by how they did.
  package struct Answers: Hashable, Sendable {
    package var accepted = 0
    package var rejected = 0
    package var cancelled = 0
  }

  package let user: String?
  package let pendingCount: Int
  /// Of these, the first ones are on their way.
  package let sentCount: Int
  /// Since the user came.
  package let answers: Answers
  /// When the first one that waits was made.
  package let oldest: StoredTimestamp?
}
