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
  private var places: [Key: Int] = [:]
  private var vacant: [Int] = []

  /// Creates an empty cache. Costs may be in any unit. By default, only the count is limited.
  init(countMax: Int, costMax: Int = .max) {
    precondition(countMax > 0, "a cache without capacity")
    self.countMax = countMax
    self.costMax = costMax
  }

  var count: Int { places.count }

  /// Returns the value and marks it as the most recently used.
  mutating func value(for key: Key) -> Value? {
    guard let place = places[key] else { return nil }
    detach(place)
    attach(place)
    return slots[place].entry?.value
  }

  /// Inserts a value, and evicts the least recently used values if the budget is exceeded. A value that costs
  /// more than the whole budget is not kept.
  mutating func insert(_ value: Value, for key: Key, cost: Int = 0) {
    remove(key)
    guard cost <= costMax else { return }
    let place = vacant.popLast() ?? slots.count
    if place == slots.count { slots.append(Slot()) }
    slots[place].entry = (key, value, cost)
    places[key] = place
    self.cost += cost
    attach(place)
    while count > countMax || self.cost > costMax { removeOldest() }
  }

  @discardableResult
  mutating func remove(_ key: Key) -> Value? {
    guard let place = places.removeValue(forKey: key) else { return nil }
    detach(place)
    vacant.append(place)
    defer { slots[place].entry = nil }
    cost -= slots[place].entry?.cost ?? 0
    return slots[place].entry?.value
  }

  mutating func removeAll() { self = RecentValues(countMax: countMax, costMax: costMax) }

  private mutating func removeOldest() {
    guard let entry = slots[slots[0].newer].entry else { preconditionFailure("nothing is left to remove") }
    remove(entry.key)
  }

  private mutating func detach(_ place: Int) {
    let (newer, older) = (slots[place].newer, slots[place].older)
    slots[newer].older = older
    slots[older].newer = newer
  }

  /// Inserts the slot as the most recent one, next to the head.
  private mutating func attach(_ place: Int) {
    let second = slots[0].older
    slots[place].newer = 0
    slots[place].older = second
    slots[0].older = place
    slots[second].newer = place
  }
}

extension RecentValues: Sendable where Key: Sendable, Value: Sendable {}

extension RecentValues.Slot: Sendable where Key: Sendable, Value: Sendable {}
