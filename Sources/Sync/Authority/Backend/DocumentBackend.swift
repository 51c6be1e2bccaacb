// The interface to the documents of an authority. Everything above it is written once for all backends.
//
// The interface is crossed once per request: a request for many documents is one call.

package import ByteStore
package import DocumentStore
package import OfflineSync

/// The documents of an authority: a store of this process, or a database elsewhere. Usable from any thread.
package protocol DocumentBackend: AnyObject, Sendable {
  var identity: BackendIdentity { get }
  /// The clock of this process, and its random source.
  var clock: any StoreClock { get }
  var random: any RandomSource { get }
  /// The encoder with which the fields of documents to be written are read from messages.
  var fieldsEncoder: FieldsEncoder { get }

  /// Reads the documents at the paths from one view after all commits so far.
  func documents(at paths: [DocumentPath]) throws(RemoteError) -> [StoredDocument?]

  /// Opens a consistent view of all documents. The caller closes it.
  func snapshot(_ when: SnapshotTime) throws(RemoteError) -> any BackendSnapshot

  /// The version of a snapshot that would be taken now, without taking it. Not older than any commit that was
  /// acknowledged before.
  var lastVersion: SnapshotVersion { get }

  /// Keeps what `snapshot` needs for each time of the last minute. Without this call, only the snapshot after
  /// the last commit can be read.
  func keepRecentSnapshots() throws(RemoteError)

  /// Begins a transaction on a consistent view. The caller commits it, or ends it.
  func transaction() throws(RemoteError) -> any BackendTransaction

  /// Commits, and returns when the commit is durable and visible.
  func commit(_ commit: BackendCommit) throws(RemoteError) -> CommitOutcome

  /// Starts a commit, and calls `done` later on another thread. The commits of one client are applied in the
  /// order of the calls, except those with a check. Clients take turns. Refused with `resourceExhausted`
  /// while commits of the client wait for too long, or too many of them wait.
  func commit(
    _ commit: BackendCommit, _ done: @escaping @Sendable (Result<CommitOutcome, RemoteError>) -> Void)

  /// The mark after all commits so far.
  func lastMark() throws(RemoteError) -> BackendMark

  /// Returns whether a mark can be one of this history. False only if a commit contradicts it, or is missing.
  func mayHaveReached(_ mark: BackendMark) throws(RemoteError) -> Bool

  /// Makes all later commits later than `time`, also if the clock is behind. The next commit makes this
  /// durable. Returns the time of the last commit before.
  func raiseTime(to time: SnapshotVersion) throws(RemoteError) -> SnapshotVersion

  /// Follows queries for one consumer. `enqueue` must run its blocks one at a time and in order; `handler` is
  /// called in such blocks.
  func follow(
    enqueue: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
    handler: @escaping @Sendable (StreamSnapshot) -> Void
  ) -> any Following

  /// Returns the commits after a mark, oldest first; nil if they are not kept any more, or if the mark is
  /// not in the history of this backend.
  func changes(after mark: BackendMark, max: Int) throws(RemoteError) -> BackendChanges?
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

  /// Removes queries. From the return on, no snapshot has one of the ids.
  func remove(_ ids: [Int32])

  /// Asks for a snapshot even if nothing has changed.
  func advance()

  /// Ends all queries. No snapshot follows.
  func close()
}

extension DocumentBackend {
  /// The document at a path after all commits so far; nil if it does not exist.
  package func document(at path: DocumentPath) throws(RemoteError) -> StoredDocument? {
    try documents(at: [path]).first ?? nil
  }

  /// The result of a query after all commits so far.
  package func documents(_ query: StructuredQuery) throws(RemoteError) -> [StoredDocument] {
    let snapshot = try snapshot(.now)
    defer { snapshot.close() }
    var documents: [StoredDocument] = []
    try snapshot.forEach(query) { record in
      documents.append(record.document)
      return true
    }
    return documents
  }
}
