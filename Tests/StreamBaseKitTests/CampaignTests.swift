// Runs short versions of the campaigns.

import Foundation
import StreamHarness
import Testing

extension StreamBaseKitTests {
  @Suite(.serialized) struct Campaigns {
    @Test(arguments: [1 as UInt64, 2]) func aPartitionedUnionEqualsARecomputation(seed: UInt64)
      async throws
    {
      let summary = try await UnionCampaign.run(items: 1_000, changes: 6_000, seed: seed)
      #expect(summary.failure == nil, "seed \(seed)")
      #expect(summary.changes >= 6_000 && summary.itemsAtStart >= 1_000 && summary.meddled > 50)
      #expect(summary.batches > 100 && summary.rowsDeleted > 1000 && summary.rowsAdded > 1000)
      #expect(summary.rowsReloaded > 100 && summary.comparisons >= 6)
    }

    @Test(arguments: [(1 as UInt64, true), (2, true), (3, false)])
    func countersEqualARecount(seed: UInt64, hasRemote: Bool) async throws {
      let folder = FileManager.default.temporaryDirectory
        .appendingPathComponent("dugout-test-\(UUID().uuidString)")
      defer { try? FileManager.default.removeItem(at: folder) }
      var refused = 0
      var wrong: [String] = []
      for life in 0..<2 {
        refused += try await CounterCampaign.live(
          in: folder, hasRemote: hasRemote, operations: 150, seed: seed * 10 + UInt64(life))
        let outcome = try await CounterCampaign.recount(in: folder, hasRemote: hasRemote)
        if outcome.problem != nil || outcome.high <= 0 || outcome.records <= outcome.high {
          wrong.append("seed \(seed), life \(life): \(outcome)")
        }
        refused += outcome.refused
      }
      #expect(wrong == [])
      #expect(refused > 0 || !hasRemote, "no write was too late")
    }
  }
}
