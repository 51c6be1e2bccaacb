// Switches off each rule of the protocol in turn. A campaign must detect that the rule is missing
// (docs/reliability.md, T9).

import ByteStore
import Harness

enum Mutants: Campaign {
  static let name = "mutants"
  static let summary = "breaks each rule of the protocol and must see a campaign notice"
  static let amount = (option: "--states", standard: Optional(30_000))
  static let hasTargets = true

  static func run(_ options: CampaignOptions) async throws -> CampaignResult {
    var result = CampaignResult(run: 0, failed: 0)
    let rules = Rule.allCases.filter { options.target == nil || options.target == $0.rawValue }
    if rules.isEmpty {
      result.failed = 1
      result.firstFailure = "no rule is called \(options.target ?? "")"
    }
    for rule in rules {
      result.run += 1
      if let killer = killer(of: rule, statesMax: options.amount ?? 1_000_000, seed: options.seed) {
        options.printUnlessJSON(
          "\(rule.rawValue): killed by \(killer.harness) in \(killer.states) states (\(killer.finding))")
        result.notes.append(("\(rule.rawValue).killer", killer.harness))
        result.details.append(("\(rule.rawValue).states", killer.states))
        continue
      }
      result.failed += 1
      result.firstFailure = result.firstFailure ?? "nothing notices that \(rule.rawValue) is broken"
      result.notes.append(("\(rule.rawValue).killer", "none"))
      options.printUnlessJSON("\(rule.rawValue): ALIVE")
    }
    return result
  }

  /// The campaign that detected the missing rule, the number of states or damages that it needed, and its
  /// finding.
  private struct Killer {
    var harness: String
    var states: Int
    var finding: String
  }

  private static func killer(of rule: Rule, statesMax: Int, seed: UInt64) -> Killer? {
    guard !Rule.contentRules.contains(rule) else {
      let summary = BlobCampaign.run(states: statesMax, seed: seed, breaking: rule, stopsAtFirst: true)
      guard summary.failures > 0 else { return nil }
      return Killer(harness: "blobs", states: summary.states, finding: "contents are lost")
    }
    // Without most of the rules, a crash state fails early. The lack of the other rules is detected sooner in
    // a damaged store than by many more crash states.
    let few = min(2000, statesMax)
    if let killer = crash(of: rule, statesMax: few, seed: seed) { return killer }
    let writes = WrongWrites.run(rounds: 200, seed: seed, breaking: rule)
    if writes.failures > 0 {
      return Killer(harness: "wrong writes", states: writes.rounds, finding: "\(writes.failures) not noticed")
    }
    let matrix = CorruptionMatrix.run(flips: .random(3000), seed: seed, breaking: rule, stopsAtFirst: true)
    if matrix.harm > 0 {
      return Killer(harness: "corrupt", states: matrix.total.all, finding: "damage is not noticed")
    }
    guard statesMax > few else { return nil }
    // Some rules matter only if two jobs overlap, which may not occur in the workloads of one seed.
    for attempt in 0..<seedsMax {
      let seed = attempt == 0 ? seed : SeededRandom.seed(seed, UInt64(attempt))
      if let killer = crash(of: rule, statesMax: statesMax, seed: seed) { return killer }
    }
    return nil
  }

  /// The number of seeds that are tried, each with all its states, before a missing rule counts as
  /// undetected.
  private static let seedsMax = 3

  private static func crash(of rule: Rule, statesMax: Int, seed: UInt64) -> Killer? {
    let failure = CrashCampaign.firstFailure(
      statesMax: statesMax, seed: seed, commitsWaiting: { $0.commitsWaiting }, breaking: rule)
    return failure.map { Killer(harness: "crash", states: $0.state, finding: $0.finding.kind.rawValue) }
  }
}
