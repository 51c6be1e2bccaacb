// Services for the upper layer: they persist its own changes and pass it the replayed commits.

extension ByteStore {
  /// Schedules a flush. Call this after the upper layer has permanently changed its pages without a commit.
  /// The flush writes these pages even if there is nothing else to write. If it has not run before the store
  /// is closed, the close runs it.
  package func noteUpperLayerChanged() {
    guard !isForked else { return }
    state.withLock { $0.upperLayerChanges += 1 }
    scheduleFlush()
  }

  /// Whether the last checkpoint was written on a full disk and contains only the upper layer's
  /// essential pages.
  package var lacksUpperLayerPages: Bool { state.withLock { $0.lacksUpperLayerPages } }

  /// A key with its value in the checkpoint and its current value.
  package struct RecoveredChange: Sendable {
    package var key: [UInt8]
    /// The value in the checkpoint; nil if the key did not exist there.
    package var before: (ordinal: UInt32, value: [UInt8])?
    /// The current value; nil if the key no longer exists.
    package var after: (ordinal: UInt32, value: [UInt8])?
  }

  /// Whether the checkpoint was empty, so that all keys come from the WAL. Call this before
  /// `forEachRecoveredChange`.
  package var isCheckpointEmpty: Bool { recovered.withLock { $0?.before.keys == 0 } }

  /// Passes the keys in the replayed commits to `body`; a key can occur several times. Call this before
  /// `forEachRecoveredChange`.
  package func forEachRecoveredKey(_ body: ([UInt8]) -> Void) {
    let commits = recovered.withLock { $0?.commits ?? [] }
    for commit in commits { commit.keys.forEach(body) }
  }

  /// Passes every key in the replayed commits to `body`, each key once. Call this at most once, and before
  /// the first new commit.
  package func forEachRecoveredChange(
    _ body: (RecoveredChange) throws(ByteStoreError) -> Void
  ) throws(ByteStoreError) {
    guard let recovered = recovered.withLock({ $0.take() }), !recovered.commits.isEmpty else { return }
    let before = SharedKeyDirectory(recovered.before, table.cache, path: path)
    let wasEmpty = recovered.before.keys == 0
    var seen = Set<UInt32>()
    // Keys that no longer exist. They have no ordinal, so the keys themselves are compared.
    var deletedKeys = Set<RecoveredKey>()
    var buffer = ReadBuffer()
    for commit in recovered.commits {
      for operation in commit.operations {
        let key = Array(commit.bytes[operation.key])
        // The value is read only once, however often the replayed commits write the key.
        var isFirst = false
        let ordinal = try table.ordinal(of: key, into: &buffer) { ordinal in
          isFirst = seen.insert(ordinal).inserted
          return isFirst
        }
        if ordinal == nil { isFirst = deletedKeys.insert(RecoveredKey(bytes: key)).inserted }
        guard isFirst else { continue }
        let new = ordinal.map { ($0, Array(copying: buffer.bytes)) }
        let old =
          wasEmpty
          ? nil : try before.rebuildingLostPages { () throws(ByteStoreError) in try before.entry(of: key) }
        try body(RecoveredChange(key: key, before: old, after: new))
      }
    }
  }
}

/// A key whose bytes are hashed in one call; an array would hash each byte separately.
private struct RecoveredKey: Hashable {
  let bytes: [UInt8]

  func hash(into hasher: inout Hasher) {
    unsafe bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
  }
}

/// The result of a replay, kept until the upper layer has processed it.
struct Recovered: Sendable {
  /// The key directory as it was in the checkpoint.
  var before: KeyDirectory
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
