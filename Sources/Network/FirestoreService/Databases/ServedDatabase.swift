// A database of a service.
//
// Three kinds of snapshots are kept. `CurrentSnapshot` has the one of the last commit, for later reads.
// `HeldSnapshots` finds those that reads and transactions still use. `RecentSnapshots` of the backend can
// create one for any time of the last minute.

internal import Authority
internal import ByteStore
internal import DocumentStore
internal import FirestoreWire
internal import OfflineSync

/// A database under its name, with the state that calls share.
final class ServedDatabase: Sendable {
  let name: DatabaseName
  let authority: Authority
  let transactions: TransactionTable
  let locks: DocumentLocks
  let attempts = EndedAttempts()
  let onRefusal: (@Sendable (ServiceRefusal) -> Void)?
  /// Reads documents in requests with the shapes of the store, so that commits copy them.
  let documentReading: DocumentReading
  private let held = HeldSnapshots()
  /// Nil if no snapshots of the recent past are kept, because this one would then retain space that others do
  /// not.
  private let current: CurrentSnapshot?

  init(_ name: DatabaseName, _ authority: Authority, options: ServiceOptions) throws(RemoteError) {
    self.name = name
    self.authority = authority
    transactions = TransactionTable(options)
    current = options.keepsRecentSnapshots ? CurrentSnapshot(options.clock) : nil
    locks = DocumentLocks(options.clock, onRefusal: options.onRefusal)
    onRefusal = options.onRefusal
    documentReading = DocumentReading(encoder: authority.backend.fieldsEncoder)
    if options.keepsRecentSnapshots { try authority.backend.keepRecentSnapshots() }
  }

  // MARK: Snapshots

  /// All documents as of the last commit.
  func snapshotNow() throws(RemoteError) -> SharedSnapshot {
    // A snapshot from before a new life must not get its floor as its time.
    let floor = authority.life.floor ?? .none
    if let current, let snapshot = current.snapshot(of: authority.backend.lastVersion),
      snapshot.readTime >= floor
    {
      return snapshot
    }
    let taken = try authority.backend.snapshot(.now)
    let snapshot = held.shared(SharedSnapshot(taken, readTime: max(taken.version, floor)))
    current?.keep(snapshot)
    return snapshot
  }

  /// All documents at a time, which is one of the last minute, or the time of a snapshot that is in use.
  func snapshot(at time: Wire.Timestamp) throws(RemoteError) -> SharedSnapshot {
    let version = SnapshotVersion(try time.exact("requested 'read_time'"))
    if let snapshot = held.snapshot(at: version) { return snapshot }
    return held.shared(SharedSnapshot(try authority.backend.snapshot(.at(version)), readTime: version))
  }

  // MARK: Transactions

  /// Begins a transaction.
  func begin(
    _ options: Wire.TransactionOptions?, for owner: TransactionTable.Owner
  ) throws(RemoteError) -> OpenTransaction {
    try transactions.begin(for: owner) { () throws(RemoteError) in
      switch options?.mode {
      case .readOnly(let options):
        guard let time = options.readTime else { return .readOnly(try snapshotNow()) }
        return .readOnly(try snapshot(at: time))
      case .readWrite(let options):
        let isOptimistic = options.concurrencyMode == .optimistic
        guard !options.retryTransaction.isEmpty else { return readWrite(isOptimistic: isOptimistic) }
        let id = try TransactionID(options.retryTransaction)
        return readWrite(isOptimistic: isOptimistic, after: attempt(id, of: owner.user))
      case nil: return readWrite()
      }
    }
  }

  /// An attempt that has ended, or that is still open.
  private func attempt(_ id: TransactionID, of user: String?) -> EndedAttempts.Attempt? {
    if let ended = attempts.attempt(id, of: user) { return ended }
    guard let locks = transactions.open(id, of: user)?.locks else { return nil }
    return EndedAttempts.Attempt(user: user, age: locks.owner.age, writes: [])
  }

  private func readWrite(
    isOptimistic: Bool = false, after attempt: EndedAttempts.Attempt? = nil
  ) -> OpenTransaction.Kind {
    .readWrite(TransactionLocks(locks, isOptimistic: isOptimistic, after: attempt)) {
      [backend = authority.backend] () throws(RemoteError) in try backend.transaction()
    }
  }
}
