// Where threads meet: the places between the steps of commits, transactions and live queries at which a test can have
// one wait while others go on. No lock is held there.

package enum StorePoint: String, Sendable, CaseIterable {
  /// A commit has read what it builds on, and has no place in the order yet.
  case readAhead
  /// It has its place and waits for the disk.
  case placed
  /// Readers see it, and others may still build on it as pending.
  case published
  /// Nobody has been told of it.
  case settled
  /// A transaction has begun, and has no snapshot yet.
  case begun
  /// A view is known, and its query has not been run.
  case listening
  /// The query has been run, and what came since waits.
  case answered
  /// Others have to go on first.
  case waiting
  /// Between two steps of whoever uses the store.
  case outside
}

package protocol StorePauses: AnyObject, Sendable {
  /// Returns when the thread may go on.
  func pause(at point: StorePoint)
}
