// Runs whose threads are scheduled by a random source. Running a seed again repeats the run, and the runs
// together reach every point.

import ByteStore
import DocumentStore
import Testing

@testable import Harness

@Suite("Runs that a seed repeats")
struct PlayedRunTests {
  @Test("live queries: the same seed, the same steps; and each state is one that a commit left")
  func liveRunsWithOneSeedTakeTheSameSteps() {
    var reached: Set<StorePoint> = []
    var traces: Set<[String]> = []
    var failures: [String] = []
    for seed in UInt64(1)...12 {
      let first = SeededLiveRun(seed: seed)
      if let failure = first.run() { failures.append("seed \(seed): \(failure)") }
      reached.formUnion(first.reached)
      traces.insert(first.trace)
      guard seed <= 3 else { continue }
      let second = SeededLiveRun(seed: seed)
      if let failure = second.run() { failures.append("seed \(seed), the second run: \(failure)") }
      if first.trace != second.trace { failures.append("seed \(seed): the traces differ") }
    }
    #expect(failures == [])
    #expect(traces.count == 12, "another seed is another run")
    #expect(Set(StorePoint.allCases).subtracting(reached) == [.begun])
  }

  @Test(
    "transactions: the same seed, the same steps and the same history",
    arguments: 1...8 as ClosedRange<UInt64>)
  func transactionRunsWithOneSeedHaveTheSameStepsAndHistory(seed: UInt64) throws {
    let first = TransactionRun(seed: seed, isSeeded: true)
    let second = TransactionRun(seed: seed, isSeeded: true)
    let (history, final) = try first.run()
    let (again, finalAgain) = try second.run()
    #expect(first.trace == second.trace && first.trace.contains { $0.hasSuffix(" begun") })
    #expect(history.map(\.description) == again.map(\.description) && final == finalAgain)
    #expect(HistoryChecker.anomalies(in: history, final: final).isEmpty)
    #expect(ClaimedOrder.violation(in: history) == nil)
  }
}
