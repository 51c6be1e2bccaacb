// The key directory in memory, compared with a dictionary.

import Harness
import Testing

@testable import ByteStore

@Suite struct KeyDirectoryTests {
  private func emptyTable() -> SharedKeyDirectory {
    SharedKeyDirectory(
      KeyDirectory(hashSeed: RandomID(high: 1, low: 2)),
      PageCache(bytesMax: 1 << 20, pageBytes: SegmentFormat.pageBytes), path: "/store")
  }

  private func apply(_ batch: Batch, to table: SharedKeyDirectory) throws {
    let body = CommitBody(trusted: batch.body)
    var newKeys = 0
    table.apply([AppliedCommit(body: body, targets: try table.prepare(body, newKeys: &newKeys))])
  }

  /// A few keys, so that puts overwrite existing keys and removals find them; many keys, so that slot pages
  /// split.
  @Test(arguments: [3, 40, 5000])
  func keyDirectoryMatchesADictionary(keys: Int) throws {
    var rng = SeededRandom(seed: UInt64(keys))
    let table = emptyTable()
    var model: [[UInt8]: [UInt8]] = [:]
    var broken: [String] = []
    for step in 0..<2000 {
      var batch = Batch(stamp: UInt64(step))
      for _ in 0..<Int.random(in: 0...12, using: &rng) {
        let key = Array("key\(Int.random(in: 0..<keys, using: &rng))".utf8)
        if Int.random(in: 0..<3, using: &rng) == 0 {
          try batch.remove(key)
          model[key] = nil
        } else {
          let value = [UInt8](repeating: UInt8(step & 0xFF), count: Int.random(in: 0...30, using: &rng))
          try batch.put(value, for: key)
          model[key] = value
        }
      }
      try apply(batch, to: table)
      if step % 50 == 0, let text = table.frozen().invariantBroken() {
        broken.append("step \(step): \(text)")
      }
    }
    #expect(broken == [])
    #expect(table.frozen().invariantBroken() == nil)
    #expect(table.frozen().keys == model.count)
    try compare(table, with: model, keys: keys)
  }

  private func compare(
    _ table: SharedKeyDirectory, with model: [[UInt8]: [UInt8]], keys: Int
  ) throws {
    var buffer = ReadBuffer()
    var wrong: [Int] = []
    for number in 0..<keys {
      let key = Array("key\(number)".utf8)
      let found = try table.read(key, into: &buffer) ? Array(copying: buffer.bytes) : nil
      if found != model[key] { wrong.append(number) }
    }
    #expect(wrong == [])
  }

  @Test func frozenKeyDirectoryDoesNotChange() throws {
    let table = emptyTable()
    func put(_ value: UInt8) throws {
      var batch = Batch()
      for key in 0..<2000 { try batch.put([value], for: Array("key\(key)".utf8)) }
      try apply(batch, to: table)
    }
    try put(1)
    let frozen = SharedKeyDirectory(table.frozen(), table.cache, path: "/store")
    var removal = Batch()
    for key in 0..<1000 { try removal.remove(Array("key\(key)".utf8)) }
    try apply(removal, to: table)
    try put(2)
    let ones = Dictionary(uniqueKeysWithValues: (0..<2000).map { (Array("key\($0)".utf8), [UInt8(1)]) })
    try compare(frozen, with: ones, keys: 2000)
    try compare(table, with: ones.mapValues { _ in [2] }, keys: 2000)
    #expect(frozen.frozen().invariantBroken() == nil)
    #expect(table.frozen().invariantBroken() == nil)
  }

  @Test func aBodyIsFreedWithItsLastLivePut() throws {
    let table = emptyTable()
    for step in 0..<1000 {
      var batch = Batch(stamp: UInt64(step))
      try batch.put([1], for: [0])
      try batch.put([2], for: [UInt8(step % 2 + 1)])
      try apply(batch, to: table)
    }
    #expect(table.frozen().memtable.bodiesHeld == 2)
    #expect(table.frozen().invariantBroken() == nil)
  }

  @Test func locationsAreNeverReused() throws {
    // A flush compares locations to detect that a key has changed meanwhile.
    let table = emptyTable()
    var seen = Set<Location>()
    var reused: [Int] = []
    for round in 0..<1000 {
      var batch = Batch()
      try batch.put([1], for: [0])
      try apply(batch, to: table)
      if !seen.insert(table.frozen().location(of: 0)).inserted { reused.append(round) }
    }
    #expect(reused == [])
  }

  @Test func invalidCommitBodyIsRefused() throws {
    var batch = Batch(stamp: 7)
    try batch.put([1, 2, 3], for: [4])
    try batch.remove([5])
    let body = batch.body
    #expect(CommitBody(decoding: body)?.stamp == 7)
    #expect((0..<body.count).filter { CommitBody(decoding: Array(body[..<$0])) != nil } == [])
    #expect(CommitBody(decoding: body + [0]) == nil)
    // A count and lengths far beyond the available bytes.
    let accepted = [8, 11, 13, 14, 15, 18].filter { offset in
      var hostile = body
      hostile[offset] = 0xFF
      return CommitBody(decoding: hostile) != nil
    }
    #expect(accepted == [])
  }
}
