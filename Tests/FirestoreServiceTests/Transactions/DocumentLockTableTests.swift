// Locks of documents: who waits for whom, in which order, and for how long.

import ByteStore
import DocumentStore
import Harness
import Testing

@testable import FirestoreService

@Suite struct DocumentLockTableTests {
  private static let second: UInt64 = 1_000_000_000

  /// A table, and the names of the requests that it has granted.
  private struct World {
    var table: DocumentLockTable
    var now: UInt64 = 0
    var lastNumber: UInt64 = 0
    let granted = Locked<[String]>([])

    init(_ change: (inout DocumentLockTable.Limits) -> Void = { _ in }) {
      var limits = DocumentLockTable.Limits()
      change(&limits)
      table = DocumentLockTable(limits)
    }

    /// Requests locks, as in `a!` for an exclusive one and `a` for a shared one. The owner's number is its
    /// age.
    @discardableResult
    mutating func request(_ owner: UInt64, _ keys: String..., isKept: Bool = true) -> DocumentLockTable.Answer
    {
      request(LockOwner(number: owner, age: owner), keys, isKept: isKept)
    }

    @discardableResult
    mutating func request(
      _ owner: LockOwner, _ keys: [String], isKept: Bool = true
    ) -> DocumentLockTable.Answer {
      var modes: [DocumentPath: LockMode] = [:]
      for key in keys {
        modes[DocumentPath(unchecked: ["rooms", key.filter { $0 != "!" }])] =
          key.contains("!") ? .exclusive : .shared
      }
      lastNumber += 1
      let request = DocumentLockTable.Request(
        number: lastNumber, owner: owner, modes: modes, isKept: isKept
      ) { [granted] in granted.withLock { $0.append("\(owner.number)") } }
      return table.request(request, at: now)
    }

    mutating func end(_ owner: UInt64) -> [String] {
      // A call of `names` with the call of `end` in it would copy the table.
      let calls = table.end(LockOwner(number: owner, age: owner), at: now)
      return names(of: calls)
    }

    mutating func pass(_ time: UInt64) -> [String] {
      now += time
      let calls = table.endOverdue(at: now)
      return names(of: calls)
    }

    private func names(of calls: [DocumentLockTable.Granted]) -> [String] {
      for call in calls { call() }
      return granted.withLock { granted in
        defer { granted = [] }
        return granted
      }
    }
  }

  @Test func readersShareAndACommitWaitsForAllOfThem() {
    var world = World()
    #expect(world.request(1, "a") == .granted && world.request(2, "a") == .granted)
    #expect(world.request(3, "a!", isKept: false) == .waiting)
    #expect(world.request(4, "b!", isKept: false) == .granted)
    #expect(world.end(1).isEmpty)
    #expect(world.end(2) == ["3"])
    #expect(world.table.isEmpty)
  }

  @Test func theOlderOfTwoWritersDoesNotWait() {
    var world = World()
    world.request(1, "a")
    world.request(2, "a")
    #expect(world.request(2, "a!") == .waiting, "the younger one waits")
    #expect(world.request(1, "a!") == .granted)
    #expect(world.end(1) == ["2"])
  }

  @Test func lockedDocumentsInOppositeOrdersAreNoDeadlock() {
    var world = World()
    world.request(1, "a!")
    world.request(2, "b!")
    #expect(world.request(2, "a!") == .waiting)
    #expect(world.request(1, "b!") == .granted)
    #expect(world.end(1) == ["2"])
  }

