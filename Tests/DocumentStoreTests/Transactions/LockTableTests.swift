// The rules of the lock table, one at a time, and random programs that are compared with a simulation.

import Harness
import Testing

@testable import DocumentStore

private func key(_ number: Int) -> RecordKey { RecordKey([UInt8(number)]) }

@Suite struct LockTableTests {
  private var table = LockTable(holdMax: 100)

  @Test mutating func aReleasedLockGoesToTheOldestWaiting() {
    table.request([key(1)], by: 7, now: 0)
    for age: UInt64 in [9, 3, 5] { table.request([key(1)], by: age, now: 0) }
    var order: [UInt64] = []
    while let holder = table.holder(of: key(1)) {
      order.append(holder)
      table.end(holder, now: 0)
    }
    #expect(order == [7, 3, 5, 9])
    #expect(table.ownerCount == 0 && !table.isTaken(key(1)))
  }

  @Test mutating func aRequestIsGrantedAsAWhole() {
    table.request([key(1)], by: 1, now: 0)
    table.request([key(1), key(2)], by: 2, now: 0)
    #expect(table.status(of: 2) == .waiting && table.holder(of: key(2)) == nil)
    table.request([key(2)], by: 3, now: 0)
    #expect(table.status(of: 3) == .waiting, "the older request comes first")
    table.end(1, now: 0)
    #expect(table.status(of: 2) == .ready && table.status(of: 3) == .waiting)
    #expect(table.holder(of: key(1)) == 2 && table.holder(of: key(2)) == 2)
  }

  @Test mutating func anOlderTransactionOvertakesARequestThatWaits() {
    table.request([key(1)], by: 9, now: 0)
    table.request([key(1), key(2)], by: 5, now: 0)
    table.request([key(2)], by: 4, now: 0)
    #expect(table.status(of: 4) == .ready)
  }

  @Test mutating func aHolderThatRunsIsNotInterrupted() {
    table.request([key(1)], by: 9, now: 0)
    table.request([key(1)], by: 1, now: 0)
    #expect(table.status(of: 9) == .ready && table.status(of: 1) == .waiting)
    #expect(table.victimCount == 0)
  }

  @Test mutating func theYoungerOfTwoThatWaitForEachOtherIsTheVictim() {
    table.request([key(1)], by: 1, now: 0)
    table.request([key(2)], by: 2, now: 0)
    table.request([key(1)], by: 2, now: 0)
    #expect(table.status(of: 2) == .waiting)
    table.request([key(2)], by: 1, now: 0)
    #expect(table.status(of: 2) == .victim)
    #expect(table.status(of: 1) == .ready && table.holder(of: key(2)) == 1)
    table.request([key(1), key(2)], by: 2, now: 0)
    #expect(table.status(of: 2) == .waiting, "it runs again")
  }

  @Test mutating func aHolderThatBeginsToWaitGivesWayToAnOlderTransaction() {
    table.request([key(1)], by: 1, now: 0)
    table.request([key(2)], by: 2, now: 0)
    table.request([key(2)], by: 1, now: 0)
    #expect(table.status(of: 1) == .waiting)
    table.request([key(1)], by: 2, now: 0)
    #expect(table.status(of: 2) == .victim && table.status(of: 1) == .ready)
    #expect(table.takeWoken() == [1, 2])
  }

  @Test mutating func aLockEndsIfAnotherTransactionWaitsForIt() {
    table.request([key(1)], by: 1, now: 0)
    table.request([key(1)], by: 2, now: 50)
    #expect(table.nextEnd(awaitedBy: 2) == 100)
    table.endExpired(awaitedBy: 2, now: 99)
    #expect(table.status(of: 2) == .waiting)
    table.endExpired(awaitedBy: 2, now: 100)
    #expect(table.holder(of: key(1)) == 2 && table.expiredCount == 1)
    table.end(1, now: 100)
    #expect(table.holder(of: key(1)) == 2, "the earlier holder has nothing to release")
  }

  @Test mutating func aRequestEndsTheExpiredLocksThatItNeeds() {
    table.request([key(1)], by: 1, now: 0)
    table.request([key(1)], by: 2, now: 100)
    #expect(table.status(of: 2) == .ready)
    table.request([key(1)], by: 1, now: 150)
    #expect(table.status(of: 1) == .waiting, "it has lost the lock")
  }

  @Test(arguments: 1...40 as ClosedRange<UInt64>)
  func tableAgreesWithASimulation(seed: UInt64) {
    var program = LockProgram(seed: seed)
    #expect(program.run() == nil)
  }

  @Test func programsReachVictimsAndExpiredLocks() {
    var counts = (victims: 0, expired: 0)
    for seed in UInt64(1)...40 {
      var program = LockProgram(seed: seed)
      _ = program.run()
      counts.victims += program.table.victimCount
      counts.expired += program.table.expiredCount
    }
    #expect(counts.victims > 0 && counts.expired > 0)
  }
}

