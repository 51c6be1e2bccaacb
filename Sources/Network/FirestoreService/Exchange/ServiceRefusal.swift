// The limits at which a service refuses work.

/// A limit of the service that has refused work with RESOURCE_EXHAUSTED. The raw values are the names of
/// metrics.
package enum ServiceRefusal: String, Sendable, Hashable, CaseIterable {
  /// The open transactions of a database.
  case databaseTransactions = "database_transactions"
  /// The open transactions of a connection, or of a user.
  case connectionTransactions = "connection_transactions"
  /// The commits that wait for the disk, of one client or of all.
  case waitingCommits = "waiting_commits"
  /// The calls that wait for locks of a database.
  case lockWaits = "lock_waits"
  /// The targets of a watch stream. The stream stays.
  case targets
  /// The requests of a watch stream that wait for earlier ones, or whose answers wait.
  case waitingTargets = "waiting_targets"
  /// The requests of a write stream that wait for earlier ones, or for a run of their client.
  case waitingWrites = "waiting_writes"
}
