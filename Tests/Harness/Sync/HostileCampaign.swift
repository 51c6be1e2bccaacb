// Many histories of clients whose remotes lie, and which lies they have heard.

package enum HostileCampaign {
  package struct Summary: Sendable {
    package var histories = 0
    package var failed = 0
    package var lies: [LiedField: Int] = [:]
    /// How often listeners were told that something is beyond the limits.
    package var refusals = 0
    package var firstFailure: String?
    /// By their numbers.
    package var failures: [Int] = []

    package var neverTold: [LiedField] { LiedField.allCases.filter { lies[$0, default: 0] == 0 } }
  }

  /// Runs so many histories, or the one with that number alone. Every fourth is about objects. `progress` is told how many
  /// are done.
  package static func run(
    histories: Int, seed: UInt64, history: Int? = nil, progress: (Int) -> Void = { _ in }
  ) -> Summary {
    var summary = Summary()
    for number in history.map({ [$0] }) ?? Array(0..<histories) {
      let seed = SeededRandom.seed(seed, UInt64(number))
      let result = number % 4 == 3 ? HostileBlobHistory.run(seed: seed) : HostileHistory.run(seed: seed)
      summary.histories += 1
      progress(summary.histories)
      summary.lies.merge(result.lies, uniquingKeysWith: +)
      summary.refusals += result.refusals
      guard let failure = result.failure else { continue }
      summary.failed += 1
      summary.failures.append(number)
      summary.firstFailure = summary.firstFailure ?? "history \(number): \(failure)"
    }
    return summary
  }

  struct Result {
    var lies: [LiedField: Int] = [:]
    var refusals = 0
    var failure: String?
  }
}
