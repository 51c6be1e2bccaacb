// RunQuery and RunAggregationQuery over all collections.
//
// Each step reads one page of the scan, so it is bounded in bytes and in work, also where the offset skips
// documents, or where aggregates read all of them. The first page starts at the first name of the query.

internal import Authority
internal import DocumentStore
internal import FirestoreWire
internal import OfflineSync

extension CallContext {
  /// Needs the right to read everything, because the result has documents of any collection.
  func runNameQuery(
    _ query: NameQueryRequest, _ selector: ReadSelector, in database: ServedDatabase,
    _ send: @escaping Send<Wire.RunQueryResponse>
  ) throws(RemoteError) -> AnswerProgress {
    try database.checkMayReadNames()
    let reading = try reading(database, selector)
    try reading.announce { id throws(RemoteError) in
      var response = Wire.RunQueryResponse()
      response.transaction = id
      return try send(response)
    }
    @Sendable func step(_ earlier: NamePages, _ before: QueryResults) throws(RemoteError) -> AnswerProgress {
      try reading.perform { view throws(RemoteError) in
        var (pages, results) = (earlier, before)
        let page = try pages.next(in: view)
        results.skippedCount = pages.skippedCount
        for record in page {
          guard let previous = results.add(database.document(record, query.mask)) else { continue }
          guard try send(previous) else { return .done }
        }
        guard pages.isAtEnd else {
          return .next { [pages, results] () throws(RemoteError) in try step(pages, results) }
        }
        _ = try send(results.last())
        return .done
      }
    }
    return try reading.afterLocking { () throws(RemoteError) in
      let results = try reading.perform { view throws(RemoteError) in
        QueryResults(view.readTime, skippedCount: 0)
      }
      return .next { () throws(RemoteError) in try step(NamePages(query), results) }
    }
  }

  func runNameAggregation(
    _ request: NameAggregationRequest, _ selector: ReadSelector, in database: ServedDatabase,
    _ send: @escaping Send<Wire.RunAggregationQueryResponse>
  ) throws(RemoteError) -> AnswerProgress {
    try database.checkMayReadNames()
    var query = request.query
    query.limit = [query.limit, request.list.countMax].compactMap { $0 }.min()
    let reading = try reading(database, selector)
    try reading.announce { id throws(RemoteError) in
      var response = Wire.RunAggregationQueryResponse()
      response.transaction = id
      return try send(response)
    }
    @Sendable func step(
      _ earlier: NamePages, _ before: Aggregation
    ) throws(RemoteError) -> AnswerProgress {
      try reading.perform { view throws(RemoteError) in
        var (pages, aggregation) = (earlier, before)
        for record in try pages.next(in: view) { aggregation.add(record.document) }
        guard pages.isAtEnd else {
          return .next { [pages, aggregation] () throws(RemoteError) in try step(pages, aggregation) }
        }
        var response = Wire.RunAggregationQueryResponse()
        response.readTime = view.readTime
        response.result = request.list.result(aggregation.results)
        _ = try send(response)
        return .done
      }
    }
    let pages = NamePages(query)
    return try reading.afterLocking { () throws(RemoteError) in
      .next { () throws(RemoteError) in try step(pages, Aggregation(request.list.aggregates)) }
    }
  }
}

/// The result of a query over all collections in pages.
private struct NamePages {
  /// The number of documents in a page.
  private static let documentsMax = 500

  /// The part of the scan that was not read.
  private var scan: PathScan
  private var offset: Int
  /// The number of results up to the limit; nil without a limit.
  private var leftCount: Int?
  private(set) var isAtEnd: Bool
  private(set) var skippedCount = 0

  init(_ query: NameQueryRequest) {
    scan = query.scan
    (offset, leftCount) = (query.offset, query.limit)
    isAtEnd = query.limit == 0
  }

  /// The next results. A page can be empty before the end.
  mutating func next(in view: ReadView) throws(RemoteError) -> ArraySlice<DocumentRecord> {
    guard !isAtEnd else { return [] }
    let wanted = leftCount.map { $0.addingReportingOverflow(offset) }
    let count = wanted.map { $0.overflow ? Self.documentsMax : min($0.partialValue, Self.documentsMax) }
    let page = try view.page(of: scan, documentsMax: count ?? Self.documentsMax)
    let skipped = min(offset, page.records.count)
    offset -= skipped
    skippedCount += skipped
    var results = page.records.dropFirst(skipped)
    if let left = leftCount {
      results = results.prefix(left)
      leftCount = left - results.count
    }
    if let rest = page.rest, leftCount != 0 { scan = rest } else { isAtEnd = true }
    return results
  }
}

extension AggregateList {
  /// The number of documents after which no result changes; nil if there is none.
  fileprivate var countMax: Int? {
    var largest: Int64 = 0
    for (aggregate, countMax) in zip(aggregates, countsMax) {
      guard aggregate == .count, let countMax else { return nil }
      largest = max(largest, countMax)
    }
    return Int(clamping: largest)
  }
}
