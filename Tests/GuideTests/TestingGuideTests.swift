// Runs the examples of the guide to tests of apps.

import DugoutTesting
import FirebaseFirestore
import Testing

@Suite struct TestingGuideTests {
  private let guide = TestingGuide()

  @Test func theFirstTestRuns() async throws { try await guide.notesReachTheTablet() }

  @Test func theExamplesRunInOneWorld() async throws {
    try await TestWorld.run { world in
      let phone = try guide.offlineClient(in: world)
      let tablet = try world.client("tablet")
      try await guide.aNoteSurvivesATunnel(world, phone: phone, tablet: tablet)
      try await guide.aReminderIsDueTomorrow(world, phone: phone)
    }
  }

  @Test func theExampleOfARefusalRuns() async throws {
    try await TestWorld.run { world in
      try await guide.aForeignListCannotBeChanged(world, phone: try world.client("phone", user: "ann"))
    }
  }
}
