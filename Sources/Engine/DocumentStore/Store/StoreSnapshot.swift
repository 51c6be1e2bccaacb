// Long-lived reads at one point in time.
//
// A snapshot pins the byte store's snapshot and the indexes of the same commit. If a query needs a missing
// index, the index is built for the store, because later snapshots will need it, too. If nothing was
// committed during the build, this snapshot uses the store's index. Otherwise this snapshot builds an index
// from its own documents.

import ByteStore

/// All documents as of one commit, unaffected by later commits. Ends with `close()` or with its last
/// reference. Until then, it keeps the space of replaced data. Usable from any thread.
///
/// ```swift
/// let store = try DocumentStore.openInMemory()
/// let before = try store.snapshot()
/// try store.commit([.set(DocumentPath(["users", "ada"]), StoredMap())])
/// print(before.count, store.count)  // 0 1
/// before.close()
/// ```
public final class StoreSnapshot: Sendable {
  /// The time of the last commit that the snapshot includes; nil if there is none.
  public let time: StoredTimestamp?

  private let store: DocumentStore
  private let state: Locked<State?>

  private struct State {
    var snapshot: Snapshot
    var view: IndexView
    /// Indexes that cannot be built, because a record cannot be decoded.
    var unbuildable: [IndexDefinition] = []
  }

  init(of store: DocumentStore) throws(DocumentStoreError) {
    self.store = store
    while true {
      let (snapshot, view) = try Self.pinned(store) { [indexes = store.indexes] in indexes.view() }
      guard let view else {
        try store.rebuildNames()
        continue
      }
      time = snapshot.stamp == 0 ? nil : StoredTimestamp(microseconds: Int64(bitPattern: snapshot.stamp))
      state = Locked(State(snapshot: snapshot, view: view))
      return
    }
  }

  private static func pinned<Result>(
    _ store: DocumentStore, alongside body: () -> Result
  ) throws(DocumentStoreError) -> (Snapshot, Result) {
    var result: Result?
    let snapshot = try translatingErrors { () throws(ByteStoreError) in
      try store.bytes.pinnedSnapshot { result = body() }
    }
    guard let result else { preconditionFailure("a snapshot runs the closure") }
    return (snapshot, result)
  }

  /// Releases the pinned data. Later reads fail.
  public func close() { state.withLock { $0 = nil } }

  private func opened() throws(DocumentStoreError) -> State {
    try translatingErrors { () throws(ByteStoreError) in try store.bytes.checkReadable() }
    guard let state = state.withLock({ $0 }) else {
      throw DocumentStoreError(.closed(directory: store.path))
    }
    return state
  }

  // MARK: Reading

  /// The number of documents.
  public var count: Int { state.withLock { $0?.view.names.count } ?? 0 }

  /// The document at a path; nil if it does not exist.
  public func document(at path: DocumentPath) throws(DocumentStoreError) -> StoredDocument? {
    let snapshot = try opened().snapshot
    let pooled = snapshot.takeBuffer()
    defer { snapshot.recycle(pooled) }
    let exists = try translatingErrors { () throws(ByteStoreError) in
      try snapshot.read(DocumentKey.encode(path), into: &pooled.buffer)
    }
    guard exists else { return nil }
    do throws(RecordError) {
      return try StoredDocument(path: path, record: pooled.buffer.bytes, shapes: store.indexes.shapes.table)
    } catch {
      throw DocumentStoreError(error, at: path, in: store.path)
    }
  }

  /// The encoded document at a path; nil if it does not exist.
  package func storedRecord(at path: DocumentPath) throws(DocumentStoreError) -> DocumentRecord? {
    let snapshot = try opened().snapshot
    let record = try translatingErrors { () throws(ByteStoreError) in
      try snapshot.value(for: DocumentKey.encode(path))
    }
    guard let record else { return nil }
    do throws(RecordError) {
      return try DocumentRecord(path: path, record: record, shapes: store.indexes.shapes.table)
    } catch {
      throw DocumentStoreError(error, at: path, in: store.path)
    }
  }

  /// The position of the change feed's last commit that the snapshot includes.
  package func feedPosition() throws(DocumentStoreError) -> FeedPosition {
    let snapshot = try opened().snapshot
    let state = try translatingErrors { () throws(ByteStoreError) in
      try snapshot.value(for: FeedFormat.stateKey)
    }
    guard let state else { return .start }
    guard let seen = FeedLedger.end(of: state) else {
      throw store.feedDamage("the state of the change feed")
    }
    return FeedPosition(seen.next - 1)
  }

  /// The result of a query.
  public func documents(_ query: StructuredQuery) throws(DocumentStoreError) -> [StoredDocument] {
    let documents = try run(query) { run throws(DocumentStoreError) in try run.documents() }
    if case .last = query.limit { return documents.reversed() }
    return documents
  }

  /// The result of a query as encoded records, for callers that decode only some fields.
  package func records(_ query: StructuredQuery) throws(DocumentStoreError) -> [DocumentRecord] {
    let records = try run(query) { run throws(DocumentStoreError) in try run.records() }
    if case .last = query.limit { return records.reversed() }
    return records
  }

  /// The number of documents in the result.
  public func count(_ query: StructuredQuery) throws(DocumentStoreError) -> Int {
    try run(query) { run throws(DocumentStoreError) in try run.count() }
  }

  /// Aggregates over the result, one value per aggregate.
  public func aggregate(
    _ aggregates: [Aggregate], over query: StructuredQuery
  ) throws(DocumentStoreError) -> [StoredValue] {
    try Aggregate.check(aggregates)
    if let ordered = query.ordered(behindBy: Aggregation(aggregates).fields) {
      try query.check()
      let results = try run(ordered, createsIndexes: false, checks: false) {
        run throws(DocumentStoreError) in try run.aggregationFromKeys(aggregates)?.results
      }
      if let results { return results }
    }
    return try run(query) { run throws(DocumentStoreError) in try run.aggregation(aggregates).results }
  }

