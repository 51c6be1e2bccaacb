// A store that is read beside a writer: how it takes over what the writer has committed.
//
// Each commit of the writer becomes visible as a commit of this store would: key directory and indexes change
// together, and listeners see it. If the writer's logs no longer hold all commits since the last refresh, the
// store is opened again beside itself, and takes over the state of the other one. Listeners then see one
// change.

import ByteStore

extension DocumentStore {
  /// How much of the writer's work a reader shows.
  public struct ReaderAge: Hashable, Sendable {
    /// The time of the last commit that is shown; nil if there is none.
    public var lastCommit: StoredTimestamp?
    /// The time since the last look at the writer's files, in seconds.
    public var secondsSinceRefresh: Double
    /// The size of commits that the writer has logged and that are not shown, because they are not known to
    /// be on stable storage. While a writer is at work, the next refresh shows them.
    public var bytesNotDurable: UInt64
    /// The error of the last refresh; nil if it succeeded or there was none.
    public var failure: DocumentStoreError?
  }

  /// Nil if this store is not a reader. Does not wait for the disk.
  public var readerAge: ReaderAge? {
    guard let nanoseconds = bytes.nanosecondsSinceLook else { return nil }
    return ReaderAge(
      lastCommit: bytes.lastCommitTime, secondsSinceRefresh: Double(nanoseconds) / 1e9,
      bytesNotDurable: bytes.bytesNotDurable, failure: failedRefreshes.withLock { $0?.error })
  }

  /// Shows the commits that the writer has made and that are on stable storage. Returns whether there were
  /// any. Returns false for a store that is not a reader.
  ///
  /// Throws `notAStore` if the store was deleted or moved, and `failedPrecondition` if another store, or an
  /// older copy of this one that may have been written further, is in its place. After an error, the store
  /// still shows one committed state, and the next call tries again. That includes the queries of listeners:
  /// an error of a system call does not end them.
  @discardableResult
  public func refresh() throws(DocumentStoreError) -> Bool {
    guard options.isReadOnly else { return false }
    // This check comes before any lock is acquired: in a forked child, a lock may stay held forever.
    guard !bytes.isForked else { throw DocumentStoreError(.forked(directory: path)) }
    let (result, before, now) = try refreshing.withLock { state throws(DocumentStoreError) in
      guard !state.hasEnded else { throw DocumentStoreError(.closed(directory: path)) }
      let result = Result { () throws(DocumentStoreError) in try takeOver(&state) }
      let (before, now) = note(result)
      return (result, before, now)
    }
    send(before, now)
    return try result.get()
  }

  /// The work that a reader's refresh has left to the next one.
  struct RefreshState {
    /// Whether the settings are older than the commits that are shown.
    var needsSettings = false
    /// Whether the store is closed or about to be.
    var hasEnded = false
  }

  /// Waits for a refresh in progress. Later ones throw `closed`.
  func endRefreshes() {
    guard options.isReadOnly, !bytes.isForked else { return }
    refreshing.withLock { $0.hasEnded = true }
  }

  // MARK: Steps

  private func takeOver(_ state: inout RefreshState) throws(DocumentStoreError) -> Bool {
    let taken = Result { () throws(DocumentStoreError) in try takeCommits(&state) }
    // Also after an error, because some commits may have been applied before it.
    publications.notify()
    let caughtUp = Result { () throws(DocumentStoreError) in try catchUp(&state) }
    let hasCommits = try taken.get()
    try caughtUp.get()
    return hasCommits
  }

  private func takeCommits(_ state: inout RefreshState) throws(DocumentStoreError) -> Bool {
    let followed = try translatingErrors { () throws(ByteStoreError) in try bytes.follow() }
    switch followed {
    case .commits(let commits):
      guard !commits.isEmpty else { return false }
      if commits.contains(where: \.changesSettings) { state.needsSettings = true }
      // A commit that cannot be applied on its own is part of a state that can be opened, or the open
      // reports the damage.
      do throws(DocumentStoreError) { try show(commits) } catch { try reopen(&state) }
    case .mustReopen: try reopen(&state)
    }
    return true
  }

  private func show(_ commits: [CommitBody]) throws(DocumentStoreError) {
    // A rebuild of the name index expects that no commit changes the store meanwhile.
    try pipeline.whileQuiescent { () throws(DocumentStoreError) in
      try translatingErrors { () throws(ByteStoreError) in
        for commit in commits {
          try bytes.apply(commit, note: try FollowedCommit(commit, in: self).effects())
        }
      }
    }
    bytes.didApplyFollowed()
  }

  private func reopen(_ state: inout RefreshState) throws(DocumentStoreError) {
    let layer = CommitLayer()
    let other = try translatingErrors { () throws(ByteStoreError) in
      let other = try bytes.reopened(upperLayer: layer)
      try layer.indexes.catchUp(with: other)
      return other
    }
    // The other records are decoded with these shapes. Another shape with the same id belongs to another
    // history of the store, from a copy that was written further.
    guard self.layer.shapes.add(layer.shapes) else {
      throw DocumentStoreError(ByteStoreError.replaced(directory: path))
    }
    let time = other.lastCommitTime
    let feed = try translatingErrors { () throws(ByteStoreError) in
      FeedLedger.lastPosition(inState: try other.value(for: FeedFormat.stateKey))
    }
    try pipeline.whileQuiescent { () throws(DocumentStoreError) in
      try translatingErrors { () throws(ByteStoreError) in
        try bytes.adopt(other) {
          self.layer.indexes.adopt(layer.indexes)
          publications.appendReload(at: time, feed: feed)
        }
      }
    }
    live.invalidate()
    state.needsSettings = true
  }

