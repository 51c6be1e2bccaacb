// Running queries.

import ByteStore

extension DocumentStore {
  /// The result of a query as of the last commit. Builds a missing index first, unless `createsIndexes` is
  /// false.
  public func documents(_ query: StructuredQuery) throws(DocumentStoreError) -> [StoredDocument] {
    let documents = try run(query) { run throws(DocumentStoreError) in try run.documents() }
    if case .last = query.limit { return documents.reversed() }
    return documents
  }

  /// Runs a query and skips documents with undecodable records. Also returns the paths of the skipped
  /// documents that might match the query. Skipped documents do not count toward a limit, so the result of a
  /// limited query may contain documents that would otherwise be past the limit.
  package func decodableDocuments(
    _ query: StructuredQuery
  ) throws(DocumentStoreError) -> (documents: [StoredDocument], skipped: [DocumentPath]) {
    var found = try run(query) { run throws(DocumentStoreError) in try run.decodableDocuments() }
    if case .last = query.limit { found.documents.reverse() }
    return (found.documents, found.skipped)
  }

  /// The first documents of a query, as by `decodableDocuments`, until their records have `bytesMax` bytes.
  /// `isCutOff` says that there may be more within the limit. The query must not have a limit on the last
  /// documents.
  package func decodablePage(
    _ query: StructuredQuery, bytesMax: Int
  ) throws(DocumentStoreError) -> (documents: [StoredDocument], skipped: [DocumentPath], isCutOff: Bool) {
    try run(query) { run throws(DocumentStoreError) in try run.decodableDocuments(bytesMax: bytesMax) }
  }

  /// Reads the first documents of a query until their records have `bytesMax` bytes. A document whose record
  /// cannot be decoded is in the page, too.
  package func page(
    _ query: StructuredQuery, bytesMax: Int
  ) throws(DocumentStoreError) -> [PagedDocument] {
    try run(query) { run throws(DocumentStoreError) in try run.page(bytesMax: bytesMax) }
  }

  /// Whether a document exists, even if its record cannot be decoded.
  package func holdsDocument(at path: DocumentPath) throws(DocumentStoreError) -> Bool {
    try translatingErrors { () throws(ByteStoreError) in
      try bytes.withValue(for: DocumentKey.encode(path)) { _ in true } ?? false
    }
  }

  /// The result of a query as encoded records, for callers that decode only some fields or decode
  /// differently.
  package func records(_ query: StructuredQuery) throws(DocumentStoreError) -> [DocumentRecord] {
    let records = try run(query) { run throws(DocumentStoreError) in try run.records() }
    if case .last = query.limit { return records.reversed() }
    return records
  }

  /// The result as encoded records, or nil if an index would have to be built first. Intended for threads
  /// that must not wait.
  package func recordsIfIndexed(_ query: StructuredQuery) throws(DocumentStoreError) -> [DocumentRecord]? {
    guard let records = try runIfIndexed(query, { run throws(DocumentStoreError) in try run.records() })
    else { return nil }
    if case .last = query.limit { return records.reversed() }
    return records
  }

  /// Calls `body` with each document of the result until `body` returns false. The documents are borrowed
  /// from the store, so this is useful for reading many documents, or few of their fields. Throws
  /// `invalidArgument` if the limit selects the last documents, or if no index has the order of the query;
  /// use `documents` for such queries.
  public func forEach(
    _ query: StructuredQuery, _ body: (borrowing DocumentView) -> Bool
  ) throws(DocumentStoreError) {
    if case .last = query.limit {
      throw .invalidArgument(
        "A query for the last documents is answered from its end, and cannot be borrowed.")
    }
    try perform(query, mayRetry: false, missing: .build) { run throws(DocumentStoreError) in
      guard run.isOrdered else {
        throw .invalidArgument("No index has the order of this query, so that its answer cannot be borrowed.")
      }
      try run.forEach(body)
    }
  }

