// Lookups that later commits reuse.

import Harness
import Testing

@testable import ByteStore

@Suite struct KeyLookupTests {
  private func emptyTable(seed: UInt64 = 1) -> SharedKeyDirectory {
    SharedKeyDirectory(
      KeyDirectory(hashSeed: RandomID(high: seed, low: 2)),
      PageCache(bytesMax: 1 << 20, pageBytes: SegmentFormat.pageBytes), path: "/store")
  }

  private func key(_ number: Int) -> [UInt8] { Array("key\(number)".utf8) }

  private func lookUp(_ keys: [[UInt8]], in table: SharedKeyDirectory) throws -> KeyLookups {
    try table.lookUp(keys.map { KeyRequest($0, hash: table.hash.hash($0.rawSpan)) })
  }

  private func apply(_ batch: Batch, to table: SharedKeyDirectory) throws {
    let body = CommitBody(trusted: batch.body)
    var newKeys = 0
    let targets = try table.prepare(body, lookups: batch.lookups, newKeys: &newKeys)
    table.apply([AppliedCommit(body: body, targets: targets)])
  }

  @Test func aLookupHasTheValueOrItsAbsence() throws {
    let table = emptyTable()
    var batch = Batch()
    for number in 0..<200 { try batch.put([UInt8(number)], for: key(number)) }
    try apply(batch, to: table)
    let found = try lookUp((100..<300).map(key), in: table)
    #expect(found.values == (100..<300).map { $0 < 200 ? [UInt8($0)] : nil })
    #expect(found.failures.isEmpty && found.lookups.allSatisfy { $0.isKnown })
  }

  /// Removals free ordinals, and insertions reuse them for other keys, so an old lookup may have the ordinal
  /// of another key.
  @Test(arguments: [3, 40, 400])
  func oldLookupsNeverLeadToOtherKeys(keys: Int) throws {
    var rng = SeededRandom(seed: UInt64(keys))
    let table = emptyTable()
    var model: [[UInt8]: [UInt8]] = [:]
    var lookups: [Int: KeyLookup] = [:]
    var broken: [String] = []
    for step in 0..<3000 {
      var batch = Batch(stamp: UInt64(step))
      for _ in 0..<Int.random(in: 0...6, using: &rng) {
        let number = Int.random(in: 0..<keys, using: &rng)
        let lookup = lookups[number] ?? .none
        if Int.random(in: 0..<3, using: &rng) == 0 {
          try batch.remove(key(number), lookup: lookup)
          model[key(number)] = nil
        } else {
          let value = [UInt8](repeating: UInt8(step & 0xFF), count: Int.random(in: 0...30, using: &rng))
          try batch.put(value.rawSpan, for: key(number), lookup: lookup)
          model[key(number)] = value
        }
      }
      // Some lookups are older than the last commits.
      for _ in 0..<Int.random(in: 0...4, using: &rng) {
        let number = Int.random(in: 0..<keys, using: &rng)
        lookups[number] = try lookUp([key(number)], in: table).lookups[0]
      }
      try apply(batch, to: table)
      if step % 50 == 0, let text = table.frozen().invariantBroken() { broken.append("\(step): \(text)") }
    }
    #expect(broken == [] && table.frozen().invariantBroken() == nil)
    #expect(try lookUp((0..<keys).map(key), in: table).values == (0..<keys).map { model[key($0)] })
  }

  @Test func aLookupOfAnotherSeedIsIgnored() throws {
    let (table, other) = (emptyTable(), emptyTable(seed: 7))
    var batch = Batch()
    for number in 0..<50 { try batch.put([1], for: key(number)) }
    try apply(batch, to: table)
    try apply(batch, to: other)
    let lookups = try lookUp((0..<50).reversed().map(key), in: other).lookups
    table.withTable { $0 = other.frozen() }
    batch = Batch()
    for number in 0..<50 { try batch.put([2].rawSpan, for: key(number), lookup: lookups[number]) }
    try apply(batch, to: table)
    #expect(try lookUp((0..<50).map(key), in: table).lookups.count == 50)
    #expect(table.frozen().keys == 50)
  }

  /// The entries of a flushed store are in segments. An update with a lookup need not read them again.
  @Test func aLookupOfAFlushedKeyIsReused() throws {
    let store = try TestStore().open()
    for number in 0..<300 {
      var batch = Batch()
      try batch.put([UInt8(number & 0xFF)], for: key(number))
      try store.commit(batch)
    }
    try store.flush()
    let keys = (0..<300).map(key)
    let hash = store.keyHash
    let found = try store.lookUp(keys.map { KeyRequest($0, hash: hash.hash($0.rawSpan)) })
    #expect(found.values == (0..<300).map { [UInt8($0 & 0xFF)] })
    var batch = Batch()
    for (number, key) in keys.enumerated() {
      try batch.put([7].rawSpan, for: key, lookup: found.lookups[number])
    }
    try store.commit(batch)
    #expect(try keys.allSatisfy { try store.value(for: $0) == [7] })
    try store.checkInvariants()
  }
}
