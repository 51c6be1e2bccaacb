// Transactions with optimistic concurrency control.
//
// A transaction reads from a snapshot and buffers its writes. A commit validates what the transaction has
// read (documents, absent documents, and query results) at the transaction's position in the commit order.
// If a concurrent commit invalidated a read, the transaction is retried. Transactions do not block commits of
// plain writes.
//
// Transactions that conflict wait for each other (StoreTransactionAttempts). The locks only delay: a
// transaction that waits too long, or not at all, is still serializable.

import ByteStore

/// One attempt of a transaction: all reads first, then all writes. Not for concurrent use.
///
/// ```swift
/// let store = try DocumentStore.open("shop-data")
/// let counter = try DocumentPath(["counters", "visits"])
/// let visits = try store.transaction { transaction -> Int64 in
///   var fields = try transaction.document(at: counter)?.fields ?? StoredMap()
///   var visits: Int64 = 1
///   if case .integer(let before)? = fields["visits"] { visits += before }
///   fields["visits"] = .integer(visits)
///   try transaction.write(.set(counter, fields))
///   return visits
/// }
/// print(visits)
/// ```
public final class StoreTransaction: Sendable {
  private let store: DocumentStore
  /// The attempts of the transaction; nil if it takes no part in waiting.
  private let attempts: StoreTransactionAttempts?
  private let state: Locked<State>

  private struct State {
    var snapshot: StoreSnapshot
    var reads: TransactionReads
    var mutations: [Mutation] = []
    /// The error that ended the attempt while it waited for its turn.
    var failure: DocumentStoreError?
    var isOver = false
  }

  init(
    of store: DocumentStore, in attempts: StoreTransactionAttempts? = nil
  ) throws(DocumentStoreError) {
    self.store = store
    self.attempts = attempts
    let (snapshot, floor, number) = try Self.begin(store)
    attempts?.didBegin(number)
    state = Locked(State(snapshot: snapshot, reads: TransactionReads(floor: floor)))
  }

  private static func begin(
    _ store: DocumentStore
  ) throws(DocumentStoreError) -> (StoreSnapshot, floor: UInt64, number: UInt64) {
    let (floor, number) = store.pipeline.openTransaction()
    do throws(DocumentStoreError) {
      return (try StoreSnapshot(of: store), floor, number)
    } catch {
      store.pipeline.closeTransaction(floor)
      throw error
    }
  }

  deinit { end() }

  // MARK: Reading

  /// The document in the snapshot, or nil if it does not exist. Throws `invalidArgument` after the first
  /// write.
  public func document(at path: DocumentPath) throws(DocumentStoreError) -> StoredDocument? {
    try checkReading()
    try takeTurn(at: LockKey.document(path))
    let document = try snapshot.document(at: path)
    state.withLock { $0.reads.add(path, document) }
    return document
  }

  /// The result of a query in the snapshot. Throws `invalidArgument` after the first write.
  public func documents(_ query: StructuredQuery) throws(DocumentStoreError) -> [StoredDocument] {
    try checkReading()
    try takeTurn(at: LockKey.range(query.scope))
    let snapshot = snapshot
    let answer = try snapshot.documents(query)
    if query.offset == 0 {
      state.withLock { $0.reads.add(query, answer) }
    } else {
      try add(query, in: snapshot)
    }
    return answer
  }

  /// The result of a query in the snapshot, in pages. The commit fails if the result has changed, including
  /// the documents of pages that were not read. Throws `invalidArgument` after the first write.
  package func pages(_ query: StructuredQuery) throws(DocumentStoreError) -> QueryPages {
    try checkReading()
    try takeTurn(at: LockKey.range(query.scope))
    let snapshot = snapshot
    var pages = snapshot.pages(query)
    if let answer = try pages.wholeResult(), query.offset == 0 {
      state.withLock { $0.reads.add(query, answer) }
    } else {
      try add(query, in: snapshot)
    }
    return pages
  }

  /// The first documents of a scan in the snapshot. The commit fails if one of them has changed, or if there
  /// are others now before the end of the page. Throws `invalidArgument` after the first write.
  package func page(
    of scan: PathScan, documentsMax: Int, bytesMax: Int = QueryPages.pageBytesStandard
  ) throws(DocumentStoreError) -> PathPage {
    try checkReading()
    let page = try snapshot.page(of: scan, documentsMax: documentsMax, bytesMax: bytesMax)
    state.withLock { $0.reads.add(page.part(of: scan), page.records) }
    return page
  }

