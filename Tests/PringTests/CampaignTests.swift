// Runs short versions of the campaign.

import Foundation
import LayerHarness
import Testing

extension PringTests {
  @Suite(.serialized) struct Campaigns {
    private func inFolder(_ body: (URL) async throws -> Void) async throws {
      let folder = FileManager.default.temporaryDirectory
        .appendingPathComponent("dugout-test-\(UUID().uuidString)")
      defer { try? FileManager.default.removeItem(at: folder) }
      try await body(folder)
    }

    @Test(arguments: [1 as UInt64, 2])
    func linksAndCountsEqualTheSumOfAllClientSteps(seed: UInt64) async throws {
      try await inFolder { folder in
        let summary = try await LayerHistory(seed: seed, folder: folder).run()
        #expect(summary.failure == nil, "seed \(seed)")
        #expect(summary.counts["stepsOffline", default: 0] > 0 && summary.counts["reopened", default: 0] > 0)
      }
    }

    @Test(arguments: [false, true])
    func writesPendingAtTerminationAreAppliedAfterARestart(hasRemote: Bool) async throws {
      try await inFolder { folder in
        var model = LayerModel()
        var wrong: [String] = []
        for life in 0..<2 {
          let turns = LayerLife.turns(UInt64(life), hasRemote: hasRemote, count: 25)
          var outcomes: [LayerLife.Outcome] = []
          try await LayerLife.live(in: folder, hasRemote: hasRemote, turns) { outcomes.append($0) }
          for (turn, outcome) in zip(turns, outcomes) where outcome == .done { model.apply(turn.step) }
          let found = try await LayerLife.look(in: folder, hasRemote: hasRemote)
          if found != model { wrong.append("life \(life): \(found.difference(from: model) ?? "")") }
          let done = outcomes.count { $0 == .done }
          if done <= 12 { wrong.append("life \(life): \(done) turns are done") }
        }
        #expect(wrong == [])
      }
    }
  }
}
