// An index on pages: round trips, page by page, and invalid pages.

import ByteStore
import Testing

@testable import DocumentStore

@Suite struct OrderedIndexPagesTests {
  /// A key that is long enough for 20,000 keys to have three levels.
  private func key(_ number: Int) -> [UInt8] {
    Array("item/\(1_000_000 + number)/".utf8) + [UInt8](repeating: 0x78, count: 100)
  }

  private func numbered(_ count: Int) -> [(key: [UInt8], ordinal: UInt32)] {
    (0..<count).map { (key($0), UInt32($0)) }
  }

  @Test(arguments: [0, 1, 3, 400, 20_000])
  func indexRoundTripsThroughPages(count: Int) throws {
    let index = OrderedIndex(sorted: numbered(count))
    let pages = try PagesInMemory(OrderedIndexPages(index))
    #expect(pages.payloads.allSatisfy { $0.count <= 4088 })
    let opened = try OrderedIndex(pages: pages, pagesMax: pages.count)
    #expect(opened.count == count)
    #expect(pages.reads.withLock { $0.count } == 1)
    #expect(try opened.entries() == index.entries())
    #expect(opened.invariantBroken() == nil)
    // Each page is read once, even by several readers.
    #expect(pages.reads.withLock { $0.sorted() } == Array(0..<pages.count))
    #expect(try PagesInMemory(OrderedIndexPages(opened)).payloads == pages.payloads)
  }

  /// Padding at the end of a page is not part of the node.
  @Test func aPayloadMayBePadded() throws {
    let index = OrderedIndex(sorted: numbered(3000))
    var pages = try PagesInMemory(OrderedIndexPages(index))
    for page in pages.payloads.indices {
      pages.payloads[page] += [UInt8](repeating: 0, count: 4088 - pages.payloads[page].count)
    }
    #expect(try OrderedIndex(pages: pages, pagesMax: pages.count).entries() == index.entries())
  }

  @Test func aLookupReadsAPagePerLevel() throws {
    let index = OrderedIndex(sorted: numbered(20_000))
    let pages = try PagesInMemory(OrderedIndexPages(index))
    let opened = try OrderedIndex(pages: pages, pagesMax: pages.count)
    let copy = opened
    #expect(opened.depth == 3)
    #expect(try opened.ordinal(of: key(4711)) == 4711)
    #expect(pages.reads.withLock { $0.count } == 3)
    #expect(try copy.ordinal(of: key(4712)) == 4712)
    #expect(pages.reads.withLock { $0.count } == 3)
    // A count loads only the nodes at the two ends of its range.
    let range = OrderedIndexRange(
      from: .including(key(4711)), to: .excluding(key(15_000)))
    #expect(try opened.count(in: range) == 15_000 - 4711)
    #expect(pages.reads.withLock { $0.count } <= 5)
  }

  @Test(arguments: [0, 3, 20_000]) func anIndexIsLoadedOnceAllItsPagesWereRead(count: Int) throws {
    let index = OrderedIndex(sorted: numbered(count))
    #expect(index.isLoaded)
    let pages = try PagesInMemory(OrderedIndexPages(index))
    let opened = try OrderedIndex(pages: pages, pagesMax: pages.count)
    var rng = SeededRNG(seed: 5)
    var changed = opened
    var wrong: [Int] = []
    for step in 0..<2000 {
      let key = key(rng.roll(max(count, 1)))
      // Changes copy nodes and merge leaves, and lookups in the original load nodes for both.
      if step % 2 == 0 { try changed.insert(key + [1], 1) } else { _ = try opened.ordinal(of: key) }
      let isRead = pages.reads.withLock { $0.count } == pages.count
      if opened.isLoaded != isRead || changed.isLoaded != isRead { wrong.append(step) }
    }
    #expect(wrong == [])
    _ = try opened.entries()
    #expect(opened.isLoaded && changed.isLoaded)
    try opened.load(leafOf: key(1).rawSpan)
    #expect(try changed.entries().count >= count)
  }

  /// Copies share a node that one of them has loaded, even if nodes above this node have changed since.
  @Test func copiesShareLoadedNodes() throws {
    let index = OrderedIndex(sorted: numbered(20_000))
    let pages = try PagesInMemory(OrderedIndexPages(index))
    let opened = try OrderedIndex(pages: pages, pagesMax: pages.count)
    var changed = opened
    for number in 0..<100 { try changed.insert(Array("item/1000000/\(number)".utf8), 1) }
    #expect(try opened.entries() == index.entries())
    #expect(try changed.entries().count == 20_100)
    #expect(changed.invariantBroken() == nil && opened.invariantBroken() == nil)
    #expect(pages.reads.withLock { $0.sorted() } == Array(0..<pages.count))
  }

