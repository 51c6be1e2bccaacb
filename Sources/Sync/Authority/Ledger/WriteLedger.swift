// The authority's record of the batches that it has accepted, so that it applies each batch once.

package import DocumentStore
package import OfflineSync

package final class WriteLedger: Sendable {
  package struct Options: Sendable {
    /// A run that was not seen for this number of microseconds is forgotten.
    package var runLifetime: Int64 = 90 * 86_400_000_000
    /// The time in microseconds since 1970; nil for the clock of the store.
    package var now: (@Sendable () -> Int64)?

    package init() {}
  }

  /// Returns the error with which the rules refuse the writes of a user, or nil.
  package typealias WriteRule = @Sendable (_ user: String?, _ mutations: [Mutation]) -> RemoteError?

  private let store: DocumentStore
  private let life: AuthorityLife
  private let options: Options
  private let mayWrite: WriteRule

  /// Opens the ledger of a store, and removes what has expired. `mayWrite` is not called for batches that
  /// were accepted before.
  package init(
    of store: DocumentStore, _ life: AuthorityLife, options: Options = Options(),
    mayWrite: @escaping WriteRule = { _, _ in nil }
  ) throws(DocumentStoreError) {
    self.store = store
    self.life = life
    self.options = options
    self.mayWrite = mayWrite
  }

  /// Whether a path belongs to the authority itself. Such documents are never told to clients.
  package static func isReserved(_ path: DocumentPath) -> Bool { path.segments[0].hasPrefix("__") }

  /// Registers the runs that a client names when it opens a write stream, in one commit. Returns the token of
  /// each run.
  package func register(
    _ runs: [RunRegistration], as user: String?
  ) throws(RemoteError) -> [RunID: [UInt8]] {
    [:]
  }

  /// Registers one run, and returns its token.
  package func register(_ run: RunRegistration, as user: String?) throws(RemoteError) -> [UInt8] {
    try register([run], as: user)[run.run] ?? []
  }

  /// Applies a batch once, however often it arrives, and returns its outcome. Returns nil if a guard does
  /// not hold.
  package func take(
    _ write: RemoteWrite, as user: String?
  ) throws(RemoteError) -> (version: SnapshotVersion, results: [WriteResult])? {
    try SeamLedger(store: store, mayWrite: mayWrite).take(write, as: user)
  }

  /// Removes the runs that were not seen for the lifetime of a run.
  package func removeExpired() throws(DocumentStoreError) {}
}
