// Ranges of paths, and scans of all collections in the order of paths.

import ByteStore
import Testing

@testable import DocumentStore

@Suite struct PathScanTests {
  // MARK: Ranges

  private static let names = ["a", "ab", "a\0", "__id7__", "__id-7__", "z"]

  private func randomPath(_ random: inout SeededRNG) -> DocumentPath {
    DocumentPath(unchecked: (0..<2 * (1 + random.roll(2))).map { _ in random.pick(Self.names) })
  }

  /// Ranges, and the rule by which a path is in them.
  private func randomRanges(
    _ random: inout SeededRNG, depth: Int
  ) -> (PathRanges, @Sendable (DocumentPath) -> Bool) {
    guard depth > 0, !random.oneIn(4) else {
      let path = randomPath(&random)
      let key = DocumentKey.encode(path)
      switch random.roll(7) {
      case 0: return (.only(path), { $0 == path })
      case 1: return (.before(path), { DocumentKey.encode($0).precedes(key) })
      case 2: return (.through(path), { !key.precedes(DocumentKey.encode($0)) })
      case 3: return (.from(path), { !DocumentKey.encode($0).precedes(key) })
      case 4: return (.after(path), { key.precedes(DocumentKey.encode($0)) })
      case 5: return (.all, { _ in true })
      default:
        return (
          .below(path),
          { $0.segments.count > path.segments.count && $0.segments.starts(with: path.segments) }
        )
      }
    }
    let (left, isInLeft) = randomRanges(&random, depth: depth - 1)
    let (right, isInRight) = randomRanges(&random, depth: depth - 1)
    switch random.roll(3) {
    case 0: return (left.complement, { !isInLeft($0) })
    case 1: return (left.union(right), { isInLeft($0) || isInRight($0) })
    default: return (left.intersection(right), { isInLeft($0) && isInRight($0) })
    }
  }

  @Test(arguments: 0..<UInt64(40)) func rangesAreSetsOfPaths(seed: UInt64) {
    var random = SeededRNG(seed: seed)
    for _ in 0..<20 {
      let (ranges, isIn) = randomRanges(&random, depth: 4)
      for (range, next) in zip(ranges.ranges, ranges.ranges.dropFirst()) {
        #expect(range.upper.map { !next.lower.precedes($0) } ?? false)
      }
      for _ in 0..<40 {
        let path = randomPath(&random)
        #expect(ranges.contains(path) == isIn(path), "\(path) in \(ranges), seed \(seed)")
      }
    }
  }

  // MARK: Scans

  private func at(_ text: String) -> DocumentPath {
    DocumentPath(unchecked: text.split(separator: "/").map(String.init))
  }

  /// The paths of all pages.
  private func paths(
    _ snapshot: StoreSnapshot, _ scan: PathScan, documentsMax: Int = .max, bytesMax: Int = 1 << 18
  ) throws -> [String] {
    var found: [String] = []
    var rest: PathScan? = scan
    while let part = rest {
      let page = try snapshot.page(of: part, documentsMax: documentsMax, bytesMax: bytesMax)
      #expect(page.records.count <= documentsMax)
      found += page.records.map(\.path.description)
      rest = page.rest
    }
    return found
  }

