// Asking for documents by what is in them.

import ByteStore

extension DocumentStore {
  /// The answer of a query as of the last commit. An index that it needs and that is not there is made
  /// first, unless the options say otherwise.
  public func documents(_ query: StructuredQuery) throws(DocumentStoreError) -> [StoredDocument] {
    let (documents, _) = try run(query) { run throws(DocumentStoreError) in try run.documents() }
    if case .last = query.limit { return documents.reversed() }
    return documents
  }

  /// Answers a query without documents whose records cannot be decoded, and names those that might be in the answer.
  /// They do not count for a limit: with one, documents may be in the result that are not in the answer.
  package func decodableDocuments(
    _ query: StructuredQuery
  ) throws(DocumentStoreError) -> (documents: [StoredDocument], skipped: [DocumentPath]) {
    var (found, _) = try run(query) { run throws(DocumentStoreError) in try run.decodableDocuments() }
    if case .last = query.limit { found.documents.reverse() }
    return found
  }

  /// Whether there is a document, one whose record cannot be decoded included.
  package func holdsDocument(at path: DocumentPath) throws(DocumentStoreError) -> Bool {
    do throws(ByteStoreError) {
      return try bytes.withValue(for: DocumentKey.encode(path)) { _ in true } ?? false
    } catch {
      throw DocumentStoreError(error)
    }
  }

  /// The same, each as it is stored: for those who decode some of the fields, or in their own way.
  package func records(_ query: StructuredQuery) throws(DocumentStoreError) -> [DocumentRecord] {
    let (records, _) = try run(query) { run throws(DocumentStoreError) in try run.records() }
    if case .last = query.limit { return records.reversed() }
    return records
  }

  /// The same, or nil if an index would have to be made first: for those whose thread must not wait for that.
  package func readyRecords(_ query: StructuredQuery) throws(DocumentStoreError) -> [DocumentRecord]? {
    guard let (records, _) = try runReady(query, { run throws(DocumentStoreError) in try run.records() })
    else { return nil }
    if case .last = query.limit { return records.reversed() }
    return records
  }

  /// Hands over each document of the answer, borrowed from where it is stored, until `body` answers false: for
  /// those who look at many documents, or at few of their fields. A limit on the last documents, and an order
  /// that no index has, are answered by `documents` alone: here they throw `invalidArgument`.
  public func forEach(
    _ query: StructuredQuery, _ body: (borrowing DocumentView) -> Bool
  ) throws(DocumentStoreError) {
    if case .last = query.limit {
      throw .invalidArgument(
        "A query for the last documents is answered from its end, and cannot be borrowed.")
    }
    _ = try run(query, triesAgain: false) { run throws(DocumentStoreError) in
      guard run.isOrdered else {
        throw .invalidArgument("No index has the order of this query, so that its answer cannot be borrowed.")
      }
      try run.forEach { document throws(DocumentStoreError) in body(document) }
    }
  }

  /// Calls `body` with a document as of the last commit, borrowed from where it is stored; nil if there is none.
  public func withDocument<Result>(
    at path: DocumentPath, _ body: (borrowing DocumentView) -> Result
  ) throws(DocumentStoreError) -> Result? {
    let key = DocumentKey.encode(path)
    do throws(ByteStoreError) {
      return try bytes.withValue(for: key) { record in
        let shapes = indexes.shapes.table.bytes
        return body(DocumentView(key: key.rawSpan, record: record, shapes: shapes.rawSpan))
      }
    } catch {
      throw DocumentStoreError(error)
    }
  }

  /// The number of documents in the answer. Where an index has it, no document is read.
  public func count(_ query: StructuredQuery) throws(DocumentStoreError) -> Int {
    try run(query) { run throws(DocumentStoreError) in try run.count() }.result
  }

  /// Numbers about the answer, one for each aggregate.
  public func aggregate(
    _ aggregates: [Aggregate], over query: StructuredQuery
  ) throws(DocumentStoreError) -> [StoredValue] {
    try Aggregate.check(aggregates)
    if aggregates.allSatisfy({ $0 == .count }) {
      let count = try count(query)
      return aggregates.map { _ in .integer(Int64(count)) }
    }
    return try totals(aggregates, over: query).results
  }

