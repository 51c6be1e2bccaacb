// Results of a run that the tests of reports share.

/// A run of three workloads. Dugout is clearly faster in W5 and clearly slower in W4, and in W1 the ranges of
/// the rounds overlap.
enum SampleRun {
  static func results(documents: Int = 1_000_000, rounds: Int = 5) -> RunResults {
    var facts = RunFacts(
      date: "2026-03-04T05:06:07Z", command: "benchmarks --documents \(documents) --runs \(rounds)",
      documents: [documents], rounds: rounds)
    facts.machine = ["Processor": "Sample CPU, 2 cores", "LMDB": "0.9.24", "Dugout": "commit 1234"]
    facts.engines = ["dugout": "With its defaults.", "lmdb": "NORDAHEAD & NOTLS."]
    facts.workloads = [
      RunFacts.Title(name: "W1", title: "durable commits"), RunFacts.Title(name: "W4", title: "bulk load"),
      RunFacts.Title(name: "W5", title: "random gets"),
    ]
    var results = RunResults(facts)
    let count = rounds
    func row(_ workload: String, _ engine: String, metric: String, around value: Double) -> ResultRow {
      let values = (0..<count).map { value * (1 + 0.05 * Double($0 - count / 2)) }
      return ResultRow(
        workload: workload, engine: engine, metric: metric, values: values, documents: documents)
    }
    func add(_ workload: String, _ rows: [ResultRow], goals: [Goal]) {
      results.add(rows, goals.compactMap { Verdict(workload, $0, rows) })
    }
    add(
      "W1",
      [
        row("W1", "dugout", metric: "commits_per_s", around: 5000),
        row("W1", "leveldb", metric: "commits_per_s", around: 4900),
        row("W1", "sqlite-json", metric: "commits_per_s", around: 2500),
        row("W1", "limit: device", metric: "commits_per_s", around: 8000),
      ], goals: [Goal.ratio("commits of one document", "commits_per_s", 0.6).summarized(as: "commit")])
    add(
      "W4",
      [
        row("W4", "dugout", metric: "docs_per_s", around: 1000),
        row("W4", "rocksdb", metric: "docs_per_s", around: 38_000),
      ], goals: [Goal.ratio("bulk load", "docs_per_s", 0.4).summarized(as: "bulk load")])
    add(
      "W5",
      [
        row("W5", "dugout", metric: "get_ns", around: 1000),
        row("W5", "dugout, Firestore API", metric: "get_struct_ns", around: 4000),
        row("W5", "lmdb", metric: "get_ns", around: 2000),
        row("W5", "sqlite", metric: "get_ns", around: 3000),
        row("W5", "sqlite-json", metric: "get_ns", around: 6000),
        row("W5", "lmdb", metric: "eighth_cache_limit1000_ns", around: 6000),
        row("W5", "sqlite-json, JSONDecoder", metric: "get_struct_ns", around: 20_000),
        row("W5", "lmdb-json, JSONDecoder", metric: "get_struct_ns", around: 16_000),
      ],
      goals: [
        Goal.ratio("get, every field visited", "get_ns", 0.5).summarized(as: "get"),
        Goal(
          title: "get as a struct", engine: "dugout, Firestore API", metric: "get_struct_ns",
          measure: .toBestPeer("get_struct_ns"), bound: 0.2
        ).limited(by: "get_ns"),
        Goal(
          title: "get with more threads", metric: "get_ns", measure: .toBestPeer("get_ns"), bound: 0.1
        ).withUnequalWork(),
        Goal(title: "get, absolute", metric: "get_ns", measure: .absolute, bound: 1000),
        Goal(
          title: "struct relative to fields", engine: "dugout, Firestore API", metric: "get_struct_ns",
          measure: .toOwn(engine: "dugout", metric: "get_ns"), bound: 3),
      ])
    return results
  }
}