  @Test(arguments: [1, 2, 100]) func pagesAreInTheOrderOfPaths(documentsMax: Int) throws {
    let store = try DocumentStore.openInMemory()
    let all = ["a/1", "a/1/a/1", "a/1/a/1/b/1", "a/1/b/1", "a/1/b/1/a/1", "a/2", "ab/1", "b/1", "b/1/a/1"]
    try store.commit(all.reversed().map { .set(at($0), StoredMap()) })
    let snapshot = try store.snapshot()
    #expect(try paths(snapshot, PathScan(below: nil), documentsMax: documentsMax) == all)
    #expect(
      try paths(snapshot, PathScan(below: nil, isRecursive: false), documentsMax: documentsMax)
        == ["a/1", "a/2", "ab/1", "b/1"])
    #expect(
      try paths(snapshot, PathScan(below: path("a", "1")), documentsMax: documentsMax)
        == ["a/1/a/1", "a/1/a/1/b/1", "a/1/b/1", "a/1/b/1/a/1"])
    #expect(
      try paths(
        snapshot, PathScan(below: path("a", "1"), isRecursive: false), documentsMax: documentsMax)
        == ["a/1/a/1", "a/1/b/1"])
  }

  @Test func documentsOfTheStoreItselfAreNotFound() throws {
    let store = try DocumentStore.openInMemory()
    let own = DocumentPath(unchecked: ["__own__", "a"])
    try store.commit([.set(path("a", "1"), StoredMap())])
    try store.commit([.set(own, StoredMap())])
    try store.commit([.set(DocumentPath(unchecked: own.segments + ["a", "1"]), StoredMap())])
    #expect(try paths(try store.snapshot(), PathScan(below: nil)) == ["a/1"])
  }

  @Test func aPageIsBoundedInBytesAndHasOneDocumentAtLeast() throws {
    let store = try DocumentStore.openInMemory()
    let large = StoredMap([("b", .bytes([UInt8](repeating: 7, count: 5000)))])
    for number in 0..<10 { try store.commit([.set(path("a", "\(number)"), large)]) }
    let snapshot = try store.snapshot()
    let scan = PathScan(below: nil)
    #expect(try snapshot.page(of: scan, documentsMax: .max, bytesMax: 12_000).records.count == 3)
    #expect(try snapshot.page(of: scan, documentsMax: .max, bytesMax: 1).records.count == 1)
    #expect(try paths(snapshot, scan, bytesMax: 1).count == 10)
    #expect(try snapshot.page(of: scan, documentsMax: 0).rest == scan)
  }

  @Test func aPageStartsAtItsFirstName() throws {
    let store = try DocumentStore.openInMemory()
    for number in 1000..<1400 { try store.commit([.set(path("a", "\(number)"), StoredMap())]) }
    let scan = PathScan(below: nil, in: .from(path("a", "1398")))
    let page = try store.snapshot().page(of: scan, documentsMax: 1)
    #expect(page.records.map(\.path) == [path("a", "1398")])
    #expect(page.rest?.contains(path("a", "1399")) == true && page.rest?.contains(path("a", "1398")) == false)
    #expect(page.part(of: scan).contains(path("a", "1398")))
    #expect(!page.part(of: scan).contains(path("a", "1399")))
  }

  @Test func aScanReadsItsSnapshot() throws {
    let store = try DocumentStore.openInMemory()
    try store.commit([.set(path("a", "1"), StoredMap()), .set(path("b", "1"), StoredMap())])
    let snapshot = try store.snapshot()
    try store.commit([.delete(path("a", "1")), .set(path("a", "2"), StoredMap())])
    #expect(try paths(snapshot, PathScan(below: nil)) == ["a/1", "b/1"])
    #expect(try paths(try store.snapshot(), PathScan(below: nil)) == ["a/2", "b/1"])
  }

  // MARK: Transactions

  @Test(arguments: [
    (["a/1"], true), (["a/15"], true), (["c/1"], false), (["a/1/x/1"], true), (["c/1", "a/0"], true),
  ])
  func aScanInATransactionIsValidatedUpToItsLastDocument(changes: [String], conflicts: Bool) throws {
    let store = try DocumentStore.openInMemory()
    try store.commit(["a/1", "a/2", "b/1"].map { .set(at($0), StoredMap()) })
    let transaction = try store.beginTransaction()
    let first = try transaction.page(of: PathScan(below: nil), documentsMax: 1)
    let second = try transaction.page(of: try #require(first.rest), documentsMax: 1)
    #expect((first.records + second.records).map(\.path.description) == ["a/1", "a/2"])
    try store.commit(changes.map { .set(at($0), StoredMap([("n", .integer(1))])) })
    try transaction.add([.set(path("z", "z"), StoredMap())])
    if conflicts {
      #expect(throws: DocumentStoreError.self) { try transaction.commit() }
    } else {
      _ = try transaction.commit()
    }
  }
}
