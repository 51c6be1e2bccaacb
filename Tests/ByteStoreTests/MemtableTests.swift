// The table in memory against a plain dictionary.

import Harness
import Testing

@testable import ByteStore

@Suite struct MemtableTests {
  /// Few keys, so that puts replace and removals hit; commits of several operations on the same keys.
  @Test(arguments: [3, 40, 5000])
  func itHoldsWhatADictionaryHolds(keys: Int) throws {
    var dice = SeededRandom(seed: UInt64(keys))
    var table = Memtable()
    var model: [[UInt8]: [UInt8]] = [:]
    for step in 0..<2000 {
      var batch = Batch(stamp: UInt64(step))
      for _ in 0..<Int.random(in: 0...12, using: &dice) {
        let key = Array("key\(Int.random(in: 0..<keys, using: &dice))".utf8)
        if Int.random(in: 0..<3, using: &dice) == 0 {
          try batch.remove(key)
          model[key] = nil
        } else {
          let value = [UInt8](repeating: UInt8(step & 0xFF), count: Int.random(in: 0...30, using: &dice))
          try batch.put(value, for: key)
          model[key] = value
        }
      }
      table.apply(CommitBody(trusted: batch.body))
      if step % 50 == 0 { table.checkInvariants() }
    }
    table.checkInvariants()
    #expect(table.count == model.count)
    for number in 0..<keys {
      let key = Array("key\(number)".utf8)
      #expect(table.value(for: key) == model[key])
    }
  }

  @Test func aBodyIsFreedWithItsLastLivePut() throws {
    var table = Memtable()
    for step in 0..<100 {
      var batch = Batch(stamp: UInt64(step))
      try batch.put([1], for: [0])
      try batch.put([2], for: [UInt8(step % 2 + 1)])
      table.apply(CommitBody(trusted: batch.body))
    }
    #expect(table.bodiesHeld == 2)
    table.checkInvariants()
  }

  @Test func bytesThatAreNoBodyAreRefused() throws {
    var batch = Batch(stamp: 7)
    try batch.put([1, 2, 3], for: [4])
    try batch.remove([5])
    let body = batch.body
    #expect(CommitBody(decoding: body)?.stamp == 7)
    for count in 0..<body.count { #expect(CommitBody(decoding: Array(body[..<count])) == nil) }
    #expect(CommitBody(decoding: body + [0]) == nil)
    // A count, and lengths, far beyond the bytes that are there.
    for offset in [8, 11, 13, 14, 15, 18] {
      var hostile = body
      hostile[offset] = 0xFF
      #expect(CommitBody(decoding: hostile) == nil, "byte \(offset)")
    }
  }
}