  /// The same, or nil if an index would have to be made first.
  package func readyAggregate(
    _ aggregates: [Aggregate], over query: StructuredQuery
  ) throws(DocumentStoreError) -> [StoredValue]? {
    try Aggregate.check(aggregates)
    if aggregates.allSatisfy({ $0 == .count }) {
      let count = try runReady(query) { run throws(DocumentStoreError) in try run.count() }?.result
      return count.map { count in aggregates.map { _ in .integer(Int64(count)) } }
    }
    if let totals = try totalsOfKeys(aggregates, over: query) { return totals.results }
    return try runReady(query) { run throws(DocumentStoreError) in try run.aggregation(aggregates) }?
      .result.results
  }

  private func totals(
    _ aggregates: [Aggregate], over query: StructuredQuery
  ) throws(DocumentStoreError) -> (results: [StoredValue], done: Done) {
    if let totals = try totalsOfKeys(aggregates, over: query) { return totals }
    let (found, done) = try run(query) { run throws(DocumentStoreError) in try run.aggregation(aggregates) }
    return (found.results, done)
  }

  /// From an index that is there already and has all the fields, if there is one.
  private func totalsOfKeys(
    _ aggregates: [Aggregate], over query: StructuredQuery
  ) throws(DocumentStoreError) -> (results: [StoredValue], done: Done)? {
    guard let ordered = query.ordered(behindBy: Aggregation(aggregates).fields) else { return nil }
    try query.check()
    let (found, done) = try run(ordered, createsIndexes: false, checks: false) {
      run throws(DocumentStoreError) in try run.aggregationOfKeys(aggregates)
    }
    return found.map { ($0.results, done) }
  }

  /// How a query is answered, with what that took.
  public func explain(_ query: StructuredQuery) throws(DocumentStoreError) -> QueryExplanation {
    let start = clock.monotonicNanoseconds()
    var results = 0
    let (_, done) = try run(query) { run throws(DocumentStoreError) in results = try run.documents().count }
    return QueryExplanation(
      done.plan, built: done.built, work: done.work, results: results,
      nanoseconds: clock.monotonicNanoseconds() &- start)
  }

  /// How numbers about the answer of a query are found, with what that took. It has one result.
  public func explain(
    _ aggregates: [Aggregate], over query: StructuredQuery
  ) throws(DocumentStoreError) -> QueryExplanation {
    try Aggregate.check(aggregates)
    let start = clock.monotonicNanoseconds()
    let done: Done
    if aggregates.allSatisfy({ $0 == .count }) {
      done = try run(query) { run throws(DocumentStoreError) in try run.count() }.done
    } else {
      done = try totals(aggregates, over: query).done
    }
    return QueryExplanation(
      done.plan, built: done.built, work: done.work, results: 1,
      nanoseconds: clock.monotonicNanoseconds() &- start)
  }

  // MARK: Beforehand

  /// Whether no index would have to be made first.
  package func isReady(_ query: StructuredQuery) throws(DocumentStoreError) -> Bool {
    try runReady(query) { _ in } != nil
  }

  /// Makes the indexes that a query lacks. `isWanted` is asked now and then, and must not wait: once it says no, the rest
  /// is left.
  package func makeIndexes(
    for query: StructuredQuery, while isWanted: () -> Bool = { true }
  ) throws(DocumentStoreError) {
    try query.check()
    _ = try run(query, true, .made, while: isWanted) { _ in }
  }

  // MARK: Running

  struct Done {
    var plan: QueryPlan
    var built: [IndexDefinition]
    var work: QueryWork
    /// How many commits since the store was opened the answer has.
    var position: UInt64
  }

  /// `triesAgain` if `body` may be called once more from the start, with another index. Where indexes are not
  /// created, it makes do with what there is. What was made of a query that was checked `checks` no more: with orders
  /// that were implied before it may be beyond the limits.
  func run<Result>(
    _ query: StructuredQuery, triesAgain: Bool = true, createsIndexes: Bool = true, checks: Bool = true,
    _ body: (QueryRun) throws(DocumentStoreError) -> Result
  ) throws(DocumentStoreError) -> (result: Result, done: Done) {
    if checks { try query.check() }
    let found = try run(query, triesAgain, createsIndexes ? .made : .leftOut, while: { true }, body)
    guard let found else { preconditionFailure("what is missing is made, or left out") }
    return found
  }

  /// Nil if something would have to be made first.
  func runReady<Result>(
    _ query: StructuredQuery, checks: Bool = true, _ body: (QueryRun) throws(DocumentStoreError) -> Result
  ) throws(DocumentStoreError) -> (result: Result, done: Done)? {
    if checks { try query.check() }
    return try run(query, true, .awaited, while: { true }, body)
  }

