// The interface to the upper layer, which keeps data beside the keys, such as indexes.
//
// It is called for each commit when readers see it. Its pages are stored in checkpoints, and an open
// passes it the commits since the checkpoint.

/// An object that the upper layer attaches to a commit and gets back when the commit is applied.
package protocol CommitNote: AnyObject, Sendable {}

/// The upper layer's callbacks. Usable from any thread. After an open it reads its pages from
/// `ByteStore.checkpoint`.
package protocol UpperLayer: Sendable {
  /// Called before a commit is logged, to read from disk the data that `apply` will need. At most one commit,
  /// or one group of commits, is between this call and `apply` at a time.
  func prepare(_ note: any CommitNote)

  /// Called when a commit is in the log; readers see it once this returns. `ordinals` has an entry for
  /// each operation; a removal's entry has no meaning. The key directory's lock is held, so this must do
  /// no I/O and must not call the store.
  func apply(_ note: any CommitNote, _ ordinals: [UInt32])

  /// Returns the pages at the last commit. Called while no commit is in progress.
  func freeze() -> any CheckpointPages

  /// A low estimate of the size of `CheckpointPages.least`. The writer's lock is held.
  var essentialPageBytes: UInt64 { get }

  /// Entries of earlier commits that are needed to interpret the commits of a log. Each log repeats
  /// them, so that it can be read after any other log was lost. Called when a log begins, while no
  /// commit is in progress and with the writer's lock held. An entry that was returned once is never
  /// removed or changed.
  var logContext: [(key: [UInt8], value: [UInt8])] { get }

  /// The largest size of a batch with puts of these entries.
  var logContextBytesMax: Int { get }
}

extension UpperLayer {
  package func prepare(_ note: any CommitNote) {}
  package func apply(_ note: any CommitNote, _ ordinals: [UInt32]) {}
  package var essentialPageBytes: UInt64 { 0 }
  package var logContext: [(key: [UInt8], value: [UInt8])] { [] }
  package var logContextBytesMax: Int { 0 }
}
