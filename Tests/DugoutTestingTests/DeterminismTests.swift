// Equal seeds give equal histories.

import DugoutTesting
import DugoutTestingTrait
import FirebaseFirestore
import Testing

@Suite struct DeterminismTests {
  private func history(seed: UInt64) async throws -> [TestEvent] {
    try await TestWorld.run(seed: seed) { world in
      world.network.setFaults(.flaky)
      try await RandomDay(world: world).run()
      return world.history
    }
  }

  @Test(arguments: [1, 2, 3, 4, 5, 6, 7, 8] as [UInt64]) func equalSeedsGiveEqualHistories(
    seed: UInt64
  ) async throws {
    let first = try await history(seed: seed)
    #expect(first.count > 100)
    for _ in 0..<3 {
      let again = try await history(seed: seed)
      let different = zip(first, again).first { $0 != $1 }
      #expect(different == nil)
      #expect(first.count == again.count)
    }
  }

  @Test func differentSeedsGiveDifferentHistories() async throws {
    #expect(try await history(seed: 1) != history(seed: 2))
  }

  /// The tasks of a group run in the order in which they are created, and their writes arrive in that order.
  @Test func childTasksRunInTheirOrder() async throws {
    func order(seed: UInt64) async throws -> [String] {
      try await TestWorld.run(seed: seed) { world in
        let phone = try world.client("phone")
        await withTaskGroup(of: Void.self) { group in
          for number in 0..<20 {
            group.addTask {
              world.note("begins \(number)")
              try? await phone.firestore.document("notes/\(number)").setData(["n": number])
              world.note("ends \(number)")
            }
          }
        }
        return world.history.filter { $0.client == nil }.map(\.text)
      }
    }
    let first = try await order(seed: 1)
    #expect(first.count == 40)
    #expect(first.prefix(20) == (0..<20).map { "begins \($0)" }[...])
    #expect(try await order(seed: 1) == first)
  }

  @Test func newDocumentIDsComeFromTheSeed() async throws {
    func id(seed: UInt64) async throws -> String {
      try await TestWorld.run(seed: seed) {
        try $0.client("phone").firestore.collection("a").document().documentID
      }
    }
    let first = try await id(seed: 5)
    #expect(first.count == 20)
    #expect(try await id(seed: 5) == first)
    #expect(try await id(seed: 6) != first)
  }
}
