// Our answers compared with those of Firestore's emulator.

import Foundation
import Harness
import Testing

@Suite struct EmulatorComparisonTests {
  private static let hasEmulator = ProcessInfo.processInfo.environment["FIRESTORE_EMULATOR_HOST"] != nil

  /// The whole comparison is `campaign emulator`, which also starts an emulator. A test run does not, because
  /// a process of Java beside all other tests takes their time and memory.
  @Test(
    .enabled(
      if: hasEmulator,
      "SKIPPED: nothing is compared with Firestore's emulator: FIRESTORE_EMULATOR_HOST names none"),
    .timeLimit(.minutes(5)))
  func answersAreThoseOfTheEmulator() async throws {
    let emulator = try await EmulatorProcess.start().get()
    defer { emulator.stop() }
    var campaign = ServiceCampaign(EmulatorPeer(emulator.address))
    await campaign.compare(requests: 400, seed: 1)
    for failure in campaign.failures { Issue.record("\(failure)") }
    #expect(campaign.statuses[200, default: 0] > 100)
  }
}