  /// Calls `body` with a document as of the last commit, borrowed from the store. Returns nil if the document
  /// does not exist.
  public func withDocument<Result>(
    at path: DocumentPath, _ body: (borrowing DocumentView) -> Result
  ) throws(DocumentStoreError) -> Result? {
    guard let measures = bytes.measures else { return try withUnmeasuredDocument(at: path, body) }
    return try measures.timing(.read, clock) { () throws(DocumentStoreError) in
      try withUnmeasuredDocument(at: path, body)
    }
  }

  private func withUnmeasuredDocument<Result>(
    at path: DocumentPath, _ body: (borrowing DocumentView) -> Result
  ) throws(DocumentStoreError) -> Result? {
    let pooled = bytes.takeBuffer()
    defer { bytes.recycle(pooled) }
    DocumentKey.encode(path, to: &pooled.key)
    let exists = try translatingErrors { () throws(ByteStoreError) in
      try bytes.read(pooled.key, into: &pooled.buffer)
    }
    guard exists else { return nil }
    let (key, shapes) = (pooled.key, indexes.shapes.snapshot(keptBy: pooled).table.bytes)
    return pooled.buffer.withBytes { record in
      body(DocumentView(key: key.rawSpan, record: record, shapes: shapes.rawSpan))
    }
  }

  /// The number of documents in the result. If an index suffices, no document is read.
  public func count(_ query: StructuredQuery) throws(DocumentStoreError) -> Int {
    try run(query) { run throws(DocumentStoreError) in try run.count() }
  }

  /// Computes aggregates over the result of a query, and returns one value per aggregate.
  public func aggregate(
    _ aggregates: [Aggregate], over query: StructuredQuery
  ) throws(DocumentStoreError) -> [StoredValue] {
    try Aggregate.check(aggregates)
    if aggregates.allSatisfy({ $0 == .count }) {
      let count = try count(query)
      return aggregates.map { _ in .integer(Int64(count)) }
    }
    return try totals(aggregates, over: query) { results, _ in results }
  }

  /// Computes aggregates over the result of a query, or returns nil if an index would have to be built first.
  package func aggregateIfIndexed(
    _ aggregates: [Aggregate], over query: StructuredQuery
  ) throws(DocumentStoreError) -> [StoredValue]? {
    try Aggregate.check(aggregates)
    if aggregates.allSatisfy({ $0 == .count }) {
      let count = try runIfIndexed(query) { run throws(DocumentStoreError) in try run.count() }
      return count.map { count in aggregates.map { _ in .integer(Int64(count)) } }
    }
    if let results = try totalsFromKeys(aggregates, over: query, { results, _ in results }) { return results }
    return try runIfIndexed(query) { run throws(DocumentStoreError) in try run.aggregation(aggregates) }?
      .results
  }

  /// Passes the aggregates, and the run that computed them, to `body`.
  private func totals<Result>(
    _ aggregates: [Aggregate], over query: StructuredQuery, _ body: ([StoredValue], QueryRun) -> Result
  ) throws(DocumentStoreError) -> Result {
    if let result = try totalsFromKeys(aggregates, over: query, body) { return result }
    return try run(query) { run throws(DocumentStoreError) in
      body(try run.aggregation(aggregates).results, run)
    }
  }

  /// Computes the aggregates from an existing index that contains all of their fields; nil if there is no
  /// such index.
  private func totalsFromKeys<Result>(
    _ aggregates: [Aggregate], over query: StructuredQuery, _ body: ([StoredValue], QueryRun) -> Result
  ) throws(DocumentStoreError) -> Result? {
    guard let ordered = query.ordered(behindBy: Aggregation(aggregates).fields) else { return nil }
    try query.check()
    return try run(ordered, createsIndexes: false, checks: false) { run throws(DocumentStoreError) in
      try run.aggregationFromKeys(aggregates).map { body($0.results, run) }
    }
  }

