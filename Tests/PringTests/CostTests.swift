// Compares the cost of Pring with the cost of Ballcap. Both layers write the same document to the same store,
// in alternating rounds. The test prints the results, because builds and machines differ. The test's limits
// are generous.

import Ballcap
import FirebaseFirestore
import Foundation
import LayerHarness
import Pring
import Testing

private final class Runner: Pring.Object {
  override class var modelName: String { "runners" }

  var name = "name"
  var city = "city"
  var age = 30
  var score = 1.5
  var isActive = true
  var tags = ["a", "b"]
}

private struct RunnerModel: Codable, Modelable {
  static var name: String { "runners" }

  var name = "name"
  var city = "city"
  var age = 30
  var score = 1.5
  var isActive = true
  var tags = ["a", "b"]
}

extension PringTests {
  @Suite final class Costs {
    private let app = TestApp()

    private func time(_ count: Int, _ body: (Int) async throws -> Void) async rethrows -> Double {
      let start = ContinuousClock.now
      for index in 0..<count { try await body(index) }
      return (ContinuousClock.now - start) / .nanoseconds(1) / Double(count)
    }

    @Test func propertyAccessAndSaveCostIsSimilarToBallcap() async throws {
      let settings = Firestore.firestore().settings
      settings.durability = .buffered
      Firestore.firestore().settings = settings
      let runner = Runner(id: "p")
      let document = Ballcap.Document<RunnerModel>(id: "b", from: RunnerModel())
      var sum = 0
      let access = await time(20_000) { index in
        runner.age = index
        sum += runner.age
      }
      let otherAccess = await time(20_000) { index in
        document[\.age] = index
        sum += document[\.age]
      }
      var (saves, otherSaves, updates, otherUpdates) = (0.0, 0.0, 0.0, 0.0)
      for round in 0..<4 {
        saves += try await time(50) { try await Runner(id: "p\(round)-\($0)").save() }
        otherSaves += try await time(50) {
          try await Ballcap.Document<RunnerModel>(id: "b\(round)-\($0)", from: RunnerModel()).save()
        }
        let known = Runner(id: "p0-0", value: [:])
        updates += try await time(50) {
          known.age = 100 + $0
          try await known.update()
        }
        let other = Ballcap.Document<RunnerModel>(id: "b0-0", from: RunnerModel())
        otherUpdates += try await time(50) {
          other[\.age] = 100 + $0
          try await other.update()
        }
      }
      func line(_ what: String, _ pring: Double, _ ballcap: Double) {
        print("\(what): Pring \(Int(pring)) ns, Ballcap \(Int(ballcap)) ns")
      }
      line("a property set and read", access, otherAccess)
      line("a save of six fields", saves / 4, otherSaves / 4)
      line("an update of one of them", updates / 4, otherUpdates / 4)
      #expect(access < otherAccess * 2 && sum > 0)
      #expect(saves < otherSaves * 4 && updates < otherUpdates * 4)
    }
  }
}
