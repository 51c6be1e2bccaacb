// Explanations of queries: their plan, and the work that they took.

internal import DocumentStore
internal import FirestoreWire
internal import OfflineSync

/// The explanation that a request asks for.
struct QueryExplaining: Sendable {
  /// Firestore bills a read for this number of entries of an index that an aggregation counts.
  private static let entriesPerRead: Int64 = 1000

  /// Whether the query runs. Otherwise, only its plan is sent.
  let runs: Bool
  private let query: StructuredQuery
  private let clock: ServiceClock
  private let begin: UInt64

  /// Nil if the request asks for no explanation.
  init?(_ options: Wire.ExplainOptions?, of query: StructuredQuery, clock: ServiceClock) {
    guard let options else { return nil }
    runs = options.analyze
    self.query = query
    self.clock = clock
    begin = clock.now()
  }

  /// The plan alone.
  func plan(in view: ReadView) throws(RemoteError) -> Wire.ExplainMetrics {
    var plan = Wire.PlanSummary()
    plan.indexesUsed = try view.indexesUsed(by: query).map(properties)
    var metrics = Wire.ExplainMetrics()
    metrics.planSummary = plan
    return metrics
  }

  /// The plan, and the work of a query with this number of results, after those that it has skipped.
  func metrics(results: Int, skipped: Int, in view: ReadView) throws(RemoteError) -> Wire.ExplainMetrics {
    try metrics(results: Int64(results), reads: Int64(results + skipped), in: view)
  }

  /// The plan, and the work of an aggregation over this number of documents.
  func metrics(aggregating documents: Int64, in view: ReadView) throws(RemoteError) -> Wire.ExplainMetrics {
    let reads = documents / Self.entriesPerRead + (documents % Self.entriesPerRead == 0 ? 0 : 1)
    return try metrics(results: 1, reads: reads, in: view)
  }

  private func metrics(
    results: Int64, reads: Int64, in view: ReadView
  ) throws(RemoteError) -> Wire.ExplainMetrics {
    var stats = Wire.ExecutionStats()
    stats.resultsReturned = results
    stats.executionDuration = Wire.Duration(nanoseconds: clock.now() &- begin)
    // A query without results is one read.
    stats.readOperations = max(1, reads)
    var metrics = try plan(in: view)
    metrics.executionStats = stats
    return metrics
  }

  /// An index as Firestore describes it. Names ascend in all indexes, which are also read backward.
  private func properties(_ index: IndexDefinition?) -> Wire.Labels {
    let isGroup = if case .collectionGroup = query.scope { true } else { false }
    var fields: [String] = []
    for field in index?.fields ?? [] {
      switch field.part {
      case .value(.ascending), .valueOrNull(.ascending): fields.append("\(field.path.canonical) ASC")
      case .value(.descending), .valueOrNull(.descending): fields.append("\(field.path.canonical) DESC")
      case .element: fields.append("\(field.path.canonical) CONTAINS")
      }
    }
    fields.append("__name__ ASC")
    return [
      "query_scope": isGroup ? "Collection group" : "Collection",
      "properties": "(\(fields.joined(separator: ", ")))",
    ]
  }
}
