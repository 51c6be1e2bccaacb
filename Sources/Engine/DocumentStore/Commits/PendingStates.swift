// The states of documents after commits that are still in progress, found by the hashes of the keys.
//
//   state  hash of the document's key, number of the commit, place of the change in the commit
//   slot   the index of a document's latest state; linear probing from the slot given by the hash
//
// Invariants:
// - The states of a document form a list, from the latest commit to the earliest one.
// - The probe sequence from the first slot of a document's hash to its slot has no empty slot.
// - At most half of the slots are in use.
//
// A state has no references, so it is added and removed without counting any. The hash depends on a secret
// seed, so keys with equal hashes are rare, but they are possible. The caller compares the keys.

struct PendingStates {
  struct State {
    fileprivate let hash: UInt64
    /// The number of the commit.
    let number: UInt64
    /// The index of the document in the commit's changes.
    let place: Int32
    /// The index of the document's previous state. Links the unused states, too.
    fileprivate var earlier: Int32
  }

  private static let none: Int32 = -1
  private static let slotsMin = 64
  /// Larger tables are released when no state is left.
  private static let slotsKept = 1 << 14

  private var states: [State] = []
  private var firstUnused = none
  private var slots: [Int32] = []
  /// The number of documents with a state.
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  // MARK: Finding

  /// The states of a document, latest first. `isSame` compares the document's key with that of a state.
  func states(of hash: UInt64, isSame: (State) -> Bool) -> [State] {
    guard !isEmpty, let slot = slot(of: hash, isSame) else { return [] }
    return list(from: slots[slot])
  }

  /// Visits all states.
  func forEach(_ body: (State) -> Void) {
    for first in slots where first != Self.none {
      var next = first
      while next != Self.none {
        body(states[Int(next)])
        next = states[Int(next)].earlier
      }
    }
  }

  private func list(from index: Int32) -> [State] {
    var list: [State] = []
    var next = index
    while next != Self.none {
      list.append(states[Int(next)])
      next = states[Int(next)].earlier
    }
    return list
  }

  private func slot(of hash: UInt64, _ isSame: (State) -> Bool) -> Int? {
    var slot = home(of: hash)
    while slots[slot] != Self.none {
      let state = states[Int(slots[slot])]
      if state.hash == hash, isSame(state) { return slot }
      slot = next(slot)
    }
    return nil
  }

  private func home(of hash: UInt64) -> Int { Int(truncatingIfNeeded: hash) & (slots.count - 1) }

  private func next(_ slot: Int) -> Int { (slot + 1) & (slots.count - 1) }

  // MARK: Changing

  /// Makes room for the states of `more` documents.
  mutating func reserve(_ more: Int) {
    guard 2 * (count + more) > slots.count else { return }
    var size = max(Self.slotsMin, slots.count)
    while size < 2 * (count + more) { size *= 2 }
    let old = slots
    slots = Array(repeating: Self.none, count: size)
    for index in old where index != Self.none {
      var slot = home(of: states[Int(index)].hash)
      while slots[slot] != Self.none { slot = next(slot) }
      slots[slot] = index
    }
  }

  /// Adds the latest state of a document. Call `reserve` first.
  mutating func add(_ hash: UInt64, number: UInt64, place: Int, isSame: (State) -> Bool) {
    var slot = home(of: hash)
    while slots[slot] != Self.none {
      let state = states[Int(slots[slot])]
      if state.hash == hash, isSame(state) { break }
      slot = next(slot)
    }
    if slots[slot] == Self.none { count += 1 }
    slots[slot] = insert(
      State(hash: hash, number: number, place: Int32(place), earlier: slots[slot]))
  }

  private mutating func insert(_ state: State) -> Int32 {
    guard firstUnused != Self.none else {
      states.append(state)
      return Int32(states.count - 1)
    }
    let index = firstUnused
    firstUnused = states[Int(index)].earlier
    states[Int(index)] = state
    return index
  }

  /// Removes the state that a commit left of a document. With `andEarlier`, also removes the states of
  /// earlier commits. Does nothing if a later commit has removed the state.
  mutating func remove(_ hash: UInt64, number: UInt64, place: Int, andEarlier: Bool) {
    guard !isEmpty else { return }
    var slot = home(of: hash)
    while slots[slot] != Self.none {
      if states[Int(slots[slot])].hash == hash,
        let (own, later) = find(number, place, from: slots[slot])
      {
        return remove(own, later: later, slot: slot, andEarlier: andEarlier)
      }
      slot = next(slot)
    }
  }

  /// The index of a commit's state in a document's list, and that of the state before it in the list.
  private func find(_ number: UInt64, _ place: Int, from first: Int32) -> (own: Int32, later: Int32)? {
    var later = Self.none
    var own = first
    while own != Self.none {
      let state = states[Int(own)]
      if state.number == number, state.place == Int32(place) { return (own, later) }
      (later, own) = (own, state.earlier)
    }
    return nil
  }

  private mutating func remove(_ own: Int32, later: Int32, slot: Int, andEarlier: Bool) {
    var last = own
    if andEarlier {
      while states[Int(last)].earlier != Self.none { last = states[Int(last)].earlier }
    }
    let rest = states[Int(last)].earlier
    states[Int(last)].earlier = firstUnused
    firstUnused = own
    if later != Self.none {
      states[Int(later)].earlier = rest
    } else if rest != Self.none {
      slots[slot] = rest
    } else {
      closeGap(at: slot)
    }
  }

  /// Empties a slot, and moves later slots back so that no probe stops there too early.
  private mutating func closeGap(at slot: Int) {
    count -= 1
    guard count > 0 else { return clear(slot) }
    var gap = slot
    var other = next(slot)
    while slots[other] != Self.none {
      let home = home(of: states[Int(slots[other])].hash)
      // Whether the probe sequence from `home` to `other` passes the gap, possibly wrapping around.
      if (other - home) & (slots.count - 1) >= (other - gap) & (slots.count - 1) {
        slots[gap] = slots[other]
        gap = other
      }
      other = next(other)
    }
    slots[gap] = Self.none
  }

  /// Empties the last slot in use.
  private mutating func clear(_ slot: Int) {
    slots[slot] = Self.none
    states.removeAll(keepingCapacity: slots.count <= Self.slotsKept)
    firstUnused = Self.none
    if slots.count > Self.slotsKept { slots = [] }
  }
}
