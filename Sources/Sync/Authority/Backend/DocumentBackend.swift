// The interface to the documents of an authority. Everything above it is written once for all backends.
//
// The interface is crossed once per request: a request for many documents is one call.

package import ByteStore
package import DocumentStore
package import OfflineSync

/// The documents of an authority: a store of this process, or a database elsewhere. Usable from any thread.
package protocol DocumentBackend: AnyObject, Sendable {
  var identity: BackendIdentity { get }

  /// Opens a consistent view of all documents. The caller closes it.
  func snapshot(_ when: SnapshotTime) throws(RemoteError) -> any BackendSnapshot

  /// Keeps what `snapshot` needs for each time of the last minute. Without this call, only the snapshot after
  /// the last commit can be read.
  func keepRecentSnapshots() throws(RemoteError)

  /// Begins a transaction on a consistent view. The caller commits it, or ends it.
  func transaction() throws(RemoteError) -> any BackendTransaction

  /// Commits, and returns when the commit is durable and visible.
  func commit(_ commit: BackendCommit) throws(RemoteError) -> CommitOutcome

  /// Starts a commit, and calls `done` later on another thread. Commits are applied in the order of the
  /// calls. Refused with `resourceExhausted` while commits wait for too long.
  func commit(
    _ commit: BackendCommit, _ done: @escaping @Sendable (Result<CommitOutcome, RemoteError>) -> Void)

  /// Follows queries for one consumer. `enqueue` must run its blocks one at a time and in order; `handler` is
  /// called in such blocks.
  func follow(
    enqueue: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
    handler: @escaping @Sendable (StreamSnapshot) -> Void
  ) -> any Following

  /// Returns the commits after a mark, oldest first; nil if they are not kept any more, or if the mark is
  /// not in the history of this backend.
  func changes(after mark: BackendMark, max: Int) throws(RemoteError) -> BackendChanges?

  /// Returns the ids of the collections directly below a document, or of the root collections, in the order
  /// of names. A collection without documents is listed if a document is below it at any depth.
  func collections(below: DocumentPath?, after: String?, max: Int) throws(RemoteError) -> [String]

  /// Returns the ids of the documents of a collection in the order of names, also of those that do not exist,
  /// but have documents below them.
  func documentIDs(in collection: CollectionPath, after: String?, max: Int) throws(RemoteError) -> [String]
}

/// Distinguishes backends. A backend keeps its identity when it is copied or restored.
package struct BackendIdentity: Hashable, Sendable {
  package let id: RandomID

  package init(_ id: RandomID) { self.id = id }
}

/// The point in time that a read asks for.
package enum SnapshotTime: Sendable, Hashable {
  /// After all commits so far.
  case now
  /// After all commits up to this time, which is not in the future. Fails with `failedPrecondition` if the
  /// documents of that time are not kept any more.
  case at(SnapshotVersion)
}

/// The live queries of one consumer: `LiveStream` for any backend.
package protocol Following: AnyObject, Sendable {
  /// Adds a query. The first snapshot that has `id` has its whole result. The call may build an index.
  func listen(_ id: Int32, to query: StructuredQuery) throws(RemoteError)

  /// Removes a query. From the return on, no snapshot has `id`.
  func remove(_ id: Int32)

  /// Asks for a snapshot even if nothing has changed.
  func advance()

  /// Ends all queries. No snapshot follows.
  func close()
}
