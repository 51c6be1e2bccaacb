// Test hooks: points in commits, transactions and live queries at which a test can hold a thread.
//
// No lock is held at any of these points, so other threads can run.

package enum StorePoint: String, Sendable, CaseIterable {
  /// A commit has read its documents and has no place in the order yet.
  case readAhead
  /// A commit has its place and waits for the disk.
  case placed
  /// Readers see the commit, and its pending states still exist.
  case published
  /// The pending states are removed, and no listener has been notified.
  case settled
  /// A transaction has begun and has no snapshot yet.
  case begun
  /// A view is registered, and its query has not run.
  case listening
  /// The query has run, and later commits wait in the backlog.
  case answered
  /// The thread waits until other threads have done something.
  case waiting
  /// Between two steps of the store's user.
  case outside
}

package protocol StorePauses: AnyObject, Sendable {
  /// Blocks until the test lets the thread continue.
  func pause(at point: StorePoint)
}
