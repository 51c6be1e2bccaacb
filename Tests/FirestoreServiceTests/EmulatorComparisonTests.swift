// Our answers compared with those of Firestore's emulator.

import Harness
import Testing

@Suite struct EmulatorComparisonTests {
  /// The whole comparison is `campaign emulator`.
  @Test(.timeLimit(.minutes(5))) func answersAreThoseOfTheEmulator() async throws {
    switch await EmulatorProcess.start() {
    case .failure(let absence):
      print("SKIPPED: nothing is compared with Firestore's emulator, because \(absence)")
    case .success(let emulator):
      defer { emulator.stop() }
      var campaign = ServiceCampaign(EmulatorPeer(emulator.address))
      await campaign.compare(requests: 400, seed: 1)
      for failure in campaign.failures { Issue.record("\(failure)") }
      #expect(campaign.statuses[200, default: 0] > 100)
    }
  }
}
