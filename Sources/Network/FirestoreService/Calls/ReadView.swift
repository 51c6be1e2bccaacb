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
  /// The time that the documents are read at.
  let readTime: Wire.Timestamp

  init(_ snapshot: SharedSnapshot) {
    source = .snapshot(snapshot)
    readTime = Wire.Timestamp(snapshot.readTime.stored)
  }

  /// Opens the snapshot of the transaction, unless an earlier read has done so.
  init(_ transaction: OpenTransaction, in database: ServedDatabase) throws(RemoteError) {
    source = .transaction(transaction)
    switch transaction.kind {
    case .readOnly(let snapshot): readTime = Wire.Timestamp(snapshot.readTime.stored)
    case .readWrite:
      let version = try transaction.read { $0.version }
      readTime = Wire.Timestamp(database.authority.life.raised(version).stored)
    }
  }

  /// The documents at the paths; nil for each that does not exist.
  func documents(at paths: [DocumentPath]) throws(RemoteError) -> [DocumentRecord?] {
    let documents = try read { snapshot throws(RemoteError) in try snapshot.documents(at: paths) }
    if case .transaction(let transaction) = source { transaction.locks?.didRead(paths) }
    return documents
  }

  /// The result of a query in pages, which `next` reads.
  func pages(_ query: StructuredQuery) throws(RemoteError) -> any BackendPages {
    try read { snapshot throws(RemoteError) in try snapshot.pages(query) }
  }

  /// The next documents of a result; empty at its end. Fails if the transaction has ended meanwhile.
  func next(of pages: any BackendPages) throws(RemoteError) -> [DocumentRecord] {
    let page = try read { _ throws(RemoteError) in try pages.next() }
    if case .transaction(let transaction) = source { transaction.locks?.didRead(page.map(\.path)) }
    return page
  }

  /// Names of documents, as of `BackendSnapshot`.
  func documentIDs(
    in collection: CollectionPath, after: String?, max count: Int
  ) throws(RemoteError) -> [String] {
    try read { snapshot throws(RemoteError) in
      try snapshot.documentIDs(in: collection, after: after, max: count)
    }
  }

  /// The indexes that a query reads, as of `BackendSnapshot`.
  func indexesUsed(by query: StructuredQuery) throws(RemoteError) -> [IndexDefinition?] {
    try read { snapshot throws(RemoteError) in try snapshot.indexesUsed(by: query) }
  }

  /// A page of a scan, as of `BackendSnapshot`.
  func page(of scan: PathScan, documentsMax: Int) throws(RemoteError) -> PathPage {
    try read { snapshot throws(RemoteError) in try snapshot.page(of: scan, documentsMax: documentsMax) }
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
