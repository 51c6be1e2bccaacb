// One set of results from several runs, for example after an interruption.

extension RunResults {
  /// Adds the workloads of another run, which replace earlier results of the same workloads.
  ///
  /// Throws if the runs differ in size, machine or versions, because their numbers do not belong together.
  package func merged(with other: RunResults) throws(UnmatchedRuns) -> RunResults {
    try requireMatch(other)
    let replaced = Set(other.rows.map(\.workload))
    var merged = RunResults(facts.merged(with: other.facts))
    merged.add(rows.filter { !replaced.contains($0.workload) }, [])
    merged.add(other.rows, [])
    let all = verdicts.filter { !replaced.contains($0.workload) } + other.verdicts
    // The verdicts of one workload stay in their order.
    let titles = merged.facts.workloads.map(\.name)
    let ordered = titles.flatMap { name in all.filter { $0.workload == name } }
    merged.add([], ordered + all.filter { !titles.contains($0.workload) })
    return merged
  }

  private func requireMatch(_ other: RunResults) throws(UnmatchedRuns) {
    guard facts.documents == other.facts.documents, facts.rounds == other.facts.rounds else {
      throw UnmatchedRuns(fact: "Size", first: facts.size, second: other.facts.size)
    }
    let names = Set(facts.machine.keys).union(other.facts.machine.keys).subtracting(["Load before the run"])
    for name in names.sorted() where facts.machine[name] != other.facts.machine[name] {
      throw UnmatchedRuns(
        fact: name, first: facts.machine[name] ?? "unknown", second: other.facts.machine[name] ?? "unknown")
    }
  }
}

extension RunFacts {
  fileprivate func merged(with other: RunFacts) -> RunFacts {
    var facts = self
    facts.command += "\n\(other.command)"
    facts.seconds += other.seconds
    facts.isOptimised = isOptimised && other.isOptimised
    facts.missing += other.missing.filter { !missing.contains($0) }
    facts.engines.merge(other.engines) { first, _ in first }
    facts.workloads += other.workloads.filter { title in !workloads.contains { $0.name == title.name } }
    return facts
  }
}

/// Two runs whose numbers do not belong together.
package struct UnmatchedRuns: Error, Equatable, CustomStringConvertible {
  package var fact: String
  package var first: String
  package var second: String

  package var description: String {
    "the runs differ, so their results do not belong together: \(fact): \(first), and \(second)"
  }
}
