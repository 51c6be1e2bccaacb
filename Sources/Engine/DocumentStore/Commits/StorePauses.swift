// Test hooks: points in commits, transactions and live queries at which a test can hold a thread.
//
// No lock is held at any of these points, so other threads can run.

package enum StorePoint: String, Sendable, CaseIterable {
  /// A commit has read its documents, but has no place in the commit order yet.
  case readAhead
  /// A commit has its place and waits for the disk.
  case placed
  /// Readers already see the commit, but its pending states still exist.
  case published
  /// The commit's pending states are removed, but no listener has been notified yet.
  case completed
  /// A transaction has begun, but has no snapshot yet.
  case begun
  /// A view is registered, but its query has not run yet.
  case listening
  /// The query has run, and later commits wait in the backlog.
  case answered
  /// The thread waits until other threads have done something.
  case waiting
  /// The test is between two calls of the store.
  case outside
}

package protocol StorePauses: AnyObject, Sendable {
  /// Blocks until the test lets the thread continue.
  func pause(at point: StorePoint)
}