  /// The versions of the documents in the result.
  func versions(_ query: StructuredQuery) throws(DocumentStoreError) -> QueryVersions {
    try run(query) { run throws(DocumentStoreError) in try run.versions() }
  }

  /// The names in the paths of all documents, with those of documents that have changed since.
  func names(changed: [DocumentPath: Bool]) throws(DocumentStoreError) -> CollectionNames {
    let state = try opened()
    return CollectionNames(state.snapshot, state.view.names, changed: changed)
  }

  /// Reads documents in the order of their paths.
  func pathReader() throws(DocumentStoreError) -> PathReader {
    let state = try opened()
    return PathReader(
      state.snapshot, state.view.names, shapes: store.indexes.shapes.table, storePath: store.path)
  }

  // MARK: Running

  /// Runs a query. If `mayRetry` is true, `body` may be called again from the start, with other indexes.
  func run<Result>(
    _ query: StructuredQuery, createsIndexes: Bool = true, checks: Bool = true, mayRetry: Bool = true,
    _ body: (QueryRun) throws(DocumentStoreError) -> Result
  ) throws(DocumentStoreError) -> Result {
    if checks { try query.check() }
    let collectionID = query.scope.collectionID
    let query = query.executableForm
    var isIndexUnbuildable = false
    while true {
      let state = try opened()
      let view = state.view.of(collectionID)
      let planner = QueryPlanner(
        definitions: view.indexes.map(\.definition),
        createsIndexes: createsIndexes && store.createsIndexes && !isIndexUnbuildable,
        scanMax: store.options.scanMax,
        count: { access throws(DocumentStoreError) in try view.count(access) })
      do throws(DocumentStoreError) {
        if let plan = store.plans.plan(for: query, view) {
          return try execute(plan, QueryState(state.snapshot, view), body)
        }
        switch try planner.decide(query) {
        case .needs(let definitions):
          let unbuildable = state.unbuildable + store.indexes.unbuildable(in: collectionID)
          guard !definitions.contains(where: unbuildable.contains), !store.isRefused(definitions) else {
            isIndexUnbuildable = true
            continue
          }
          // The query may not need the undecodable record, so it runs without the index.
          isIndexUnbuildable = try !make(definitions, state)
        case .plan(let plan, let template):
          if let template { store.plans.add(template, for: query, view: view) }
          return try execute(plan, QueryState(state.snapshot, view), body)
        }
      } catch {
        // A damaged index page loses no data, because the index can be rebuilt from the documents.
        guard case .corrupted = error, dropUnreadable(), mayRetry else { throw error }
      }
    }
  }

  private func execute<Result>(
    _ plan: QueryPlan, _ state: QueryState,
    _ body: (QueryRun) throws(DocumentStoreError) -> Result
  ) throws(DocumentStoreError) -> Result {
    plan.noteUse(in: store.indexes, state.view)
    defer { store.bytes.balanceMemoryIfDue() }
    return try body(
      QueryRun(
        plan, state, shapes: store.indexes.shapes, storePath: store.path,
        memory: store.reservation()))
  }

  /// Builds missing indexes. Returns false if a record of the collection cannot be decoded, or if an index is
  /// too large for the memory budget.
  private func make(_ definitions: [IndexDefinition], _ state: State) throws(DocumentStoreError) -> Bool {
    for definition in definitions {
      do throws(DocumentStoreError) {
        try make(definition, definitions, state: state)
      } catch {
        if case .memoryExceeded = error { return false }
        guard error.undecodable != nil else { throw error }
        self.state.withLock { $0?.unbuildable.append(definition) }
        return false
      }
    }
    return true
  }

  private func make(
    _ definition: IndexDefinition, _ needed: [IndexDefinition], state: State
  ) throws(DocumentStoreError) {
    try store.build(IndexBuild(definition: definition, isForQuery: true, spared: needed))
    var index = ManagedIndex(id: 0, definition: definition, isAutomatic: true)
    let (now, stored) = try store.byteSnapshot { [indexes = store.indexes] in
      indexes.state.withLock { $0.indexes.first { $0.definition == definition } }
    }
    if let stored, now.sequence == state.snapshot.sequence {
      index = stored
    } else {
      _ = try store.fill(&index, state.snapshot, names: state.view.names) { _ in true }
    }
    let built = index
    self.state.withLock { state in
      guard let view = state?.view, view.index(definition) == nil else { return }
      state?.view = view.with(view.indexes + [built])
    }
  }

  /// Drops indexes with damaged pages. The name index cannot be dropped.
  private func dropUnreadable() -> Bool {
    guard let indexes = state.withLock({ $0?.view.indexes }) else { return false }
    let lost = Set(indexes.filter(\.tree.isDamaged).map(\.definition))
    state.withLock { state in
      guard let view = state?.view else { return }
      state?.view = view.with(view.indexes.filter { !lost.contains($0.definition) })
    }
    return !lost.isEmpty
  }
}

extension DocumentStore {
  /// Takes a snapshot of all documents as of the last commit.
  public func snapshot() throws(DocumentStoreError) -> StoreSnapshot { try StoreSnapshot(of: self) }

  /// Takes a snapshot that includes all commits up to a time. Commits that it does not include get later
  /// times.
  package func snapshot(through time: StoredTimestamp) throws(DocumentStoreError) -> StoreSnapshot {
    _ = raiseCommitTime(to: time)
    pipeline.waitForCommitsInProgress()
    return try snapshot()
  }
}
