// Runs a program on a store and on a dictionary with the naive evaluator.

internal import ByteStore
internal import DocumentStore

extension QueryProgram {
  /// Returns the first step with a differing result, or nil.
  func run(_ summary: inout QueryCampaign.Summary) -> QueryFailure? {
    var run = QueryProgramRun(self, summary)
    defer { summary = run.summary }
    for (number, step) in steps.enumerated() {
      do {
        try run.take(step, number)
      } catch let failure as QueryFailure {
        return failure
      } catch {
        return QueryFailure(step: number, what: "\(error)")
      }
    }
    return nil
  }
}

private struct QueryProgramRun {
  private static let path = "/queries"

  var summary: QueryCampaign.Summary
  private let options: DocumentStore.Options
  private let platform: Platform
  private var store: DocumentStore?
  private var documents: [DocumentPath: StoredMap] = [:]
  /// The current documents as a list for the evaluator; nil if the documents have changed since the list was
  /// created.
  private var list: [StoredDocument]?
  /// An older snapshot with its expected documents.
  private var older: (snapshot: StoreSnapshot, documents: [StoredDocument])?

  init(_ program: QueryProgram, _ summary: QueryCampaign.Summary) {
    self.summary = summary
    var disk = SimulatedDisk.Options()
    disk.operationsMax = .max
    platform = SimulatedDisk(options: disk).platform(seed: 1)
    var options = DocumentStore.Options()
    options.createsIndexes = program.createsIndexes
    options.scanMax = program.scanMax
    options.maintenance = .manual
    self.options = options
  }

  mutating func take(_ step: QueryProgram.Step, _ number: Int) throws {
    let store = try store ?? DocumentStore.open(Self.path, options: options, platform: platform)
    self.store = store
    func fail(_ what: String) -> QueryFailure { QueryFailure(step: number, what: what) }
    switch step {
    case .commit(let edits):
      if number % 4 == 0 { older = (try store.snapshot(), list ?? makeList()) }
      guard try commit(edits, to: store) else { return }
      for edit in edits {
        edit.apply(to: &documents)
        if case .delete = edit { summary.count(.deletes) }
      }
      summary.count(.commits)
      list = nil
    case .query(let query, let aggregates):
      summary.queries += 1
      if let problem = try compare(query, aggregates, with: store, number) { throw fail(problem) }
    case .createIndex(let definition):
      try store.createIndex(definition)
      summary.count(.indexesCreatedBefore)
    case .dropIndex(let definition):
      store.dropIndex(definition)
    case .flush:
      try store.bytes.flush(.asNeeded)
      summary.count(.flushes)
    case .compact:
      try store.compact()
      summary.count(.compactions)
    case .close:
      older = nil
      try store.close()
      self.store = nil
      summary.count(.closes)
    case .abandon:
      older = nil
      store.bytes.abandon()
      self.store = nil
      summary.count(.abandons)
    case .checkInvariants:
      if let broken = try store.invariantBroken() { throw fail(broken) }
      summary.count(.invariantChecks)
    }
  }

  /// Commits the edits. Returns false if one of the documents is invalid, in which case the store must refuse
  /// the whole batch.
  private func commit(
    _ edits: [QueryProgram.Edit], to store: DocumentStore
  ) throws(DocumentStoreError) -> Bool {
    do throws(DocumentStoreError) {
      try store.commit(edits.map(\.mutation))
      return true
    } catch {
      if case .invalidArgument = error { return false }
      throw error
    }
  }

  private func makeList() -> [StoredDocument] {
    documents.map { path, fields in QueryProgram.document(path, fields) }
  }

  /// Compares the store's result for a query with the expected result. Returns a description of the
  /// difference, or nil.
  private mutating func compare(
    _ query: StructuredQuery, _ aggregates: [Aggregate], with store: DocumentStore, _ number: Int
  ) throws -> String? {
    let all = list ?? makeList()
    list = all
    let naive = NaiveEvaluator(query)
    let expected = naive.answer(from: all)
    // The operation that runs first builds the indexes, so the operations take turns in being the first.
    if number % 3 == 0, let problem = try compareCount(query, expected.count, store) { return problem }
    let explanation = number % 3 == 1 ? try store.explain(query) : nil
    let found = try store.documents(query)
    guard found.map(\.path) == expected.map(\.path) else {
      return "found \(text(found)), and there are \(text(expected))"
    }
    guard zip(found, expected).allSatisfy({ $0.fields == $1.fields }) else { return "found other fields" }
    if number % 3 != 0, let problem = try compareCount(query, expected.count, store) { return problem }
    if !aggregates.isEmpty {
      let results = try store.aggregate(aggregates, over: query)
      let expected = naive.results(of: aggregates, over: all)
      guard results == expected else { return "computed \(results), and it is \(expected)" }
      summary.count(.sums)
      let hasOnlyCounts = aggregates.allSatisfy { $0 == .count }
      if !hasOnlyCounts, results.contains(where: { $0 != .integer(0) && $0 != .null }) {
        let explanation = try store.explain(aggregates, over: query)
        summary.count(.sumsFromKeys, if: explanation.documentsRead == 0)
      }
    }
    let plan = try explanation ?? store.explain(query)
    note(plan, query, expected.count, store)
    return try compareOthers(query, expected, plan, store, number)
  }

