// A short run of the fuzz target for messages.

import Foundation
import Harness
import Testing

@Suite struct WireFuzzTests {
  /// `DUGOUT_FUZZ_INPUTS` sets the number of inputs, and `DUGOUT_SEED` the seed.
  private static let inputs = variable("DUGOUT_FUZZ_INPUTS").flatMap { Int($0) } ?? 3000
  private static let seed = variable("DUGOUT_SEED").flatMap { UInt64($0) } ?? 1

  private static func variable(_ name: String) -> String? { ProcessInfo.processInfo.environment[name] }

  @Test func decodedMessagesSurviveBothEncodings() throws {
    let target = try #require(FuzzCampaign.targets.first { $0.name == "wire" })
    let summary = FuzzCampaign.run(target, seed: Self.seed, corpus: []) { $0 >= Self.inputs }
    let input = summary.findingInput.map { Data($0).base64EncodedString() } ?? ""
    #expect(summary.finding == nil, "\(input)")
    for part in ["protobuf, written, written", "json, written, written", ", translated", "refused"] {
      #expect(summary.answers.contains { $0.key.contains(part) }, "no answer with \(part)")
    }
    for type in [
      "StructuredQuery", "RunQueryRequest", "StructuredAggregationQuery", "RunAggregationQueryRequest",
      "Write",
      "Target", "ListenRequest", "ListenResponse", "Document",
    ] {
      #expect(
        summary.answers.contains { $0.key.hasPrefix("\(type): ") && $0.key.hasSuffix(", translated") },
        "no \(type) is translated")
    }
    if Self.inputs > 3000 {
      for (answer, count) in summary.answers.sorted(by: { $0.value > $1.value }) { print(count, answer) }
    }
  }
}