  /// Makes nothing, and waits for nobody. Nil if the names of documents are not known.
  func runWithWhatThereIs<Result>(
    _ query: StructuredQuery, _ body: (QueryRun) throws(DocumentStoreError) -> Result
  ) throws(DocumentStoreError) -> (result: Result, done: Done)? {
    try run(query, true, .leftOutWithNames, while: { true }, body)
  }

  /// What becomes of a query that needs an index which is not there.
  private enum MissingIndex {
    case made
    /// It makes do with what there is.
    case leftOut
    /// The same if the names are there, which every plan needs; else it is not answered.
    case leftOutWithNames
    /// It is not answered.
    case awaited
  }

  private func run<Result>(
    _ query: StructuredQuery, _ triesAgain: Bool, _ missing: MissingIndex, while isWanted: () -> Bool,
    _ body: (QueryRun) throws(DocumentStoreError) -> Result
  ) throws(DocumentStoreError) -> (result: Result, done: Done)? {
    var built: [IndexDefinition] = []
    while true {
      do throws(DocumentStoreError) {
        return try attempt(query, missing, &built, while: isWanted, body)
      } catch {
        // A damaged page of an index is no loss: what it says, the documents say as well.
        guard case .corrupted = error, indexes.dropUnreadable(), triesAgain else { throw error }
      }
    }
  }

  private func attempt<Result>(
    _ query: StructuredQuery, _ missing: MissingIndex, _ built: inout [IndexDefinition],
    while isWanted: () -> Bool,
    _ body: (QueryRun) throws(DocumentStoreError) -> Result
  ) throws(DocumentStoreError) -> (result: Result, done: Done)? {
    let collectionID = query.scope.collectionID
    var rounds = 0
    var isIndexImpossible = false
    while true {
      let (moment, (view, position)) = try moment { [indexes, publications] in
        (indexes.view(collectionID), publications.position)
      }
      guard let view else {
        // No commit is under way while they are found: whoever is waited for by commits must not wait for that.
        guard missing == .made || missing == .leftOut else { return nil }
        try findNames()
        continue
      }
      if missing == .made || missing == .awaited, let lost = indexes.lostIndex(of: collectionID) {
        guard missing == .made, try makeAgain(lost, while: isWanted) else { return nil }
        continue
      }
      let planner = QueryPlanner(
        definitions: view.indexes.map(\.definition),
        // One that is made and gone again at once would be made for ever.
        createsIndexes: missing != .leftOut && missing != .leftOutWithNames && createsIndexes
          && rounds < Self.roundsMax && !isIndexImpossible,
        scanMax: options.scanMax,
        count: { access throws(DocumentStoreError) in try view.count(access) })
      switch try planner.decide(query) {
      case .needs(let definitions):
        let impossible = indexes.impossible(in: collectionID)
        guard !definitions.contains(where: impossible.contains) else {
          isIndexImpossible = true
          continue
        }
        if case .awaited = missing { return nil }
        rounds += 1
        do throws(DocumentStoreError) {
          for definition in definitions {
            guard try build(definition, isAutomatic: true, sparing: definitions, while: isWanted) else {
              return nil
            }
            built.append(definition)
          }
        } catch {
          // The query may not need the record that cannot be decoded, so it does without the index.
          guard error.undecodable != nil else { throw error }
        }
      case .plan(let plan):
        indexes.noteUse(of: plan.indexes)
        let run = QueryRun(plan, moment, view, indexes.shapes.table, storePath: path)
        let result = try body(run)
        return (result, Done(plan: plan, built: built, work: run.work, position: position))
      }
    }
  }

  /// How often what is missing is made.
  private static let roundsMax = 3

  func moment<Result>(_ body: () -> Result) throws(DocumentStoreError) -> (Moment, Result) {
    do throws(ByteStoreError) { return try bytes.moment(body) } catch { throw DocumentStoreError(error) }
  }
}

extension IndexView {
  /// About how many keys an access goes through.
  func count(_ access: QueryPlan.Access) throws(DocumentStoreError) -> Int {
    let tree: OrderedIndex
    switch access.source {
    case .names: tree = names
    case .index(let definition): tree = index(definition)?.tree ?? OrderedIndex()
    }
    var count = 0
    for range in access.ranges { count += try tree.count(in: range.inTree) }
    return count
  }

  /// Of the documents of a collection with this id, some lie below others.
  func hasNested(_ collectionID: String) -> Bool { nestedNames[collectionID] != nil }
}
