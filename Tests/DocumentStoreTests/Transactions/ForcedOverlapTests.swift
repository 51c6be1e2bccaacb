// Commits, transactions and live queries whose steps are made to overlap, two at a time: `.ci/sanitizers
// ForcedOverlapTests` runs them under the thread sanitizer.

import ByteStore
import Dispatch
import DocumentStore
import Testing

@testable import Harness

@Suite("Steps that are made to overlap")
struct ForcedOverlapTests {
  @Test("transactions: every history has an order")
  func transactions() throws {
    let meetings = Meetings()
    for seed in UInt64(1)...8 {
      let run = TransactionRun(seed: seed, meetings: meetings)
      let (history, final) = try run.run()
      #expect(HistoryChecker.anomalies(in: history, final: final).isEmpty, "seed \(seed)")
      #expect(ClaimedOrder.violation(in: history) == nil, "seed \(seed)")
    }
    // Each place of a commit and of a transaction beside itself, and beside the one after it.
    let steps: [StorePoint] = [.begun, .readAhead, .placed, .published, .settled]
    let met = meetings.counts
    for step in steps { #expect(met[Meetings.Meeting(first: step, second: step)] ?? 0 > 0, "\(step)") }
    for (step, next) in zip(steps, steps.dropFirst()) {
      let both = [(step, next), (next, step)].map { met[Meetings.Meeting(first: $0, second: $1)] ?? 0 }
      #expect(both.reduce(0, +) > 0, "\(step) and \(next)")
    }
  }

  @Test("live queries: each state is one that a commit left, and none is older than the one before")
  func live() {
    let directory = TemporaryDirectory()
    let meetings = Meetings()
    let summary = LiveCampaign.run(
      commits: 1000, listeners: 100, seed: 3, pauses: meetings, in: directory.path)
    #expect(summary.failure == nil)
    let met = meetings.counts
    for step in [StorePoint.placed, .published, .settled] {
      #expect(met[Meetings.Meeting(first: step, second: step)] ?? 0 > 0, "\(step)")
    }
  }

  @Test("listeners come and go while commits are under way, and those that stay know the last state")
  func comingAndGoing() throws {
    let meetings = Meetings()
    var options = DocumentStore.Options()
    options.pauses = meetings
    let store = try DocumentStore.openInMemory(options: options)
    let number = StoredFieldPath(unchecked: ["n"])
    let things = CollectionPath(unchecked: ["things"])
    let query = try StructuredQuery(.collection(things)).ordered(by: OrderBy(number, .descending))
      .limited(to: .first(5))
    let queue = DispatchQueue(label: "listeners")
    let heard = Locked<[[StoredDocument]]>([])
    let failures = Locked<[String]>([])
    let writers = (0..<4).map { writer in
      WorkerThread {
        for step in 0..<100 {
          let path = DocumentPath(unchecked: ["things", "\(writer) \(step % 10)"])
          do {
            try store.commit([.set(path, StoredMap([("n", .integer(Int64(step * 7 % 31)))]))])
          } catch { failures.withLock { $0.append("\(error)") } }
        }
      }
    }
    let listeners = (0..<2).map { _ in
      WorkerThread {
        for step in 0..<50 {
          let index = heard.withLock { heard in
            heard.append([])
            return heard.count - 1
          }
          do {
            let registration = try store.listen(to: query, on: queue) { state in
              if case .success(let snapshot) = state {
                heard.withLock { $0[index] = Array(snapshot.documents) }
              }
            }
            // Every tenth stays.
            guard step % 10 != 0 else { continue }
            heard.withLock { $0[index] = [] }
            registration.remove()
          } catch { failures.withLock { $0.append("\(error)") } }
        }
      }
    }
    for thread in writers + listeners { thread.join() }
    queue.sync {}
    #expect(failures.withLock { $0 } == [])
    let answer = try store.documents(query)
    #expect(heard.withLock { heard in heard.count { $0 == answer } } >= 10)
    let met = meetings.counts
    let steps: [StorePoint] = [.readAhead, .placed, .published, .settled]
    for place in [StorePoint.listening, .answered] {
      let times = steps.flatMap { [(place, $0), ($0, place)] }.map { first, second in
        met[Meetings.Meeting(first: first, second: second)] ?? 0
      }
      #expect(times.reduce(0, +) > 0, "\(place) beside a commit")
    }
    try store.close()
  }
}
