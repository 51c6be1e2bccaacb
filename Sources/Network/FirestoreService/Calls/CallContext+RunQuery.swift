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
    _ request: Wire.RunQueryRequest, _ sendExplained: @escaping Send<Wire.ExplainedQueryResponse>
  ) throws(RemoteError) -> AnswerProgress {
    let database = try database(ofParent: request.parent)
    guard let message = request.structuredQuery else {
      throw RemoteError(.invalidArgument, "only structured queries are supported")
    }
    if let names = try database.name.nameQuery(message, parent: request.parent) {
      try refuseExplaining(request.explainOptions)
      return try runNameQuery(names, ReadSelector(request.consistencySelector), in: database) {
        response throws(RemoteError) in try sendExplained(Wire.ExplainedQueryResponse(response))
      }
    }
    let query = try database.name.query(message, parent: request.parent)
    let explaining = QueryExplaining(request.explainOptions, of: query.query, clock: options.clock)
    let send: Send<Wire.RunQueryResponse> = { response throws(RemoteError) in
      try sendExplained(Wire.ExplainedQueryResponse(response))
    }
    try database.authority.checkRead(query.query, as: user)
    let reading = try reading(database, ReadSelector(request.consistencySelector))
    try reading.announce { id throws(RemoteError) in
      var response = Wire.RunQueryResponse()
      response.transaction = id
      return try send(response)
    }
    @Sendable func step(
      _ pages: any BackendPages, _ earlier: QueryResults
    ) throws(RemoteError) -> AnswerProgress {
      try reading.perform { view throws(RemoteError) in
        var results = earlier
        let page = try view.next(of: pages)
        for record in page {
          guard let previous = results.add(database.document(record, query.mask)) else { continue }
          guard try send(previous) else { return .done }
        }
        guard page.isEmpty else {
          return .next { [results] () throws(RemoteError) in try step(pages, results) }
        }
        if results.isEmpty { results.skippedCount = try skippedCount(query.query, view) }
        var last = Wire.ExplainedQueryResponse(results.last())
        last.explainMetrics = try explaining?.metrics(
          results: results.count, skipped: results.skippedCount, in: view)
        _ = try sendExplained(last)
        return .done
      }
    }
    return try reading.afterLocking { () throws(RemoteError) in
      if let explaining, !explaining.runs {
        try reading.perform { view throws(RemoteError) in
          var plan = Wire.ExplainedQueryResponse()
          plan.explainMetrics = try explaining.plan(in: view)
          _ = try sendExplained(plan)
        }
        return .done
      }
      let (pages, first) = try reading.perform { view throws(RemoteError) in
        (try view.pages(query.query), QueryResults(view.readTime, skippedCount: query.query.offset))
      }
      return .next { () throws(RemoteError) in try step(pages, first) }
    }
  }

  /// The number of results that the offset skips if no result follows them.
  private func skippedCount(_ query: StructuredQuery, _ view: ReadView) throws(RemoteError) -> Int {
    guard query.offset > 0, query.limit != .first(0) else { return 0 }
    let skipped: StructuredQuery
    do throws(DocumentStoreError) {
      skipped = try query.skipping(0).limited(to: .first(query.offset))
    } catch {
      throw RemoteError(error)
    }
    return Int(clamping: try count(skipped, view))
  }

  private func count(_ query: StructuredQuery, _ view: ReadView) throws(RemoteError) -> Int64 {
    guard case .integer(let count)? = try view.aggregate([.count], over: query).first else { return 0 }
    return count
  }

  func runAggregationQuery(
    _ request: Wire.RunAggregationQueryRequest, _ send: @escaping Send<Wire.ExplainedAggregationResponse>
  ) throws(RemoteError) -> AnswerProgress {
    let database = try database(ofParent: request.parent)
    guard let message = request.structuredAggregationQuery else {
      throw RemoteError(.invalidArgument, "Only structured aggregation queries are supported.")
    }
    if let names = try database.name.nameAggregation(message, parent: request.parent) {
      try refuseExplaining(request.explainOptions)
      try checkNotOfKeys(message, names.list)
      return try runNameAggregation(names, ReadSelector(request.consistencySelector), in: database) {
        response throws(RemoteError) in
        var explained = Wire.ExplainedAggregationResponse()
        explained.response = response
        return try send(explained)
      }
    }
    let query = try database.name.aggregation(message, parent: request.parent)
    try checkNotOfKeys(message, query.list)
    try database.authority.checkRead(query.query, as: user)
    let explaining = QueryExplaining(request.explainOptions, of: query.query, clock: options.clock)
    let reading = try reading(database, ReadSelector(request.consistencySelector))
    try reading.announce { id throws(RemoteError) in
      var response = Wire.ExplainedAggregationResponse()
      response.response.transaction = id
      return try send(response)
    }
    return try reading.afterLocking { () throws(RemoteError) in
      try reading.perform { view throws(RemoteError) in
        var response = Wire.ExplainedAggregationResponse()
        if let explaining, !explaining.runs {
          response.explainMetrics = try explaining.plan(in: view)
        } else {
          response.response.readTime = view.readTime
          response.response.result = query.list.result(
            try view.aggregate(query.list.aggregates, over: query.query))
          response.explainMetrics = try explaining.map { explaining throws(RemoteError) in
            try explaining.metrics(aggregating: try count(query.query, view), in: view)
          }
        }
        _ = try send(response)
        return .done
      }
    }
  }

  /// Throws if a request asks for the plan of a query over all collections, which no index answers. It may
  /// ask for the plan alone, so the documents would be the wrong answer.
  private func refuseExplaining(_ options: Wire.ExplainOptions?) throws(RemoteError) {
    guard options != nil else { return }
    throw RemoteError(.unimplemented, "Plans of queries over all collections are not supported.")
  }

  /// Throws if aggregates need fields of a query for names alone.
  private func checkNotOfKeys(
    _ message: Wire.StructuredAggregationQuery, _ list: AggregateList
  ) throws(RemoteError) {
    guard let select = message.structuredQuery?.select,
      select.fields.allSatisfy({ $0.fieldPath == "__name__" }),
      list.aggregates.contains(where: { $0 != .count })
    else { return }
    throw RemoteError(
      .invalidArgument,
      "Aggregation over non-key properties is not supported for base query that only returns keys.")
  }
}

/// The messages of a query's results. Each result waits until the next one comes, because the last message
/// says that it is the last.
struct QueryResults: Sendable {
  private let readTime: Wire.Timestamp
  /// The number of results before the first one.
  var skippedCount: Int
  private(set) var count = 0
  var isEmpty: Bool { count == 0 }
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
    count += 1
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
