// What a layer above keeps beside the keys, for instance indexes: it is told of each commit when readers see
// it, its pages go into checkpoints, and an open tells it what they do not have yet.

/// What the layer above wants to be told again when its commit is applied.
package protocol CommitNote: AnyObject, Sendable {}

/// Usable from any thread. It gets its pages back after an open from `ByteStore.checkpoint`.
package protocol LayerAbove: Sendable {
  /// A commit is about to be logged: what `apply` will need from disk is best read now. Only one commit is
  /// between this and `apply` at a time, or a group of them.
  func prepare(_ note: any CommitNote)

  /// A commit is in the log, and readers see it once this returns. `ordinals` has one for each operation;
  /// that of a removal counts for nothing. The table's lock is held: no input or output, and no call of the
  /// store.
  func apply(_ note: any CommitNote, _ ordinals: [UInt32])

  /// The pages as of the last commit; called while no commit is under way.
  func freeze() -> any CheckpointPages

  /// What the least of these pages take about, and rather less than this. The writer's lock is held.
  var leastPageBytes: UInt64 { get }

  /// Entries without which the commits of a log cannot be understood, and which commits before it have put. Each log
  /// repeats them, so that it can be read after the loss of any other. Asked for when a log begins, while no commit is
  /// under way; the writer's lock is held. An entry that was here once is never removed and never changes.
  var logContext: [(key: [UInt8], value: [UInt8])] { get }

  /// The most that puts of these entries take in a batch.
  var logContextBytesMax: Int { get }
}

extension LayerAbove {
  package func prepare(_ note: any CommitNote) {}
  package func apply(_ note: any CommitNote, _ ordinals: [UInt32]) {}
  package var leastPageBytes: UInt64 { 0 }
  package var logContext: [(key: [UInt8], value: [UInt8])] { [] }
  package var logContextBytesMax: Int { 0 }
}
