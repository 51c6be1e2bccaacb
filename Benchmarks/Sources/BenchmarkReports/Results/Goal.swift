// Goals, and whether a run met them.

/// An upper bound for a time or size of Dugout, usually divided by another time or size.
package struct Goal: Sendable, Equatable {
  package enum Measure: Sendable, Equatable {
    /// Divides Dugout's value by the best peer's value of this metric.
    case toBestPeer(String)
    /// Divides Dugout's value by another value of Dugout from the same run.
    case toOwn(engine: String, metric: String)
    /// Uses the value without a division.
    case absolute
  }

  /// The title in the report. It makes sense without the title of the workload.
  package var title: String
  package var engine: String
  package var metric: String
  package var measure: Measure
  package var bound: Double
  /// The short title in the chart of all workloads, or nil if the chart leaves this goal out.
  package var summary: String?
  /// A metric of the peers that does less work. The best peer's value is shown as a limit.
  package var limitMetric: String?
  /// False if Dugout does more work than the peer, or uses more threads. Such a goal does not compare speeds.
  package var isSameWork = true

  package init(title: String, engine: String = "dugout", metric: String, measure: Measure, bound: Double) {
    self.title = title
    self.engine = engine
    self.metric = metric
    self.measure = measure
    self.bound = bound
  }

  /// A goal relative to the best peer's value of the same metric.
  package static func ratio(_ title: String, _ metric: String, _ bound: Double) -> Goal {
    Goal(title: title, metric: metric, measure: .toBestPeer(metric), bound: bound)
  }

  package func summarized(as title: String) -> Goal {
    var goal = self
    goal.summary = title
    return goal
  }

  package func limited(by metric: String) -> Goal {
    var goal = self
    goal.limitMetric = metric
    return goal
  }

  package func withUnequalWork() -> Goal {
    var goal = self
    goal.isSameWork = false
    return goal
  }
}
