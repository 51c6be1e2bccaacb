// Runs many histories of clients with hostile remotes, and counts the kinds of invalid data.

package enum HostileCampaign {
  package struct Summary: Sendable {
    package var histories = 0
    package var failed = 0
    package var invalidCounts: [InvalidField: Int] = [:]
    /// The number of times that listeners were notified of a refusal.
    package var refusals = 0
    package var firstFailure: String?
    /// The numbers of failed histories.
    package var failures: [Int] = []

    package var neverSent: [InvalidField] {
      InvalidField.allCases.filter { invalidCounts[$0, default: 0] == 0 }
    }
  }

  /// Runs this many histories, or only the one with the given number. Every fourth history tests objects.
  /// `progress` is called with the number of completed histories.
  package static func run(
    histories: Int, seed: UInt64, history: Int? = nil, progress: (Int) -> Void = { _ in }
  ) -> Summary {
    var summary = Summary()
    for number in history.map({ [$0] }) ?? Array(0..<histories) {
      let seed = SeededRandom.seed(seed, UInt64(number))
      let result = number % 4 == 3 ? HostileBlobHistory.run(seed: seed) : HostileHistory.run(seed: seed)
      summary.histories += 1
      progress(summary.histories)
      summary.invalidCounts.merge(result.invalidCounts, uniquingKeysWith: +)
      summary.refusals += result.refusals
      guard let failure = result.failure else { continue }
      summary.failed += 1
      summary.failures.append(number)
      summary.firstFailure = summary.firstFailure ?? "history \(number): \(failure)"
    }
    return summary
  }

  struct Result {
    var invalidCounts: [InvalidField: Int] = [:]
    var refusals = 0
    var failure: String?
  }
}
