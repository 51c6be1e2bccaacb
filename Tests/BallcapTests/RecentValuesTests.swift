// Compares `RecentValues` with a plain list.

import Testing

@testable import Ballcap

@Suite struct RecentValuesTests {
  @Test(arguments: [1 as UInt64, 2, 3]) func lruCacheMatchesAListModel(seed: UInt64) {
    var rng = SeededRNG(seed: seed)
    var cache = RecentValues<Int, Int>(countMax: 8, costMax: 40)
    /// The entries, the oldest first.
    var list: [(key: Int, value: Int, cost: Int)] = []
    var wrong: [String] = []
    for step in 0..<4000 {
      let key = rng.roll(16)
      switch rng.roll(10) {
      case 0:
        let (removed, known) = (cache.remove(key), list.first { $0.key == key }?.value)
        if removed != known {
          wrong.append("step \(step): \(String(describing: removed)), not \(String(describing: known))")
        }
        list.removeAll { $0.key == key }
      case 1..<5:
        let (value, known) = (cache.value(for: key), list.first { $0.key == key }?.value)
        if value != known {
          wrong.append("step \(step): \(String(describing: value)), not \(String(describing: known))")
        }
        if let index = list.firstIndex(where: { $0.key == key }) { list.append(list.remove(at: index)) }
      default:
        let cost = rng.roll(12)
        cache.insert(step, for: key, cost: cost)
        list.removeAll { $0.key == key }
        list.append((key, step, cost))
        while list.count > 8 || list.reduce(0, { $0 + $1.cost }) > 40 { list.removeFirst() }
      }
      let costs = list.reduce(0) { $0 + $1.cost }
      if cache.count != list.count || cache.cost != costs {
        wrong.append("step \(step): \(cache.count) for \(cache.cost), not \(list.count) for \(costs)")
      }
    }
    #expect(wrong == [])
    cache.removeAll()
    #expect(cache.count == 0 && cache.cost == 0)
  }

  @Test func valueCostlierThanTheWholeBudgetIsNotCached() {
    var cache = RecentValues<Int, Int>(countMax: 2, costMax: 10)
    cache.insert(1, for: 1, cost: 4)
    cache.insert(2, for: 1, cost: 11)
    #expect(cache.value(for: 1) == nil)
    #expect(cache.count == 0)
  }
}

/// A random source with a fixed seed.
struct SeededRNG {
  private var state: UInt64

  init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

  mutating func roll(_ sides: Int) -> Int {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return Int(state % UInt64(sides))
  }
}
