// Reads of one call, all in one snapshot.

internal import Authority
internal import DocumentStore
internal import FirestoreWire
internal import OfflineSync

/// The documents of a database in one snapshot, or as a transaction reads them.
struct ReadView {
  private enum Source {
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

  /// Calls `body` with each document of the result in order, until it returns false.
  func forEach(_ query: StructuredQuery, _ body: (DocumentRecord) -> Bool) throws(RemoteError) {
    switch source {
    case .snapshot(let shared): try shared.snapshot.forEach(query, body)
    case .transaction(let transaction):
      // The documents are passed on when the transaction is free for other calls again.
      var records: [DocumentRecord] = []
      try transaction.read { snapshot throws(RemoteError) in
        try snapshot.forEach(query) { record in
          records.append(record)
          return true
        }
      }
      for record in records { guard body(record) else { return } }
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

extension CallContext {
  /// Runs `body` with the documents at the time that a request selects. A transaction that the call began
  /// ends if `body` fails, because the caller may not know its id.
  func reading<Result>(
    _ database: ServedDatabase, _ selector: ReadSelector,
    _ body: (ReadView) throws(RemoteError) -> Result
  ) throws(RemoteError) -> Result {
    switch selector {
    case .now: return try body(ReadView(database.snapshotNow()))
    case .readTime(let time): return try body(ReadView(database.snapshot(at: time)))
    case .transaction(let id):
      return try database.transactions.use(id, by: owner) { transaction throws(RemoteError) in
        try body(ReadView(transaction, isNew: false, in: database))
      }
    case .newTransaction(let options):
      let id = try database.begin(options, for: owner).id.bytes
      do throws(RemoteError) {
        return try database.transactions.use(id, by: owner) { transaction throws(RemoteError) in
          try body(ReadView(transaction, isNew: true, in: database))
        }
      } catch {
        try database.transactions.remove(id, by: owner)?.end()
        throw error
      }
    }
  }
}
