// What a client needs of the authority behind it. It speaks values; how they travel is its own affair.

public import DocumentStore

/// The authority behind a database: Cloud Firestore, a server, another database.
///
/// Streams are ordered, and end with `closed`. A remote calls handlers one at a time for each stream, from any
/// thread, and not from within the calls of the protocol.
public protocol Remote: Sendable {
  /// The names of documents in Bloom filters begin with this, and a slash: "projects/p/databases/d/documents".
  var documentsName: String { get }

  /// Opens a stream of changes for a user; the handler is told what comes.
  func openWatchStream(
    as user: String?, _ handler: @escaping @Sendable (WatchStreamEvent) -> Void
  ) -> any WatchStream

  /// Opens a stream for writes of a user; the handler is told what comes.
  func openWriteStream(
    as user: String?, _ handler: @escaping @Sendable (WriteStreamEvent) -> Void
  ) -> any WriteStream

  /// The documents as they are now, all at one moment.
  func documents(
    at paths: [DocumentPath], as user: String?,
    _ answer: @escaping @Sendable (Result<[RemoteDocument], RemoteError>) -> Void)

  /// Commits outside the queue: what transactions do. An error says that nothing of it has happened, and whoever asked may
  /// do so again; but for one with the code `deadlineExceeded`, such as `RemoteError.unanswered`, after which nobody
  /// knows.
  func commit(
    _ mutations: [Mutation], as user: String?,
    _ answer: @escaping @Sendable (Result<SnapshotVersion, RemoteError>) -> Void)

  /// Counts and adds up what the authority has.
  func aggregate(
    _ aggregates: [Aggregate], over query: StructuredQuery, as user: String?,
    _ answer: @escaping @Sendable (Result<[StoredValue], RemoteError>) -> Void)
}

/// Targets go in, changes come out.
public protocol WatchStream: Sendable {
  /// Begins to watch a target.
  func watch(_ target: WatchTarget)
  /// Ends to watch a target.
  func unwatch(_ id: TargetID)
  /// Nothing is told any more.
  func close()
}

/// What comes down a stream of changes.
public enum WatchStreamEvent: Sendable {
  /// The stream is there.
  case opened
  /// A version comes only with a change of no particular target: everything up to it was told of all targets that are
  /// current on this stream. Versions of answers to writes are of the same order: what a later snapshot does not tell of an
  /// accepted write is not there any more.
  case changed(WatchChange, SnapshotVersion)
  /// The stream ended, and why if it failed.
  case closed(RemoteError?)
}

/// Batches go in one after the other; each is answered in its turn.
public protocol WriteStream: Sendable {
  /// First of all, with the last token that came; empty if there was none.
  func handshake(_ token: [UInt8])
  /// Sends a batch.
  func write(_ write: RemoteWrite)
  /// Nothing is told any more.
  func close()
}

/// What comes down a stream for writes.
public enum WriteStreamEvent: Sendable {
  /// The stream is there.
  case opened
  /// The authority knows the client, and batches may be sent.
  case handshakeComplete(token: [UInt8])
  /// Of the oldest batch that was not answered.
  case answered(SnapshotVersion, [WriteResult], token: [UInt8])
  /// The oldest batch that was not answered was not taken, since a guard of it does not hold. The stream is closed.
  case overtaken
  /// A rejection of the oldest batch that was not answered closes the stream, too.
  case closed(RemoteError?)
}
