// Reads of one call, all in one snapshot.

internal import Authority
internal import DocumentStore
internal import FirestoreWire
internal import OfflineSync

/// The documents of a database in one snapshot, or as a transaction reads them.
struct ReadView: Sendable {
  private enum Source: Sendable {
    case snapshot(SharedSnapshot)
    case transaction(OpenTransaction)
  }

  /// The error of a call that was cancelled before it could send the id of its transaction. The transaction
  /// ends.
  static let cancelled = RemoteError(.cancelled, "The call was cancelled.")

  private let source: Source
  /// The id of the transaction that the call began; empty if it began none.
  let newTransaction: [UInt8]
  /// The time that the documents are read at.
  let readTime: Wire.Timestamp

  init(_ snapshot: SharedSnapshot) {
    source = .snapshot(snapshot)
    newTransaction = []
    readTime = Wire.Timestamp(snapshot.readTime.stored)
  }

  init(_ transaction: OpenTransaction, isNew: Bool, in database: ServedDatabase) throws(RemoteError) {
    source = .transaction(transaction)
    newTransaction = isNew ? transaction.id.bytes : []
    switch transaction.kind {
    case .readOnly(let snapshot): readTime = Wire.Timestamp(snapshot.readTime.stored)
    case .readWrite:
      let version = try transaction.read { $0.version }
      readTime = Wire.Timestamp(database.authority.life.raised(version).stored)
    }
  }

  /// The documents at the paths; nil for each that does not exist.
  func documents(at paths: [DocumentPath]) throws(RemoteError) -> [DocumentRecord?] {
    try read { snapshot throws(RemoteError) in try snapshot.documents(at: paths) }
  }

  /// The result of a query in pages, which `next` reads.
  func pages(_ query: StructuredQuery) throws(RemoteError) -> any BackendPages {
    try read { snapshot throws(RemoteError) in try snapshot.pages(query) }
  }

  /// The next documents of a result; empty at its end. Fails if the transaction has ended meanwhile.
  func next(of pages: any BackendPages) throws(RemoteError) -> [DocumentRecord] {
    try read { _ throws(RemoteError) in try pages.next() }
  }

  /// Names of documents, as of `BackendSnapshot`.
  func documentIDs(
    in collection: CollectionPath, after: String?, max count: Int
  ) throws(RemoteError) -> [String] {
    try read { snapshot throws(RemoteError) in
      try snapshot.documentIDs(in: collection, after: after, max: count)
    }
  }

  func aggregate(
    _ aggregates: [Aggregate], over query: StructuredQuery
  ) throws(RemoteError) -> [StoredValue] {
    try read { snapshot throws(RemoteError) in try snapshot.aggregate(aggregates, over: query) }
  }

  private func read<Result>(
    _ step: (any BackendSnapshot) throws(RemoteError) -> Result
  ) throws(RemoteError) -> Result {
    switch source {
    case .snapshot(let shared): try step(shared.snapshot)
    case .transaction(let transaction): try transaction.read(step)
    }
  }
}

/// The reads of one call, in one or several steps.
struct Reading: Sendable {
  private let database: ServedDatabase
  private let owner: TransactionTable.Owner
  /// The id of the transaction that the call reads in.
  private let transaction: [UInt8]?
  private let view: ReadView

  /// Opens the documents at the time that a request selects.
  init(
    _ database: ServedDatabase, _ selector: ReadSelector, for owner: TransactionTable.Owner
  ) throws(RemoteError) {
    self.database = database
    self.owner = owner
    switch selector {
    case .now: (transaction, view) = (nil, ReadView(try database.snapshotNow()))
    case .readTime(let time): (transaction, view) = (nil, ReadView(try database.snapshot(at: time)))
    case .transaction(let id):
      transaction = id
      view = try database.transactions.use(id, by: owner) { transaction throws(RemoteError) in
        try ReadView(transaction, isNew: false, in: database)
      }
    case .newTransaction(let options):
      let begun = try database.begin(options, for: owner)
      transaction = begun.id.bytes
      do throws(RemoteError) {
        view = try ReadView(begun, isNew: true, in: database)
      } catch {
        try database.transactions.remove(begun.id.bytes, by: owner)?.end()
        throw error
      }
    }
  }

  /// Runs a step. The transaction does not expire meanwhile, and can expire before the next step. One that
  /// the call began ends if the step fails, because the caller may not know its id.
  func perform<Result>(
    _ step: (ReadView) throws(RemoteError) -> Result
  ) throws(RemoteError) -> Result {
    guard let transaction else { return try step(view) }
    do throws(RemoteError) {
      return try database.transactions.use(transaction, by: owner) { _ throws(RemoteError) in try step(view) }
    } catch {
      if !view.newTransaction.isEmpty { try database.transactions.remove(transaction, by: owner)?.end() }
      throw error
    }
  }
}

extension CallContext {
  /// The documents at the time that a request selects.
  func reading(_ database: ServedDatabase, _ selector: ReadSelector) throws(RemoteError) -> Reading {
    try Reading(database, selector, for: owner)
  }
}
