// A short run of the fuzz target for calls.

import Foundation
import Harness
import Testing

@Suite struct ServiceFuzzTests {
  /// `DUGOUT_FUZZ_INPUTS` sets the number of inputs, and `DUGOUT_SEED` the seed.
  private static let inputs = variable("DUGOUT_FUZZ_INPUTS").flatMap { Int($0) } ?? 400
  private static let seed = variable("DUGOUT_SEED").flatMap { UInt64($0) } ?? 1

  private static func variable(_ name: String) -> String? { ProcessInfo.processInfo.environment[name] }

  @Test func callsWithAnyBytesEndWithAStatus() throws {
    let target = try #require(FuzzCampaign.targets.first { $0.name == "service" })
    let summary = FuzzCampaign.run(target, seed: Self.seed, corpus: []) { $0 >= Self.inputs }
    let input = summary.findingInput.map { Data($0).base64EncodedString() } ?? ""
    #expect(summary.finding == nil, "\(input)")
    for part in [": ok, with answers", ": invalidArgument", ": unimplemented"] {
      #expect(summary.answers.contains { $0.key.contains(part) }, "no answer with \(part)")
    }
    guard Self.inputs > 400 else { return }
    for (answer, count) in summary.answers.sorted(by: { $0.value > $1.value }) { print(count, answer) }
  }
}
