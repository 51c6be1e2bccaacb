// Commits, transactions and live queries whose steps are forced to overlap in pairs.
//
// `.ci/sanitizers ForcedOverlapTests` runs these tests under the thread sanitizer.

import ByteStore
import Dispatch
import DocumentStore
import Testing

@testable import Harness

@Suite("Steps that are forced to overlap")
struct ForcedOverlapTests {
  private static let steps: [StorePoint] = [.readAhead, .placed, .published, .completed]

  /// Returns how often two points were reached together, in either order.
  private func times(_ one: StorePoint, _ other: StorePoint, _ overlap: ThreadOverlap) -> Int {
    let counts = overlap.counts
    let pairs: Set = [
      ThreadOverlap.OverlapPair(first: one, second: other),
      ThreadOverlap.OverlapPair(first: other, second: one),
    ]
    return pairs.reduce(0) { $0 + counts[$1, default: 0] }
  }

  /// The maximum number of runs within which all pairs must be reached. The scheduler decides which pairs a
  /// run reaches.
  private static let runsMax = 60

  @Test("transactions: every history has an order")
  func overlappingTransactionsAreSerializable() throws {
    let overlap = ThreadOverlap()
    let steps = [.begun] + Self.steps
    // Each point of commits and transactions is paired with itself and with the next point.
    var missing = zip(steps, steps).map { ($0, $1) } + zip(steps, steps.dropFirst()).map { ($0, $1) }
    var seed: UInt64 = 0
    var failures: [String] = []
    while seed < 8 || !missing.isEmpty && seed < Self.runsMax {
      seed += 1
      let run = TransactionRun(seed: seed, overlap: overlap)
      let (history, final) = try run.run()
      let anomalies = HistoryChecker.anomalies(in: history, final: final)
      if !anomalies.isEmpty { failures.append("seed \(seed): \(anomalies)") }
      if let violation = ClaimedOrder.violation(in: history) { failures.append("seed \(seed): \(violation)") }
      missing.removeAll { times($0.0, $0.1, overlap) > 0 }
    }
    #expect(failures == [])
    #expect(missing.isEmpty, "\(missing)")
  }

  @Test("live queries: each state is one that a commit left, and none is older than the one before")
  func liveQueriesOverlappingCommitsSeeOnlyCommittedStates() {
    let directory = TemporaryDirectory()
    let overlap = ThreadOverlap()
    let summary = LiveCampaign.run(
      commits: 1000, listeners: 100, seed: 3, pauses: overlap, in: directory.path)
    #expect(summary.failure == nil)
    let unmet: [StorePoint] = Self.steps.dropFirst().filter { times($0, $0, overlap) == 0 }
    #expect(unmet == [])
  }

  @Test("listeners are added and removed during commits, and the remaining ones have the last state")
  func listenersGetTheLastStateWhileOthersAreAddedAndRemoved() throws {
    let overlap = ThreadOverlap()
    var missing: [StorePoint] = [.listening, .answered]
    for _ in 0..<Self.runsMax where !missing.isEmpty {
      try comeAndGo(overlap)
      missing.removeAll { place in Self.steps.contains { times(place, $0, overlap) > 0 } }
    }
    #expect(missing.isEmpty, "never met a commit: \(missing)")
  }

  private func comeAndGo(_ overlap: ThreadOverlap) throws {
    var options = DocumentStore.Options()
    options.pauses = overlap
    let store = try DocumentStore.openInMemory(options: options)
    let query = try StructuredQuery(.collection(CollectionPath(unchecked: ["things"])))
      .ordered(by: OrderBy(StoredFieldPath(unchecked: ["n"]), .descending)).limited(to: .first(5))
    let queue = DispatchQueue(label: "listeners")
    /// The last state that each listener received. Listeners that are removed are left out.
    let heard = Locked<[String: [StoredDocument]]>([:])
    let failures = Locked<[String]>([])
    let attempt: @Sendable (() throws -> Void) -> Void = { body in
      do { try body() } catch { failures.withLock { $0.append("\(error)") } }
    }
    let writers = (0..<4).map { writer in
      WorkerThread {
        for step in 0..<100 {
          let path = DocumentPath(unchecked: ["things", "\(writer) \(step % 10)"])
          attempt { try store.commit([.set(path, StoredMap([("n", .integer(Int64(step * 7 % 31)))]))]) }
        }
      }
    }
    let listeners = (0..<2).map { listener in
      WorkerThread {
        for step in 0..<50 {
          let stays = step % 10 == 0
          attempt {
            let registration = try store.listen(to: query, on: queue) { state in
              guard stays, case .success(let snapshot) = state else { return }
              heard.withLock { $0["\(listener) \(step)"] = Array(snapshot.documents) }
            }
            if !stays { registration.remove() }
          }
        }
      }
    }
    for thread in writers + listeners { thread.join() }
    queue.sync {}
    #expect(failures.withLock { $0 } == [])
    let answer = try store.documents(query)
    let known = heard.withLock { $0 }
    #expect(known.count == 10)
    #expect(known.filter { $0.value != answer }.keys.sorted() == [])
    try store.close()
  }
}