  /// Compares the result of one of the other ways to run the query: by records, by a callback, or in a
  /// snapshot.
  private mutating func compareOthers(
    _ query: StructuredQuery, _ expected: [StoredDocument], _ plan: QueryExplanation, _ store: DocumentStore,
    _ number: Int
  ) throws -> String? {
    switch number % 5 {
    case 0:
      let records = try store.records(query)
      let paths = records.map(\.path)
      guard paths == expected.map(\.path) else { return "records are of \(paths)" }
      summary.count(.storedRecords)
    case 1:
      if case .last = query.limit { return nil }
      guard !plan.isSorted else { return nil }
      var paths: [DocumentPath?] = []
      try store.forEach(query) { document in
        paths.append(document.path)
        return true
      }
      guard paths == expected.map(\.path) else { return "borrowed \(paths)" }
      summary.count(.borrowed)
    case 2:
      let snapshot = try store.snapshot()
      defer { snapshot.close() }
      if let problem = try compare(query, expected, with: snapshot) { return "in a snapshot \(problem)" }
      summary.count(.snapshots)
    case 3:
      guard let older else { return nil }
      let expected = NaiveEvaluator(query).answer(from: older.documents)
      if let problem = try compare(query, expected, with: older.snapshot) {
        return "in an older snapshot \(problem)"
      }
      summary.count(.olderSnapshots)
    default: break
    }
    return nil
  }

  private func compare(
    _ query: StructuredQuery, _ expected: [StoredDocument], with snapshot: StoreSnapshot
  ) throws -> String? {
    let found = try snapshot.documents(query)
    let isSame = zip(found, expected).allSatisfy { $0.path == $1.path && $0.fields == $1.fields }
    guard isSame, found.count == expected.count else {
      return "found \(text(found)), and there are \(text(expected))"
    }
    let count = try snapshot.count(query)
    return count == expected.count ? nil : "counted \(count), and there are \(expected.count)"
  }

  private func compareCount(
    _ query: StructuredQuery, _ expected: Int, _ store: DocumentStore
  ) throws -> String? {
    let count = try store.count(query)
    return count == expected ? nil : "counted \(count), and there are \(expected)"
  }

  private func text(_ documents: [StoredDocument]) -> String {
    QueryProgram.Step.shortened("\(documents.map(\.path.description))")
  }

  private mutating func note(
    _ plan: QueryExplanation, _ query: StructuredQuery, _ results: Int, _ store: DocumentStore
  ) {
    summary.count(.ordered, if: !plan.isSorted)
    summary.count(.sorted, if: plan.isSorted)
    summary.count(.filtered, if: plan.isFiltered)
    summary.count(.exact, if: !plan.isFiltered)
    summary.count(.joined, if: plan.branches.contains { $0.count > 1 } && results > 0)
    summary.count(.merged, if: plan.branches.count > 1 && !plan.isSorted && results > 0)
    summary.count(.gathered, if: plan.branches.count > 1 && plan.isSorted && results > 0)
    summary.count(.backward, if: plan.isBackward && results > 0)
    summary.count(.severalRanges, if: plan.branches.contains { $0.contains { $0.ranges > 1 } } && results > 0)
    summary.count(.documentsByName, if: plan.branches.contains { $0.isEmpty })
    summary.count(.nothingMatches, if: plan.branches.isEmpty)
    summary.count(.longKeys, if: plan.longKeysRead > 0)
    summary.count(.nestedNames, if: plan.nestedSkips > 0)
    let isSingleAccess = plan.branches.count == 1 && plan.branches[0].count == 1
    summary.count(
      .keysOnlyCounts,
      if: isSingleAccess && !plan.isFiltered && plan.longKeysRead == 0 && plan.nestedSkips == 0)
    if case .collectionGroup = query.scope { summary.count(.groups) }
    summary.count(.cursors, if: query.start != nil || query.end != nil)
    if case .first = query.limit { summary.count(.firstLimits) }
    if case .last = query.limit { summary.count(.lastLimits) }
    summary.count(.emptyAnswers, if: results == 0)
    summary.count(.severalWaves, if: results > 256)
    summary.count(.indexesBuiltForQueries, if: !plan.built.isEmpty)
    summary.count(
      .partialIndexes,
      if: plan.isFiltered && plan.isSorted && plan.branches.joined().contains { $0.index != nil }
    )
    summary.count(
      .evictedIndexes,
      if: !plan.built.isEmpty
        && store.indexList.count(where: \.isAutomatic) == DocumentStore.automaticIndexesMax)
  }
}