  /// Runs a query, and returns its plan and the work that the query took.
  public func explain(_ query: StructuredQuery) throws(DocumentStoreError) -> QueryExplanation {
    let start = clock.monotonicNanoseconds()
    return try run(query) { run throws(DocumentStoreError) in
      let results = try run.documents().count
      return explanation(of: run, results: results, start: start)
    }
  }

  /// Runs an aggregation, and returns its plan and the work that the aggregation took. Its values count as
  /// one result.
  public func explain(
    _ aggregates: [Aggregate], over query: StructuredQuery
  ) throws(DocumentStoreError) -> QueryExplanation {
    try Aggregate.check(aggregates)
    let start = clock.monotonicNanoseconds()
    guard aggregates.allSatisfy({ $0 == .count }) else {
      return try totals(aggregates, over: query) { _, run in explanation(of: run, results: 1, start: start) }
    }
    return try run(query) { run throws(DocumentStoreError) in
      _ = try run.count()
      return explanation(of: run, results: 1, start: start)
    }
  }

  private func explanation(of run: QueryRun, results: Int, start: UInt64) -> QueryExplanation {
    QueryExplanation(
      run.plan, built: run.built, work: run.work, results: results,
      nanoseconds: clock.monotonicNanoseconds() &- start)
  }

  // MARK: Without waiting

  /// Whether the query can run without building an index.
  package func isReady(_ query: StructuredQuery) throws(DocumentStoreError) -> Bool {
    try query.check()
    return try perform(query, true, missing: .skipQuery, while: { true }) { _ in } != nil
  }

  /// Builds the indexes that a query lacks. `isWanted` is called from time to time and must not block. Once
  /// it returns false, no more indexes are built.
  package func makeIndexes(
    for query: StructuredQuery, while isWanted: () -> Bool = { true }
  ) throws(DocumentStoreError) {
    try query.check()
    _ = try perform(query, true, missing: .build, while: isWanted) { _ in }
  }

  // MARK: Running

  /// Runs a query. If `mayRetry` is true, `body` may be called again from the start, with other indexes. If
  /// `createsIndexes` is false, the query uses only the existing indexes. Pass false for `checks` if the
  /// query was derived from a query that was already checked, because the implied orders of a derived query
  /// may exceed the limits.
  func run<Result>(
    _ query: StructuredQuery, createsIndexes: Bool = true, checks: Bool = true,
    _ body: (QueryRun) throws(DocumentStoreError) -> Result
  ) throws(DocumentStoreError) -> Result {
    var result: Result?
    let missing = createsIndexes ? MissingIndex.build : .ignored
    try perform(query, mayRetry: true, missing: missing, checks: checks) { run throws(DocumentStoreError) in
      result = try body(run)
    }
    guard let result else { preconditionFailure("missing indexes are built or ignored") }
    return result
  }

  /// Runs a query if no index has to be built first; otherwise returns nil. With `isOfListener`, a result
  /// that a listener already has is read again: the memory budget does not apply, and no memory is balanced,
  /// because commits wait.
  func runIfIndexed<Result>(
    _ query: StructuredQuery, checks: Bool = true, isOfListener: Bool = false,
    _ body: (QueryRun) throws(DocumentStoreError) -> Result
  ) throws(DocumentStoreError) -> Result? {
    var result: Result?
    let missing = isOfListener ? MissingIndex.skipQueryOfListener : .skipQuery
    try perform(query, mayRetry: true, missing: missing, checks: checks) { run throws(DocumentStoreError) in
      result = try body(run)
    }
    return result
  }

  /// Runs a query, and measures it. Results are passed through `body`, because functions of this size should
  /// not be compiled for each type of result.
  private func perform(
    _ query: StructuredQuery, mayRetry: Bool, missing: MissingIndex, checks: Bool = true,
    _ body: (QueryRun) throws(DocumentStoreError) -> Void
  ) throws(DocumentStoreError) {
    if checks { try query.check() }
    let start = startOfMeasuredQuery
    let work = try perform(query, mayRetry, missing: missing, while: { true }, body)
    if let start, let work { noteEnd(of: query, work, start: start) }
  }

