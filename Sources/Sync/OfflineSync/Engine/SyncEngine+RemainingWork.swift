// The work that remains until a client is in sync with its remote. A simulation reads it to decide whether
// its time must pass.

package import DocumentStore

/// A query with listeners, as its listeners see it.
package struct ViewedQuery: Sendable {
  package let query: StructuredQuery
  package let documents: [StoredDocument]
  /// Whether the remote has confirmed the documents.
  package let isSynced: Bool
}

extension SyncEngine {
  /// Whether there are no unanswered writes, and all views are in sync with the remote.
  var isIdle: Bool { remainingWork == nil }

  /// A description of the next thing that the client waits for. Nil if there is none, and also if the user
  /// has turned the network off.
  var remainingWork: String? {
    guard isNetworkEnabled else { return nil }
    if isPaused { return "space on its disk" }
    let pending = pendingWriteCount
    guard pending == 0 else { return "\(pending) writes in the outbox" }
    guard !watching.targets.isEmpty else { return nil }
    guard watching.phase == .open else { return "its connection for listeners" }
    guard limbo.active.isEmpty, limbo.enqueued.isEmpty else { return "the state of limbo documents" }
    let late = viewOrder.first { text in
      views[text].map { watching.targets[$0.target] != nil && !$0.view.isSynced } ?? false
    }
    if let late { return "the remote's answer to the listener of \(late)" }
    // A pin that the remote has refused waits for the next stream.
    let isPinLate = pinning.followed.contains { id, pin in
      !watching.aggregator.hasReceivedAll(id) && pinning.failures[pin.query.targetID] == nil
    }
    return isPinLate ? "the remote's answer to a pinned query" : nil
  }

  /// The queries with listeners, in the order in which they were first listened to.
  var viewedQueries: [ViewedQuery] {
    viewOrder.compactMap { text in
      guard let view = views[text]?.view else { return nil }
      return ViewedQuery(query: view.query, documents: view.storedDocuments, isSynced: view.isSynced)
    }
  }
}
