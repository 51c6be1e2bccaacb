// The HTML page of a run: the machine, the speed beside each peer, the goals, the charts and numbers of each
// workload, and the method. It is as wide as a phone or wider.

package struct ReportPage {
  private let results: RunResults

  package init(_ results: RunResults) { self.results = results }

  package var text: String {
    """
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>Dugout: benchmarks of \(results.facts.day.escaped)</title>
    <style>\(PageStyle.text)</style>
    </head>
    <body>
    <main>
    \(head)
    \(PeerSection.text(results))
    \(GoalSection.text(results))
    \(WorkloadSections.text(results))
    \(MethodSection.text(results))
    </main>
    </body>
    </html>

    """
  }

  private var head: String {
    let notices = results.notices.map { "<p class=\"notice\">\($0.escaped)</p>" }
    let facts =
      [("Date", results.facts.date), ("Size", results.facts.size)]
      + results.facts.machineLines.map { ($0.name, $0.text) }
    let lines = facts.map { "<dt>\($0.0.escaped)</dt><dd>\($0.1.escaped)</dd>" }
    return """
      <header><p class="eyebrow">Dugout</p><h1>Benchmarks</h1>
      <p class="lead">Every engine stores the same documents with the same indexes, and a sum over each answer proves
      that the answers are equal. Durable means on stable storage for every engine.</p>
      \(notices.joined(separator: "\n"))
      <dl class="facts">\(lines.joined())</dl>
      <div class="cards">\(cards)</div></header>
      """
  }

  private var cards: String {
    let best = results.comparisons.map(\.best)
    func count(_ outcome: Comparison.Outcome) -> Int { best.count { $0.outcome == outcome } }
    let goals = results.verdicts
    let cards = [
      (count(.better), best.count, "operations ahead of every peer"),
      (count(.even), best.count, "operations level with the best peer"),
      (count(.worse), best.count, "operations behind the best peer"),
      (goals.count { $0.isMet }, goals.count, "goals met"),
    ]
    return cards.map { count, total, words in
      "<div class=\"card\"><b>\(count) of \(total)</b><span>\(words)</span></div>"
    }.joined()
  }
}
