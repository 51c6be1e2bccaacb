// RunQuery and RunAggregationQuery.

internal import Authority
internal import DocumentStore
internal import FirestoreWire
internal import OfflineSync

extension CallContext {
  /// Sends one message for each result. The last one is `done`. A query without results has one message, with
  /// its read time.
  func runQuery(
    _ request: Wire.RunQueryRequest, _ send: (Wire.RunQueryResponse) throws(RemoteError) -> Bool
  ) throws(RemoteError) {
    let database = try directory.database(try DatabaseName.database(of: request.parent))
    guard let message = request.structuredQuery else {
      throw RemoteError(.invalidArgument, "only structured queries are supported")
    }
    try checkNoPlan(request.explainOptions)
    let query = try database.name.query(message, parent: request.parent)
    try database.authority.checkRead(query.query, as: user)
    try reading(database, ReadSelector(request.consistencySelector)) { view throws(RemoteError) in
      if !view.newTransaction.isEmpty {
        var response = Wire.RunQueryResponse()
        response.transaction = view.newTransaction
        guard try send(response) else { throw ReadView.cancelled }
      }
      var results = QueryResults(view.readTime)
      results.skippedCount = query.query.offset
      try view.forEach(query.query) { results.add(database.document($0, query.mask), send) }
      if results.isEmpty { results.skippedCount = try skippedCount(query.query, view) }
      try results.finish(send)
    }
  }

  /// Throws if a request asks for the plan of its query. It may ask for the plan alone, so the documents
  /// would be the wrong answer.
  private func checkNoPlan(_ options: Wire.ExplainOptions?) throws(RemoteError) {
    guard options != nil else { return }
    throw RemoteError(.unimplemented, "Plans of queries are not supported.")
  }

  /// The number of results that the offset skips if no result is behind them.
  private func skippedCount(_ query: StructuredQuery, _ view: ReadView) throws(RemoteError) -> Int {
    guard query.offset > 0, query.limit != .first(0) else { return 0 }
    let skipped: StructuredQuery
    do throws(DocumentStoreError) {
      skipped = try query.skipping(0).limited(to: .first(query.offset))
    } catch {
      throw RemoteError(error)
    }
    guard case .integer(let count)? = try view.aggregate([.count], over: skipped).first else { return 0 }
    return Int(clamping: count)
  }

  func runAggregationQuery(
    _ request: Wire.RunAggregationQueryRequest,
    _ send: (Wire.RunAggregationQueryResponse) throws(RemoteError) -> Bool
  ) throws(RemoteError) {
    let database = try directory.database(try DatabaseName.database(of: request.parent))
    guard let message = request.structuredAggregationQuery else {
      throw RemoteError(.invalidArgument, "Only structured aggregation queries are supported.")
    }
    try checkNoPlan(request.explainOptions)
    let query = try database.name.aggregation(message, parent: request.parent)
    if let select = message.structuredQuery?.select, select.fields.allSatisfy({ $0.fieldPath == "__name__" }),
      query.aggregates.contains(where: { $0 != .count })
    {
      throw RemoteError(
        .invalidArgument,
        "Aggregation over non-key properties is not supported for base query that only returns keys.")
    }
    try database.authority.checkRead(query.query, as: user)
    try reading(database, ReadSelector(request.consistencySelector)) { view throws(RemoteError) in
      if !view.newTransaction.isEmpty {
        var response = Wire.RunAggregationQueryResponse()
        response.transaction = view.newTransaction
        guard try send(response) else { throw ReadView.cancelled }
      }
      var response = Wire.RunAggregationQueryResponse()
      response.readTime = view.readTime
      response.result = query.result(try view.aggregate(query.aggregates, over: query.query))
      _ = try send(response)
    }
  }
}

/// The messages of a query's results. Each result waits until the next one comes, because the last message
/// says that it is the last.
private struct QueryResults {
  typealias Send = (Wire.RunQueryResponse) throws(RemoteError) -> Bool

  private let readTime: Wire.Timestamp
  /// The number of results before the first one.
  var skippedCount = 0
  private(set) var isEmpty = true
  private var last: Wire.RunQueryResponse
  private var isStopped = false
  private var failure: RemoteError?

  init(_ readTime: Wire.Timestamp) {
    self.readTime = readTime
    last = Wire.RunQueryResponse()
    last.readTime = readTime
  }

  /// Adds a result. Returns false if no more are wanted.
  mutating func add(_ document: Wire.Document, _ send: Send) -> Bool {
    if !isEmpty { sendLast(send) }
    last = Wire.RunQueryResponse()
    last.readTime = readTime
    last.document = document
    if isEmpty { last.skippedResults = Int32(clamping: skippedCount) }
    isEmpty = false
    return !isStopped
  }

  mutating func finish(_ send: Send) throws(RemoteError) {
    last.done = true
    if isEmpty { last.skippedResults = Int32(clamping: skippedCount) }
    if !isStopped { sendLast(send) }
    if let failure { throw failure }
  }

  private mutating func sendLast(_ send: Send) {
    do throws(RemoteError) {
      isStopped = try !send(last)
    } catch {
      (isStopped, failure) = (true, error)
    }
  }
}
