// A backend over a store of this process.
//
//   snapshot      a snapshot of the store, or an earlier one and the changes since
//   transaction   one attempt of a store transaction
//   commit        a commit of the store, or a transaction that reads what a check asks for
//   follow        a live stream of the store
//   changes       the change feed, which a consumer of the authority keeps active

package import ByteStore
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

  package init(_ store: DocumentStore) throws(DocumentStoreError) {
    self.store = store
    lane = CommitLane(store) { commit, check in
      Result { () throws(RemoteError) in try Self.commit(commit, after: check, in: store) }
    }
    recent = RecentSnapshots(store)
    _ = try store.feedConsumer(Self.consumer)
    if store.feedConsumers.contains(Self.formerConsumer) {
      try store.feedConsumer(Self.formerConsumer).unregister()
    }
  }

  package var identity: BackendIdentity { BackendIdentity(store.storeID) }
  package var clock: any StoreClock { store.clock }
  package var random: any RandomSource { store.bytes.platform.random }
  package var fieldsEncoder: FieldsEncoder { store.fieldsEncoder }

  // MARK: Reading

  package func documents(at paths: [DocumentPath]) throws(RemoteError) -> [StoredDocument?] {
    try translating { () throws(DocumentStoreError) in
      if paths.count == 1 { return [try store.document(at: paths[0])] }
      let snapshot = try store.snapshot()
      defer { snapshot.close() }
      return try paths.map { path throws(DocumentStoreError) in try snapshot.document(at: path) }
    }
  }

  package func snapshot(_ when: SnapshotTime) throws(RemoteError) -> any BackendSnapshot {
    switch when {
    case .now:
      return EmbeddedSnapshot(try translating { () throws(DocumentStoreError) in try store.snapshot() })
    case .at(let version):
      let last = store.lastCommitTime.map { SnapshotVersion($0) } ?? .none
      guard version >= last else { return try recent.snapshot(at: version) }
      try checkIsPast(version, last: last)
      let snapshot = EmbeddedSnapshot(
        try translating { () throws(DocumentStoreError) in try store.snapshot(through: version.stored) })
      guard version < snapshot.version else { return snapshot }
      snapshot.close()
      return try recent.snapshot(at: version)
    }
  }

  package var lastVersion: SnapshotVersion { store.lastCommitTime.map { SnapshotVersion($0) } ?? .first }

  private func checkIsPast(_ version: SnapshotVersion, last: SnapshotVersion) throws(RemoteError) {
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
    if let check = commit.check { return try Self.commit(commit, after: check, in: store) }
    do throws(DocumentStoreError) {
      guard let transaction = commit.transaction as? EmbeddedTransaction else {
        return try store.commit(commit.mutations, recording: commit.recording)
      }
      return try store.finishCommit(
        try transaction.begin(commit.mutations, recording: commit.recording, in: store))
    } catch {
      throw RemoteError(ofCommit: error)
    }
  }

  package func commit(
    _ commit: BackendCommit, _ done: @escaping @Sendable (Result<CommitOutcome, RemoteError>) -> Void
  ) {
    lane.commit(commit, done)
  }
}

/// A live stream of the store, whose errors are those of a remote.
private final class EmbeddedFollowing: Following {
  private let stream: LiveStream

  init(_ stream: LiveStream) { self.stream = stream }

  func listen(_ id: Int32, to query: StructuredQuery) throws(RemoteError) {
    try translating { () throws(DocumentStoreError) in try stream.listen(id, to: query) }
  }

  func remove(_ ids: [Int32]) { stream.remove(ids) }

  func advance() { stream.advance() }

  func close() { stream.close() }
}
