// The interface to the upper layer, which keeps data beside the keys, such as indexes.
//
// The upper layer is called for each commit when the commit becomes visible to readers. Its pages are stored
// in checkpoints, and an open passes it the commits since the last checkpoint.

/// An object that the upper layer attaches to a commit and gets back when the commit is applied.
package protocol CommitNote: AnyObject, Sendable {}

/// The upper layer's callbacks. They may be called from any thread. After an open, the upper layer reads its
/// pages from `ByteStore.checkpoint`.
package protocol UpperLayer: Sendable {
  /// Called before a commit is logged, to read from disk the data that `apply` will need. At any time, at
  /// most one commit or one group of commits is between this call and `apply`.
  func prepare(_ note: any CommitNote)

  /// Called when a commit is in the log. Readers see the commit once this call has returned. `ordinals` has
  /// an entry for each operation; the entry of a removal has no meaning. The key directory's lock is held, so
  /// the callback must do no I/O and must not call the store.
  func apply(_ note: any CommitNote, _ ordinals: [UInt32])

  /// Returns the pages at the last commit. Called while no commit is in progress.
  func freeze() -> any CheckpointPages

  /// A low estimate of the size of `CheckpointPages.least`. It is read while the writer's lock is held.
  var essentialPageBytes: UInt64 { get }

  /// Entries of earlier commits that are needed to interpret the commits of a log. Each log repeats these
  /// entries, so that it can be read even if all other logs are lost. This property is read when a log
  /// begins, while no commit is in progress and the writer's lock is held. Once the property has returned an
  /// entry, that entry is never removed or changed.
  var logContext: [(key: [UInt8], value: [UInt8])] { get }

  /// The largest possible size of a batch that puts all entries of `logContext`.
  var logContextBytesMax: Int { get }

  /// The memory that the layer uses. Called without locks.
  var memory: UpperLayerMemory { get }

  /// Frees evictable memory until at most this much is left. With `keepsLatest`, keeps what was used last,
  /// even if it is larger. Called without locks.
  func evictMemory(toBytes bytes: Int, keepsLatest: Bool, now: UInt64)
}

extension UpperLayer {
  package func prepare(_ note: any CommitNote) {}
  package func apply(_ note: any CommitNote, _ ordinals: [UInt32]) {}
  package var essentialPageBytes: UInt64 { 0 }
  package var logContext: [(key: [UInt8], value: [UInt8])] { [] }
  package var logContextBytesMax: Int { 0 }
  package var memory: UpperLayerMemory { UpperLayerMemory() }
  package func evictMemory(toBytes bytes: Int, keepsLatest: Bool, now: UInt64) {}
}
