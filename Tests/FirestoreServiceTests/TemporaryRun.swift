import Foundation
import Harness
import Testing

@Suite struct TemporaryRun {
  @Test func emulatorRun() async throws {
    guard let text = ProcessInfo.processInfo.environment["W6_COUNT"], let count = Int(text) else { return }
    var campaign = ServiceCampaign(EmulatorPeer("127.0.0.1:39611"))
    await campaign.compare(requests: count, seed: UInt64(ProcessInfo.processInfo.environment["W6_SEED"] ?? "1") ?? 1)
    let text2 = campaign.failures.joined(separator: "\n\n") + "\n\n\(campaign.known)\n\(campaign.statuses)\nrun \(campaign.run) failed \(campaign.failures.count)\n"
    try text2.write(toFile: "/work/wt/tmp/W6/run.txt", atomically: true, encoding: .utf8)
  }
}
