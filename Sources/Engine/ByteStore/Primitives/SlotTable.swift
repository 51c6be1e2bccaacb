// A partition of the hash table: open addressing with linear probing; it contains only numbers.
//
// Invariant: the probe sequence from a slot's home position, given by its fingerprint, to the slot has no
// empty slot.

/// A key's fingerprint and its ordinal, in eight bytes.
struct Slot {
  static let empty = Slot(bits: 0)

  private var bits: UInt64

  private init(bits: UInt64) { self.bits = bits }

  init(_ fingerprint: UInt32, _ ordinal: UInt32) {
    bits = UInt64(fingerprint) << 32 | UInt64(ordinal + 1)
  }

  var isEmpty: Bool { bits == 0 }
  var fingerprint: UInt32 { UInt32(truncatingIfNeeded: bits >> 32) }
  var ordinal: UInt32 { UInt32(truncatingIfNeeded: bits) - 1 }
}

struct SlotTable {
  private(set) var slots: [Slot] = []
  private var used = 0

  mutating func insert(_ slot: Slot) {
    if 4 * (used + 1) > 3 * slots.count { grow() }
    used += 1
    place(slot)
  }

  private mutating func place(_ slot: Slot) {
    let mask = slots.count - 1
    var index = Int(slot.fingerprint) & mask
    while !slots[index].isEmpty { index = (index + 1) & mask }
    slots[index] = slot
  }

  private mutating func grow() {
    let old = slots
    slots = [Slot](repeating: .empty, count: max(8, 2 * old.count))
    for slot in old where !slot.isEmpty { place(slot) }
  }

  /// Moves later slots back into the gap, so that no probe stops at the gap too early.
  mutating func remove(at index: Int) {
    let mask = slots.count - 1
    var gap = index
    var next = index
    while true {
      next = (next + 1) & mask
      guard !slots[next].isEmpty else { break }
      let home = Int(slots[next].fingerprint) & mask
      // Whether the probe sequence from `home` to `next` passes the gap, possibly wrapping around.
      if (next - home) & mask >= (next - gap) & mask {
        slots[gap] = slots[next]
        gap = next
      }
    }
    slots[gap] = .empty
    used -= 1
  }

  func checkInvariants() {
    precondition(used == slots.count { !$0.isEmpty }, "a partition counts its slots wrongly")
    let mask = slots.count - 1
    for (index, slot) in slots.enumerated() where !slot.isEmpty {
      var step = Int(slot.fingerprint) & mask
      while step != index {
        precondition(!slots[step].isEmpty, "a search would stop before the slot")
        step = (step + 1) & mask
      }
    }
  }
}