  /// Random writes to an index on disk, with checkpoints in between.
  @Test func anIndexLoadedFromPagesCanBeChanged() throws {
    var rng = SeededRNG(seed: 11)
    var index = OrderedIndex()
    var model: [[UInt8]: UInt32] = [:]
    var wrong: [String] = []
    for round in 0..<30 {
      for _ in 0..<500 {
        let key = Array("\(rng.roll(20_000))".utf8) + [UInt8](repeating: 0x78, count: rng.roll(3) * 50)
        if rng.oneIn(round < 15 ? 4 : 2) {
          let old = rng.oneIn(2) ? key : model.randomElement(using: &rng)?.key ?? key
          let removed = try index.remove(old)
          let expected = model.removeValue(forKey: old)
          if removed != expected {
            wrong.append("round \(round): removed \(String(describing: removed)) at \(old.hexadecimal)")
          }
        } else {
          let replaced = try index.insert(key, UInt32(round))
          let expected = model.updateValue(UInt32(round), forKey: key)
          if replaced != expected {
            wrong.append("round \(round): replaced \(String(describing: replaced)) at \(key.hexadecimal)")
          }
        }
      }
      if let fault = index.invariantBroken() { wrong.append("round \(round): \(fault)") }
      let pages = try PagesInMemory(OrderedIndexPages(index))
      index = try OrderedIndex(pages: pages, pagesMax: pages.count)
    }
    #expect(wrong == [])
    let sorted = model.sorted { $0.key.precedes($1.key) }
    #expect(try index.entries() == sorted.map { OrderedIndex.Entry(key: $0.key, ordinal: $0.value) })
  }

  // MARK: Failures

  /// A write that cannot load a node changes nothing.
  @Test func aWriteFailsAsAWhole() throws {
    let index = OrderedIndex(sorted: numbered(20_000))
    var pages = try PagesInMemory(OrderedIndexPages(index))
    let good = pages.payloads
    for page in 3..<pages.count { pages.payloads[page] = [] }
    var opened = try OrderedIndex(pages: pages, pagesMax: pages.count)
    let before = opened
    #expect(throws: DocumentStoreError.self) { try opened.insert(Array("item/1".utf8), 1) }
    #expect(throws: DocumentStoreError.self) { try opened.remove(key(0)) }
    #expect(throws: DocumentStoreError.self) { try opened.ordinal(of: key(0)) }
    #expect(throws: DocumentStoreError.self) { try opened.ranks(in: .prefix(Array("item/1".utf8))) }
    #expect(opened.count == 20_000 && before.count == 20_000)
    #expect(opened.invariantBroken() == nil)
    // Page 3, the first of the missing pages, holds the first leaf.
    #expect(good[3].count > 12)
  }

  /// A flipped bit is detected, or results in another consistent index.
  @Test func aBitThatIsFlippedIsAnErrorOrAnotherIndex() throws {
    let index = smallIndexOfThreeFloors()
    try damageEachPage(of: index) { payload, open in
      for bit in 0..<8 * payload.count {
        var damaged = payload
        damaged[bit / 8] ^= 1 << UInt8(bit % 8)
        try open(damaged)
      }
    }
  }

  @Test func aPageThatIsCutOffIsAnError() throws {
    let index = smallIndexOfThreeFloors()
    var lengths: [Int] = []
    let refused = try damageEachPage(of: index) { payload, open in
      for length in payload.indices { try open(Array(payload.prefix(length))) }
      lengths.append(payload.count)
    }
    #expect(refused == lengths)
  }

  @Test(arguments: [false, true])
  func bytesThatChangeAtRandomAreAnErrorOrAnotherIndex(pagesAreSmall: Bool) throws {
    var rng = SeededRNG(seed: 12)
    let index = pagesAreSmall ? smallIndexOfThreeFloors() : OrderedIndex(sorted: numbered(120))
    try damageEachPage(of: index) { payload, open in
      for _ in 0..<300 {
        var damaged = payload
        let isEarly = rng.oneIn(2)
        for _ in 0...rng.roll(4) {
          let place = rng.roll(isEarly ? min(30, payload.count) : payload.count)
          damaged[place] = rng.oneIn(3) ? rng.pick([0, 1, 0x7F, 0xFF]) : UInt8(rng.roll(256))
        }
        try open(damaged)
      }
    }
  }

