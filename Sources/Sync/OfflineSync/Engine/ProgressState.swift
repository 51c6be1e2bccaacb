// The progress of the sync, as the engine reports it.

package import DocumentStore

/// The state of the connection, the pending writes, and all queries of the current user.
package struct SyncProgressState: Equatable, Sendable {
  package enum Connection: Sendable, Hashable {
    /// There is nothing to listen to and nothing to send.
    case idle
    case connecting
    case connected
    /// The remote could not be reached. The client tries again.
    case offline
    /// The app has turned the network off.
    case disabled
  }

  /// The reasons why a client takes no changes from its remote, although the remote could be reached.
  package enum Pause: Sendable, Hashable {
    case diskFull
    case meteredNetwork
  }

  package var connection: Connection
  /// The reason why the sync is paused; nil if it is not.
  package var pause: Pause?
  /// The error that ended the last connection or attempt; nil if the client is connected.
  package var error: RemoteError?
  /// The version up to which all queries are complete; `none` if one of them never was, or if there are none.
  package var version: SnapshotVersion
  package var pendingCount: Int
  /// The creation time of the oldest pending write.
  package var oldest: StoredTimestamp?
  /// The queries that are watched at the remote, in the order of their targets.
  package var queries: [QueryProgressState]
}

/// The state of one query that is watched at the remote.
package struct QueryProgressState: Equatable, Sendable {
  package enum Phase: Sendable, Hashable {
    /// The remote has not answered the request.
    case waiting
    /// The remote sends documents.
    case loading
    /// The remote has sent everything at this version, and sends changes since then.
    case current(since: SnapshotVersion)
  }

  package let query: StructuredQuery
  /// The text of the query's target. Queries with equal texts share their progress.
  package let text: String
  package var phase: Phase
  /// The number and size of the documents that the remote has sent for the target on this connection, until
  /// the target was current.
  package var receivedCount = 0
  package var receivedBytes = 0
  /// The number of documents of the target at the remote, if the remote has said it.
  package var expectedCount: Int?
  /// The number of the target's documents in the cache.
  package var documentCount = 0
  /// Whether the remote sends only changes since an earlier connection.
  package var isResumed = false
  /// The version up to which the query is complete; `none` if it never was.
  package var version = SnapshotVersion.none
  package var isListening = false
  package var isPinned = false
  /// The refusal of a document of the target, because of which the query is not current.
  package var refusal: RemoteRefusal?

  /// Whether all documents are here.
  package var isCurrent: Bool { if case .current = phase { true } else { false } }
}

/// The counts of each watched target on the current connection.
struct LoadingSide {
  struct Load {
    /// Whether the remote has answered the request.
    var isAdded = false
    var isResumed = false
    var receivedCount = 0
    var receivedBytes = 0
    var expectedCount: Int?
    /// The version of the first event with the complete target.
    var currentVersion: SnapshotVersion?

    mutating func restart(isResumed: Bool) {
      self = Load(isAdded: true, isResumed: isResumed)
    }
  }

  var loads: [TargetID: Load] = [:]
  /// The versions up to which targets are complete, if they are later than the stored ones.
  var versions: [TargetID: SnapshotVersion] = [:]
  var error: RemoteError?
  /// Whether only the counts of documents have changed.
  var isMinor = false

  mutating func note(_ change: WatchChange) {
    error = nil
    switch change {
    case .document(_, let document, let updated, _):
      isMinor = true
      guard let fields = document?.fields else { return }
      let bytes = fields.recordBytesMax
      for id in updated where loads[id]?.isAdded == true && loads[id]?.currentVersion == nil {
        loads[id]?.receivedCount += 1
        loads[id]?.receivedBytes += bytes
      }
    case .target(.added, let ids, _, _):
      for id in ids { loads[id]?.isAdded = true }
    case .target(.reset, let ids, _, _):
      for id in ids where loads[id] != nil { restart(id) }
    case .existenceFilter(let id, let count, _):
      if count >= 0 { loads[id]?.expectedCount = count }
    case .target: break
    }
  }

  private mutating func restart(_ id: TargetID) {
    loads[id]?.restart(isResumed: false)
    versions[id] = nil
  }

  /// Notes that a target is watched no longer.
  mutating func remove(_ id: TargetID) {
    loads[id] = nil
    versions[id] = nil
  }
}
