// A short run of the fuzz target of WebChannel's client.

import Foundation
import Harness
import Testing

@Suite struct ChannelClientFuzzTests {
  @Test func mutatedAnswersBreakNoProperty() throws {
    let environment = ProcessInfo.processInfo.environment
    let inputs = environment["DUGOUT_FUZZ_INPUTS"].flatMap { Int($0) } ?? 3000
    let seed = environment["DUGOUT_SEED"].flatMap { UInt64($0) } ?? 1
    let target = try #require(FuzzCampaign.targets.first { $0.name == "channelclient" })
    let summary = FuzzCampaign.run(target, seed: seed, corpus: []) { $0 >= inputs }
    let input = summary.findingInput.map { Data($0).base64EncodedString() } ?? ""
    #expect(summary.finding == nil, "\(input)")
    for part in ["message closed", "aborted", "unavailable", "permissionDenied", "internal"] {
      #expect(summary.answers.contains { $0.key.contains(part) }, "no answer with \(part)")
    }
  }
}
