// Virtual time: it drives timers, retries and timestamps, and takes no real time.

import DugoutTesting
import FirebaseFirestore
import Foundation
import Testing

@Suite struct TimeTests {
  @Test(.timeLimit(.minutes(10))) func aWeekPassesInNoTime() async throws {
    try await TestWorld.run { world in
      _ = try await world.client("phone").firestore.document("notes/1").getDocument()
      try await world.time.advance(by: .seconds(7 * 86_400))
      #expect(world.time.elapsed >= .seconds(7 * 86_400))
      #expect(world.time.now == Date(timeIntervalSince1970: 1_704_067_200 + 7 * 86_400))
    }
  }

  @Test func serverTimestampsAreVirtual() async throws {
    try await TestWorld.run { world in
      let phone = try world.client("phone")
      try await world.time.advance(by: .seconds(90))
      let note = phone.firestore.document("notes/1")
      try await note.setData(["at": FieldValue.serverTimestamp()])
      let time = try #require(try await note.getDocument(source: .server).data()?["at"] as? Timestamp)
      #expect(abs(time.dateValue().timeIntervalSince(world.time.now)) < 0.01)
    }
  }

  @Test func aRetryComesWhenTheTimePasses() async throws {
    try await TestWorld.run { world in
      let phone = try world.client("phone") { $0.acknowledgement = .local }
      world.network.cut(phone)
      try await phone.firestore.document("notes/1").setData(["n": 1])
      try await world.time.advance(by: .seconds(300))
      world.network.restore(phone)
      #expect(try await phone.firestore.pendingWrites().count == 1)
      try await world.time.advance(by: .seconds(90))
      #expect(try await phone.firestore.pendingWrites().isEmpty)
      let attempts = world.history.filter { $0.client == "phone" && $0.text.hasPrefix("cannot connect") }
      #expect((5...40).contains(attempts.count))
    }
  }

  @Test func sleepsOfTheClockEndInTheOrderOfTheirDeadlines() async throws {
    let order = try await TestWorld.run { world in
      let clock = world.time.clock
      let start = clock.now
      await withTaskGroup(of: Void.self) { group in
        for seconds in [5, 1, 3] {
          group.addTask {
            try? await clock.sleep(for: .seconds(seconds))
            world.note("\(seconds)")
          }
        }
      }
      #expect(start.duration(to: clock.now) == .seconds(5))
      return world.history.map(\.text)
    }
    #expect(order == ["1", "3", "5"])
  }

  @Test func aCancelledSleepEndsAtOnce() async throws {
    try await TestWorld.run { world in
      let sleeper = world.task { try await world.time.clock.sleep(for: .seconds(3600)) }
      try await world.time.advance(by: .seconds(1))
      sleeper.cancel()
      await #expect(throws: CancellationError.self) { try await sleeper.value }
      #expect(world.time.elapsed == .seconds(1))
    }
  }

  @Test func aSleepThatOutlivesItsWorldIsCancelled() async throws {
    let sleeper = try await TestWorld.run { world in
      let sleeper = world.task { try await world.time.clock.sleep(for: .seconds(1_000_000)) }
      try await world.time.advance(by: .seconds(1))
      return sleeper
    }
    await #expect(throws: CancellationError.self) { try await sleeper.value }
  }

  @Test func timeStandsStillForCodeOutsideTheWorld() async throws {
    try await TestWorld.run { world in
      let phone = try world.client("phone") { $0.acknowledgement = .local }
      world.network.cut(phone)
      phone.firestore.collection("notes").addSnapshotListener { _, _ in }
      let before = world.time.elapsed
      let sum = await world.outside { await Task.detached { (0..<100_000).reduce(0, &+) }.value }
      #expect(sum == 4_999_950_000)
      #expect(world.time.elapsed == before)
    }
  }
}
