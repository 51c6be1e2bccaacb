// The ordered index compared with a sorted array.

import ByteStore
import Dispatch
import Foundation
import Testing

@testable import DocumentStore

/// A sorted array as a model of the index.
private struct Model: Equatable {
  private(set) var entries: [OrderedIndex.Entry] = []

  /// The number of keys before `key`, and whether the next key equals `key`.
  func place(of key: [UInt8]) -> (rank: Int, isFound: Bool) {
    var low = 0
    var high = entries.count
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].key.precedes(key) { low = middle + 1 } else { high = middle }
    }
    return (low, low < entries.count && entries[low].key == key)
  }

  mutating func insert(_ key: [UInt8], _ ordinal: UInt32) -> UInt32? {
    let (rank, isFound) = place(of: key)
    guard isFound else {
      entries.insert(OrderedIndex.Entry(key: key, ordinal: ordinal), at: rank)
      return nil
    }
    defer { entries[rank].ordinal = ordinal }
    return entries[rank].ordinal
  }

  mutating func remove(_ key: [UInt8]) -> UInt32? {
    let (rank, isFound) = place(of: key)
    return isFound ? entries.remove(at: rank).ordinal : nil
  }

  func ranks(in range: OrderedIndexRange) -> Range<Int> {
    let lower: Int
    switch range.lower {
    case .open: lower = 0
    case .including(let key): lower = place(of: key).rank
    case .excluding(let key): lower = place(of: key).rank + (place(of: key).isFound ? 1 : 0)
    }
    let upper: Int
    switch range.upper {
    case .open: upper = entries.count
    case .including(let key): upper = place(of: key).rank + (place(of: key).isFound ? 1 : 0)
    case .excluding(let key): upper = place(of: key).rank
    }
    return lower..<max(lower, upper)
  }
}

/// Kinds of test keys, each of which stresses a different part of the index.
private enum Keys: CaseIterable {
  /// Keys like those of a real index: a long common prefix, then a value, then a name.
  case usual
  /// Keys of one to four bytes, each byte being 0, 1 or 0xFF. Many keys are prefixes of others.
  case short
  /// Long runs of one byte. The keys differ only near the end, or only in length.
  case runs
  /// Keys of the maximum length.
  case long
  /// All lengths.
  case mixed

  func any(_ rng: inout SeededRNG) -> [UInt8] {
    switch self {
    case .usual:
      var key = Array("users/by-score/".utf8)
      key.append(contentsOf: [UInt8(rng.roll(3)), UInt8(rng.roll(256)), UInt8(rng.roll(4))])
      key.append(contentsOf: (0..<8).map { _ in UInt8(97 + rng.roll(26)) })
      return key
    case .short:
      return (0...rng.roll(4)).map { _ in rng.pick([0, 1, 0xFF]) }
    case .runs:
      let byte: UInt8 = rng.pick([0, 0x61, 0xFF])
      return [UInt8](repeating: byte, count: 1 + rng.roll(300))
        + (rng.oneIn(2) ? [UInt8(rng.roll(3))] : [])
    case .long:
      var key = [UInt8](repeating: UInt8(rng.roll(2)), count: OrderedIndex.keyBytesMax)
      for _ in 0..<1 + rng.roll(2) { key[rng.roll(key.count)] = UInt8(rng.roll(256)) }
      return key
    case .mixed:
      return rng.pick([Keys.usual, .short, .runs, .long]).any(&rng)
    }
  }
}

/// Results that differ from the expected ones.
private struct Differences {
  var found: [String] = []
  /// Precedes each description.
  var context = ""

  mutating func check<Value: Equatable>(
    _ value: Value, _ expected: Value, at place: @autoclosure () -> String
  ) {
    if value != expected { found.append("\(context)\(place()): \(value) instead of \(expected)") }
  }
}

@Suite struct OrderedIndexTests {
  // MARK: Model

