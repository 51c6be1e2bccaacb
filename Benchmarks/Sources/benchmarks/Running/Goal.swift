// What has to be reached, and whether it was.

/// Our time (or size) over another's, at most `bound`.
struct Goal: Sendable {
  enum Measure: Sendable {
    /// Over the best of the peers, by this metric of theirs.
    case toBestPeer(String)
    /// Over another measure of our own run.
    case toOwn(engine: String, metric: String)
    /// The value itself.
    case absolute
  }

  /// In the report's words.
  var title: String
  var engine = "dugout"
  var metric: String
  var measure: Measure
  var bound: Double

  /// By the same metric of the best peer.
  static func ratio(_ title: String, _ metric: String, _ bound: Double) -> Goal {
    Goal(title: title, metric: metric, measure: .toBestPeer(metric), bound: bound)
  }
}

struct Verdict: Sendable {
  var workload: String
  var goal: Goal
  /// A ratio of times or sizes, or the value.
  var value: Double
  var bestPeer: String?
  /// By the extremes of both sides.
  var spread: ClosedRange<Double>?
  var documents: Int

  var isMet: Bool { value <= goal.bound }

  /// Nil where the run has not measured what it takes.
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