  /// Names of documents in the snapshot. The commit does not validate them.
  package func documentIDs(
    in collection: CollectionPath, after: String?, max count: Int
  ) throws(DocumentStoreError) -> [String] {
    try snapshot.documentIDs(in: collection, after: after, max: count)
  }

  /// Names of collections in the snapshot. The commit does not validate them.
  package func collectionIDs(
    below document: DocumentPath?, after: String?, max count: Int
  ) throws(DocumentStoreError) -> [String] {
    try snapshot.collectionIDs(below: document, after: after, max: count)
  }

  /// The indexes that a query reads. The commit does not validate them.
  package func indexesUsed(by query: StructuredQuery) throws(DocumentStoreError) -> [IndexDefinition?] {
    try snapshot.indexesUsed(by: query)
  }

  /// Aggregates over the result of a query in the snapshot, one value per aggregate. The commit fails if the
  /// result of the query has changed. Throws `invalidArgument` after the first write.
  package func aggregate(
    _ aggregates: [Aggregate], over query: StructuredQuery
  ) throws(DocumentStoreError) -> [StoredValue] {
    try checkReading()
    try takeTurn(at: LockKey.range(query.scope))
    let snapshot = snapshot
    let values = try snapshot.aggregate(aggregates, over: query)
    try add(query, in: snapshot)
    return values
  }

  /// Adds the documents that decide the result of a query to the reads.
  private func add(_ query: StructuredQuery, in snapshot: StoreSnapshot) throws(DocumentStoreError) {
    let query = query.withoutOffset
    let versions = try snapshot.versions(query)
    state.withLock { $0.reads.add(query, versions) }
  }

  /// The error with which the store ended the attempt before its commit; nil if the store has not done so.
  package var failure: (any Error)? { state.withLock { $0.failure } }

  private var snapshot: StoreSnapshot { state.withLock { $0.snapshot } }

  /// The time of the last commit that the transaction's reads include; nil if there is none.
  package var time: StoredTimestamp? { snapshot.time }

  private func checkReading() throws(DocumentStoreError) {
    guard state.withLock({ $0.mutations.isEmpty }) else {
      throw .invalidArgument("Firestore transactions require all reads to be executed before all writes")
    }
  }

  // MARK: Writing

  /// Adds a write. Throws `invalidArgument` if the write needs a document that the transaction read as
  /// absent, or if the transaction has ended.
  public func write(_ mutation: Mutation) throws(DocumentStoreError) {
    try add(mutation) { state throws(DocumentStoreError) in
      if case .patch = mutation.change, mutation.precondition == .exists(true),
        !state.reads.mayExist(mutation.path),
        !state.mutations.contains(where: { $0.path == mutation.path })
      {
        throw .invalidArgument("Can't update a document that doesn't exist.")
      }
    }
  }

  /// Adds writes of another process. The commit checks all their preconditions, so a write that needs an
  /// absent document ends the transaction with the path of that document.
  package func add(_ mutations: [Mutation]) throws(DocumentStoreError) {
    for mutation in mutations { try add(mutation) { _ in } }
  }

  private func add(
    _ mutation: Mutation, _ check: (borrowing State) throws(DocumentStoreError) -> Void
  ) throws(DocumentStoreError) {
    try takeTurn(at: LockKey.document(mutation.path))
    try state.withLock { state throws(DocumentStoreError) in
      guard !state.isOver else {
        throw .invalidArgument(
          "A transaction object cannot be used after its update callback has been invoked.")
      }
      try check(state)
      state.mutations.append(mutation)
    }
  }

  // MARK: Waiting for other transactions

  /// Waits for the transaction's turn at a key if other transactions are waiting. A transaction that has
  /// waited gets a new snapshot, because the earlier holder has probably changed the document.
  private func takeTurn(at key: @autoclosure () -> RecordKey) throws(DocumentStoreError) {
    guard let attempts, store.locks.isContended else { return }
    let key = key()
    let (isOver, failure) = state.withLock { ($0.isOver, $0.failure) }
    if let failure { throw failure }
    guard !isOver else { return }
    try ending(touching: [key]) { () throws(DocumentStoreError) in
      if try attempts.takeTurn(at: [key]) { try renewSnapshot() }
    }
  }

  /// Runs a step that ends the attempt if it fails.
  private func ending<Result>(
    touching keys: [RecordKey] = [], _ step: () throws(DocumentStoreError) -> Result
  ) throws(DocumentStoreError) -> Result {
    do throws(DocumentStoreError) { return try step() } catch {
      state.withLock { $0.failure = error }
      if error.isRetryable { attempts?.didLose(touchedKeys + keys) }
      throw error
    }
  }