  /// The index grows and shrinks in turn, so that nodes split and merge. Copies are read long after they were
  /// created.
  @Test(arguments: Keys.allCases)
  private func indexMatchesASortedArray(kind: Keys) throws {
    var rng = SeededRNG(seed: 1)
    var index = OrderedIndex()
    var model = Model()
    var frozen: [(index: OrderedIndex, model: Model)] = []
    var differences = Differences()
    for step in 0..<12_000 {
      differences.context = "step \(step), "
      let isGrowing = step / 3000 % 2 == 0
      if rng.oneIn(isGrowing ? 4 : 3) == isGrowing, !model.entries.isEmpty {
        let key = rng.oneIn(4) ? kind.any(&rng) : rng.pick(model.entries).key
        try differences.check(index.remove(key), model.remove(key), at: "removing \(key.hexadecimal)")
      } else {
        let key = kind.any(&rng)
        let ordinal = UInt32(truncatingIfNeeded: rng.next())
        try differences.check(
          index.insert(key, ordinal), model.insert(key, ordinal), at: "inserting \(key.hexadecimal)")
      }
      differences.check(index.count, model.entries.count, at: "count")
      if rng.oneIn(400) { frozen.append((index, model)) }
      if rng.oneIn(50) { try look(index, model, kind, &rng, &differences) }
      if frozen.count > 6 {
        let copy = frozen.remove(at: rng.roll(frozen.count))
        try differences.check(copy.index.entries(), copy.model.entries, at: "entries of a copy")
      }
    }
    #expect(!frozen.isEmpty)
    for copy in frozen {
      differences.check(copy.index.invariantBroken(), nil, at: "invariant of a copy")
      try differences.check(copy.index.entries(), copy.model.entries, at: "entries of a copy")
    }
    #expect(differences.found == [])
  }

  /// Looks up a random key and a random range.
  private func look(
    _ index: OrderedIndex, _ model: Model, _ kind: Keys, _ rng: inout SeededRNG,
    _ differences: inout Differences
  ) throws {
    differences.check(index.invariantBroken(), nil, at: "invariant")
    let key = rng.oneIn(2) && !model.entries.isEmpty ? rng.pick(model.entries).key : kind.any(&rng)
    let (rank, isFound) = model.place(of: key)
    let ordinal = isFound ? model.entries[rank].ordinal : nil
    try differences.check(index.ordinal(of: key), ordinal, at: "ordinal of \(key.hexadecimal)")
    let range = OrderedIndexRange(from: bound(model, kind, &rng), to: bound(model, kind, &rng))
    let ranks = model.ranks(in: range)
    try differences.check(index.ranks(in: range), ranks, at: "ranks in \(range)")
    try differences.check(index.count(in: range), ranks.count, at: "count in \(range)")
    try walk(index, model, range, ranks, key, &rng, &differences)
  }

  private func bound(
    _ model: Model, _ kind: Keys, _ rng: inout SeededRNG
  ) -> OrderedIndexRange.Bound {
    let key = rng.oneIn(2) && !model.entries.isEmpty ? rng.pick(model.entries).key : kind.any(&rng)
    return rng.pick([.open, .including(key), .excluding(key)])
  }

  /// Moves a cursor around at random.
  private func walk(
    _ index: OrderedIndex, _ model: Model, _ range: OrderedIndexRange, _ ranks: Range<Int>, _ key: [UInt8],
    _ rng: inout SeededRNG, _ differences: inout Differences
  ) throws {
    var cursor = try index.cursor(over: range)
    var place = ranks.lowerBound
    for _ in 0..<12 {
      differences.check(cursor.position, place, at: "position")
      switch rng.roll(7) {
      case 0:
        try cursor.seek(key.rawSpan)
        place = min(max(model.place(of: key).rank, ranks.lowerBound), ranks.upperBound)
      case 1:
        try cursor.seek(key.rawSpan, behind: true)
        let (rank, isFound) = model.place(of: key)
        place = min(max(rank + (isFound ? 1 : 0), ranks.lowerBound), ranks.upperBound)
      case 2:
        cursor.seekToEnd()
        place = ranks.upperBound
      case 3:
        try differences.check(cursor.next(), place < ranks.upperBound, at: "next")
        guard place < ranks.upperBound else { continue }
        differences.check(cursor.keyBytes, model.entries[place].key, at: "key after next")
        differences.check(cursor.ordinal, model.entries[place].ordinal, at: "ordinal after next")
        place += 1
      case 4:
        try differences.check(cursor.previous(), place > ranks.lowerBound, at: "previous")
        guard place > ranks.lowerBound else { continue }
        place -= 1
        differences.check(cursor.keyBytes, model.entries[place].key, at: "key after previous")
        differences.check(cursor.ordinal, model.entries[place].ordinal, at: "ordinal after previous")
      case 5:
        let end = min(place + rng.roll(700), ranks.upperBound)
        var ordinals: [UInt32] = [7]
        let count = end == ranks.upperBound ? 1_000_000 : end - place
        try differences.check(cursor.next(count, into: &ordinals), end - place, at: "next \(count)")
        let expected: [UInt32] = [7] + model.entries[place..<end].map(\.ordinal)
        differences.check(ordinals, expected, at: "ordinals of next \(count)")
        place = end
      default:
        let end = max(place - rng.roll(700), ranks.lowerBound)
        var ordinals: [UInt32] = [7]
        let count = end == ranks.lowerBound ? 1_000_000 : place - end
        try differences.check(cursor.previous(count, into: &ordinals), place - end, at: "previous \(count)")
        let expected: [UInt32] = [7] + model.entries[end..<place].reversed().map(\.ordinal)
        differences.check(ordinals, expected, at: "ordinals of previous \(count)")
        place = end
      }
    }
  }

