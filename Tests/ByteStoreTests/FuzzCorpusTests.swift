// The saved inputs of the fuzz targets, including those that once crashed the process.
//
// Each input is also mutated a few times. The campaign program continues from there.

import Foundation
import Harness
import Testing

@Suite struct FuzzCorpusTests {
  @Test(arguments: FuzzCampaign.targets.map { $0.name })
  func corpusInputsAreAnsweredOrRefused(name: String) throws {
    let target = try #require(FuzzCampaign.targets.first { $0.name == name })
    let inputs = try kept(name)
    #expect(!inputs.isEmpty)
    let count = target.init(seed: 1).seeds.count + inputs.count + 5
    let summary = FuzzCampaign.run(target, seed: 1, corpus: inputs) { $0 >= count }
    #expect(summary.finding == nil)
    #expect(summary.answers.count > 1, "all inputs are taken for the same")
  }

  /// Views are compared with the decoder on valid records, and also walk invalid ones.
  @Test func recordTargetMeetsValidAndInvalidRecords() throws {
    let target = try #require(FuzzCampaign.targets.first { $0.name == "record" })
    let summary = FuzzCampaign.run(target, seed: 2, corpus: try kept("record")) { $0 >= 1000 }
    #expect(summary.finding == nil)
    for part in ["accepted", "within limits", "refused", "a view shows all of it", "a view ends early"] {
      #expect(summary.answers.contains { $0.key.contains(part) }, "no answer with \(part)")
    }
  }

  private func kept(_ name: String) throws -> [[UInt8]] {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("Fixtures/Fuzz/\(name)")
    return try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted().map { name in
      Array(try Data(contentsOf: folder.appendingPathComponent(name)))
    }
  }
}

/// A target that fails for one kind of input.
@Suite struct FuzzCampaignTests {
  private struct OneInputTarget: FuzzTarget {
    static let name = "picky"
    let seeds: [[UInt8]] = [[0, 0]]

    init(seed: UInt64) {}

    func run(_ input: [UInt8]) throws(FuzzFinding) -> String {
      if input.first == 0x80 { throw FuzzFinding("found") }
      return "no"
    }
  }

  @Test func aPropertyThatFailsIsFoundWithItsInput() {
    let summary = FuzzCampaign.run(OneInputTarget.self, seed: 1, corpus: []) { $0 >= 10_000 }
    #expect(summary.finding == "found")
    #expect(summary.findingInput?.first == 0x80)
  }
}
