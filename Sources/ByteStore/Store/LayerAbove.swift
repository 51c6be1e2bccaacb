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
}

extension LayerAbove {
  package func prepare(_ note: any CommitNote) {}
  package func apply(_ note: any CommitNote, _ ordinals: [UInt32]) {}
}

extension ByteStore {
  /// The store as of the last commit, and what `body` says at that very moment; no commit is applied
  /// meanwhile. `body` does no input or output, and calls nothing of the store.
  package func moment<Result>(
    _ body: () -> Result
  ) throws(ByteStoreError) -> (Moment, Result) {
    try checkReadable()
    return table.withTable { table in (Moment(table, live: self.table, path: path), body()) }
  }

  /// What a key was in the checkpoint, and what it is.
  package struct RecoveredChange {
    package var key: [UInt8]
    /// Nil if it was not there.
    package var before: (ordinal: UInt32, value: [UInt8])?
    /// Nil if it is not there.
    package var after: (ordinal: UInt32, value: [UInt8])?
  }

  /// Hands over every key that the logs had something about when the store was opened. To be called once,
  /// before the first commit.
  package func forEachRecoveredChange(
    _ body: (RecoveredChange) throws(ByteStoreError) -> Void
  ) throws(ByteStoreError) {
    guard let recovered = recovered.withLock({ $0.take() }) else { return }
    let before = SharedTable(recovered.before, table.cache, path: path)
    var seen = Set<[UInt8]>()
    for commit in recovered.commits {
      for key in commit.keys where seen.insert(key).inserted {
        try body(
          RecoveredChange(key: key, before: try before.entry(of: key), after: try table.entry(of: key)))
      }
    }
  }
}

/// What an open replayed, until the layer above has caught up with it.
struct Recovered: Sendable {
  /// As the checkpoint has it.
  var before: Table
  var commits: [CommitBody] = []
}

extension CommitBody {
  fileprivate var keys: [[UInt8]] {
    var keys: [[UInt8]] = []
    forEachOperation { keys.append(Array(bytes[$0.key])) }
    return keys
  }
}

extension Optional {
  fileprivate mutating func take() -> Wrapped? {
    defer { self = nil }
    return self
  }
}
