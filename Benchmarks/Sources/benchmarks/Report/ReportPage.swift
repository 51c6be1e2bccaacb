// The HTML page of a run: the goals, the charts and numbers of each workload, and the method.

import Foundation

struct ReportPage {
  private let report: BenchmarkReport

  init(_ report: BenchmarkReport) { self.report = report }

  var text: String {
    """
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>Dugout: benchmarks of \(report.date.prefix(10))</title>
    <style>\(Self.style)</style>
    </head>
    <body>
    <main>
    \(head)
    \(goals)
    \(workloads)
    \(method)
    </main>
    </body>
    </html>

    """
  }

  private var head: String {
    let met = report.verdicts.filter(\.isMet).count
    let documents = report.options.scale.isEmpty ? [report.options.documents] : report.options.scale
    let facts = [
      ("\(met) of \(report.verdicts.count)", "goals met"),
      (documents.map { Quantity.count($0) }.joined(separator: ", "), "documents"),
      ("\(report.options.runs)", "rounds"), (String(report.date.prefix(10)), "date"),
    ]
    let cards = facts.map { "<div class=\"card\"><b>\($0.0.escaped)</b><span>\($0.1)</span></div>" }
    let warning =
      Machine.isOptimised
      ? "" : "<p class=\"warning\">A debug build made this page. Its numbers mean nothing.</p>"
    return """
      <header><p class="eyebrow">Dugout</p><h1>Benchmarks</h1>
      <p class="lead">Every engine gets the same documents and answers the same questions, and a sum over all answers
      proves it. Engines take turns, round by round. Numbers are medians; thin lines show the extremes.</p></header>
      \(warning)<div class="cards">\(cards.joined())</div>
      """
  }

  private var goals: String {
    guard !report.verdicts.isEmpty else { return "" }
    let rows = report.verdicts.map { verdict -> String in
      let share = min(verdict.value / max(verdict.goal.bound, 1e-12), 2) / 2 * 100
      let count = report.options.scale.isEmpty ? "" : ", \(Quantity.count(verdict.documents)) documents"
      return """
        <tr><td><a href="#\(verdict.workload)">\(verdict.workload)</a></td>
        <td>\(verdict.goal.title.escaped)\(count)</td>
        <td class="number">\(TextTable.value(verdict.value, verdict))\(verdict.bestPeer.map { " × \($0)" } ?? "")</td>
        <td class="number">≤ \(TextTable.value(verdict.goal.bound, verdict))</td>
        <td><span class="gauge" title="the mark is the goal"><i class="\(verdict.isMet ? "met" : "missed")" \
        style="width:\(String(format: "%.1f", share))%"></i></span></td>
        <td class="\(verdict.isMet ? "met" : "missed")">\(verdict.isMet ? "met" : "missed")</td></tr>
        """
    }
    return """
      <section><h2>Goals</h2><p class="quiet">Our time or size over the best peer's on the same row, unless the row says
      otherwise. Less is better; the mark in the middle of a gauge is the goal.</p>
      <div class="scroll"><table><thead><tr><th>Row</th><th>What</th><th class="number">Ratio or value</th>
      <th class="number">Goal</th><th></th><th></th></tr></thead><tbody>\(rows.joined())</tbody></table></div></section>
      """
  }

  private var workloads: String {
    let charts = report.charts
    let names = Benchmarks.workloads.map { $0.name }.filter { name in charts.contains { $0.workload == name }
    }
    return names.map { name -> String in
      let charts = charts.filter { $0.workload == name }
      let rows = report.rows.filter { $0.workload == name }
      let pictures = charts.map { "<figure>\($0.image.text(isAlone: false))</figure>" }
      let numbers = rows.map { row -> String in
        let numbers = [row.median, row.min, row.max].map { Quantity.text($0, row.metric) }
        return "<tr><td>\(row.engine.escaped)</td><td>\(Quantity.name(of: row.metric))</td>"
          + "<td class=\"number\">\(Quantity.count(row.documents))</td>"
          + numbers.map { "<td class=\"number\">\($0)</td>" }.joined() + "</tr>"
      }
      return """
        <section id="\(name)"><h2><span class="row">\(name)</span> \(charts[0].title.escaped)</h2>
        \(pictures.joined())
        <details><summary>Numbers</summary><div class="scroll"><table><thead><tr><th>Engine</th><th>Metric</th>
        <th class="number">Documents</th><th class="number">Median</th><th class="number">Least</th>
        <th class="number">Most</th></tr></thead><tbody>\(numbers.joined())</tbody></table></div></details></section>
        """
    }.joined(separator: "\n")
  }

