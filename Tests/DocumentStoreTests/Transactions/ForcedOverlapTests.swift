// Commits, transactions and live queries whose steps are made to overlap, two at a time: `.ci/sanitizers
// ForcedOverlapTests` runs them under the thread sanitizer.

import ByteStore
import DocumentStore
import Testing

@testable import Harness

@Suite("Steps that are made to overlap")
struct ForcedOverlapTests {
  @Test("transactions: every history has an order")
  func transactions() throws {
    let meetings = Meetings()
    for seed in UInt64(1)...8 {
      let run = TransactionRun(seed: seed, meetings: meetings)
      let (history, final) = try run.run()
      #expect(HistoryChecker.anomalies(in: history, final: final).isEmpty, "seed \(seed)")
      #expect(ClaimedOrder.violation(in: history) == nil, "seed \(seed)")
    }
    // Each place of a commit and of a transaction beside itself, and beside the one after it.
    let steps: [StorePoint] = [.begun, .readAhead, .placed, .published, .settled]
    let met = meetings.counts
    for step in steps { #expect(met[Meetings.Meeting(first: step, second: step)] ?? 0 > 0, "\(step)") }
    for (step, next) in zip(steps, steps.dropFirst()) {
      let both = [(step, next), (next, step)].map { met[Meetings.Meeting(first: $0, second: $1)] ?? 0 }
      #expect(both.reduce(0, +) > 0, "\(step) and \(next)")
    }
  }

  @Test("live queries: each state is one that a commit left, and none is older than the one before")
  func live() {
    let directory = TemporaryDirectory()
    let meetings = Meetings()
    let summary = LiveCampaign.run(
      commits: 1000, listeners: 100, seed: 3, pauses: meetings, in: directory.path)
    #expect(summary.failure == nil)
    let met = meetings.counts
    for step in [StorePoint.placed, .published, .settled] {
      #expect(met[Meetings.Meeting(first: step, second: step)] ?? 0 > 0, "\(step)")
    }
    let listening = met.filter { [$0.key.first, $0.key.second].contains(.listening) }
    #expect(listening.values.reduce(0, +) > 0, "a listener comes while a commit is under way")
  }
}
