// The locks of transactions that have lost a race, as a value without threads and clocks.
//
// Locks only delay transactions. Whether a transaction may commit is decided by the validation of its reads.
//
// Rules:
// 1. A request names all the keys that it needs. It is granted as a whole, once no other transaction holds
//    one of the keys and no older transaction waits for one of them. Age is the order of first attempts.
// 2. A holder that runs is never interrupted. If an older transaction waits for a lock whose holder waits
//    too, the holder becomes a victim: it loses all its locks, and its request fails.
// 3. A lock ends with its transaction. If another transaction waits for it, it also ends after `holdMax`.
//
// No deadlock: in a cycle, every transaction waits for a lock of the next one, or for an older one that waits
// for the same key. Not every edge can lead to an older transaction, so one transaction waits for the lock of
// a younger one that waits too. Rule 2 forbids that.
//
// No starvation: the oldest waiting transaction waits only for holders that run, and their locks end.

struct LockTable {
  /// The number of a transaction's first attempt. Older transactions have lower numbers.
  typealias Age = UInt64

  enum Status: Equatable {
    /// The transaction waits for no key.
    case ready
    case waiting
    /// The last request failed, because an older transaction needed a lock of this one.
    case victim
  }

  private struct Lock {
    var holder: Age?
    /// The time at which the lock ends if another transaction waits for it.
    var end: UInt64 = 0
    /// The transactions that wait for the key, oldest first.
    var waiting: [Age] = []

    var isUnused: Bool { holder == nil && waiting.isEmpty }

    mutating func addWaiting(_ age: Age) {
      waiting.insert(age, at: waiting.firstIndex { $0 > age } ?? waiting.endIndex)
    }
  }

  private struct Owner {
    var held: Set<RecordKey> = []
    /// The keys of the request that is not granted yet.
    var wanted: [RecordKey] = []
    var isVictim = false
  }

  private let holdMax: UInt64
  private var locks: [RecordKey: Lock] = [:]
  private var owners: [Age: Owner] = [:]
  /// The transactions whose threads must look at the table again.
  private var woken: Set<Age> = []
  private(set) var victimCount = 0
  private(set) var expiredCount = 0

  /// Creates a table whose locks end after `holdMax` nanoseconds if another transaction waits for them.
  init(holdMax: UInt64) { self.holdMax = holdMax }

  /// The number of transactions that hold or await locks, or have done so and have not ended.
  var ownerCount: Int { owners.count }
  var waitingCount: Int { owners.values.count { !$0.wanted.isEmpty } }

  func status(of age: Age) -> Status {
    guard let owner = owners[age] else { return .ready }
    return owner.isVictim ? .victim : owner.wanted.isEmpty ? .ready : .waiting
  }

  /// Whether a transaction holds or awaits the key.
  func isTaken(_ key: RecordKey) -> Bool { locks[key] != nil }

  func holder(of key: RecordKey) -> Age? { locks[key]?.holder }

  /// The first key that the transaction waits for.
  func firstWanted(by age: Age) -> RecordKey? { owners[age]?.wanted.first }

  mutating func takeWoken() -> Set<Age> {
    defer { woken = [] }
    return woken
  }

  // MARK: Requests

  /// Requests locks on all keys for a transaction that does not wait yet. The transaction keeps the locks
  /// that it has.
  mutating func request(_ keys: [RecordKey], by age: Age, now: UInt64) {
    owners[age, default: Owner()].isVictim = false
    endExpired(keys, now: now)
    for key in keys where locks[key]?.holder != age && locks[key]?.waiting.contains(age) != true {
      owners[age]?.wanted.append(key)
      locks[key, default: Lock()].addWaiting(age)
    }
    guard let wanted = owners[age]?.wanted, !wanted.isEmpty, !grant(age, now: now) else { return }
    if hasOlderWaiting(for: age) { return makeVictim(age, now: now) }
    for key in wanted {
      // A victim frees keys, which may complete the request.
      guard let holder = locks[key]?.holder, holder > age, status(of: holder) == .waiting else { continue }
      makeVictim(holder, now: now)
    }
  }

  /// Returns whether an older transaction waits for one of the transaction's locks.
  private func hasOlderWaiting(for age: Age) -> Bool {
    owners[age]?.held.contains { key in locks[key]?.waiting.first.map { $0 < age } ?? false } ?? false
  }

  private mutating func makeVictim(_ age: Age, now: UInt64) {
    let freed = withdraw(age)
    owners[age]?.isVictim = true
    victimCount += 1
    woken.insert(age)
    grantFirst(of: freed, now: now)
  }

  /// Grants the request of a transaction if it can be granted.
  private mutating func grant(_ age: Age, now: UInt64) -> Bool {
    guard let wanted = owners[age]?.wanted, !wanted.isEmpty,
      wanted.allSatisfy({ locks[$0]?.holder == nil && locks[$0]?.waiting.first == age })
    else { return false }
    for key in wanted {
      locks[key]?.waiting.removeFirst()
      locks[key]?.holder = age
      locks[key]?.end = now + holdMax
      // The next transaction computes anew when the lock that it waits for ends.
      if let next = locks[key]?.waiting.first { woken.insert(next) }
    }
    owners[age]?.held.formUnion(wanted)
    owners[age]?.wanted = []
    woken.insert(age)
    return true
  }

  /// Grants what can be granted after these keys were freed or lost a waiting transaction.
  private mutating func grantFirst(of keys: some Sequence<RecordKey>, now: UInt64) {
    for key in keys {
      guard let first = locks[key]?.waiting.first else { continue }
      if !grant(first, now: now) { woken.insert(first) }
    }
  }

  // MARK: Ends

  /// Ends the transaction: releases its locks, and drops its request.
  mutating func end(_ age: Age, now: UInt64) {
    let freed = withdraw(age)
    owners[age] = nil
    grantFirst(of: freed, now: now)
  }

  /// Removes the transaction from all keys, and returns these keys.
  private mutating func withdraw(_ age: Age) -> [RecordKey] {
    guard let owner = owners[age] else { return [] }
    for key in owner.held { locks[key]?.holder = nil }
    for key in owner.wanted { locks[key]?.waiting.removeAll { $0 == age } }
    let keys = owner.wanted + owner.held
    for key in keys where locks[key]?.isUnused == true { locks[key] = nil }
    owners[age] = Owner()
    return keys
  }

  /// Ends the expired locks for which the transaction waits.
  mutating func endExpired(awaitedBy age: Age, now: UInt64) {
    guard let wanted = owners[age]?.wanted else { return }
    endExpired(wanted, now: now)
  }

  private mutating func endExpired(_ keys: [RecordKey], now: UInt64) {
    let expired = keys.filter { key in locks[key].map { $0.holder != nil && $0.end <= now } ?? false }
    for key in expired {
      if let holder = locks[key]?.holder { owners[holder]?.held.remove(key) }
      locks[key]?.holder = nil
      expiredCount += 1
    }
    grantFirst(of: expired, now: now)
    for key in expired where locks[key]?.isUnused == true { locks[key] = nil }
  }

  /// The time at which the first lock ends for which the transaction waits; nil if it waits for none.
  func nextEnd(awaitedBy age: Age) -> UInt64? {
    owners[age]?.wanted.compactMap { key in locks[key].flatMap { $0.holder == nil ? nil : $0.end } }.min()
  }
}
