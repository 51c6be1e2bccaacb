// The cost of a Pring object compared with a Ballcap document. Both have the same fields and use one
// database, in alternating blocks.

import Ballcap
import FirebaseFirestore
import Foundation
import Pring

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

extension Layers {
  struct Objects: Engine {
    let name = "pring and ballcap"

    func round(in directory: URL, _ context: RunContext) throws -> [String: Double] {
      let count = min(max(context.options.documents / 100, 10), 100)
      return try Waiting.run {
        // Pring's classes find their collections through the default app.
        FirebaseApp.configure(options: FirebaseOptions(directory: directory))
        let settings = FirestoreSettings()
        settings.dispatchQueue = DispatchQueue(label: "callbacks")
        settings.durability = .buffered
        Firestore.firestore().settings = settings
        var times = Times()
        for round in 0..<10 { try await Self.measure(round, count, &times) }
        await withCheckedContinuation { done in FirebaseApp.app()?.delete { _ in done.resume() } }
        return times.results
      }
    }

    /// Runs each operation through Pring and through Ballcap. The order alternates from round to round.
    private static func measure(_ round: Int, _ count: Int, _ times: inout Times) async throws {
      let runner = Runner(id: "p\(round)")
      let document = Ballcap.Document<RunnerModel>(id: "b\(round)", from: RunnerModel())
      var sum = 0
      for side in round % 2 == 0 ? [0, 1] : [1, 0] {
        let isPring = side == 0
        try await times.add("property", "ns", isPring, count * 100) { index in
          if isPring {
            runner.age = index
            sum &+= runner.age
          } else {
            document[\.age] = index
            sum &+= document[\.age]
          }
        }
        try await times.add("save", "us", isPring, count) { index in
          if isPring {
            try await Runner(id: "p\(round)-\(index)").save()
          } else {
            try await Ballcap.Document<RunnerModel>(id: "b\(round)-\(index)", from: RunnerModel()).save()
          }
        }
        let (known, other) = (
          Runner(id: "p\(round)-0", value: [:]),
          Ballcap.Document<RunnerModel>(id: "b\(round)-0", from: RunnerModel())
        )
        try await times.add("update", "us", isPring, count) { index in
          if isPring {
            known.age = 100 + index
            try await known.update()
          } else {
            other[\.age] = 100 + index
            try await other.update()
          }
        }
        try await times.add("get", "us", isPring, count) { index in
          if isPring {
            sum &+= try await Runner.get("p\(round)-\(index)")?.age ?? 0
          } else {
            sum &+= try await Ballcap.Document<RunnerModel>.get(id: "b\(round)-\(index)")?.data?.age ?? 0
          }
        }
      }
      guard sum > 0 else { throw BenchmarkFailure("nothing was read") }
    }

    private struct Times {
      private var spent: [String: (time: Duration, count: Int, unit: Duration)] = [:]

      mutating func add(
        _ what: String, _ unit: String, _ isPring: Bool, _ count: Int, _ body: (Int) async throws -> Void
      ) async throws {
        let clock = ContinuousClock()
        let start = clock.now
        for index in 0..<count { try await body(index) }
        let metric = "\(what)_\(isPring ? "pring" : "ballcap")_\(unit)"
        let known = spent[metric] ?? (.zero, 0, unit == "ns" ? .nanoseconds(1) : .microseconds(1))
        spent[metric] = (known.time + (clock.now - start), known.count + count, known.unit)
      }

      var results: [String: Double] { spent.mapValues { $0.time / $0.unit / Double($0.count) } }
    }
  }
}
