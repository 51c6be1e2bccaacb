// The measured values of one metric of one engine.

package struct ResultRow: Sendable, Equatable {
  package var workload: String
  package var engine: String
  /// The name of the metric. It ends with its unit.
  package var metric: String
  package var median: Double
  package var min: Double
  package var max: Double
  /// The number of rounds.
  package var runs: Int
  package var documents: Int

  /// `values` has one value for each round, and is not empty.
  package init(workload: String, engine: String, metric: String, values: [Double], documents: Int) {
    let sorted = values.sorted()
    self.workload = workload
    self.engine = engine
    self.metric = metric
    median = sorted.median
    min = sorted.first ?? median
    max = sorted.last ?? median
    runs = values.count
    self.documents = documents
  }

  /// Whether a higher value is better.
  package var isRate: Bool { metric.hasSuffix("_per_s") }
  package var isSize: Bool { metric.hasSuffix("bytes") || metric == "bytes_per_document" }
  package var hasSmallCache: Bool { metric.hasPrefix(Quantity.smallCache) }
  package var isOurs: Bool { engine.hasPrefix("dugout") }
  /// Whether the row is a limit of the machine.
  package var isLimit: Bool { engine.hasPrefix("limit: ") }
  package var peer: Peer? { Peer(engine: engine) }

  package func isBetter(than other: ResultRow) -> Bool {
    isRate ? median > other.median : median < other.median
  }
}

extension [ResultRow] {
  /// The metrics in order of first occurrence. Metrics that were measured with a small cache come last.
  package var metrics: [String] {
    var metrics: [String] = []
    for row in self where !metrics.contains(row.metric) { metrics.append(row.metric) }
    return metrics.filter { !$0.hasPrefix(Quantity.smallCache) }
      + metrics.filter { $0.hasPrefix(Quantity.smallCache) }
  }

  /// The rows in order of their values, best first. The limits of the machine come last.
  package var ranked: [ResultRow] {
    sorted { left, right in left.isLimit == right.isLimit ? left.isBetter(than: right) : right.isLimit }
  }

  /// The best row of any peer.
  package var bestPeer: ResultRow? { ranked.first { $0.peer != nil } }
}

extension [Double] {
  /// The mean of the two middle values if the count is even, and 0 if there are no values.
  package var median: Double {
    let sorted = sorted()
    guard !isEmpty else { return 0 }
    let middle = count / 2
    return count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
  }
}

// MARK: JSON

extension ResultRow: Codable {
  /// Results without extremes, such as those of a published table, have only medians.
  package init(from decoder: any Decoder) throws {
    let object = try decoder.container(keyedBy: CodingKeys.self)
    workload = try object.decode(String.self, forKey: .workload)
    engine = try object.decode(String.self, forKey: .engine)
    metric = try object.decode(String.self, forKey: .metric)
    median = try object.decode(Double.self, forKey: .median)
    min = try object.decodeIfPresent(Double.self, forKey: .min) ?? median
    max = try object.decodeIfPresent(Double.self, forKey: .max) ?? median
    runs = try object.decode(Int.self, forKey: .runs)
    documents = try object.decode(Int.self, forKey: .documents)
  }

  private enum CodingKeys: String, CodingKey {
    case workload, engine, metric, median, min, max, runs, documents
  }
}
