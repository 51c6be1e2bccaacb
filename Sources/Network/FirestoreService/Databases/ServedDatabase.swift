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
  private let held = HeldMoments()

  init(_ name: DatabaseName, _ authority: Authority, options: ServiceOptions) throws(RemoteError) {
    self.name = name
    self.authority = authority
    transactions = TransactionTable(options)
    if options.keepsRecentMoments { try authority.backend.keepRecentMoments() }
  }

  // MARK: Moments

  /// All documents as of the last commit.
  func momentNow() throws(RemoteError) -> SharedMoment {
    let moment = try authority.backend.moment(.now)
    return hold(SharedMoment(moment, readTime: authority.life.raised(moment.version)))
  }

  /// All documents at a time, which is one of the last minute, or the time of a moment that is in use.
  func moment(at time: Wire.Timestamp) throws(RemoteError) -> SharedMoment {
    guard let stored = time.stored else {
      throw RemoteError(.invalidArgument, "The requested 'read_time' is not a time.")
    }
    let version = SnapshotVersion(stored)
    if let moment = held.moment(at: version) { return moment }
    return hold(SharedMoment(try authority.backend.moment(.at(version)), readTime: version))
  }

  private func hold(_ moment: SharedMoment) -> SharedMoment {
    held.add(moment)
    return moment
  }

  // MARK: Transactions

  /// Begins a transaction.
  func begin(
    _ options: Wire.TransactionOptions?, for owner: TransactionTable.Owner
  ) throws(RemoteError) -> OpenTransaction {
    try transactions.begin(for: owner) { () throws(RemoteError) in
      switch options?.mode {
      case .readOnly(let options):
        guard let time = options.readTime else { return .readOnly(try momentNow()) }
        return .readOnly(try moment(at: time))
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
