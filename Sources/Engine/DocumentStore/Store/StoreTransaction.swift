// Transactions with optimistic concurrency control.
//
// A transaction reads from a snapshot and buffers its writes. A commit validates what the transaction has
// read (documents, absent documents, and query results) at the transaction's position in the commit order.
// Transactions do not lock documents and do not block commits. If a concurrent commit invalidated a read, the
// transaction is retried.

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
  private let floor: UInt64
  private let snapshot: StoreSnapshot
  private let state: Locked<State>

  private struct State {
    var reads: TransactionReads
    var mutations: [Mutation] = []
    var isOver = false
  }

  init(of store: DocumentStore) throws(DocumentStoreError) {
    self.store = store
    let floor = store.pipeline.openTransaction()
    self.floor = floor
    state = Locked(State(reads: TransactionReads(floor: floor)))
    do throws(DocumentStoreError) {
      snapshot = try StoreSnapshot(of: store)
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
    let document = try snapshot.document(at: path)
    state.withLock { $0.reads.add(path, document) }
    return document
  }

  /// The result of a query in the snapshot. Throws `invalidArgument` after the first write.
  public func documents(_ query: StructuredQuery) throws(DocumentStoreError) -> [StoredDocument] {
    try checkReading()
    let answer = try snapshot.documents(query)
    state.withLock { $0.reads.add(query, answer) }
    return answer
  }

  private func checkReading() throws(DocumentStoreError) {
    guard state.withLock({ $0.mutations.isEmpty }) else {
      throw .invalidArgument("Firestore transactions require all reads to be executed before all writes")
    }
  }

  // MARK: Writing

  /// Adds a write. Throws `invalidArgument` if the write needs a document that the transaction read as
  /// absent, or if the transaction has ended.
  public func write(_ mutation: Mutation) throws(DocumentStoreError) {
    try state.withLock { state throws(DocumentStoreError) in
      guard !state.isOver else {
        throw .invalidArgument(
          "A transaction object cannot be used after its update callback has been invoked.")
      }
      if case .patch = mutation.change, mutation.precondition == .exists(true),
        !state.reads.mayExist(mutation.path),
        !state.mutations.contains(where: { $0.path == mutation.path })
      {
        throw .invalidArgument("Can't update a document that doesn't exist.")
      }
      state.mutations.append(mutation)
    }
  }

  // MARK: Committing

  /// Commits all writes, or throws `aborted` if a read would now have another result. Returns nil if there
  /// are no writes. In that case the reads need no validation, because they come from one snapshot.
  @discardableResult
  public func commit() throws(DocumentStoreError) -> StoredTimestamp? {
    let (reads, mutations, wasOver) = state.withLock { state in
      defer { state.isOver = true }
      return (state.reads, state.mutations, state.isOver)
    }
    guard !wasOver else { throw .invalidArgument("A transaction can be committed once.") }
    defer { release() }
    guard !mutations.isEmpty else { return nil }
    return try store.finish(try store.pipeline.begin(mutations, reads: reads))
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
    store.pipeline.closeTransaction(floor)
    snapshot.close()
  }
}