  // MARK: Splits, merges and sizes

  /// Inserts in ascending or descending order leave full leaves.
  @Test(arguments: [false, true])
  func keysInOrderFillTheirLeaves(isDescending: Bool) throws {
    let keys = (0..<20_000).map { number in Array("item/\(1_000_000 + number)/end".utf8) }
    var index = OrderedIndex()
    for key in isDescending ? keys.reversed() : keys { try index.insert(key, 1) }
    #expect(index.invariantBroken() == nil)
    let full = OrderedIndex(sorted: keys.map { ($0, 1) })
    #expect(try OrderedIndexPages(index).count <= OrderedIndexPages(full).count * 21 / 20)
  }

  @Test(arguments: [0, 1, 2])
  func removedKeysLeaveNoNodes(way: Int) throws {
    let end = [UInt8](repeating: 0x78, count: 100)
    var keys = (0..<20_000).map { number in Array("item/\(1_000_000 + number)/".utf8) + end }
    var rng = SeededRNG(seed: 2)
    var index = OrderedIndex(sorted: keys.map { ($0, 5) })
    #expect(index.depth == 3)
    if way == 1 { keys.reverse() }
    if way == 2 { keys.shuffle(using: &rng) }
    var wrong: [String] = []
    for (number, key) in keys.enumerated() {
      if try index.remove(key) != 5 { wrong.append("key \(number)") }
      if number % 1000 == 0, let fault = index.invariantBroken() { wrong.append("key \(number): \(fault)") }
      if number == 19_000, index.memory.nodes >= 120 { wrong.append("\(index.memory.nodes) nodes") }
    }
    #expect(wrong == [])
    #expect(index.isEmpty)
    #expect(index.tree == nil)
  }

  /// If a key without the common prefix were added to the leaf, all other keys in that leaf would be stored
  /// in a longer form.
  @Test func aKeyWithoutTheCommonPrefixGetsItsOwnLeaf() throws {
    let common = [UInt8](repeating: 0x61, count: 600)
    var index = OrderedIndex()
    for number in 0..<250 { try index.insert((common + Array("\(1000 + number)".utf8)), 1) }
    #expect(index.memory.nodes == 1)
    try index.insert([0x61, 0x62], 2)
    try index.insert([0x61], 3)
    #expect(index.invariantBroken() == nil)
    #expect(index.memory.nodes == 4)
    #expect(try index.ordinal(of: [0x61]) == 3)
    #expect(try index.ordinal(of: [0x61, 0x62]) == 2)
    #expect(try index.count(in: .prefix(common)) == 250)
  }

