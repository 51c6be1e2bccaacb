// Dugout beside each peer, in one operation.

/// An operation that Dugout and at least one peer did, with the same work on both sides.
package struct Comparison: Sendable, Equatable {
  package struct Side: Sendable, Equatable {
    package var peer: Peer
    /// The peer's best row.
    package var row: ResultRow
    /// The peer's time or size divided by Dugout's: above 1, Dugout is faster or smaller.
    package var factor: Double
    /// The range of the factor over all pairs of rounds. Nil if there was one round.
    package var range: ClosedRange<Double>?

    package var outcome: Outcome {
      if let range, range.contains(1) { return .even }
      return factor == 1 ? .even : factor > 1 ? .better : .worse
    }
  }

  package enum Outcome: String, Sendable {
    /// Dugout is faster or smaller in all rounds.
    case better
    /// Dugout is slower or larger in all rounds.
    case worse
    /// The ranges of the rounds overlap.
    case even
  }

  package var workload: String
  package var title: String
  package var summary: String?
  package var ours: ResultRow
  /// One side for each peer, the best peer first.
  package var sides: [Side]
  /// The best peer's row of a metric that does less work.
  package var limit: ResultRow?

  package var best: Side { sides[0] }

  /// Returns nil if the goal compares Dugout with itself or with other work, or if no peer has a value.
  package init?(_ verdict: Verdict, _ rows: [ResultRow]) {
    let goal = verdict.goal
    guard case .toBestPeer(let metric) = goal.measure, goal.isSameWork else { return nil }
    let rows = rows.filter { $0.workload == verdict.workload && $0.documents == verdict.documents }
    guard let ours = rows.first(where: { $0.engine == goal.engine && $0.metric == goal.metric }),
      ours.median > 0
    else { return nil }
    let ranked = rows.filter { $0.metric == metric && $0.median > 0 }.ranked
    let sides = Peer.allCases.compactMap { peer in
      ranked.first { $0.peer == peer }.map { Self.side(peer, $0, ours) }
    }
    guard !sides.isEmpty else { return nil }
    workload = verdict.workload
    title = goal.title
    summary = goal.summary
    self.ours = ours
    self.sides = sides.sorted { $0.factor < $1.factor }
    limit = goal.limitMetric.flatMap { metric in rows.filter { $0.metric == metric }.bestPeer }
  }

  private static func side(_ peer: Peer, _ row: ResultRow, _ ours: ResultRow) -> Side {
    let range = ours.runs > 1 && row.runs > 1 ? Ratio.rangeOfCosts(row, ours) : nil
    return Side(peer: peer, row: row, factor: Ratio.ofCosts(row, ours), range: range)
  }

  // MARK: Words

  /// Says how many times faster or smaller Dugout is: "2.4 × slower".
  package func words(_ side: Side) -> String {
    let times = Quantity.times(Swift.max(side.factor, 1 / side.factor))
    guard times != Quantity.times(1) else { return ours.isSize ? "same size" : "same speed" }
    return "\(times) \(side.factor > 1 ? betterWord : worseWord)"
  }

  private var betterWord: String { ours.isSize ? "smaller" : "faster" }
  private var worseWord: String { ours.isSize ? "larger" : "slower" }
}
