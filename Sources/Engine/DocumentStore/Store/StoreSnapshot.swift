// Reading at one point in time, for as long as wanted.
//
// A snapshot is a moment of the store of bytes with the indexes of the same commit. An index that a query needs and
// that is not there is made for the store, for other snapshots will want it as well; the snapshot takes that one if
// nothing was committed in between, and makes one of its own documents otherwise.

import ByteStore

/// All documents as of one commit, whatever is committed meanwhile. Ends with `close()` or with its last reference;
/// until then it keeps the space of what has been replaced. Usable from any thread.
///
/// ```swift
/// let store = try DocumentStore.openInMemory()
/// let before = try store.snapshot()
/// try store.commit([.set(DocumentPath(["users", "ada"]), StoredMap())])
/// print(before.count, store.count)  // 0 1
/// before.close()
/// ```
public final class StoreSnapshot: Sendable {
  /// Of the last commit that it sees; nil before the first one.
  public let time: StoredTimestamp?

  private let store: DocumentStore
  private let state: Locked<State?>

  private struct State {
    var moment: Moment
    var view: IndexView
    var lease: SnapshotLease
    /// Those that cannot be made of these documents, because a record cannot be decoded.
    var impossible: [IndexDefinition] = []
  }

  init(of store: DocumentStore) throws(DocumentStoreError) {
    self.store = store
    while true {
      let (moment, view) = try store.moment { [indexes = store.indexes] in indexes.view() }
      guard let view else {
        try store.findNames()
        continue
      }
      time = moment.stamp == 0 ? nil : StoredTimestamp(microseconds: Int64(bitPattern: moment.stamp))
      state = Locked(State(moment: moment, view: view, lease: store.bytes.lease(moment)))
      return
    }
  }

  /// Lets go of what only this snapshot needs. Reads fail from then on.
  public func close() { state.withLock { $0 = nil } }

  private func opened() throws(DocumentStoreError) -> State {
    do throws(ByteStoreError) { try store.bytes.checkReadable() } catch { throw DocumentStoreError(error) }
    guard let state = state.withLock({ $0 }) else {
      throw DocumentStoreError(.closed(directory: store.path))
    }
    return state
  }

  // MARK: Reading

  /// The number of documents.
  public var count: Int { state.withLock { $0?.view.names.count } ?? 0 }

  /// The document at a path, or nil if there was none.
  public func document(at path: DocumentPath) throws(DocumentStoreError) -> StoredDocument? {
    let moment = try opened().moment
    let pooled = moment.takeBuffer()
    defer { moment.giveBack(pooled) }
    do throws(ByteStoreError) {
      guard try moment.read(DocumentKey.encode(path), into: &pooled.buffer) else { return nil }
    } catch {
      throw DocumentStoreError(error)
    }
    do throws(RecordError) {
      return try pooled.buffer.withEntry { _, record throws(RecordError) in
        try StoredDocument(path: path, record: record, store.indexes.shapes.table)
      }
    } catch {
      throw DocumentStoreError(error, at: path, in: store.path)
    }
  }

  /// The answer of a query.
  public func documents(_ query: StructuredQuery) throws(DocumentStoreError) -> [StoredDocument] {
    let documents = try run(query) { run throws(DocumentStoreError) in try run.documents() }
    if case .last = query.limit { return documents.reversed() }
    return documents
  }

  /// The number of documents in the answer.
  public func count(_ query: StructuredQuery) throws(DocumentStoreError) -> Int {
    try run(query) { run throws(DocumentStoreError) in try run.count() }
  }

  /// Numbers about the answer, one for each aggregate.
  public func aggregate(
    _ aggregates: [Aggregate], over query: StructuredQuery
  ) throws(DocumentStoreError) -> [StoredValue] {
    try Aggregate.check(aggregates)
    if let ordered = query.ordered(behindBy: Aggregation(aggregates).fields) {
      try query.check()
      let results = try run(ordered, createsIndexes: false, checks: false) {
        run throws(DocumentStoreError) in try run.aggregationOfKeys(aggregates)?.results
      }
      if let results { return results }
    }
    return try run(query) { run throws(DocumentStoreError) in try run.aggregation(aggregates).results }
  }

  // MARK: Running

  private func run<Result>(
    _ query: StructuredQuery, createsIndexes: Bool = true, checks: Bool = true,
    _ body: (QueryRun) throws(DocumentStoreError) -> Result
  ) throws(DocumentStoreError) -> Result {
    if checks { try query.check() }
    let collectionID = query.scope.collectionID
    var isIndexImpossible = false
    while true {
      let state = try opened()
      let view = state.view.of(collectionID)
      let planner = QueryPlanner(
        definitions: view.indexes.map(\.definition),
        createsIndexes: createsIndexes && store.createsIndexes && !isIndexImpossible,
        scanMax: store.options.scanMax,
        count: { access throws(DocumentStoreError) in try view.count(access) })
      do throws(DocumentStoreError) {
        switch try planner.decide(query) {
        case .needs(let definitions):
          let impossible = state.impossible + store.indexes.impossible(in: collectionID)
          guard !definitions.contains(where: impossible.contains) else {
            isIndexImpossible = true
            continue
          }
          // The query may not need the record that cannot be decoded, so it does without the index.
          isIndexImpossible = try !make(definitions, state)
        case .plan(let plan):
          store.indexes.noteUse(of: plan.indexes)
          return try body(
            QueryRun(plan, state.moment, view, store.indexes.shapes.table, storePath: store.path))
        }
      } catch {
        // A damaged page of an index is no loss: what it says, the documents say as well.
        guard case .corrupted = error, dropUnreadable() else { throw error }
      }
    }
  }

  /// False if a record of the collection cannot be decoded.
  private func make(_ definitions: [IndexDefinition], _ state: State) throws(DocumentStoreError) -> Bool {
    for definition in definitions {
      do throws(DocumentStoreError) {
        try make(definition, definitions, state)
      } catch {
        guard error.undecodable != nil else { throw error }
        self.state.withLock { $0?.impossible.append(definition) }
        return false
      }
    }
    return true
  }

  private func make(
    _ definition: IndexDefinition, _ needed: [IndexDefinition], _ state: State
  ) throws(DocumentStoreError) {
    try store.build(definition, isAutomatic: true, sparing: needed)
    var index = ManagedIndex(id: 0, definition: definition, isAutomatic: true)
    let (now, stored) = try store.moment { [indexes = store.indexes] in
      indexes.state.withLock { $0.indexes.first { $0.definition == definition } }
    }
    if let stored, now.sequence == state.moment.sequence {
      index = stored
    } else {
      _ = try store.fill(&index, state.moment, state.view.names) { _ in true }
    }
    let made = index
    self.state.withLock { state in
      guard state?.view.index(definition) == nil else { return }
      state?.view.indexes.append(made)
    }
  }

  /// Indexes that have a damaged page go; names cannot.
  private func dropUnreadable() -> Bool {
    guard let indexes = state.withLock({ $0?.view.indexes }) else { return false }
    let lost = Set(indexes.filter(\.tree.isDamaged).map(\.definition))
    state.withLock { $0?.view.indexes.removeAll { lost.contains($0.definition) } }
    return !lost.isEmpty
  }
}

extension DocumentStore {
  /// All documents as of the last commit.
  public func snapshot() throws(DocumentStoreError) -> StoreSnapshot { try StoreSnapshot(of: self) }
}
