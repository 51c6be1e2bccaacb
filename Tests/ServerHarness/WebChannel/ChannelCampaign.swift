// Runs many histories of clients of WebChannel against one server, several at a time.

#if Server
import ByteStore
import Foundation
import Harness

package enum ChannelCampaign {
  package struct Summary: Sendable {
    package var histories = 0
    package var failed = 0
    package var counts = ChannelCounts()
    package var faults: [ProxyFaults.Kind: Int] = [:]
    package var writes = 0
    package var snapshots = 0
    package var resumes = 0
    package var sessions = 0
    package var restarts = 0
    package var lateResults = 0
    package var endings: [ChannelWriter.Ending: Int] = [:]
    package var firstFailure: String?

    mutating func add(_ result: ChannelHistory.Result, of number: Int) {
      histories += 1
      counts.add(result.counts)
      faults.merge(result.faults, uniquingKeysWith: +)
      writes += result.writes
      snapshots += result.snapshots
      resumes += result.resumes
      sessions += result.sessions
      restarts += result.restarts
      lateResults += result.lateResults
      endings.merge(result.endings, uniquingKeysWith: +)
      guard let failure = result.failure else { return }
      failed += 1
      firstFailure = firstFailure ?? "history \(number): \(failure)"
    }

    /// The counts by name.
    package var details: [(name: String, value: Int)] {
      var details = [
        (name: "writes", value: writes), (name: "snapshots", value: snapshots),
        (name: "sessions", value: sessions), (name: "resumes", value: resumes),
        (name: "restarts", value: restarts), (name: "lateResults", value: lateResults),
      ]
      details += counts.details
      for kind in ProxyFaults.Kind.allCases {
        details.append((name: "faults.\(kind.rawValue)", value: faults[kind, default: 0]))
      }
      for ending in ChannelWriter.Ending.allCases {
        details.append((name: "writers.\(ending)", value: endings[ending, default: 0]))
      }
      return details
    }

    /// The counts that must not be zero after many histories.
    package var neverReached: [String] {
      // These depend on the times of the machine.
      let rare: Set = ["deadBackChannels", "bufferedBackChannels", "missingBackChannels"]
      return details.filter { $0.value == 0 && !rare.contains($0.name) }.map(\.name)
    }
  }

  /// A run ends after this number of failures, because each may take long.
  private static let failuresMax = 10

  /// Runs this many histories, or only the one with the given number. `progress` is called with the number of
  /// completed histories.
  package static func run(
    histories: Int, seed: UInt64, history: Int? = nil, lanes: Int = 4,
    progress: @escaping @Sendable (Int) -> Void = { _ in }
  ) async throws -> Summary {
    try await ServedStore.with { served in
      let numbers = history.map { [$0] } ?? Array(0..<histories)
      var summary = run(numbers, served, seed: seed, lanes: lanes, progress: progress)
      if let failure = try served.leftSessions() {
        summary.failed += 1
        summary.firstFailure = summary.firstFailure ?? failure
      }
      return summary
    }
  }

  private static func run(
    _ numbers: [Int], _ served: ServedStore, seed: UInt64, lanes: Int,
    progress: @escaping @Sendable (Int) -> Void
  ) -> Summary {
    let state = Locked((next: 0, ended: 0, summary: Summary()))
    for _ in 0..<lanes {
      Thread.detachNewThread {
        while let number = state.withLock({ state -> Int? in
          guard state.next < numbers.count, state.summary.failed < failuresMax else { return nil }
          defer { state.next += 1 }
          return numbers[state.next]
        }) {
          let result = ChannelHistory.run(
            served, seed: SeededRandom.seed(seed, UInt64(number)), name: "\(number)")
          let count = state.withLock { state in
            state.summary.add(result, of: number)
            return state.summary.histories
          }
          progress(count)
        }
        state.withLock { $0.ended += 1 }
        state.wakeAll()
      }
    }
    return state.withLock(when: { $0.ended == lanes }) { $0.summary }
  }
}
#endif
