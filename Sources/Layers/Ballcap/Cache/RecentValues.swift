// An LRU cache with a budget.
//
// Entries are in an array and form a ring in the order of their use, most recent first. Slot 0 is the head of
// the ring and holds no entry. All operations take constant time.

struct RecentValues<Key: Hashable, Value> {
  fileprivate struct Slot {
    var entry: (key: Key, value: Value, cost: Int)?
    var newer = 0
    var older = 0
  }

  let countMax: Int
  let costMax: Int
  private(set) var cost = 0
  private var slots = [Slot()]
  private var slotIndexes: [Key: Int] = [:]
  private var freeSlots: [Int] = []

  /// Creates an empty cache. Costs may be in any unit. By default, only the count is limited.
  init(countMax: Int, costMax: Int = .max) {
    precondition(countMax > 0, "a cache without capacity")
    self.countMax = countMax
    self.costMax = costMax
  }

  var count: Int { slotIndexes.count }

  /// Returns the value and marks it as the most recently used.
  mutating func value(for key: Key) -> Value? {
    guard let slot = slotIndexes[key] else { return nil }
    detach(slot)
    attach(slot)
    return slots[slot].entry?.value
  }

  /// Inserts a value, and evicts the least recently used values if the budget is exceeded. A value that costs
  /// more than the whole budget is not kept.
  mutating func insert(_ value: Value, for key: Key, cost: Int = 0) {
    remove(key)
    guard cost <= costMax else { return }
    let slot = freeSlots.popLast() ?? slots.count
    if slot == slots.count { slots.append(Slot()) }
    slots[slot].entry = (key, value, cost)
    slotIndexes[key] = slot
    self.cost += cost
    attach(slot)
    while count > countMax || self.cost > costMax { removeOldest() }
  }

  @discardableResult
  mutating func remove(_ key: Key) -> Value? {
    guard let slot = slotIndexes.removeValue(forKey: key) else { return nil }
    detach(slot)
    freeSlots.append(slot)
    defer { slots[slot].entry = nil }
    cost -= slots[slot].entry?.cost ?? 0
    return slots[slot].entry?.value
  }

  mutating func removeAll() { self = RecentValues(countMax: countMax, costMax: costMax) }

  private mutating func removeOldest() {
    guard let entry = slots[slots[0].newer].entry else { preconditionFailure("nothing is left to remove") }
    remove(entry.key)
  }

  private mutating func detach(_ slot: Int) {
    let (newer, older) = (slots[slot].newer, slots[slot].older)
    slots[newer].older = older
    slots[older].newer = newer
  }

  /// Inserts the slot as the most recent one, next to the head.
  private mutating func attach(_ slot: Int) {
    let second = slots[0].older
    slots[slot].newer = 0
    slots[slot].older = second
    slots[0].older = slot
    slots[second].newer = slot
  }
}

extension RecentValues: Sendable where Key: Sendable, Value: Sendable {}

extension RecentValues.Slot: Sendable where Key: Sendable, Value: Sendable {}
