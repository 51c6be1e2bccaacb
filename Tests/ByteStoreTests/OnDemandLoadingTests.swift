// A key directory whose checkpoint pages are loaded on demand.

import Harness
import Testing

@testable import ByteStore

@Suite struct OnDemandLoadingTests {
  /// Regression: two keys had the same fingerprint. A batch removed one of the keys and put it again. The
  /// lookup among the new puts of the batch found the other key, whose page was not loaded, and stopped the
  /// process.
  @Test func keyWithACollidingFingerprintIsRemovedAndPutAgain() throws {
    let machine = TestStore()
    var store = try machine.open()
    let (first, second) = try #require(collidingKeys(under: store.table.withTable { $0.hash }))
    try put([first], in: store)
    try put((0..<600).map { Array("before \($0)".utf8) }, in: store)
    try put([second], in: store)
    try put((0..<600).map { Array("after \($0)".utf8) }, in: store)
    try store.flush()
    try store.close()

    store = try machine.open()
    var batch = Batch()
    try batch.remove(first)
    try batch.put([2], for: first)
    try store.commit(batch)
    #expect(try store.value(for: first) == [2])
    #expect(try store.value(for: second) == [1])
  }

  /// Regression: the checkpoint's counts of segments and free ordinals were recomputed under the key
  /// directory's lock. With millions of keys, the first flush after an open blocked all commits and
  /// reads meanwhile.
  @Test func commitsDuringARecountAreCounted() throws {
    func keys(_ name: String, _ numbers: Range<Int>) -> [[UInt8]] {
      numbers.map { Array("\(name) \($0)".utf8) }
    }
    let machine = TestStore()
    var store = try machine.open()
    try put(keys("old", 0..<2000), in: store)
    try remove(keys("old", 0..<300), from: store)
    try store.flush()
    try store.close()

    store = try machine.open()
    // These puts load the free list. The location pages of its ordinals are not loaded, so the ordinals are
    // dropped.
    try put(keys("first", 0..<3), in: store)
    let table = store.table
    try table.forEachMissing { page throws(ByteStoreError) in try table.load(page) }
    let recount = try #require(table.frozen().recounted())
    try remove(keys("old", 300..<900), from: store)
    try put(keys("new", 0..<500), in: store)
    try remove(keys("new", 100..<300), from: store)
    try put(keys("old", 1000..<1200), in: store)
    table.withTable { $0.dropSource(recount) }

    let now = table.frozen()
    #expect(now.source == nil)
    #expect(now.invariantBroken() == nil)
    let free = now.freeOrdinals
    #expect(free.count == now.ordinals - now.keys && Set(free).count == free.count)
    #expect(free.allSatisfy { now.location(of: $0) == .none })
    let ordinals = now.ordinals
    try put(keys("more", 0..<free.count), in: store)
    #expect(table.frozen().ordinals == ordinals && table.frozen().freeOrdinals.isEmpty)
    try store.flush(.everything)
    try store.checkInvariants()
    try store.close()
    store = try machine.open()
    try store.checkInvariants()
    #expect(store.count == 1100 + 3 + 300 + free.count)
  }

  private func remove(_ keys: [[UInt8]], from store: ByteStore) throws {
    var batch = Batch()
    for key in keys { try batch.remove(key) }
    try store.commit(batch)
  }

  private func put(_ keys: [[UInt8]], in store: ByteStore) throws {
    var batch = Batch()
    for key in keys { try batch.put([1], for: key) }
    try store.commit(batch)
  }

  private func collidingKeys(under hash: KeyHash) -> ([UInt8], [UInt8])? {
    var seen: [UInt32: [UInt8]] = [:]
    for number in 0..<1_000_000 {
      let key = Array("twin \(number)".utf8)
      let fingerprint = UInt32(truncatingIfNeeded: hash.hash(key.rawSpan) >> 32)
      if let other = seen.updateValue(key, forKey: fingerprint) { return (other, key) }
    }
    return nil
  }
}