  /// The time at which a query starts; nil if no instrument and no log asks for the time.
  private var startOfMeasuredQuery: UInt64? {
    bytes.recorder.isActive ? clock.monotonicNanoseconds() : nil
  }

  private func noteEnd(of query: StructuredQuery, _ work: QueryWork, start: UInt64) {
    let nanoseconds = clock.monotonicNanoseconds() &- start
    bytes.measures?.time(.query, nanoseconds: nanoseconds)
    guard nanoseconds >= bytes.recorder.slowQueryNanoseconds else { return }
    // The event names no values, because they may be private.
    bytes.recorder.emit(
      .querySlow, .warning,
      fields: [
        .init("collection", .text(query.scope.collectionID)), .init("seconds", .nanoseconds(nanoseconds)),
        .init("entries", .count(work.entriesRead)), .init("documents", .count(work.documentsRead)),
      ])
  }

  /// Runs a query with the existing indexes, without waiting. Nil if the name index is not available.
  func runWithExistingIndexes<Result>(
    _ query: StructuredQuery, _ body: (QueryRun) throws(DocumentStoreError) -> Result
  ) throws(DocumentStoreError) -> Result? {
    var result: Result?
    _ = try perform(query, true, missing: .ignoredIfNamesExist, while: { true }) {
      run throws(DocumentStoreError) in
      result = try body(run)
    }
    return result
  }

  /// How to handle a missing index.
  private enum MissingIndex {
    case build
    /// Run the query with the existing indexes.
    case ignored
    /// Run the query with the existing indexes. If the name index is missing, do not run the query, because
    /// every plan needs that index.
    case ignoredIfNamesExist
    /// Do not run the query.
    case skipQuery
    /// Do not run the query, which reads a result again that a listener already has.
    case skipQueryOfListener

    var skipsQuery: Bool { self == .skipQuery || self == .skipQueryOfListener }

    var isOfListener: Bool { self == .skipQueryOfListener || self == .ignoredIfNamesExist }
  }

  /// Returns the work that the query took; nil if the query was not run.
  private func perform(
    _ query: StructuredQuery, _ mayRetry: Bool, missing: MissingIndex, while isWanted: () -> Bool,
    _ body: (QueryRun) throws(DocumentStoreError) -> Void
  ) throws(DocumentStoreError) -> QueryWork? {
    // Most queries are in executable form. They are not copied.
    if case .last = query.limit {
      return try perform(query.executableForm, mayRetry, missing: missing, while: isWanted, body)
    }
    var built: [IndexDefinition] = []
    while true {
      do throws(DocumentStoreError) {
        return try attempt(query, missing, built: &built, while: isWanted, body)
      } catch {
        // A damaged index page loses no data, because the index can be rebuilt from the documents.
        guard case .corrupted = error, indexes.dropUnreadable(), mayRetry else { throw error }
      }
    }
  }

