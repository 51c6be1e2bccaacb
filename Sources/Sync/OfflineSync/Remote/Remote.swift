// The interface between a client and the authority. It passes values; transport is up to the implementation.

public import DocumentStore

/// The authority behind a database: Cloud Firestore, a server, or another database.
///
/// Streams are ordered and end with `closed`. A remote calls the handler of each stream serially, from
/// any thread, but never from within a call of this protocol.
public protocol Remote: Sendable {
  /// The prefix of document names in Bloom filters, without the final slash:
  /// "projects/p/databases/d/documents".
  var documentsName: String { get }

  /// The monitor of the network that leads to the authority; nil, the default, if there is none. A client
  /// with a monitor of its own does not use this one.
  var networkMonitor: (any NetworkMonitor)? { get }

  /// Called when the path to the network has changed, before streams are opened again. Idle connections of
  /// the old path may be lost without a sign, and must not be used again. Does nothing by default.
  func networkDidChange()

  /// Opens a watch stream for a user. The handler receives its events.
  func openWatchStream(
    as user: String?, _ handler: @escaping @Sendable (WatchStreamEvent) -> Void
  ) -> any WatchStream

  /// Opens a write stream for a user. The handler receives its events.
  func openWriteStream(
    as user: String?, _ handler: @escaping @Sendable (WriteStreamEvent) -> Void
  ) -> any WriteStream

  /// Reads the current versions of documents, all from one snapshot.
  func documents(
    at paths: [DocumentPath], as user: String?,
    _ answer: @escaping @Sendable (Result<[RemoteDocument], RemoteError>) -> Void)

  /// Commits writes outside the queue, as transactions do. After an error nothing was written, and the
  /// caller may retry. The exception is the code `deadlineExceeded`, as in `RemoteError.unanswered`: the
  /// outcome is then unknown.
  func commit(
    _ mutations: [Mutation], as user: String?,
    _ answer: @escaping @Sendable (Result<SnapshotVersion, RemoteError>) -> Void)

  /// Computes aggregations over the authority's documents.
  func aggregate(
    _ aggregates: [Aggregate], over query: StructuredQuery, as user: String?,
    _ answer: @escaping @Sendable (Result<[StoredValue], RemoteError>) -> Void)

  /// Calls `handler` after each change of the credentials, from any thread, until the returned closure is
  /// called. A client whose streams wait after a failure then opens them at once. Never calls it by default.
  func observeCredentials(_ handler: @escaping @Sendable () -> Void) -> @Sendable () -> Void
}

extension Remote {
  public var networkMonitor: (any NetworkMonitor)? { nil }

  public func networkDidChange() {}

  public func observeCredentials(_ handler: @escaping @Sendable () -> Void) -> @Sendable () -> Void { {} }
}

/// A stream that takes targets and delivers changes.
public protocol WatchStream: Sendable {
  /// Starts watching a target.
  func watch(_ target: WatchTarget)
  /// Stops watching a target.
  func unwatch(_ id: TargetID)
  /// Closes the stream; no further events are delivered.
  func close()
}

/// An event of a watch stream.
public enum WatchStreamEvent: Sendable {
  /// The stream is open.
  case opened
  /// A message. It has a version only if it names no target. All changes up to that version have then been
  /// sent for all targets that are current on this stream. These versions and the versions of write answers
  /// have a common order. If a later snapshot lacks the result of an accepted write, the document no longer
  /// exists.
  case changed(WatchChange, SnapshotVersion)
  /// The stream has ended, with an error if it failed.
  case closed(RemoteError?)
}

/// A stream that takes batches in order and answers them in that order.
public protocol WriteStream: Sendable {
  /// Opens the session, with the last stream token received, or an empty one, and names the runs whose
  /// batches will be sent. Must be called first. A remote that remembers accepted batches answers with
  /// `registered`, and then with `handshakeComplete`. A remote that passes batches on to an authority must
  /// also pass the runs on, because the authority refuses batches of other runs.
  func handshake(_ token: [UInt8], runs: [RunRegistration])
  /// Sends a batch.
  func write(_ write: RemoteWrite)
  /// Closes the stream; no further events are delivered.
  func close()
}

/// An event of a write stream.
public enum WriteStreamEvent: Sendable {
  /// The stream is open.
  case opened
  /// The remote has registered these runs. The event comes before `handshakeComplete`. Each token goes with
  /// the batches of its run, and with the next registration of that run.
  case registered([RunID: [UInt8]])
  /// The handshake is complete, and batches may be sent.
  case handshakeComplete(token: [UInt8])
  /// The oldest unanswered batch was accepted.
  case answered(SnapshotVersion, [WriteResult], token: [UInt8])
  /// The oldest unanswered batch was not applied, because one of its guards does not hold. The stream is
  /// closed.
  case overtaken
  /// The stream has ended. A rejection of the oldest unanswered batch closes the stream, too.
  case closed(RemoteError?)
}
