// Idle worlds, differences, and tests that cannot go on.

import DugoutTesting
import FirebaseFirestore
import Testing

@Suite struct IdleTests {
  @Test func theWorldIsIdleWhenWritesAndListenersAreDone() async throws {
    try await TestWorld.run { world in
      var faults = NetworkFaults.none
      faults.latency = .milliseconds(700) ... .milliseconds(700)
      world.network.setFaults(faults)
      let phone = try world.client("phone")
      let tablet = try world.client("tablet")
      tablet.firestore.collection("notes").addSnapshotListener { snapshot, _ in
        world.note(
          "tablet has \(snapshot?.count ?? -1), from cache: \(snapshot?.metadata.isFromCache ?? true)")
      }
      phone.firestore.document("notes/1").setData(["n": 1]) { _ in world.note("phone is done") }
      try await world.waitUntilIdle()
      #expect(world.time.elapsed >= .milliseconds(1400))
      #expect(world.history.map(\.text).contains("tablet has 1, from cache: false"))
      #expect(world.history.map(\.text).contains("phone is done"))
      let end = world.time.elapsed
      try await world.waitUntilIdle()
      #expect(world.time.elapsed == end)
    }
  }

  @Test func aWorldThatIsNotIdleInTimeSaysWhatItWaitsFor() async throws {
    try await TestWorld.run { world in
      var faults = NetworkFaults.none
      faults.lossOneIn = 1
      let phone = try world.client("phone") { $0.acknowledgement = .local }
      world.network.setFaults(faults, of: phone)
      try await phone.firestore.document("notes/1").setData(["n": 1])
      await #expect {
        try await world.waitUntilIdle(within: .seconds(120))
      } throws: { "\($0)".contains("phone waits for 1 writes in the outbox") }
      #expect(world.time.elapsed == .seconds(120))
    }
  }

  @Test func aDifferenceIsReported() async throws {
    try await TestWorld.run { world in
      let phone = try world.client("phone") { $0.acknowledgement = .local }
      phone.firestore.collection("notes").addSnapshotListener { _, _ in }
      try await world.checkConvergence(of: "notes")
      world.network.cut(phone)
      try await phone.firestore.document("notes/1").setData(["n": 1])
      await #expect {
        try await world.checkConvergence()
      } throws: { "\($0)".contains("phone, which is cut off, waits for 1 writes in the outbox") }
      world.network.restore(phone)
      try await world.checkConvergence(of: "notes")
      world.network.cut(phone)
      try await world.authority.firestore.document("notes/1").setData(["n": 2])
      await #expect {
        try await world.checkConvergence()
      } throws: { "\($0)".contains("phone, which is cut off, waits for its connection for listeners") }
    }
  }

  @Test func aWriteThatIsNeverAnsweredEndsTheTest() async throws {
    await #expect {
      try await TestWorld.run { world in
        let phone = try world.client("phone")
        world.network.cut(phone)
        try await phone.firestore.document("notes/1").setData(["n": 1])
      }
    } throws: { error in
      let text = "\(error)"
      return text.contains("virtual time") && text.contains("phone, which is cut off")
        && text.contains(".local")
    }
  }

  @Test func errorsAndResultsOfTheTestArePassedOn() async throws {
    struct Broken: Error {}
    await #expect(throws: Broken.self) { try await TestWorld.run { _ in throw Broken() } }
    #expect(try await TestWorld.run { _ in 5 } == 5)
  }

  @Test func codeOfTheMainActorCanUseAWorld() async throws {
    try await TestWorld.run { world in
      let model = await MainModel(try world.client("phone").firestore)
      try await model.load()
      #expect(await model.count == 1)
    }
  }
}

@MainActor private final class MainModel {
  private let firestore: Firestore
  private(set) var count = 0

  init(_ firestore: Firestore) { self.firestore = firestore }

  func load() async throws {
    try await firestore.document("notes/1").setData(["n": 1])
    count = try await firestore.collection("notes").getDocuments().count
  }
}
