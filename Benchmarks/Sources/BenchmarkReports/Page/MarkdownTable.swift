// The results as a table for the documentation.

package enum MarkdownTable {
  package static func text(_ results: RunResults) -> String {
    let facts = results.facts
    var lines = ["Run on \(facts.date):", ""]
    lines += results.notices.flatMap { ["**\($0)**", ""] }
    lines += ["```sh", facts.command, "```", ""]
    lines += facts.machineLines.map { "- \($0.name): \($0.text)" }
    lines += [
      "", "| row | what | Dugout | best peer | ratio | goal | met |",
      "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    lines += results.verdicts.map { line($0, results) }
    return lines.joined(separator: "\n") + "\n"
  }

  private static func line(_ verdict: Verdict, _ results: RunResults) -> String {
    let goal = verdict.goal
    let ours = median(results, goal.engine, goal.metric, verdict)
    var peer = "–"
    if let name = verdict.bestPeer, case .toBestPeer(let metric) = goal.measure {
      peer = "\(name) \(median(results, name, metric, verdict))"
    }
    let cells = [
      verdict.workload, goal.title, ours, peer, verdict.valueText, verdict.boundText,
      verdict.isMet ? "yes" : "no",
    ]
    return "| \(cells.joined(separator: " | ")) |"
  }

  private static func median(
    _ results: RunResults, _ engine: String, _ metric: String, _ verdict: Verdict
  ) -> String {
    results.row(verdict.workload, engine: engine, metric: metric, documents: verdict.documents)
      .map { Quantity.text($0.median, metric) } ?? "–"
  }
}
