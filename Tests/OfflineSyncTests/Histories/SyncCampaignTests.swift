// A few histories of several clients and one authority. `campaign sync` runs many histories.

import Foundation
import Harness
import Testing

@Suite struct SyncCampaignTests {
  @Test func clientsAndAuthorityConvergeAndEveryWriteIsAppliedOnce() {
    let seed =
      ProcessInfo.processInfo.environment["DUGOUT_SEED"].flatMap(UInt64.init)
      ?? UInt64.random(in: 0...1 << 40)
    let summary = SyncCampaign.run(
      histories: ProcessInfo.processInfo.environment["DUGOUT_HISTORIES"].flatMap(Int.init) ?? 20, seed: seed)
    #expect(summary.failed == 0, "seed \(seed): \(summary.firstFailure ?? "")")
    // Rare events may need more histories.
    var unreached = Set(summary.neverReached)
    var failures: [String] = []
    for more in seed + 1..<seed + 16 where !unreached.isEmpty {
      let summary = SyncCampaign.run(histories: 20, seed: more)
      if summary.failed != 0 { failures.append("seed \(more): \(summary.firstFailure ?? "")") }
      unreached.formIntersection(summary.neverReached)
    }
    #expect(failures == [])
    #expect(unreached == [], "seed \(seed)")
  }

  /// A seed that failed once must fail again.
  @Test func equalSeedsGiveEqualHistories() {
    let seeds: [UInt64] = [1, 2, 3, 4, 5, 6]
    #expect(seeds.filter { SyncHistory.run(seed: $0) != SyncHistory.run(seed: $0) } == [])
  }
}