/// A random program on the table and on the simulation.
private struct LockProgram {
  private static let ages = UInt64(1)...8
  private static let keys = 0..<5
  private static let holdMax: UInt64 = 30

  private let seed: UInt64
  private var random: SeededRandom
  private var now: UInt64 = 0
  private(set) var table = LockTable(holdMax: holdMax)
  private var simulation = LockSimulation(holdMax: holdMax)

  init(seed: UInt64) {
    self.seed = seed
    random = SeededRandom(seed: seed)
  }

  /// Returns a description of the first difference or deadlock, or nil.
  mutating func run() -> String? {
    for step in 0..<600 {
      let age = 1 + UInt64(random.below(Self.ages.count))
      switch random.below(8) {
      case 0: end(age)
      case 1: pass(UInt64(random.below(20)))
      default: if table.status(of: age) != .waiting { request(age) }
      }
      if let difference { return "seed \(seed), step \(step): \(difference)" }
    }
    while let age = Self.ages.first(where: { table.status(of: $0) != .waiting && simulation.isKnown($0) }) {
      end(age)
      if let difference { return "seed \(seed), at the end: \(difference)" }
    }
    return table.ownerCount == 0 ? nil : "seed \(seed): deadlock"
  }

  private mutating func request(_ age: UInt64) {
    let count = 1 + random.below(3)
    let wanted = (0..<count).map { _ in random.below(Self.keys.count) }
    table.request(wanted.map(key), by: age, now: now)
    simulation.request(wanted, by: age, now: now)
  }

  private mutating func end(_ age: UInt64) {
    table.end(age, now: now)
    simulation.end(age, now: now)
  }

  private mutating func pass(_ time: UInt64) {
    now += time
    for age in Self.ages {
      table.endExpired(awaitedBy: age, now: now)
      simulation.endExpired(awaitedBy: age, now: now)
    }
  }

  private var difference: String? {
    for age in Self.ages where table.status(of: age) != simulation.status(of: age) {
      return "\(age) is \(table.status(of: age)) instead of \(simulation.status(of: age))"
    }
    for number in Self.keys where table.holder(of: key(number)) != simulation.held[number]?.age {
      return "the holder of \(number) differs"
    }
    for number in Self.keys where table.isTaken(key(number)) != simulation.isTaken(number) {
      return "\(number) is taken in one of them"
    }
    return nil
  }
}

/// The rules of the table, applied by looking at everything after each step.
private struct LockSimulation {
  private let holdMax: UInt64
  private(set) var held: [Int: (age: UInt64, end: UInt64)] = [:]
  private var wanted: [UInt64: [Int]] = [:]
  private var victims: Set<UInt64> = []
  private var known: Set<UInt64> = []

  init(holdMax: UInt64) { self.holdMax = holdMax }

  func isKnown(_ age: UInt64) -> Bool { known.contains(age) }

  func isTaken(_ key: Int) -> Bool { held[key] != nil || wanted.values.contains { $0.contains(key) } }

  func status(of age: UInt64) -> LockTable.Status {
    victims.contains(age) ? .victim : wanted[age] == nil ? .ready : .waiting
  }

  mutating func request(_ keys: [Int], by age: UInt64, now: UInt64) {
    known.insert(age)
    victims.remove(age)
    endExpired(keys, now: now)
    let missing = keys.filter { held[$0]?.age != age }
    guard !missing.isEmpty else { return }
    wanted[age] = missing
    grantAll(now: now)
    guard wanted[age] != nil else { return }
    let awaited = wanted.filter { $0.key < age }.values.joined()
    if awaited.contains(where: { held[$0]?.age == age }) { return makeVictim(age, now: now) }
    for key in missing {
      if let holder = held[key]?.age, holder > age, wanted[holder] != nil { makeVictim(holder, now: now) }
    }
  }

  mutating func end(_ age: UInt64, now: UInt64) {
    drop(age)
    known.remove(age)
    victims.remove(age)
    grantAll(now: now)
  }

  mutating func endExpired(awaitedBy age: UInt64, now: UInt64) { endExpired(wanted[age] ?? [], now: now) }

  private mutating func endExpired(_ keys: [Int], now: UInt64) {
    for key in keys { if let lock = held[key], lock.end <= now { held[key] = nil } }
    grantAll(now: now)
  }

  private mutating func makeVictim(_ age: UInt64, now: UInt64) {
    drop(age)
    victims.insert(age)
    grantAll(now: now)
  }

  private mutating func drop(_ age: UInt64) {
    held = held.filter { $0.value.age != age }
    wanted[age] = nil
  }

  /// Grants every request whose keys are free and awaited by no older transaction.
  private mutating func grantAll(now: UInt64) {
    for age in wanted.keys.sorted() {
      let keys = wanted[age] ?? []
      let older = Set(wanted.filter { $0.key < age }.values.joined())
      guard keys.allSatisfy({ held[$0] == nil && !older.contains($0) }) else { continue }
      for key in keys { held[key] = (age, now + holdMax) }
      wanted[age] = nil
    }
  }
}
