// Goals, and whether a run met them.

/// An upper bound for a time or size of Dugout, usually divided by another time or size.
struct Goal: Sendable {
  enum Measure: Sendable {
    /// Divides Dugout's value by the best peer's value of this metric.
    case toBestPeer(String)
    /// Divides Dugout's value by another value of Dugout from the same run.
    case toOwn(engine: String, metric: String)
    /// Uses the value without a division.
    case absolute
  }

  /// The title in the report.
  var title: String
  var engine = "dugout"
  var metric: String
  var measure: Measure
  var bound: Double

  /// A goal relative to the best peer's value of this metric.
  static func ratio(_ title: String, _ metric: String, _ bound: Double) -> Goal {
    Goal(title: title, metric: metric, measure: .toBestPeer(metric), bound: bound)
  }
}

struct Verdict: Sendable {
  var workload: String
  var goal: Goal
  /// A ratio of times or sizes, or an absolute value.
  var value: Double
  var bestPeer: String?
  /// The range of the ratio, computed from the minimum and the maximum of Dugout and of the best peer.
  var spread: ClosedRange<Double>?
  var documents: Int

  var isMet: Bool { value <= goal.bound }

  /// Returns nil if the run did not measure the values that the goal needs.
  init?(_ workload: any Workload.Type, _ goal: Goal, _ rows: [ResultRow]) {
    func row(_ engine: String, _ metric: String) -> ResultRow? {
      rows.first { $0.engine == engine && $0.metric == metric }
    }
    guard let ours = row(goal.engine, goal.metric) else { return nil }
    self.workload = workload.name
    self.goal = goal
    documents = ours.documents
    switch goal.measure {
    case .absolute: value = ours.median
    case .toOwn(let engine, let metric):
      guard let other = row(engine, metric) else { return nil }
      value = Self.ratio(ours, other)
    case .toBestPeer(let metric):
      let peers = rows.filter { $0.metric == metric && Engines.isPeer($0.engine) }
      guard
        let best = peers.min(by: {
          ($0.isRate ? -$0.median : $0.median) < ($1.isRate ? -$1.median : $1.median)
        })
      else { return nil }
      value = Self.ratio(ours, best)
      bestPeer = best.engine
      let ends =
        ours.isRate
        ? [best.min / ours.max, best.max / ours.min] : [ours.min / best.max, ours.max / best.min]
      spread = ends[0]...ends[1]
    }
  }

  private static func ratio(_ ours: ResultRow, _ other: ResultRow) -> Double {
    ours.isRate ? other.median / ours.median : ours.median / other.median
  }

  var object: [String: Any] {
    var object: [String: Any] = [
      "workload": workload, "metric": goal.metric, "title": goal.title, "goal": goal.bound, "met": isMet,
      "documents": documents,
    ]
    if let bestPeer {
      object["ratio_to_best_peer"] = value
      object["best_peer"] = bestPeer
    } else {
      object["value"] = value
    }
    return object
  }
}
