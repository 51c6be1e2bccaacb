// A random history in which several clients of one authority write links, counters and lists through the
// layer. The clients go offline, lose their connection, and are closed and reopened.

import Authority
import DocumentStore
import FirebaseFirestore
package import Foundation
import Harness
import OfflineSync
import Pring

package struct LayerHistory: Sendable {
  package struct Summary: Sendable {
    package var counts: [String: Int] = [:]
    package var failure: String?
  }

  private static let clientCount = 3
  private static let stepCount = 40

  private let seed: UInt64
  package let folder: URL

  package init(seed: UInt64, folder: URL) {
    self.seed = seed
    self.folder = folder
  }

  package func run() async throws -> Summary {
    let authority = try DocumentStore.openInMemory()
    let remote = try LoopbackRemote(authority: authority, seed: seed)
    let first = connect(0, remote)
    try await LayerDatabase.$current.withValue(first) { try await LayerClient.makeRooms() }
    try await first.waitForPendingWrites()
    await LayerStore.close(first)
    remote.setFaults(faults)
    var outcomes: [Outcome] = []
    try await withThrowingTaskGroup(of: Outcome.self) { group in
      for number in 0..<Self.clientCount { group.addTask { try await client(number, remote) } }
      for try await outcome in group { outcomes.append(outcome) }
    }
    var summary = Summary()
    var expected = LayerModel()
    let steps = outcomes.flatMap(\.steps)
    for step in steps { expected.apply(step) }
    for outcome in outcomes { summary.counts.merge(outcome.counts) { $0 + $1 } }
    // Reads the authority's state through a new client. Its connection has no faults, because a failed read
    // would prove nothing.
    remote.setFaults(LoopbackFaults())
    let last = connect(Self.clientCount, remote)
    let found = try await LayerDatabase.$current.withValue(last) { try await LayerClient.read() }
    summary.counts["contendedLinks"] = expected.resolveUncertainLinks(
      steps, outcomes.flatMap(\.uncertainSteps), as: found)
    summary.failure = found.difference(from: expected)
    #if !DEBUG
    summary.failure =
      try await LayerDatabase.$current.withValue(last) { try await LayerClient.saveTwice() }
      ?? summary.failure
    #endif
    await LayerStore.close(last)
    try authority.close()
    return summary
  }

  private var faults: LoopbackFaults {
    var random = SeededRandom(seed: SeededRandom.seed(seed, 1))
    var faults = LoopbackFaults()
    faults.latency = 0...Int64(random.below(300))
    faults.lossOneIn = random.oneIn(2) ? nil : 50 + random.below(100)
    faults.duplicationOneIn = random.oneIn(2) ? nil : 10
    faults.reorders = random.oneIn(2)
    return faults
  }

  // MARK: Clients

  /// The steps of one client. The effects of `steps` must be present at the end of the history.
  private struct Outcome: Sendable {
    var steps: [LayerStep] = []
    /// Transactions with an unknown outcome.
    var uncertainSteps: [LayerStep] = []
    var counts: [String: Int] = [:]

    mutating func count(_ name: String) { counts[name, default: 0] += 1 }
  }

  private func connect(_ number: Int, _ remote: LoopbackRemote) -> Firestore {
    LayerStore.open(number, named: "\(seed)", in: folder, remote, .buffered)
  }

  private func client(_ number: Int, _ remote: LoopbackRemote) async throws -> Outcome {
    var random = SeededRandom(seed: SeededRandom.seed(seed, 2, UInt64(number)))
    var outcome = Outcome()
    var firestore = connect(number, remote)
    var isOnline = true
    var step = 0
    while step < Self.stepCount {
      // The number of steps before the database is closed and opened again.
      let stay = min(Self.stepCount - step, 1 + random.below(20))
      let current = firestore
      try await LayerDatabase.$current.withValue(current) {
        let client = try await LayerClient(current)
        for _ in 0..<stay {
          if random.oneIn(8) {
            isOnline.toggle()
            if isOnline { try await current.enableNetwork() } else { try await current.disableNetwork() }
            outcome.count(isOnline ? "online" : "offline")
          }
          let next = LayerStep.random(&random, client: number)
          do {
            guard try await client.perform(next) else { continue }
            outcome.steps.append(next)
            outcome.count(next.name)
            if !isOnline { outcome.count("stepsOffline") }
          } catch FirestoreErrorCode.deadlineExceeded where next.isTransaction {
            // The answer to the commit was lost.
            outcome.uncertainSteps.append(next)
            outcome.count("transactionsUnanswered")
          } catch  where next.isTransaction {
            // The remote was unreachable, or the transaction gave up after too many conflicts. In both cases,
            // the transaction had no effect.
            outcome.count("transactionsGivenUp")
          }
        }
      }
      step += stay
      guard step < Self.stepCount else { break }
      await LayerStore.close(firestore)
      outcome.count("reopened")
      firestore = connect(number, remote)
      isOnline = true
    }
    try await firestore.enableNetwork()
    try await firestore.waitForPendingWrites()
    await LayerStore.close(firestore)
    return outcome
  }
}