  @Test func prefixRangeCountsAllKeysWithThePrefix() throws {
    let keys: [[UInt8]] = [
      [1], [1, 0], [1, 0xFF], [1, 0xFF, 0], [2], [0xFF], [0xFF, 0xFF], [0xFF, 0xFF, 1],
    ]
    let index = OrderedIndex(sorted: keys.map { ($0, 1) })
    let prefixes: [[UInt8]] = [
      [], [0], [1], [1, 0], [1, 0xFF], [0xFF], [0xFF, 0xFF], [0xFF, 0xFF, 0xFF],
    ]
    let counts = try prefixes.map { try index.count(in: .prefix($0)) }
    #expect(counts == prefixes.map { prefix in keys.count { $0.starts(with: prefix) } })
  }

  @Test func insertAfterACopyCopiesOnlyOnePath() throws {
    let keys = (0..<50_000).map { number in Array("item/\(1_000_000 + number)/end".utf8) }
    var index = OrderedIndex(sorted: keys.map { ($0, 1) })
    let copy = index
    try index.insert(Array("item/1025000/f".utf8), 9)
    #expect(index.nodesShared(with: copy) == copy.memory.nodes - copy.depth)
    // The copied nodes now belong only to this index.
    let nodes = index.nodes
    try index.insert(Array("item/1025000/g".utf8), 9)
    #expect(index.nodes.subtracting(nodes).count <= 1)
    // Inserting an entry that exists, and removing a key that does not exist, change nothing.
    let again = index
    try index.insert(keys[0], 1)
    try index.remove([1])
    #expect(index.nodesShared(with: again) == again.memory.nodes)
  }

  @Test func smallIndexTakesLittleMemory() throws {
    var index = OrderedIndex()
    #expect(index.memory.bytes == 0)
    for number in 0..<3 { try index.insert(Array("users/by-city/\(number)".utf8), 1) }
    #expect(index.memory.bytes <= 160)
  }

  // MARK: Building

  @Test(arguments: Keys.allCases, [0, 1, 2, 20, 500, 30_000])
  private func sorterBuildsTheSameIndexAsInserts(kind: Keys, count: Int) throws {
    var rng = SeededRNG(seed: 3)
    var model = Model()
    var sorter = OrderedIndexSorter()
    var index = OrderedIndex()
    let isModelled = count <= 500
    for ordinal in 0..<UInt32(count) {
      let key = kind.any(&rng)
      sorter.add(key.rawSpan, ordinal)
      if isModelled { _ = model.insert(key, ordinal) } else { try index.insert(key, ordinal) }
    }
    #expect(sorter.count == count)
    let result = sorter.build()
    let built = try #require(result)
    #expect(built.invariantBroken() == nil)
    #expect(try built.entries() == (isModelled ? model.entries : index.entries()))
    #expect(sorter.count == 0)
  }

