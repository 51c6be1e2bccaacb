// Questions of a simulation about the state of a client. Called on the scheduler.

extension SyncDriver {
  /// Whether the client has nothing left to do: no unanswered writes, and all its views are in sync with the
  /// remote. A client whose user has turned the network off has nothing to do either.
  package var isIdle: Bool { failure != nil || engine.isIdle }

  /// Whether a call of the user waits for the remote.
  package var hasUnfinishedCalls: Bool {
    failure == nil && !(writes.isEmpty && waits.isEmpty && reads.isEmpty)
  }

  /// The queries of the listeners, each with its documents and whether they are confirmed by the remote.
  package var viewedQueries: [ViewedQuery] { failure == nil ? engine.viewedQueries : [] }

  /// A description of what the client still waits for; nil if it is idle.
  package var remainingWork: String? { failure == nil ? engine.remainingWork : nil }
}
