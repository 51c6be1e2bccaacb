// A table whose pages come from the checkpoint one by one.

import Harness
import Testing

@testable import ByteStore

@Suite struct LoadedOnTouchTests {
  /// The story: two keys had one fingerprint. A batch removed one of them and put it again; looking for it among
  /// the new puts, the table came by the other one, whose page nobody had loaded, and stopped the process.
  @Test func aKeyGoesAndComesBackBesideAnotherOfItsFingerprint() throws {
    let machine = TestStore()
    var store = try machine.open()
    let (first, second) = try #require(twins(under: store.table.withTable { $0.hash }))
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

  private func put(_ keys: [[UInt8]], in store: ByteStore) throws {
    var batch = Batch()
    for key in keys { try batch.put([1], for: key) }
    try store.commit(batch)
  }

  private func twins(under hash: KeyHash) -> ([UInt8], [UInt8])? {
    var seen: [UInt32: [UInt8]] = [:]
    for number in 0..<1_000_000 {
      let key = Array("twin \(number)".utf8)
      let fingerprint = UInt32(truncatingIfNeeded: hash.hash(key.rawSpan) >> 32)
      if let other = seen.updateValue(key, forKey: fingerprint) { return (other, key) }
    }
    return nil
  }
}
