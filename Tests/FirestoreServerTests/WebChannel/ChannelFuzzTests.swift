// A short run of the fuzz target of WebChannel.

import Foundation
import Harness
import Testing

@Suite struct ChannelFuzzTests {
  @Test func mutatedSequencesBreakNoProperty() throws {
    let environment = ProcessInfo.processInfo.environment
    let inputs = environment["DUGOUT_FUZZ_INPUTS"].flatMap { Int($0) } ?? 300
    let seed = environment["DUGOUT_SEED"].flatMap { UInt64($0) } ?? 1
    let target = try #require(FuzzCampaign.targets.first { $0.name == "webchannel" })
    let summary = FuzzCampaign.run(target, seed: seed, corpus: []) { $0 >= inputs }
    let input = summary.findingInput.map { Data($0).base64EncodedString() } ?? ""
    #expect(summary.finding == nil, "\(input)")
    for part in ["send ok", "stream ok", "poll ok", "refused"] {
      #expect(summary.answers.contains { $0.key.contains(part) }, "no answer with \(part)")
    }
  }
}
