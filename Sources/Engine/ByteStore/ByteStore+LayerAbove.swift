// What the layer above asks of a store: moments that it can share, that its own changes last, and what an open replayed.

extension ByteStore {
  /// The store as of the last commit, and what `body` says at that very moment; no commit is applied
  /// meanwhile. `body` does no input or output, and calls nothing of the store.
  package func moment<Result>(
    _ body: () -> Result
  ) throws(ByteStoreError) -> (Moment, Result) {
    try checkReadable()
    return table.withTable { table in (Moment(table, live: self.table, path: path), body()) }
  }

  /// To be called once the layer above has changed its pages without a commit, for good: the next flush writes them
  /// even if there is nothing else to write. It is due, and a close that comes before it waits for it.
  package func noteLayerAboveChanged() {
    guard !isForked else { return }
    state.withLock { $0.changesAbove += 1 }
    scheduleFlush()
  }

  /// The last checkpoint was written on a full disk, and has only the least of the layer above.
  package var lacksPagesAbove: Bool { state.withLock { $0.lacksPagesAbove } }

  /// What a key was in the checkpoint, and what it is.
  package struct RecoveredChange: Sendable {
    package var key: [UInt8]
    /// Nil if it was not there.
    package var before: (ordinal: UInt32, value: [UInt8])?
    /// Nil if it is not there.
    package var after: (ordinal: UInt32, value: [UInt8])?
  }

  /// Whether the checkpoint that was opened has no key: all that is there came with the logs. To be asked before
  /// `forEachRecoveredChange`.
  package var isAllRecovered: Bool { recovered.withLock { $0?.before.keys == 0 } }

  /// The keys of which the logs had something when the store was opened, some more than once. To be called
  /// before `forEachRecoveredChange`.
  package func forEachRecoveredKey(_ body: ([UInt8]) -> Void) {
    let commits = recovered.withLock { $0?.commits ?? [] }
    for commit in commits { commit.keys.forEach(body) }
  }

  /// Hands over every key that the logs had something about when the store was opened. To be called once,
  /// before the first commit.
  package func forEachRecoveredChange(
    _ body: (RecoveredChange) throws(ByteStoreError) -> Void
  ) throws(ByteStoreError) {
    guard let recovered = recovered.withLock({ $0.take() }), !recovered.commits.isEmpty else { return }
    let before = SharedTable(recovered.before, table.cache, path: path)
    let wasEmpty = recovered.before.keys == 0
    var seen = Set<UInt32>()
    // What is not there now has no ordinal.
    var gone = Set<RecoveredKey>()
    var buffer = ReadBuffer()
    for commit in recovered.commits {
      for operation in commit.operations {
        let key = Array(commit.bytes[operation.key])
        // A value is as large as it is now, however often the key was written.
        var isFirst = false
        let ordinal = try table.ordinal(of: key, into: &buffer) { ordinal in
          isFirst = seen.insert(ordinal).inserted
          return isFirst
        }
        if ordinal == nil { isFirst = gone.insert(RecoveredKey(bytes: key)).inserted }
        guard isFirst else { continue }
        let new = ordinal.map { ($0, Array(copying: buffer.bytes)) }
        let old =
          wasEmpty
          ? nil : try before.withLostPagesFound { () throws(ByteStoreError) in try before.entry(of: key) }
        try body(RecoveredChange(key: key, before: old, after: new))
      }
    }
  }
}

/// Hashed all at once, where an array hashes each of its bytes for itself.
private struct RecoveredKey: Hashable {
  let bytes: [UInt8]

  func hash(into hasher: inout Hasher) {
    unsafe bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
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
    operations.map { Array(bytes[$0.key]) }
  }
}

extension Optional {
  fileprivate mutating func take() -> Wrapped? {
    defer { self = nil }
    return self
  }
}
