// The state that a query reads, and the work that it takes.

import ByteStore

/// The documents and indexes that a query reads, as of one commit.
struct QueryState {
  let snapshot: Snapshot
  let view: IndexView
  /// The number of commits since the store was opened that the state includes; 0 in a long-lived snapshot.
  let position: UInt64

  init(_ snapshot: Snapshot, _ view: IndexView, position: UInt64 = 0) {
    self.snapshot = snapshot
    self.view = view
    self.position = position
  }
}

/// Counters of the work done.
struct QueryWork: Sendable, Hashable {
  var entriesRead = 0
  var documentsRead = 0
  /// Entries whose full key had to be computed from the document.
  var longKeysRead = 0
  /// Number of seeks that skipped documents in subcollections. One seek skips all documents below one parent
  /// document.
  var nestedSkips = 0
  /// Largest number of matches kept at once for sorting.
  var matchesKeptPeak = 0
}
