// The rounds of the campaign that kills a server.

#if Server
import DocumentStore
import FirestoreWire
import Foundation
import Harness
import ServerHarness

struct ServeRounds {
  /// After this number of rounds the store is a new one, so that a round stays short.
  private static let roundsPerStore = 50
  private static let startSeconds = 20.0
  private static let drainSeconds = 20.0
  private static let convergeSeconds = 20.0

  private let folder: URL
  private let program: URL
  private let seed: UInt64
  private var random: SeededRandom
  private var world: ServeWorld
  private var result = CampaignResult(run: 0, failed: 0)
  private var counts = Counts()

  private struct Counts {
    var terminations = 0
    var killsAtStart = 0
    var killsBeforeReady = 0
    var readyMilliseconds: [Int] = []
    var earlier = ServeWorld.Counts()
  }

  init(program: URL, folder: URL, seed: UInt64) throws {
    self.program = program
    self.folder = folder
    self.seed = seed
    random = SeededRandom(seed: seed)
    world = try ServeWorld(program: program, folder: folder.appendingPathComponent("0"), seed: seed)
  }

  mutating func run(_ rounds: Int) async throws -> CampaignResult {
    let progress = CampaignProgress(ServeCampaign.name, of: rounds)
    try world.prepare()
    for round in 0..<rounds {
      do {
        if round > 0, round % Self.roundsPerStore == 0 {
          try await verify(round)
          try await world.finish()
          try renew(round)
        }
        try await self.round(round)
      } catch {
        result.failed += 1
        result.firstFailure =
          result.firstFailure ?? "seed \(seed), round \(round): \(error)\n\(world.program.printed)"
        complain("round \(round): \(error)")
        try renew(round)
      }
      result.run += 1
      progress.note(result.run)
    }
    // The last life is verified, too.
    do {
      try await verify(rounds)
      try await world.finish()
    } catch {
      result.failed += 1
      result.firstFailure = result.firstFailure ?? "seed \(seed), after the last round: \(error)"
    }
    world.end()
    counts.earlier.add(world.counts)
    result.details = details
    return result
  }

  private mutating func renew(_ round: Int) throws {
    world.end()
    counts.earlier.add(world.counts)
    try? FileManager.default.removeItem(at: world.folder)
    world = try ServeWorld(
      program: program, folder: folder.appendingPathComponent("\(round)"),
      seed: SeededRandom.seed(seed, UInt64(round)))
    try world.prepare()
  }

  // MARK: A round

  private mutating func round(_ round: Int) async throws {
    try await verify(round)
    world.startLoad()
    try await Task.sleep(for: .milliseconds(20 + random.below(random.oneIn(6) ? 1500 : 400)))
    if round % 10 == 9 {
      counts.terminations += 1
      try await world.terminate(seconds: Self.drainSeconds)
    } else {
      try await world.kill()
    }
  }

  /// Starts the program, and verifies the documents and the listeners.
  private mutating func verify(_ round: Int) async throws {
    if random.oneIn(5) { try killAtStart() }
    let start = ContinuousClock.now
    try world.start(seconds: Self.startSeconds)
    counts.readyMilliseconds.append(Int((ContinuousClock.now - start) / .milliseconds(1)))
    try await world.verify(round, seconds: Self.convergeSeconds)
  }

  /// Kills the program while it opens its stores.
  private mutating func killAtStart() throws {
    counts.killsAtStart += 1
    try world.program.start()
    Thread.sleep(forTimeInterval: Double(random.below(150)) / 1000)
    if world.program.ready == nil { counts.killsBeforeReady += 1 }
    guard world.program.kill() else {
      throw ServedProgram.Failure(description: "the program ended at its start: \(world.program.printed)")
    }
  }

  // MARK: Results

  private var details: [(name: String, value: Int)] {
    let sorted = counts.readyMilliseconds.sorted()
    var details = [
      ("terminations", counts.terminations), ("killsAtStart", counts.killsAtStart),
      ("killsBeforeReady", counts.killsBeforeReady),
      ("readyMillisecondsMedian", sorted.isEmpty ? 0 : sorted[sorted.count / 2]),
      ("readyMillisecondsMax", sorted.last ?? 0),
    ]
    details += counts.earlier.details
    return details.map { (name: $0.0, value: $0.1) }
  }
}
#endif
