// A database of a service.

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
  /// Reads documents in requests with the shapes of the store, so that commits copy them.
  let documentReading: DocumentReading
  private let held = HeldSnapshots()

  init(_ name: DatabaseName, _ authority: Authority, options: ServiceOptions) throws(RemoteError) {
    self.name = name
    self.authority = authority
    transactions = TransactionTable(options)
    documentReading = DocumentReading(encoder: authority.backend.fieldsEncoder)
    if options.keepsRecentSnapshots { try authority.backend.keepRecentSnapshots() }
  }

  // MARK: Snapshots

  /// All documents as of the last commit.
  func snapshotNow() throws(RemoteError) -> SharedSnapshot {
    // A snapshot from before a new life must not get its floor as its time.
    let floor = authority.life.floor ?? .none
    let snapshot = try authority.backend.snapshot(.now)
    return held.shared(SharedSnapshot(snapshot, readTime: max(snapshot.version, floor)))
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
        // An earlier attempt gives this one no rights, because transactions do not wait for each other.
        if !options.retryTransaction.isEmpty { _ = try TransactionID(options.retryTransaction) }
        return .readWrite(try authority.backend.transaction())
      case nil:
        return .readWrite(try authority.backend.transaction())
      }
    }
  }
}