  @Test func aBuildReportsProgressAndCanBeCancelled() throws {
    var rng = SeededRNG(seed: 4)
    var progress: [Double] = []
    var areBuilt: [Bool] = []
    for round in 0..<3 {
      var sorter = OrderedIndexSorter()
      for ordinal in 0..<UInt32(200_000) {
        var key = Array("\(rng.next() % 1000)/".utf8)
        key.append(littleEndian: rng.next())
        sorter.add(key.rawSpan, ordinal)
      }
      var calls = 0
      let index = sorter.build { done in
        calls += 1
        if round == 0 { progress.append(done) }
        return round == 0 || calls < (round == 1 ? 2 : progress.count - 1)
      }
      areBuilt.append(index != nil)
    }
    #expect(areBuilt == [true, false, false])
    #expect(
      progress.count > 4 && progress == progress.sorted() && progress.allSatisfy { (0...1).contains($0) })
  }

  @Test func changesDuringABuildAreAppliedAfterwards() throws {
    var sorter = OrderedIndexSorter()
    for number in 0..<1000 { sorter.add(Array("\(number)".utf8).rawSpan, UInt32(number)) }
    var changes = OrderedIndexChanges()
    changes.insert(Array("5".utf8).rawSpan, 50)
    changes.remove(Array("6".utf8).rawSpan)
    changes.remove(Array("7".utf8).rawSpan)
    changes.insert(Array("7".utf8).rawSpan, 70)
    changes.insert(Array("new".utf8).rawSpan, 1)
    changes.insert(Array("newer".utf8).rawSpan, 1)
    changes.remove(Array("newer".utf8).rawSpan)
    #expect(changes.count == 7)
    let built = sorter.build()
    var index = try #require(built)
    let keys = ["5", "6", "7", "new", "newer"].map { Array($0.utf8) }
    var counts: [Int] = []
    var ordinals: [[UInt32?]] = []
    for _ in 0..<2 {
      try index.apply(changes)
      counts.append(index.count)
      ordinals.append(try keys.map { try index.ordinal(of: $0) })
    }
    #expect(counts == [1000, 1000])
    let expected: [UInt32?] = [50, nil, 70, 1, nil]
    #expect(ordinals == [expected, expected])
  }

  // MARK: Threads

  /// Readers use copies while the original changes. This test is for the thread sanitizer.
  @Test func readersOfCopiesAreNotDisturbed() throws {
    var index = OrderedIndex()
    for number in 0..<5000 { try index.insert(Array("key/\(10_000 + number)".utf8), 1) }
    // All nodes are on pages when the readers start, so that the readers have to load them.
    let pages = try PagesInMemory(OrderedIndexPages(index))
    index = try OrderedIndex(pages: pages, pagesMax: pages.count)
    let shared = Locked(index)
    let isDone = Locked(false)
    let threads = DispatchGroup()
    let wrong = Locked<[String]>([])
    for reader in 0..<3 {
      run(in: threads, wrong) {
        var rng = SeededRNG(seed: UInt64(reader))
        while !isDone.withLock({ $0 }) {
          let faults = try Self.faults(of: shared.withLock { $0 }, &rng)
          wrong.withLock { $0 += faults }
        }
      }
    }
    run(in: threads, wrong) {
      defer { isDone.withLock { $0 = true } }
      for round in UInt32(2)..<5 {
        for number in 0..<5000 {
          try shared.withLock { index throws(DocumentStoreError) in
            let key = Array("key/\(10_000 + number)".utf8)
            if number % 3 == 0 { try index.remove(key) }
            try index.insert(key, round)
          }
        }
      }
    }
    threads.wait()
    #expect(wrong.withLock { $0 } == [])
    #expect(try shared.withLock { $0 }.entries().allSatisfy { $0.ordinal == 4 })
  }

  /// Checks that the ordinals in a copy never increase with the key. In each round, the writer goes through
  /// the keys in ascending order and gives each key a larger ordinal than in the previous round.
  private static func faults(of copy: OrderedIndex, _ rng: inout SeededRNG) throws -> [String] {
    var differences = Differences()
    var ordinals: [UInt32] = []
    var cursor = try copy.cursor()
    try differences.check(cursor.next(copy.count, into: &ordinals), 5000, at: "keys")
    differences.check(ordinals, ordinals.sorted(by: >), at: "ordinals")
    var again: [UInt32] = []
    cursor.seekToStart()
    try differences.check(cursor.next(copy.count, into: &again), 5000, at: "keys of the second read")
    differences.check(again, ordinals, at: "ordinals of the second read")
    let rank = try copy.rank(of: Array("key/\(10_000 + rng.roll(5000))".utf8))
    differences.check(rank < 5000, true, at: "rank \(rank) is in the index")
    return differences.found
  }

  /// Runs `body` on a thread. Its error is added to `wrong`.
  private func run(
    in threads: DispatchGroup, _ wrong: Locked<[String]>, _ body: @escaping @Sendable () throws -> Void
  ) {
    threads.enter()
    Thread.detachNewThread {
      defer { threads.leave() }
      do {
        try body()
      } catch {
        wrong.withLock { $0.append("\(error)") }
      }
    }
  }
}

extension OrderedIndex {
  /// The nodes of the index, by identity.
  fileprivate var nodes: Set<OrderedIndexNode.Identity> {
    var nodes: Set<OrderedIndexNode.Identity> = []
    func visit(_ node: OrderedIndexNode) {
      nodes.insert(node.identity)
      for index in 0..<(node.isLeaf ? 0 : node.count) {
        if let child = node.child(at: index).loaded { visit(child) }
      }
    }
    if let tree { visit(tree.root) }
    return nodes
  }

  fileprivate func nodesShared(with other: OrderedIndex) -> Int { nodes.intersection(other.nodes).count }
}