  @Test func aWaitQueueIsInTheOrderOfAge() {
    var world = World()
    world.request(1, "a!")
    for owner in [5, 3, 4, 2] as [UInt64] { #expect(world.request(owner, "a!") == .waiting) }
    #expect(world.request(6, "a") == .waiting, "a reader stands behind those that write")
    #expect(world.end(1) == ["2"])
    #expect(world.end(2) == ["3"])
    #expect(world.end(4) == ["4"], "the wait of an owner ends with it")
    #expect(world.end(3) == ["5"])
    #expect(world.end(5) == ["6"])
  }

  @Test func aRequestGetsAllLocksOrNone() {
    var world = World()
    world.request(1, "b!")
    #expect(world.request(2, "a!", "b!") == .waiting)
    #expect(world.request(3, "c!") == .granted)
    #expect(world.request(4, "a") == .waiting, "the older request stands in front")
    #expect(world.end(1) == ["2"])
    #expect(world.end(2) == ["4"])
  }

  @Test func aLockAndAWaitEndAfterFiveSeconds() {
    var world = World()
    world.request(1, "a")
    world.now += 2 * Self.second
    world.request(2, "b!")
    #expect(world.request(3, "a!", isKept: false) == .waiting)
    #expect(world.request(4, "b!", "a!", isKept: false) == .waiting)
    let first = world.table.nextEnd()
    #expect(first == 5 * Self.second)
    #expect(world.pass(3 * Self.second) == ["3"], "the lock of the first owner has ended")
    #expect(world.pass(2 * Self.second) == ["4"])
    let next = world.table.nextEnd()
    #expect(next == nil && world.table.isEmpty)
    // Without a wait, a lock ends when another owner wants it.
    world.request(5, "a!")
    world.now += 5 * Self.second
    #expect(world.request(6, "a!") == .granted)
  }

  @Test func numbersAreBounded() {
    var world = World { limits in
      limits.waitingMax = 2
      limits.locksPerOwnerMax = 2
      limits.locksMax = 3
    }
    #expect(world.request(1, "a!", "b!") == .granted)
    #expect(world.request(2, "a!") == .waiting && world.request(3, "a!") == .waiting)
    #expect(world.request(4, "a!") == .tooMany)
    #expect(world.request(1, "c!") == .granted && world.request(5, "c!") == .granted, "c was not locked")
    #expect(world.request(6, "d!") == .granted && world.request(7, "d!") == .granted, "d was not locked")
    #expect(world.end(1) == ["2"])
  }

  /// Regression: each change walked all requests that waited.
  @Test(arguments: [true, false]) func manyWaitsForOneDocumentCostLittleWork(areKept: Bool) {
    let count: UInt64 = 10_000
    var world = World()
    world.request(1, "a", "z!")
    for owner in 2...(count + 1) { world.request(owner, "a!", "b\(owner)", isKept: areKept) }
    #expect(world.table.waitingCount == Int(count))
    #expect(world.table.checkCount <= Int(count) + 1, "a request checks no other one")
    let before = world.table.checkCount
    for owner in 0..<count {
      #expect(world.request(20_000 + owner, "c\(owner)!", isKept: false) == .granted)
      let next = world.table.nextEnd()
      #expect(next == 5 * Self.second)
    }
    world.request(50_000, "z!", isKept: false)
    #expect(world.table.checkCount == before + Int(count) + 1)
    var granted = world.end(1)
    for owner in 2...(count + 1) where areKept { granted += world.end(owner) }
    #expect(granted.filter { $0 != "50000" } == (2...(count + 1)).map { "\($0)" })
    #expect(world.table.checkCount <= before + 5 * Int(count))
    #expect(world.table.isEmpty)
  }

  @Test func requestsThatAreCancelledInAnyOrderAreRemoved() {
    var random = SeededRandom(seed: 1)
    var world = World()
    world.request(1, "a!")
    for owner in 2...1000 as ClosedRange<UInt64> { world.request(owner, "a!", isKept: false) }
    for number in (2...999 as ClosedRange<UInt64>).shuffled(using: &random) {
      let granted = world.table.cancel(number, at: world.now)
      #expect(granted.count == 1)
    }
    #expect(world.table.waitingCount == 1 && world.table.checkCount < 6000)
    #expect(world.end(1) == ["1000"])
    #expect(world.table.isEmpty)
  }

  @Test func theEndOfAllLocksGrantsAllRequests() {
    var world = World()
    world.request(1, "a!")
    world.request(3, "a!", isKept: false)
    world.request(2, "a!")
    for call in world.table.endAll() { call() }
    #expect(world.granted.withLock { $0 } == ["3", "2"])
    #expect(world.table.isEmpty && world.table.waitingCount == 0)
  }

  @Test func aWaitEndsAtItsOwnTimeIfThatIsEarlier() {
    var world = World()
    world.request(1, "a!")
    let path = DocumentPath(unchecked: ["rooms", "a"])
    let granted = Locked(0)
    func request(until end: UInt64) -> DocumentLockTable.Answer {
      world.lastNumber += 1
      return world.table.request(
        .init(
          number: world.lastNumber, owner: LockOwner(number: 10 + end, age: 10 + end),
          modes: [path: .exclusive], isKept: false, end: end
        ) { granted.withLock { $0 += 1 } }, at: world.now)
    }
    #expect(request(until: 2 * Self.second) == .waiting && request(until: Self.second) == .waiting)
    #expect(request(until: 0) == .granted)
    let next = world.table.nextEnd()
    #expect(next == Self.second)
    _ = world.pass(Self.second)
    #expect(granted.withLock { $0 } == 1)
    _ = world.pass(Self.second)
    #expect(granted.withLock { $0 } == 2 && !world.table.isEmpty)
  }

  /// Every request is granted when those that do not wait have ended, without time passing.
  @Test(arguments: 0..<200 as Range<UInt64>) func noRequestIsStuck(_ seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    var world = World()
    var waiting: Set<UInt64> = []
    var active: Set<UInt64> = []
    var last: UInt64 = 0
    func free() -> [UInt64] { active.subtracting(waiting).sorted() }
    func end(_ owner: UInt64) {
      active.remove(owner)
      for name in world.end(owner) { waiting.remove(UInt64(name)!) }
    }
    for _ in 0..<120 {
      if free().isEmpty || Int.random(in: 0..<3, using: &random) == 0 {
        last += 1
        active.insert(last)
      }
      guard let owner = free().randomElement(using: &random) else { continue }
      if Int.random(in: 0..<5, using: &random) == 0 { end(owner); continue }
      let keys = (0..<Int.random(in: 1...3, using: &random)).map { _ in
        "\(Int.random(in: 0..<4, using: &random))\(Bool.random(using: &random) ? "!" : "")"
      }
      let isKept = Int.random(in: 0..<4, using: &random) > 0
      if world.request(LockOwner(number: owner, age: owner), keys, isKept: isKept) == .waiting {
        waiting.insert(owner)
      }
    }
    while let owner = free().first { end(owner) }
    #expect(waiting.isEmpty && active.isEmpty)
    #expect(world.table.isEmpty && world.table.waitingCount == 0)
  }
}
