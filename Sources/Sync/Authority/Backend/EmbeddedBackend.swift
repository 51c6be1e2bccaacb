// A backend over a store of this process.
//
//   snapshot        a snapshot of the store, or an earlier one and the changes since
//   transaction   one attempt of a store transaction
//   follow        a live stream of the store
//   changes       the change feed, which a consumer of the authority keeps active

internal import ByteStore
package import DocumentStore
package import OfflineSync

package final class EmbeddedBackend: DocumentBackend {
  package let store: DocumentStore
  private let lane: CommitLane
  private let recent: RecentSnapshots

  /// The consumer whose registration keeps the change feed active. It never acknowledges commits, so the
  /// feed is bounded by its own limits.
  package static let consumer = "__authority__"
  /// The consumer of the authorities of earlier versions.
  package static let formerConsumer = "__loopback__"

  private static let feedPageBytesMax = 1 << 20

  package init(_ store: DocumentStore) throws(DocumentStoreError) {
    self.store = store
    lane = CommitLane(store)
    recent = RecentSnapshots(store)
    _ = try store.feedConsumer(Self.consumer)
    if store.feedConsumers.contains(Self.formerConsumer) {
      try store.feedConsumer(Self.formerConsumer).unregister()
    }
  }

  package var identity: BackendIdentity { BackendIdentity(store.storeID) }

  // MARK: Reading

  package func snapshot(_ when: SnapshotTime) throws(RemoteError) -> any BackendSnapshot {
    switch when {
    case .now:
      return EmbeddedSnapshot(try translating { () throws(DocumentStoreError) in try store.snapshot() })
    case .at(let version):
      try checkIsPast(version)
      let snapshot = EmbeddedSnapshot(
        try translating { () throws(DocumentStoreError) in try store.snapshot(through: version.stored) })
      guard version < snapshot.version else { return snapshot }
      snapshot.close()
      return try recent.snapshot(at: version)
    }
  }

  private func checkIsPast(_ version: SnapshotVersion) throws(RemoteError) {
    let last = store.lastCommitTime.map { SnapshotVersion($0) } ?? .none
    guard version <= last || version.microseconds <= store.clock.wallMicroseconds() else {
      throw RemoteError(.invalidArgument, "The requested 'read_time' cannot be in the future.")
    }
  }

  package func keepRecentSnapshots() throws(RemoteError) {
    try translating { () throws(DocumentStoreError) in try recent.keep() }
  }

  package func transaction() throws(RemoteError) -> any BackendTransaction {
    try translating { () throws(DocumentStoreError) in try EmbeddedTransaction(store) }
  }

  package func follow(
    enqueue: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
    handler: @escaping @Sendable (StreamSnapshot) -> Void
  ) -> any Following {
    EmbeddedFollowing(LiveStream(of: store, enqueue: enqueue, handler: handler))
  }

  // MARK: Writing

  package func commit(_ commit: BackendCommit) throws(RemoteError) -> CommitOutcome {
    do throws(DocumentStoreError) {
      return try store.commit(commit.mutations, recording: commit.recording)
    } catch {
      throw RemoteError(ofCommit: error)
    }
  }

  package func commit(
    _ commit: BackendCommit, _ done: @escaping @Sendable (Result<CommitOutcome, RemoteError>) -> Void
  ) {
    lane.commit(commit, done)
  }

  // MARK: History

  package func changes(
    after mark: BackendMark, max count: Int
  ) throws(RemoteError) -> BackendChanges? {
    do throws(DocumentStoreError) {
      guard try contains(mark) else { return nil }
      let (commits, end) = try store.feedChanges(
        after: mark.position, max: count, bytesMax: Self.feedPageBytesMax)
      let time = commits.last.map { SnapshotVersion($0.time) } ?? mark.time
      return BackendChanges(commits, end: BackendMark(commits.last?.position ?? end, time))
    } catch {
      if case .feedTruncated = error { return nil }
      throw RemoteError(error)
    }
  }

  /// Whether the commit at a position was the last one at a time. No mark lies before the first commit of the
  /// feed, because the documents of that time are not known.
  private func contains(_ mark: BackendMark) throws(DocumentStoreError) -> Bool {
    guard mark.position > .start, try mark.position <= store.feedRange().newest else { return false }
    let before = FeedPosition(mark.position.value - 1)
    let commits = try store.feedChanges(after: before, max: 2, bytesMax: .max).commits
    guard let commit = commits.first, commit.position == mark.position,
      SnapshotVersion(commit.time) <= mark.time
    else { return false }
    return commits.count < 2 || mark.time < SnapshotVersion(commits[1].time)
  }

  package func collections(
    below document: DocumentPath?, after: String?, max count: Int
  ) throws(RemoteError) -> [String] {
    try translating { () throws(DocumentStoreError) in
      try store.collectionIDs(below: document, after: after, max: count)
    }
  }

  package func documentIDs(
    in collection: CollectionPath, after: String?, max count: Int
  ) throws(RemoteError) -> [String] {
    try translating { () throws(DocumentStoreError) in
      try store.documentIDs(in: collection, after: after, max: count)
    }
  }
}

/// A live stream of the store, whose errors are those of a remote.
private final class EmbeddedFollowing: Following {
  private let stream: LiveStream

  init(_ stream: LiveStream) { self.stream = stream }

  func listen(_ id: Int32, to query: StructuredQuery) throws(RemoteError) {
    try translating { () throws(DocumentStoreError) in try stream.listen(id, to: query) }
  }

  func remove(_ id: Int32) { stream.remove(id) }

  func advance() { stream.advance() }

  func close() { stream.close() }
}