  private var method: String {
    let engines = Engines.settings.map { "<dt>\($0.name)</dt><dd>\($0.text.escaped)</dd>" }
    let machine = report.machine.lines.map { "<dt>\($0.name)</dt><dd>\($0.text.escaped)</dd>" }
    let missing = Engines.missing.map { "\($0.name) is not installed and was not compared (\($0.package))." }
    return """
      <section><h2>Method</h2>
      <p>The documents are made from a seed: eleven fields, about 380 bytes as JSON, half of them users, half posts below
      them. What is written is made before the clock starts. Durable means on stable storage, on both sides. Reads visit
      every field of every document that they return. Before them, each engine has visited all documents in the order that
      is asked for, or every seventh by its path, and answered all of the questions once; writes have no warm-up. Stores that
      are read are made once, and copied where they are changed; engines take turns round by round. In stores of keys and
      values an index is made of keys in the order that is asked for, which end with the document's own. "Cache of an eighth"
      means that each engine's own cache has an eighth of its data. A dashed line is the bare machine: the same bytes written
      and synced, by as many threads that each do so for themselves, LZ4, copied memory; an engine that shares syncs may be
      beyond it. Where it lies far outside, its value is below the bars. In W10, \(ColdOpen.way).
      \(missing.joined(separator: " "))</p>
      <pre>\(report.command.escaped)</pre>
      <h3>Machine</h3><dl>\(machine.joined())</dl>
      <h3>Engines and their settings</h3><dl>\(engines.joined())</dl></section>
      """
  }

  private static let style = """
    :root{\(SVGImage.light)}@media(prefers-color-scheme:dark){:root{\(SVGImage.dark)}}
    *{box-sizing:border-box}body{margin:0;background:var(--ground);color:var(--ink);
    font:16px/1.55 system-ui,'Segoe UI',Helvetica,Arial,sans-serif}
    main{max-width:880px;margin:0 auto;padding:56px 24px 96px}h1{font-size:44px;line-height:1.1;margin:0 0 16px;
    letter-spacing:-.02em}h2{font-size:22px;margin:64px 0 16px;letter-spacing:-.01em}h3{font-size:16px;margin:32px 0 8px}
    .eyebrow{color:var(--ours);font-weight:600;margin:0}.lead{font-size:18px;color:var(--quiet);max-width:64ch;margin:0}
    .quiet{color:var(--quiet);max-width:70ch}.row{color:var(--ours);margin-right:.4em}
    .cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:12px;margin:40px 0 0}
    .card{border:1px solid var(--line);border-radius:10px;padding:16px 18px}.card b{display:block;font-size:22px;
    font-variant-numeric:tabular-nums}.card span{color:var(--quiet);font-size:14px}
    .scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:14px}
    th{color:var(--quiet);font-weight:500;text-align:left}th,td{padding:7px 12px 7px 0;border-bottom:1px solid var(--line);
    white-space:nowrap}.number{text-align:right;font-variant-numeric:tabular-nums}
    td.met{color:var(--good)}td.missed{color:var(--bad);font-weight:600}a{color:inherit}
    .gauge{display:block;position:relative;width:120px;height:8px;border-radius:4px;background:var(--line)}
    .gauge i{display:block;height:100%;border-radius:4px}.gauge i.met{background:var(--good)}
    .gauge i.missed{background:var(--bad)}.gauge:after{content:"";position:absolute;left:50%;top:-3px;width:2px;
    height:14px;background:var(--ink)}
    figure{margin:16px 0}svg{display:block;width:100%;height:auto}details{margin-top:8px}summary{cursor:pointer;
    color:var(--quiet);font-size:14px}dl{display:grid;grid-template-columns:minmax(120px,auto) 1fr;gap:6px 20px;
    font-size:14px}dt{font-weight:600}dd{margin:0;color:var(--quiet)}
    pre{background:color-mix(in srgb,var(--line) 45%,transparent);padding:14px 16px;border-radius:8px;overflow-x:auto;
    font-size:13px}.warning{border-left:3px solid var(--bad);padding:8px 14px;margin:24px 0 0}
    @media(max-width:560px){h1{font-size:34px}dl{grid-template-columns:1fr}}
    """
}
