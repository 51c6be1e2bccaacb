// RunQuery and RunAggregationQuery.

internal import Authority
internal import ByteStore
internal import DocumentStore
internal import FirestoreWire
internal import OfflineSync

extension CallContext {
  /// Sends one message for each result. The last one is `done`. A query without results has one message, with
  /// its read time. Each step reads a page of the result.
  func runQuery(
    _ request: Wire.RunQueryRequest, _ send: @escaping Send<Wire.RunQueryResponse>
  ) throws(RemoteError) -> AnswerStep? {
    let database = try directory.database(try DatabaseName.database(of: request.parent))
    guard let message = request.structuredQuery else {
      throw RemoteError(.invalidArgument, "only structured queries are supported")
    }
    try checkNoPlan(request.explainOptions)
    let query = try database.name.query(message, parent: request.parent)
    try database.authority.checkRead(query.query, as: user)
    let reading = try reading(database, ReadSelector(request.consistencySelector))
    let (pages, first) = try reading.perform { view throws(RemoteError) in
      if !view.newTransaction.isEmpty {
        var response = Wire.RunQueryResponse()
        response.transaction = view.newTransaction
        guard try send(response) else { throw ReadView.cancelled }
      }
      return (
        try view.pages(query.query), QueryResults(view.readTime, skippedCount: query.query.offset)
      )
    }
    let state = Locked(first)
    return { () throws(RemoteError) in
      // Steps run one at a time, and the lock is not held while messages are sent.
      var results = state.withLock { $0 }
      defer { state.withLock { $0 = results } }
      return try reading.perform { view throws(RemoteError) in
        let page = try view.next(of: pages)
        for record in page {
          guard let previous = results.add(database.document(record, query.mask)) else { continue }
          guard try send(previous) else { return false }
        }
        guard page.isEmpty else { return true }
        if results.isEmpty { results.skippedCount = try skippedCount(query.query, view) }
        _ = try send(results.last())
        return false
      }
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
    _ request: Wire.RunAggregationQueryRequest, _ send: Send<Wire.RunAggregationQueryResponse>
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
    let reading = try reading(database, ReadSelector(request.consistencySelector))
    try reading.perform { view throws(RemoteError) in
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
private struct QueryResults: Sendable {
  private let readTime: Wire.Timestamp
  /// The number of results before the first one.
  var skippedCount: Int
  private(set) var isEmpty = true
  private var waiting: Wire.RunQueryResponse

  init(_ readTime: Wire.Timestamp, skippedCount: Int) {
    self.readTime = readTime
    self.skippedCount = skippedCount
    waiting = Wire.RunQueryResponse()
    waiting.readTime = readTime
  }

  /// Adds a result. Returns the message of the one before it.
  mutating func add(_ document: Wire.Document) -> Wire.RunQueryResponse? {
    let previous = isEmpty ? nil : waiting
    waiting = Wire.RunQueryResponse()
    waiting.readTime = readTime
    waiting.document = document
    if isEmpty { waiting.skippedResults = Int32(clamping: skippedCount) }
    isEmpty = false
    return previous
  }

  /// The last message.
  func last() -> Wire.RunQueryResponse {
    var last = waiting
    last.done = true
    if isEmpty { last.skippedResults = Int32(clamping: skippedCount) }
    return last
  }
}