  /// An index whose leaves have three keys and whose inner nodes have two children. Inserts alone would not
  /// produce such nodes.
  private func smallIndexOfThreeFloors() -> OrderedIndex {
    var floor: [OrderedIndexPiece] = []
    for leaf in 0..<4 {
      var entries = OrderedIndexEntries(level: 0)
      for (number, end) in ["", "/b", "/b/name"].enumerated() {
        entries.append(Array("key/\(leaf)\(end)".utf8).rawSpan, UInt32(10 * leaf + number))
      }
      floor.append(OrderedIndexPiece(bound: Array("key/\(leaf)".utf8), node: entries.piece(0..<3).node))
    }
    for level in 1...2 {
      var above: [OrderedIndexPiece] = []
      for first in stride(from: 0, to: floor.count, by: 2) {
        var entries = OrderedIndexEntries(level: level)
        for piece in floor[first..<first + 2] { entries.append(piece) }
        above.append(entries.piece(0..<2))
        above[above.count - 1].bound = floor[first].bound
      }
      floor = above
    }
    return OrderedIndex(root: floor[0].node)
  }

  /// Calls `body` for each page, with the page and a function that opens the index with that page replaced.
  /// Returns how many of these opens reported corruption, per page.
  @discardableResult
  private func damageEachPage(
    of index: OrderedIndex, _ body: ([UInt8], ([UInt8]) throws -> Void) throws -> Void
  ) throws -> [Int] {
    #expect(index.invariantBroken() == nil)
    var refused: [Int] = []
    var wrong: [String] = []
    for page in 0..<(try OrderedIndexPages(index).count) {
      var pages = try PagesInMemory(OrderedIndexPages(index))
      var count = 0
      try body(pages.payloads[page]) { damaged in
        pages.payloads[page] = damaged
        do throws(DocumentStoreError) {
          let fault = try faultFound(in: try OrderedIndex(pages: pages, pagesMax: pages.count))
          if let fault { wrong.append("page \(page) is \(damaged.hexadecimal): \(fault)") }
        } catch {
          if case .corrupted = error { count += 1 } else { wrong.append("page \(page): \(error)") }
        }
      }
      refused.append(count)
    }
    #expect(wrong == [])
    #expect(!refused.isEmpty && !refused.contains(0), "\(refused)")
    return refused
  }

  /// Reads the whole index and changes a copy. Returns the fault that it finds.
  private func faultFound(in opened: OrderedIndex) throws(DocumentStoreError) -> String? {
    var copy = opened
    var cursor = try opened.cursor()
    var last: [UInt8] = []
    var keys = 0
    var isInOrder = true
    while try cursor.next() {
      let key = cursor.keyBytes
      let ordinal = try opened.ordinal(of: key)
      isInOrder = isInOrder && last.precedes(key) && ordinal == cursor.ordinal
      last = key
      keys += 1
    }
    guard isInOrder else { return "the keys are out of order" }
    guard keys == opened.count else { return "\(keys) keys instead of \(opened.count)" }
    if let fault = opened.invariantBroken() { return fault }
    try copy.insert([1], 1)
    if keys > 0 { try copy.remove(last) }
    return copy.invariantBroken()
  }

  /// Pages that form cycles or refer to missing pages.
  @Test func cyclicOrDanglingPagesAreRefused() throws {
    let index = OrderedIndex(sorted: numbered(20_000))
    let pages = try PagesInMemory(OrderedIndexPages(index))
    let firstChildren: [UInt32] = [0, 1, 2, UInt32(pages.count) - 1, UInt32(pages.count), .max]
    let accepted = firstChildren.filter { firstChild in
      var damaged = pages
      for (place, byte) in firstChild.littleEndianBytes.enumerated() {
        damaged.payloads[1][8 + place] = byte
        damaged.payloads[2][8 + place] = byte
      }
      return failure { try OrderedIndex(pages: damaged, pagesMax: damaged.count).entries() } == nil
    }
    #expect(accepted == [])
    #expect(throws: DocumentStoreError.self) { try OrderedIndex(pages: pages, pagesMax: pages.count - 1) }
  }
}

extension UInt32 {
  fileprivate var littleEndianBytes: [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: self >> (8 * UInt32($0))) }
  }
}