  /// Continues the transaction on a new snapshot, as if it had begun there. Throws `aborted` if anything that
  /// it has read was changed since its first snapshot.
  private func renewSnapshot() throws(DocumentStoreError) {
    store.pipeline.waitForCommitsInProgress()
    let (snapshot, floor, _) = try Self.begin(store)
    let old = state.withLock { ($0.snapshot, $0.reads) }
    // The reads hold in the new snapshot if they hold in every state until now.
    if let change = store.pipeline.change(of: old.1) {
      store.pipeline.closeTransaction(floor)
      snapshot.close()
      throw .aborted("The transaction cannot be committed: \(change).")
    }
    state.withLock { state in
      state.snapshot = snapshot
      state.reads.floor = floor
    }
    store.pipeline.closeTransaction(old.1.floor)
    old.0.close()
  }

  /// The keys of the locks for everything that the attempt has read or written.
  private var touchedKeys: [RecordKey] {
    state.withLock { state in
      state.reads.lockKeys + state.mutations.map { LockKey.document($0.path) }
    }
  }

  // MARK: Committing

  /// Commits all writes, or throws `aborted` if a read would now have another result. Returns nil if there
  /// are no writes. In that case the reads need no validation, because they come from one snapshot.
  @discardableResult
  public func commit() throws(DocumentStoreError) -> StoredTimestamp? {
    try commit(nil)?.time
  }

  /// Commits like `commit()`, and returns the results of the writes. The commit also writes the record.
  /// Returns nil, and writes no record, if the transaction has no writes.
  package func commit(recording record: CommitRecord?) throws(DocumentStoreError) -> CommitOutcome? {
    try commit(CommitTerms.OutcomeRequest(record: record))?.outcome
  }

  private func commit(
    _ outcome: CommitTerms.OutcomeRequest?
  ) throws(DocumentStoreError) -> CommitInProgress? {
    guard let begun = try begin(outcome) else { return nil }
    defer { release() }
    return try ending { () throws(DocumentStoreError) in try store.finished(begun) }
  }

  /// Validates the reads and starts the commit like `DocumentStore.beginCommit`. The transaction is over.
  /// Returns nil, and writes no record, if the transaction has no writes.
  package func beginCommit(
    recording record: CommitRecord?
  ) throws(DocumentStoreError) -> OutcomeInProgress? {
    guard let begun = try begin(CommitTerms.OutcomeRequest(record: record)) else { return nil }
    return OutcomeInProgress(commit: begun, transaction: self)
  }

  /// Ends a transaction whose commit has ended.
  func didFinish() { release() }

  private func begin(
    _ outcome: CommitTerms.OutcomeRequest?
  ) throws(DocumentStoreError) -> CommitInProgress? {
    if !state.withLock({ $0.isOver || $0.mutations.isEmpty }) { try takeTurns() }
    let (reads, mutations, wasOver, failure) = state.withLock { state in
      defer { state.isOver = true }
      return (state.reads, state.mutations, state.isOver, state.failure)
    }
    guard !wasOver else { throw .invalidArgument("A transaction can be committed once.") }
    // A commit that depends on a refused one validates the reads again, so they stay open until its end.
    var isBegun = false
    defer { if !isBegun { release() } }
    if let failure { throw failure }
    guard !mutations.isEmpty else { return nil }
    let begun = try ending { () throws(DocumentStoreError) in
      try store.pipeline.begin(mutations, CommitTerms(reads: reads, outcome: outcome))
    }
    isBegun = true
    return begun
  }

  /// Waits for the transaction's turn at everything that it has touched, if other transactions are waiting.
  /// A first attempt may have touched documents before another transaction locked them.
  private func takeTurns() throws(DocumentStoreError) {
    guard let attempts, store.locks.isContended, state.withLock({ $0.failure == nil }) else { return }
    _ = try ending { () throws(DocumentStoreError) in try attempts.takeTurn(at: touchedKeys) }
  }

  /// Ends the transaction without writing.
  public func end() {
    let wasOver = state.withLock { state in
      defer { state.isOver = true }
      return state.isOver
    }
    if !wasOver { release() }
  }

  private func release() {
    let (snapshot, floor) = state.withLock { ($0.snapshot, $0.reads.floor) }
    store.pipeline.closeTransaction(floor)
    snapshot.close()
  }
}
