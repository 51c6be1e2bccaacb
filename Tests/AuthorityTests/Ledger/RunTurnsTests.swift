// Turns: calls about one document run one after the other and in order, and calls that wait hold no thread.

import ByteStore
import DocumentStore
import OfflineSync
import Testing

@testable import Authority

@Suite struct RunTurnsTests {
  private let turns = RunTurns()
  private let a = DocumentPath(unchecked: ["r", "a"])
  private let b = DocumentPath(unchecked: ["r", "b"])

  @Test func callsThatWaitBeginInTheirOrder() {
    let order = Locked<[Int]>([])
    let first = Locked<RunTurns.Turn?>(nil)
    #expect(turns.begin([a]) { turn in first.withLock { $0 = turn } })
    for number in 0..<RunTurns.lineMax - 1 {
      let isAccepted = turns.begin([a]) { turn in
        order.withLock { $0.append(number) }
        turn.end()
        order.wakeAll()
      }
      #expect(isAccepted)
    }
    #expect(turns.waitingCount == RunTurns.lineMax - 1, "all of them wait, and this thread goes on")
    #expect(!turns.begin([b, a]) { $0.end() }, "the line is full")
    #expect(turns.begin([b]) { $0.end() })
    first.withLock { $0 }?.end()
    let all = order.withLock(when: { $0.count == RunTurns.lineMax - 1 }) { $0 }
    #expect(all == Array(0..<RunTurns.lineMax - 1))
  }

  @Test func aCallForSeveralDocumentsWaitsForAllOfThem() {
    let held = Locked<[RunTurns.Turn]>([])
    for path in [a, b] { #expect(turns.begin([path]) { turn in held.withLock { $0.append(turn) } }) }
    let hasBegun = Locked(false)
    let isAccepted = turns.begin([a, b]) { turn in
      hasBegun.withLock { $0 = true }
      turn.end()
      hasBegun.wakeAll()
    }
    #expect(isAccepted)
    // A later call does not overtake it.
    let isLater = Locked<Bool?>(nil)
    #expect(
      turns.begin([b]) { turn in
        isLater.withLock { $0 = hasBegun.withLock { $0 } }
        turn.end()
        isLater.wakeAll()
      })
    held.withLock { $0[0] }.end()
    #expect(turns.waitingCount == 2 && !hasBegun.withLock { $0 })
    held.withLock { $0[1] }.end()
    hasBegun.withLock(when: { $0 }) { _ in }
    #expect(isLater.withLock(when: { $0 != nil }) { $0 } == true)
    #expect(turns.waitingCount == 0)
  }

  @Test func callsWithAndWithoutThreadsExcludeEachOther() {
    let inside = Locked(0)
    let done = Locked(0)
    let overlaps = Locked(0)
    @Sendable func enter() {
      let count = inside.withLock { inside in
        inside += 1
        return inside
      }
      if count > 1 { overlaps.withLock { $0 += 1 } }
      // Long enough for another call to come in between.
      for _ in 0..<500 { overlaps.withLock { _ in } }
      inside.withLock { $0 -= 1 }
      done.withLock { $0 += 1 }
      done.wakeAll()
    }
    let refused = Locked(0)
    concurrently(4) { [turns, a, b] thread in
      for number in 0..<200 {
        let paths: Set<DocumentPath> = number % 3 == 0 ? [a, b] : [a]
        if thread % 2 == 0 {
          turns.during(paths) { enter() }
        } else {
          let isAccepted = turns.begin(paths) { turn in
            enter()
            turn.end()
          }
          if !isAccepted { refused.withLock { $0 += 1 } }
        }
      }
    }
    done.withLock(when: { $0 == 800 - refused.withLock { $0 } }) { _ in }
    #expect(overlaps.withLock { $0 } == 0)
    // The last call may still be about to end its turn.
    turns.during([a, b]) {}
    #expect(turns.waitingCount == 0)
  }
}
