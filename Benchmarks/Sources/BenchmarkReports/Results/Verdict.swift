// Whether a run met a goal.
//
// A verdict is one JSON object with the keys in `Key`. `ratio_to_best_peer` and `best_peer` belong to goals
// relative to a peer, and `value` belongs to all others.

package struct Verdict: Sendable, Equatable {
  package var workload: String
  package var goal: Goal
  /// A ratio of times or sizes, or an absolute value.
  package var value: Double
  package var bestPeer: String?
  /// The range of the ratio, computed from the minimum and the maximum of Dugout and of the best peer.
  package var spread: ClosedRange<Double>?
  package var documents: Int

  package var isMet: Bool { value <= goal.bound }

  /// Returns nil if the rows of the workload lack a value that the goal needs, or if the ratio is infinite
  /// because a value is zero.
  package init?(_ workload: String, _ goal: Goal, _ rows: [ResultRow]) {
    func row(_ engine: String, _ metric: String) -> ResultRow? {
      rows.first { $0.engine == engine && $0.metric == metric }
    }
    guard let ours = row(goal.engine, goal.metric) else { return nil }
    self.workload = workload
    self.goal = goal
    documents = ours.documents
    switch goal.measure {
    case .absolute: value = ours.median
    case .toOwn(let engine, let metric):
      guard let other = row(engine, metric) else { return nil }
      value = Ratio.ofCosts(ours, other)
    case .toBestPeer(let metric):
      guard let best = rows.filter({ $0.metric == metric }).bestPeer else { return nil }
      value = Ratio.ofCosts(ours, best)
      bestPeer = best.engine
      spread = Ratio.rangeOfCosts(ours, best)
    }
    guard value.isFinite else { return nil }
  }
}

extension Verdict {
  package var valueText: String { text(value) }
  package var boundText: String { text(goal.bound) }

  /// Formats a ratio, or a value with its unit.
  private func text(_ value: Double) -> String {
    goal.measure == .absolute ? Quantity.text(value, goal.metric) : Quantity.digits(value)
  }

  /// The result in one sentence: "load: 2.40 × leveldb (2.10 – 2.90), goal ≤ 0.40".
  package var sentence: String {
    let over = bestPeer.map { " × \($0)" } ?? ""
    let range = spread.map { " (\(Quantity.digits($0.lowerBound)) – \(Quantity.digits($0.upperBound)))" }
    return "\(goal.title): \(valueText)\(over)\(range ?? ""), goal ≤ \(boundText)"
  }
}

/// Ratios of two rows with the same kind of metric.
enum Ratio {
  /// Returns the first row's time or size, divided by that of the second.
  static func ofCosts(_ first: ResultRow, _ second: ResultRow) -> Double {
    first.isRate ? second.median / first.median : first.median / second.median
  }

  /// Returns the range of the ratio over all pairs of rounds, or nil if it is infinite.
  static func rangeOfCosts(_ first: ResultRow, _ second: ResultRow) -> ClosedRange<Double>? {
    let ends =
      first.isRate
      ? [second.min / first.max, second.max / first.min] : [first.min / second.max, first.max / second.min]
    guard ends.allSatisfy(\.isFinite), ends[0] <= ends[1] else { return nil }
    return ends[0]...ends[1]
  }
}

// MARK: JSON

extension Verdict: Codable {
  private enum Key: String, CodingKey {
    case workload, engine, metric, title, goal, met, documents
    case ratio = "ratio_to_best_peer"
    case bestPeer = "best_peer"
    case peerMetric = "peer_metric"
    case ratioMin = "ratio_min"
    case ratioMax = "ratio_max"
    case value
    case ownEngine = "own_engine"
    case ownMetric = "own_metric"
    case summary
    case limitMetric = "limit_metric"
    case isSameWork = "same_work"
  }

  package func encode(to encoder: any Encoder) throws {
    var object = encoder.container(keyedBy: Key.self)
    try object.encode(workload, forKey: .workload)
    try object.encode(goal.engine, forKey: .engine)
    try object.encode(goal.metric, forKey: .metric)
    try object.encode(goal.title, forKey: .title)
    try object.encode(goal.bound, forKey: .goal)
    try object.encode(isMet, forKey: .met)
    try object.encode(documents, forKey: .documents)
    try object.encodeIfPresent(goal.summary, forKey: .summary)
    try object.encodeIfPresent(goal.limitMetric, forKey: .limitMetric)
    try object.encode(goal.isSameWork, forKey: .isSameWork)
    switch goal.measure {
    case .absolute: try object.encode(value, forKey: .value)
    case .toOwn(let engine, let metric):
      try object.encode(value, forKey: .value)
      try object.encode(engine, forKey: .ownEngine)
      try object.encode(metric, forKey: .ownMetric)
    case .toBestPeer(let metric):
      try object.encode(value, forKey: .ratio)
      try object.encodeIfPresent(bestPeer, forKey: .bestPeer)
      try object.encode(metric, forKey: .peerMetric)
      try object.encodeIfPresent(spread?.lowerBound, forKey: .ratioMin)
      try object.encodeIfPresent(spread?.upperBound, forKey: .ratioMax)
    }
  }

  package init(from decoder: any Decoder) throws {
    let object = try decoder.container(keyedBy: Key.self)
    workload = try object.decode(String.self, forKey: .workload)
    documents = try object.decode(Int.self, forKey: .documents)
    let measure: Goal.Measure
    if let ratio = try object.decodeIfPresent(Double.self, forKey: .ratio) {
      value = ratio
      bestPeer = try object.decodeIfPresent(String.self, forKey: .bestPeer)
      measure = .toBestPeer(try object.decode(String.self, forKey: .peerMetric))
    } else {
      value = try object.decode(Double.self, forKey: .value)
      if let engine = try object.decodeIfPresent(String.self, forKey: .ownEngine) {
        measure = .toOwn(engine: engine, metric: try object.decode(String.self, forKey: .ownMetric))
      } else {
        measure = .absolute
      }
    }
    if let least = try object.decodeIfPresent(Double.self, forKey: .ratioMin),
      let most = try object.decodeIfPresent(Double.self, forKey: .ratioMax), least <= most
    {
      spread = least...most
    }
    goal = Goal(
      title: try object.decode(String.self, forKey: .title),
      engine: try object.decode(String.self, forKey: .engine),
      metric: try object.decode(String.self, forKey: .metric), measure: measure,
      bound: try object.decode(Double.self, forKey: .goal))
    goal.summary = try object.decodeIfPresent(String.self, forKey: .summary)
    goal.limitMetric = try object.decodeIfPresent(String.self, forKey: .limitMetric)
    goal.isSameWork = try object.decodeIfPresent(Bool.self, forKey: .isSameWork) ?? true
  }
}
