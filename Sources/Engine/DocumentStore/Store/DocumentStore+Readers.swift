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
  }

  /// Nil if this store is not a reader.
  public var readerAge: ReaderAge? {
    guard let nanoseconds = bytes.nanosecondsSinceLook else { return nil }
    let stamp = bytes.lastStamp
    return ReaderAge(
      lastCommit: stamp == 0 ? nil : StoredTimestamp(microseconds: Int64(bitPattern: stamp)),
      secondsSinceRefresh: Double(nanoseconds) / 1e9, bytesNotDurable: bytes.bytesNotDurable)
  }

  /// Shows the commits that the writer has made and that are on stable storage. Returns whether there were
  /// any. Returns false for a store that is not a reader.
  ///
  /// Throws `notAStore` if the store was deleted or moved, and `failedPrecondition` if another store, or an
  /// older copy of this one that may have been written further, is in its place.
  @discardableResult
  public func refresh() throws(DocumentStoreError) -> Bool {
    guard options.isReadOnly else { return false }
    return try refreshing.withLock { _ throws(DocumentStoreError) in
      let followed = try translatingErrors { () throws(ByteStoreError) in try bytes.follow() }
      switch followed {
      case .commits(let commits):
        guard !commits.isEmpty else { return false }
        // A commit that cannot be applied on its own is part of a state that can be opened, or the open
        // reports the damage.
        do throws(DocumentStoreError) { try show(commits) } catch { try reopen() }
        publications.notify()
      case .mustReopen: try reopen()
      }
      return true
    }
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
    if commits.contains(where: \.changesSettings) { try readSettings() }
  }

  private func reopen() throws(DocumentStoreError) {
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
    try pipeline.whileQuiescent { () throws(DocumentStoreError) in
      try translatingErrors { () throws(ByteStoreError) in
        try bytes.adopt(other) {
          self.layer.indexes.adopt(layer.indexes)
          publications.appendReload()
        }
      }
    }
    live.reload()
    try readSettings()
  }

  private func readSettings() throws(DocumentStoreError) {
    let settings = try translatingErrors { () throws(ByteStoreError) in try Settings(of: bytes) }
    pipeline.withFeed { $0 = settings.feed }
    timeToLive.withLock { $0 = TimeToLiveState(policies: settings.policies) }
    for waker in feedWakers.withLock({ $0 }) { waker.waker?.wake() }
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

/// A commit of the writer, decoded for the indexes and listeners of a reader.
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
      }
    }
    let time = StoredTimestamp(microseconds: Int64(bitPattern: commit.stamp)) ?? .unreadable
    return CommitEffects(time, changes, shapes: shapes)
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
      after = document(path, commit.bytes.rawSpan.extracting(value))
      if after == nil { throw damage("a record of \(path)", "bytes that do not decode") }
    }
    let record = try store.bytes.value(for: key)
    let before = record.flatMap { document(path, $0.rawSpan) }
    return CommitChange(
      path: path, key: key, before: before, isBeforeKnown: (record == nil) == (before == nil), after: after,
      recordBytes: recordBytes)
  }

  private func document(_ path: DocumentPath, _ record: RawSpan) -> StoredDocument? {
    do throws(RecordError) {
      return try StoredDocument(path: path, record: record, shapes: store.layer.shapes.table)
    } catch {
      return nil
    }
  }

  private func damage(_ expected: String, _ found: String) -> ByteStoreError {
    .corrupted(Damage(file: store.path, offset: 0, expected: expected, found: found))
  }
}
