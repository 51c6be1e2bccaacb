// The section with the goals. Narrow screens show each goal as a block.

enum GoalSection {
  static func text(_ results: RunResults) -> String {
    let verdicts = results.verdicts
    guard !verdicts.isEmpty else { return "" }
    let scale = LogScale(containing: verdicts.map(share))
    let rows = verdicts.map { row($0, scale, results.facts) }
    return """
      <section id="goals"><h2>Goals</h2>
      <p class="quiet">A goal is the largest ratio that counts as met: the time or size of Dugout divided by that of the best
      peer, unless the row says otherwise. The mark in a gauge is the goal. The scale is logarithmic, from
      \(scale.lowText) below the goal to \(scale.highText) above it.</p>
      <table class="goals"><thead><tr><th>Row</th><th>What</th><th class="number">Result</th>
      <th class="number">Goal</th><th>Distance from the goal</th></tr></thead>
      <tbody>\(rows.joined(separator: "\n"))</tbody></table></section>
      """
  }

  /// The value divided by the goal.
  private static func share(_ verdict: Verdict) -> Double { verdict.value / max(verdict.goal.bound, 1e-12) }

  private static func row(_ verdict: Verdict, _ scale: LogScale, _ facts: RunFacts) -> String {
    let outcome = verdict.isMet ? "better" : "worse"
    let share = share(verdict)
    let documents = facts.isScale ? ", \(Quantity.grouped(verdict.documents)) documents" : ""
    let peer = verdict.bestPeer.map { engine in
      " of <span title=\"\(engine.escaped)\">\(Peer(engine: engine)?.title ?? engine.escaped)</span>"
    }
    let distance = verdict.isMet ? "met" : "\(Quantity.times(share)) the goal"
    return """
      <tr><td><a href="#\(verdict.workload)">\(verdict.workload)</a></td>
      <td>\(verdict.goal.title.escaped)\(documents)</td>
      <td class="number">\(verdict.valueText)\(peer ?? "")</td><td class="number">≤ \(verdict.boundText)</td>
      <td><div class="distance"><span class="strip">\(Gauge.mark("one", from: scale.position(1), to: scale.position(1)))\
      \(Gauge.mark("bar \(outcome)", from: scale.position(1), to: scale.position(share)))</span>\
      <b class="\(outcome)">\(distance)</b></div></td></tr>
      """
  }
}
