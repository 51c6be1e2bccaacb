// The order in which a pool runs the blocks of its owners.

import ByteStore
import Testing

@testable import HTTPTransport

@Suite(.timeLimit(.minutes(1))) struct FairLineTests {
  private let ran = Locked<[String]>([])

  private func block(_ name: String) -> @Sendable () -> Void {
    { [ran] in ran.withLock { $0.append(name) } }
  }

  private func runAll(_ line: inout FairLine) -> [String] {
    while let next = line.takeFirst() { next.block() }
    return ran.withLock { $0 }
  }

  @Test func ownersTakeTurns() {
    var line = FairLine()
    for number in 0..<3 { line.add(block("a\(number)"), of: 1, isLong: false) }
    line.add(block("b0"), of: 2, isLong: false)
    line.add(block("c0"), of: 3, isLong: false)
    line.add(block("b1"), of: 2, isLong: false)
    #expect(runAll(&line) == ["a0", "b0", "c0", "a1", "b1", "a2"])
    #expect(line.isEmpty && line.shortCount == 0)
  }

  @Test func shortWorkComesFirstAndLongWorkContinues() {
    var line = FairLine()
    for number in 0..<3 { line.add(block("long\(number)"), of: 1, isLong: true) }
    for _ in 0..<20 { line.add(block("short"), of: 2, isLong: false) }
    let order = runAll(&line)
    #expect(order.enumerated().filter { $0.element != "short" }.map(\.offset) == [8, 17, 22])
    #expect(order.count == 23)
  }

  @Test func manyOwnersWithManyBlocksAreServedInOrder() {
    var line = FairLine()
    for round in 0..<200 {
      for owner in 0..<5 as Range<UInt64> { line.add(block("\(owner).\(round)"), of: owner, isLong: false) }
    }
    #expect(runAll(&line) == (0..<200).flatMap { round in (0..<5).map { "\($0).\(round)" } })
  }

  @Test func withoutLongWorkOnlyShortWorkIsTaken() {
    var line = FairLine()
    line.add(block("long"), of: 1, isLong: true)
    for _ in 0..<20 { line.add(block("short"), of: 2, isLong: false) }
    for _ in 0..<20 { #expect(line.takeFirst(takesLong: false)?.isLong == false) }
    #expect(line.takeFirst(takesLong: false) == nil && line.longCount == 1)
    #expect(line.takeFirst()?.isLong == true && line.isEmpty)
  }

  @Test func longWorkLeavesThreadsForShortWork() {
    let pool = ThreadPool(threadsMax: 8, longRunningMax: 4)
    let (isOpen, running, done) = (Locked(false), Locked(0), Locked(0))
    for owner in 0..<6 as Range<UInt64> {
      pool.run(
        {
          running.withLock { $0 += 1 }
          running.wakeAll()
          isOpen.withLock(when: { $0 }) { _ in }
          done.withLock { $0 += 1 }
          done.wakeAll()
        }, of: owner, isLong: true)
    }
    running.withLock(when: { $0 == 4 }) { _ in }
    let short = Locked(false)
    pool.run(
      {
        short.withLock { $0 = true }
        short.wakeAll()
      }, of: 7, isLong: false)
    short.withLock(when: { $0 }) { _ in }
    #expect(running.withLock { $0 } == 4)
    isOpen.withLock { $0 = true }
    isOpen.wakeAll()
    done.withLock(when: { $0 == 6 }) { _ in }
  }

  /// The thread of the pool would otherwise continue with the first response.
  @Test func aResponseWithManyBlocksLeavesTheThreadToOthers() {
    let pool = ThreadPool(threadsMax: 1)
    let isOpen = Locked(false)
    let (first, second) = (ResponseQueue(on: pool, of: 1), ResponseQueue(on: pool, of: 2))
    first.add { isOpen.withLock(when: { $0 }) { _ in } }
    for _ in 0..<3 { first.add(block("first")) }
    second.add(block("second"))
    let done = Locked(false)
    first.add {
      done.withLock { $0 = true }
      done.wakeAll()
    }
    isOpen.withLock { $0 = true }
    isOpen.wakeAll()
    done.withLock(when: { $0 }) { _ in }
    #expect(ran.withLock { $0.first } == "second")
  }

  @Test func threadsWaitWhileLoopsHaveManyBytes() {
    let pool = ThreadPool(threadsMax: 2)
    let isDone = Locked(false)
    let mayRun = Locked(false)
    pool.posted(3 << 20)
    pool.run { [ran] in
      let isRight = mayRun.withLock { $0 }
      ran.withLock { $0.append(isRight ? "after" : "before") }
      isDone.withLock { $0 = true }
      isDone.wakeAll()
    }
    mayRun.withLock { $0 = true }
    pool.arrived(3 << 20)
    isDone.withLock(when: { $0 }) { _ in }
    #expect(ran.withLock { $0 } == ["after"])
  }

  @Test func bytesThatNoLoopTakesAreGivenBack() {
    let pool = ThreadPool(threadsMax: 1)
    var queue: ResponseQueue? = ResponseQueue(on: pool, of: 1)
    queue?.post(3 << 20)
    queue?.close()
    queue = nil
    let isDone = Locked(false)
    pool.run {
      isDone.withLock { $0 = true }
      isDone.wakeAll()
    }
    isDone.withLock(when: { $0 }) { _ in }
  }
}
