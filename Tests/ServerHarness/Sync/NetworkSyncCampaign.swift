// Runs many histories of clients that reach their server over the network, several at a time.

#if Server
import ByteStore
import Foundation
package import Harness

package enum NetworkSyncCampaign {
  package struct Summary: Sendable {
    package var histories = 0
    package var failed = 0
    package var counts: [SyncCampaign.Kind: Int] = [:]
    package var world = NetworkSyncWorld.Counts()
    package var firstFailure: String?
    package var failures: [Int] = []

    mutating func add(_ result: SyncHistory.Result, _ world: NetworkSyncWorld.Counts, of number: Int) {
      histories += 1
      counts.merge(result.counts, uniquingKeysWith: +)
      self.world.add(world)
      guard let failure = result.failure else { return }
      failed += 1
      failures.append(number)
      firstFailure = firstFailure ?? "history \(number): \(failure)"
    }

    /// The counts by name.
    package var details: [(name: String, value: Int)] {
      SyncCampaign.Kind.allCases.map { ($0.rawValue, counts[$0, default: 0]) } + world.details
    }

    /// The counts that must not be zero after many histories.
    package var neverReached: [String] { details.filter { $0.value == 0 }.map(\.name) }
  }

  /// A run ends after this number of failures, because each may take long.
  private static let failuresMax = 10
  private static let releaseSecondsMax = 20.0

  /// Runs this many histories, or only the one with the given number. `progress` is called with the number of
  /// completed histories.
  package static func run(
    histories: Int, seed: UInt64, history: Int? = nil, lanes: Int = 4,
    progress: @escaping @Sendable (Int) -> Void = { _ in }
  ) async -> Summary {
    let numbers = history.map { [$0] } ?? Array(0..<histories)
    return await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        continuation.resume(returning: run(numbers, seed: seed, lanes: lanes, progress: progress))
      }
    }
  }

  private static func run(
    _ numbers: [Int], seed: UInt64, lanes: Int, progress: @escaping @Sendable (Int) -> Void
  ) -> Summary {
    let state = Locked((next: 0, ended: 0, summary: Summary()))
    for _ in 0..<lanes {
      Thread.detachNewThread {
        while let number = state.withLock({ state -> Int? in
          guard state.next < numbers.count, state.summary.failed < failuresMax else { return nil }
          defer { state.next += 1 }
          return numbers[state.next]
        }) {
          let (result, world) = run(seed: SeededRandom.seed(seed, UInt64(number)))
          let count = state.withLock { state in
            state.summary.add(result, world, of: number)
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

  /// Runs one history on the caller's thread.
  package static func run(seed: UInt64) -> (SyncHistory.Result, NetworkSyncWorld.Counts) {
    var made: NetworkSyncWorld?
    let result = SyncHistory.run(seed: seed) { random in
      let world = try NetworkSyncWorld(random: &random)
      made = world
      return world
    }
    let counts = made?.counts ?? NetworkSyncWorld.Counts()
    let remains = made?.remains
    made = nil
    return (remains.map { released($0, result) } ?? result, counts)
  }

  /// A history also fails if its connections or servers stay. The number of descriptors limits both.
  private static func released(
    _ remains: RemainingObjects, _ result: SyncHistory.Result
  ) -> SyncHistory.Result {
    let names = remains.names(within: releaseSecondsMax)
    guard result.failure == nil, !names.isEmpty else { return result }
    var result = result
    result.failure = "these objects stay after the history: \(names.joined(separator: ", "))"
    return result
  }
}

extension NetworkSyncWorld.Counts {
  fileprivate mutating func add(_ other: Self) {
    restarts += other.restarts
    kills += other.kills
    powerLosses += other.powerLosses
    faults.merge(other.faults, uniquingKeysWith: +)
  }

  fileprivate var details: [(name: String, value: Int)] {
    [("serverRestarts", restarts), ("serverKills", kills), ("serverPowerLosses", powerLosses)]
      + ProxyFaults.Kind.allCases.map { ("faults.\($0.rawValue)", faults[$0, default: 0]) }
  }
}
#endif
