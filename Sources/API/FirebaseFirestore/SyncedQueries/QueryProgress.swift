// How far the sync of one query is.

private import DocumentStore
private import FirebaseCore
public import Foundation
import OfflineSync

/// The state of a query that a listener or a pin watches at the remote.
///
/// ```swift
/// let rooms = Firestore.firestore().collection("rooms")
/// for try await progress in rooms.syncProgress {
///   if progress.state == .current { break }
///   print("\(progress.receivedCount) rooms received")
/// }
/// ```
public struct QueryProgress: Hashable, Sendable {
  /// The states of a query.
  public enum State: String, Hashable, Sendable, Codable {
    /// Neither a listener nor a pin watches the query.
    case inactive
    /// The remote has not answered the request for the query.
    case waiting
    /// The remote sends documents. They appear in results when all of them are here.
    case loading
    /// All documents are here, and changes arrive as they happen. Without a remote, each query has this
    /// state.
    case current
  }

  /// The query. Queries that differ only in the order of a limit share their progress.
  public let query: Query
  /// How far the query is.
  public let state: State
  /// The time of the remote up to which this connection had sent everything when the query became `current`;
  /// nil in other states.
  public let currentSince: Date?
  /// The time of the remote up to which the documents of the query are complete. It stays when the connection
  /// is lost, and it is nil if the query was never loaded. After a restart it may be some minutes earlier.
  public let syncedUpTo: Date?
  /// The number of documents that the remote has sent on this connection until the query was current.
  public let receivedCount: Int
  /// The approximate size of the received documents in the database.
  public let receivedByteCount: Int
  /// The number of documents that the query has at the remote, if the remote has said it. Few remotes say it
  /// while they load; `count` asks for it.
  public let expectedCount: Int?
  /// The number of documents of the query in the cache.
  public let documentCount: Int
  /// Whether the remote sends only what has changed since an earlier connection. `receivedCount` then counts
  /// changes.
  public let isResumed: Bool
  /// Whether a listener or a read watches the query.
  public let isListening: Bool
  /// Whether a pin of the current user watches the query.
  public let isPinned: Bool
  /// The reason why the query does not become current, in `FirestoreErrorDomain`: the remote has sent a
  /// document that this database cannot accept. The error has the code `outOfRange` and names the document.
  /// Nil if there is no such document.
  public let error: NSError?

  /// The fraction of documents that are here: 1 for a current query, and nil if it is not known.
  public var fractionCompleted: Double? {
    if state == .current { return 1 }
    guard state == .loading, !isResumed, let expectedCount, expectedCount > 0 else { return nil }
    return min(1, Double(receivedCount) / Double(expectedCount))
  }
}

extension QueryProgress {
  /// The progress of a query that is not watched, or that has no remote.
  init(_ query: Query, _ state: State) {
    self.query = query
    self.state = state
    currentSince = nil
    syncedUpTo = nil
    receivedCount = 0
    receivedByteCount = 0
    expectedCount = nil
    documentCount = 0
    isResumed = false
    isListening = false
    isPinned = false
    error = nil
  }

  init(_ progress: QueryProgressState, of query: Query) {
    self.query = query
    switch progress.phase {
    case .waiting: (state, currentSince) = (.waiting, nil)
    case .loading: (state, currentSince) = (.loading, nil)
    case .current(let version): (state, currentSince) = (.current, Date(version))
    }
    syncedUpTo = Date(progress.version)
    receivedCount = progress.receivedCount
    receivedByteCount = progress.receivedBytes
    expectedCount = progress.expectedCount
    documentCount = progress.documentCount
    isResumed = progress.isResumed
    isListening = progress.isListening
    isPinned = progress.isPinned
    error = progress.refusal.map { FirestoreErrors.translate(.refused($0)) as NSError }
  }
}

extension Query {
  /// The progress of this query as a sequence. It tells when the query's first result is complete, and how
  /// much of it has arrived. If the loop is slow, it receives only the newest progress. The sequence does not
  /// listen to the query, and it ends when the database is terminated. Without a remote, it has one element,
  /// which is `current`.
  public var syncProgress: AsyncThrowingStream<QueryProgress, any Error> {
    let target = Result { try runnable.targetID }
    return firestore.progressStream(of: QueryProgress.self) { [self] client, queue, handler in
      guard case .success(let text) = target else {
        let listening = client.addListener()
        listening.deliver(target.map { _ in QueryProgress(self, .inactive) }, on: queue, to: handler)
        return listening
      }
      return client.listenToProgress(
        on: queue, withoutRemote: QueryProgress(self, .current), handler: handler
      ) { progress in
        progress.queries.first { $0.text == text }.map { QueryProgress($0, of: self) }
          ?? QueryProgress(self, .inactive)
      }
    }
  }
}

extension Date {
  /// Creates the time of a version; nil if there is none.
  init?(_ version: SnapshotVersion) {
    guard version != .none else { return nil }
    self = Timestamp(version.stored).dateValue()
  }
}