  /// Brings the listeners and the settings up to the commits that are shown. The next refresh repeats what
  /// cannot be read now.
  private func catchUp(_ state: inout RefreshState) throws(DocumentStoreError) {
    let views = Result { () throws(DocumentStoreError) in try live.runAgain() }
    if state.needsSettings {
      try readSettings()
      state.needsSettings = false
    }
    try views.get()
  }

  private func readSettings() throws(DocumentStoreError) {
    let settings = try translatingErrors { () throws(ByteStoreError) in try Settings(of: bytes) }
    pipeline.withFeed { $0 = settings.feed }
    timeToLive.withLock { $0.policies = settings.policies }
    for waker in feedWakers.withLock({ $0 }) { waker.waker?.wake() }
  }

  // MARK: Failures

  /// Refreshes that failed, without a success in between.
  struct FailedRefreshes {
    /// The error of the last one.
    var error: DocumentStoreError
    /// The monotonic time of the first one.
    var since: UInt64
  }

  /// Returns the failures before and after a refresh.
  private func note(
    _ result: Result<Bool, DocumentStoreError>
  ) -> (before: FailedRefreshes?, now: FailedRefreshes?) {
    failedRefreshes.withLock { failed in
      let before = failed
      switch result {
      case .success: failed = nil
      case .failure(let error):
        failed = FailedRefreshes(error: error, since: before?.since ?? clock.monotonicNanoseconds())
      }
      return (before, failed)
    }
  }

  /// Reports the first failure, and the first success after failures.
  private func send(_ before: FailedRefreshes?, _ now: FailedRefreshes?) {
    if before == nil, let now {
      bytes.recorder.emit(.refreshFailed, .warning, fields: [.init("error", .error(now.error))])
    } else if let before, now == nil {
      let nanoseconds = clock.monotonicNanoseconds() &- before.since
      bytes.recorder.emit(
        .refreshRecovered, .info, fields: [.init("seconds", .nanoseconds(nanoseconds))])
    }
  }
}

extension ByteStore {
  /// The time of the last commit; nil if there is none.
  fileprivate var lastCommitTime: StoredTimestamp? {
    let stamp = lastStamp
    return stamp == 0 ? nil : StoredTimestamp(microseconds: Int64(bitPattern: stamp))
  }
}

extension CommitBody {
  /// Whether the commit changes what the store keeps outside documents: the feed or a time to live.
  fileprivate var changesSettings: Bool {
    operations.contains { operation in
      let key = Array(bytes[operation.key])
      return [FeedFormat.policiesKey, FeedFormat.stateKey, FeedFormat.consumersKey].contains(key)
    }
  }
}

/// A commit of the writer, read for the indexes and listeners of a reader. Documents stay encoded.
private struct FollowedCommit {
  private let commit: CommitBody
  private let store: DocumentStore

  init(_ commit: CommitBody, in store: DocumentStore) {
    self.commit = commit
    self.store = store
  }

  /// The document changes of the commit. Adds the shapes that it defines.
  func effects() throws(ByteStoreError) -> CommitEffects {
    var shapes: [Int] = []
    var changes: [CommitChange] = []
    var feed: FeedPosition?
    var hasEnded = false
    for operation in commit.operations {
      let key = Array(commit.bytes[operation.key])
      if let id = Shape.id(of: key.rawSpan), changes.isEmpty, !hasEnded {
        shapes.append(id)
        if case .put(_, _, let value) = operation { try define(id, value) }
      } else if let path = DocumentKey.decode(key) {
        // The ordinals of a commit are those of its shapes, then those of its documents.
        guard !hasEnded else { throw damage("documents before all other keys", "a document after them") }
        changes.append(try change(of: path, key, by: operation))
      } else {
        hasEnded = true
        guard key == FeedFormat.stateKey, case .put(_, _, let value) = operation else { continue }
        feed = FeedLedger.lastPosition(inState: Array(commit.bytes[value]))
      }
    }
    let time = StoredTimestamp(microseconds: Int64(bitPattern: commit.stamp)) ?? .unreadable
    return CommitEffects(time, changes, shapes: shapes, feed: feed)
  }

  private func define(_ id: Int, _ value: Range<Int>) throws(ByteStoreError) {
    guard let shape = Shape(id: id, definition: commit.bytes.rawSpan.extracting(value)) else { return }
    guard store.layer.shapes.add(shape) else { throw damage("shape \(id) as before", "another shape") }
  }

  private func change(
    of path: DocumentPath, _ key: [UInt8], by operation: CommitBody.Operation
  ) throws(ByteStoreError) -> CommitChange {
    var after: StoredDocument?
    var recordBytes = 0
    if case .put(_, _, let value) = operation {
      recordBytes = value.count
      after = document(path, Array(commit.bytes[value]))
      if after == nil { throw damage("a record of \(path)", "bytes that do not decode") }
    }
    let record = try store.bytes.value(for: key)
    let before = record.flatMap { document(path, $0) }
    return CommitChange(
      path: path, key: key, before: before, isBeforeKnown: (record == nil) == (before == nil), after: after,
      recordBytes: recordBytes)
  }

  private func document(_ path: DocumentPath, _ record: [UInt8]) -> StoredDocument? {
    try? StoredDocument(path: path, encoded: record, shapes: store.layer.shapes.table)
  }

  private func damage(_ expected: String, _ found: String) -> ByteStoreError {
    .corrupted(Damage(file: store.path, offset: 0, expected: expected, found: found))
  }
}
