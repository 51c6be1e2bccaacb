// The name of one run of a queue.

internal import OfflineSync

/// A run of one user's queue. A user cannot name a run of another user.
struct RunName: Hashable, Sendable {
  let user: String?
  let queue: String
  let run: RunID
}