  /// The query must be in the form returned by `executableForm`.
  private func attempt(
    _ query: StructuredQuery, _ missing: MissingIndex, built: inout [IndexDefinition],
    while isWanted: () -> Bool,
    _ body: (QueryRun) throws(DocumentStoreError) -> Void
  ) throws(DocumentStoreError) -> QueryWork? {
    let collectionID = query.scope.collectionID
    var rounds = 0
    var isIndexUnbuildable = false
    while true {
      var found: IndexView?
      var position: UInt64 = 0
      let snapshot = try translatingErrors { () throws(ByteStoreError) in
        try bytes.snapshot {
          found = indexes.view(collectionID)
          position = publications.position
        }
      }
      let view = found
      guard let view else {
        // Rebuilding the name index blocks commits. A thread on which commits wait must not do this.
        guard missing == .build || missing == .ignored else { return nil }
        try rebuildNames()
        continue
      }
      if view.hasLostIndexes, missing == .build || missing.skipsQuery,
        let lost = indexes.lostIndex(of: collectionID)
      {
        guard missing == .build, try rebuildLost(lost, while: isWanted) else { return nil }
        continue
      }
      let state = QueryState(snapshot, view, position: position)
      if let plan = plans.plan(for: query, view) {
        return try execute(plan, on: state, built: built, isOfListener: missing.isOfListener, body)
      }
      let planner = QueryPlanner(
        definitions: view.indexes.map(\.definition),
        // The number of builds is limited, because an index might be dropped right after each build.
        createsIndexes: missing != .ignored && missing != .ignoredIfNamesExist && createsIndexes
          && rounds < Self.roundsMax && !isIndexUnbuildable,
        scanMax: options.scanMax,
        count: { access throws(DocumentStoreError) in try view.count(access) })
      switch try planner.decide(query) {
      case .needs(let definitions):
        let unbuildable = indexes.unbuildable(in: collectionID)
        guard !definitions.contains(where: unbuildable.contains), !isRefused(definitions) else {
          isIndexUnbuildable = true
          continue
        }
        if missing.skipsQuery { return nil }
        rounds += 1
        do throws(DocumentStoreError) {
          for definition in definitions {
            let request = IndexBuild(definition: definition, isForQuery: true, spared: definitions)
            guard try build(request, while: isWanted) else { return nil }
            built.append(definition)
          }
        } catch {
          // The query may not need the undecodable record, so it runs without the index. It also runs without
          // an index that is too large for the memory budget.
          if case .memoryExceeded = error {
            isIndexUnbuildable = true
            continue
          }
          guard error.undecodable != nil else { throw error }
        }
      case .plan(let plan, let template):
        if let template { plans.add(template, for: query, view: view) }
        return try execute(plan, on: state, built: built, isOfListener: missing.isOfListener, body)
      }
    }
  }

  private func execute(
    _ plan: QueryPlan, on state: QueryState, built: [IndexDefinition], isOfListener: Bool,
    _ body: (QueryRun) throws(DocumentStoreError) -> Void
  ) throws(DocumentStoreError) -> QueryWork {
    plan.noteUse(in: indexes, state.view)
    let run = QueryRun(
      plan, state, built: built, shapes: indexes.shapes, storePath: path,
      memory: isOfListener ? nil : reservation())
    defer { if !isOfListener { bytes.balanceMemoryIfDue() } }
    try body(run)
    return run.work
  }

  /// Maximum number of attempts to build missing indexes.
  private static let roundsMax = 3

  /// Returns the byte store's snapshot of the last commit, and the result of `body`, which runs at the same
  /// commit.
  func byteSnapshot<Result>(
    alongside body: () -> Result
  ) throws(DocumentStoreError) -> (Snapshot, Result) {
    var result: Result?
    let snapshot = try translatingErrors { () throws(ByteStoreError) in
      try bytes.snapshot { result = body() }
    }
    guard let result else { preconditionFailure("a snapshot runs the closure") }
    return (snapshot, result)
  }
}

extension OrderedIndex {
  /// The number of keys in the ranges, which do not overlap.
  func count(in ranges: [ByteRange]) throws(DocumentStoreError) -> Int {
    var count = 0
    for range in ranges { count += try self.count(in: range.inTree) }
    return count
  }
}

extension IndexView {
  /// Estimated number of keys that an access reads.
  func count(_ access: QueryPlan.Access) throws(DocumentStoreError) -> Int {
    let tree: OrderedIndex
    switch access.source {
    case .names: tree = names
    case .index(let definition): tree = index(definition)?.tree ?? OrderedIndex()
    }
    return try tree.count(in: access.ranges)
  }

  /// True if some documents in collections with this id are in nested collections.
  func hasNested(_ collectionID: String) -> Bool { nestedNames[collectionID] != nil }
}
