// The number of allocations per read, and the number of entries that queries read.
//
// These counts are the same on every machine. A change that increases a count fails here.

import ByteStore
import CAllocations
import Harness
import Testing

@testable import DocumentStore

@Suite struct ReadCostTests {
  private let directory = TemporaryDirectory()

  /// A store with documents in segments, and an index for each of the queries below.
  private func open(_ documents: Int = 2000) throws -> DocumentStore {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    let store = try DocumentStore.open(directory.path, options: options)
    for batch in 0..<documents / 500 {
      try store.commit(
        (batch * 500..<(batch + 1) * 500).map { .set(path("c", "d\($0)"), CostDocument.fields($0)) })
    }
    try store.createIndex(IndexDefinition("c", .collection, [.init("score")]))
    try store.createIndex(IndexDefinition("c", .collection, [.init("town"), .init("score")]))
    try store.compact()
    return store
  }

  // MARK: Allocations

  @Test(.enabled(if: allocations_are_counted())) func aBorrowedReadAllocatesItsKeyAndNoDocument() throws {
    let store = try open()
    let paths = (0..<200).map { path("c", "d\($0 * 7)") }
    var wrong: [Int] = []
    let count = try allocations(paths.count) { index in
      _ = try store.withDocument(at: paths[index]) { document in
        var fields = 0
        _ = document.forEachField { _, _ in fields += 1 }
        if fields != 6 { wrong.append(fields) }
      }
    }
    #expect(wrong == [])
    #expect(count <= Self.allocationsOfGetMax, "\(count) allocations for each read")
  }

  @Test(.enabled(if: allocations_are_counted()))
  func aBorrowedQueryAllocatesOnceForEachFurtherDocument() throws {
    let store = try open()
    var wrong: [Int] = []
    func count(_ limit: Int) throws -> Double {
      let query = try StructuredQuery.ofC.order("score").limited(to: .first(limit))
      return try allocations(20) { _ in
        var documents = 0
        try store.forEach(query) { _ in
          documents += 1
          return true
        }
        if documents != limit { wrong.append(documents) }
      }
    }
    let (few, many) = (try count(20), try count(1000))
    #expect(wrong == [])
    #expect(few <= Self.allocationsOfQueryMax, "\(few) allocations for a query of 20")
    let perDocument = (many - few) / 980
    #expect(
      perDocument <= Self.allocationsOfDocumentMax, "\(perDocument) allocations for each further document")
  }

  /// All documents are checked, few match, and values are compared in place.
  @Test(.enabled(if: allocations_are_counted()))
  func aFilterAllocatesLittleForADocument() throws {
    let store = try open()
    store.createsIndexes = false
    let bio = StoredValue.string("Number 77 writes about the sea, the harbour, the weather and \(77 * 7919).")
    let filters: [FilterTree] = [
      .field("bio", .equal, bio),
      .all([.field("age", .equal, .integer(77)), .field("email", .equal, "person77@example.org")]),
      .all([.field("score", .greaterThan, .double(1)), .field("email", .equal, "person77@example.org")]),
    ]
    var (costsOfCounts, costsOfScans): ([Double], [Double]) = ([], [])
    var results: [Int] = []
    results.reserveCapacity(60)
    for filter in filters {
      let query = try StructuredQuery.ofC.filtered(by: filter)
      let counted = try allocations(5) { _ in
        let count = try store.count(query)
        results.append(count)
      }
      costsOfCounts.append(counted / 2000)
      let scanned = try allocations(5) { _ in
        var found = 0
        try store.forEach(query) { _ in
          found += 1
          return true
        }
        results.append(found)
      }
      costsOfScans.append(scanned / 2000)
    }
    #expect(results == Array(repeating: 1, count: 60))
    // Allocations for each document.
    #expect(costsOfCounts.filter { $0 > Self.allocationsOfFilteredMax } == [])
    #expect(costsOfScans.filter { $0 > Self.allocationsOfFilteredMax } == [])
    try store.close()
  }

  /// Returns the allocations per call, after a warm-up.
  private func allocations(_ calls: Int, _ body: (Int) throws -> Void) throws -> Double {
    for index in 0..<calls { try body(index) }
    let before = allocations_of_this_thread()
    for index in 0..<calls { try body(index) }
    return Double(allocations_of_this_thread() - before) / Double(calls)
  }

  // Tests are unoptimized builds, which allocate more; optimized builds stay below these limits.
  private static let allocationsOfGetMax = 8.0
  private static let allocationsOfQueryMax = 130.0
  private static let allocationsOfDocumentMax = 1.05
  /// A limit for an unoptimized build, which allocates memory for each element when it iterates over the
  /// filters, their parts, the operands or the orders. None of these allocations is for the document.
  private static let allocationsOfFilteredMax = 5.2

  // MARK: Work

  /// The work does not depend on the number of documents.
  @Test(arguments: [1000, 6000]) func aQueryReadsOnlyItsResult(documents: Int) throws {
    let store = try open(documents)
    try store.createIndex(IndexDefinition("c", .collectionGroup, [.init("score")]))
    let town = FilterTree.field("town", .equal, .string("Town 3"))
    let inOrder = try StructuredQuery.ofC.order("score").limited(to: .first(20))
    let ofTown = try StructuredQuery.ofC.filtered(by: town).order("score", .descending).limited(
      to: .first(20))
    let ofGroup = try StructuredQuery.ofGroupC.order("score").limited(to: .first(20))
    let explanations = try [inOrder, ofTown, ofGroup].map { try store.explain($0) }
    let unplanned = explanations.filter { !$0.built.isEmpty || $0.isSorted || $0.isFiltered }
    #expect(unplanned.map(\.plan) == [])
    #expect(explanations.map(\.results) == [20, 20, 20])
    #expect(explanations.map(\.documentsRead) == [20, 20, 20])
    #expect(explanations.map(\.entriesRead) == [20, 20, 20])
  }

  @Test func queryWithAStartCursorReadsNothingBeforeTheCursor() throws {
    let query = try StructuredQuery.ofC.order("score").starting(.after, [.double(100)]).limited(
      to: .first(20))
    let explanation = try open().explain(query)
    #expect(explanation.results == 20 && explanation.documentsRead == 20 && explanation.entriesRead == 20)
  }

  @Test func aSortedResultKeepsNoMoreThanTwiceItsLimit() throws {
    let store = try open()
    store.createsIndexes = false
    let query = try StructuredQuery.ofC.order("age").order("email")
    let sorted = try store.documents(query)
    #expect(sorted.count == 2000)
    var wrong: [String] = []
    for limit in [1, 50, 999] {
      let (few, work) = try store.run(query.limited(to: .first(limit))) { run throws(DocumentStoreError) in
        (try run.documents(), run.work)
      }
      let isKeptMaxRight = (1...max(64, 2 * limit)).contains(work.matchesKeptPeak)
      if few != Array(sorted.prefix(limit)) || work.documentsRead != 2000 || !isKeptMaxRight {
        wrong.append("limit \(limit): \(few.map(\.path.id)), \(work)")
      }
    }
    #expect(wrong == [])
    try store.close()
  }

  @Test func indexBuildReadsOnlyTheDocumentsOfItsCollection() throws {
    let store = try open()
    try store.commit((0..<100).map { .set(path("few", "d\($0)"), CostDocument.fields($0)) })
    try store.commit((0..<7).map { .set(path("c", "d1", "few", "e\($0)"), CostDocument.fields($0)) })
    try store.compact()
    let before = store.documentsReadForIndexes.withLock { $0 }
    let few = StructuredQuery(.collection(path("few", "x").parent))
    let explanation = try store.explain(try few.order("age"))
    #expect(explanation.built.count == 1 && explanation.results == 100)
    #expect(store.documentsReadForIndexes.withLock { $0 } - before == 107)
    #expect(try store.invariantBroken() == nil)
    try store.close()
  }

  @Test func aCurrentSnapshotUsesTheIndexesOfTheStore() throws {
    let store = try open()
    func built(_ body: () throws -> Void) rethrows -> Int {
      let before = store.documentsReadForIndexes.withLock { $0 }
      try body()
      return store.documentsReadForIndexes.withLock { $0 } - before
    }
    let snapshot = try store.snapshot()
    let (byAge, byEmail) = (try StructuredQuery.ofC.order("age"), try StructuredQuery.ofC.order("email"))
    var answer = 0
    let first = try built { answer = try snapshot.documents(byAge).count }
    #expect(first == 2000 && answer == 2000)
    let second = try built { answer = try snapshot.count(byAge) }
    #expect(second == 0 && answer == 2000)
    try store.commit([.delete(path("c", "d3"))])
    let older = try built { answer = try snapshot.documents(byEmail).count }
    #expect(older == 3999 && answer == 2000, "one index of the old state, and one of the current one")
    let last = try built { answer = try store.documents(byEmail).count }
    #expect(last == 0 && answer == 1999)
    snapshot.close()
    try store.close()
  }

  /// A single long key, long name, or nested collection with an equal id must not affect other counts.
  @Test func countIteratesOverNoKeys() throws {
    let store = try open()
    let long = StoredMap([("score", .string(String(repeating: "s", count: 900)))])
    try store.commit([.set(path("c", "long"), long)])
    try store.commit([.set(path("c", String(repeating: "n", count: 900)), CostDocument.fields(1))])
    try store.commit([.set(path("other", "a", "other", "b"), long)])
    var wrong: [String] = []
    for (query, count) in [
      (StructuredQuery.ofC, 2002), (try StructuredQuery.ofC.order("score"), 2002),
      (try StructuredQuery.ofC.where("score", .greaterThan, ""), 1), (StructuredQuery.ofGroupC, 2002),
    ] {
      let explanation = try store.explain([.count], over: query)
      let isUnread = explanation.entriesRead == 0 && explanation.documentsRead == 0
      let (counted, found) = (try store.count(query), try store.documents(query).count)
      if !isUnread || counted != count || found != count {
        wrong.append("\(query.canonicalID): \(explanation), count \(counted), \(found) documents")
      }
    }
    #expect(wrong == [])
    #expect(try store.count(StructuredQuery(.collection(path("other", "x").parent))) == 0)
    #expect(try store.count(StructuredQuery(.collection(path("other", "a", "other", "x").parent))) == 1)
    // A bound that has the length of the key is truncated, so the tree alone cannot decide whether the
    // document matches.
    let bound = StoredValue.string(String(repeating: "s", count: 899))
    #expect(try store.count(try StructuredQuery.ofC.where("score", .greaterThan, bound)) == 1)
    let behind = StoredValue.string(String(repeating: "s", count: 901))
    #expect(try store.count(try StructuredQuery.ofC.where("score", .greaterThan, behind)) == 0)
    try store.close()
  }

  /// The name index shows whether the document exists.
  @Test func aCountOfOneDocumentDoesNotReadIt() throws {
    let store = try open()
    let queries = ["d7", "nobody"].map { StructuredQuery(.document(path("c", $0))) }
    #expect(try queries.map { try store.explain([.count], over: $0).documentsRead } == [0, 0])
    #expect(try queries.map { try store.count($0) } == [1, 0])
    #expect(try queries.map { try store.documents($0).count } == [1, 0])
    // With a filter, the document must be checked.
    let young = try StructuredQuery(.document(path("c", "d7"))).filtered(
      by: .field("age", .lessThan, .integer(-1)))
    #expect(try store.count(young) == 0 && store.documents(young).isEmpty)
  }

  /// The index also contains documents without the field, at the position of null. Therefore nothing is
  /// sorted or filtered.
  @Test func orderWithMissingFieldsAsNullIsReadFromAnIndex() throws {
    let store = try open()
    try store.commit(
      (0..<30).map { .set(path("c", "nick\($0)"), StoredMap([("nick", .integer(Int64($0)))])) })
    var wrong: [String] = []
    for direction in [OrderBy.Direction.ascending, .descending] {
      var order = OrderBy(StoredFieldPath(unchecked: ["nick"]), direction)
      order.missing = .asNull
      let query = try StructuredQuery.ofC.ordered(by: order).limited(to: .first(20))
      _ = try store.documents(query)
      let explanation = try store.explain(query)
      let isPlanned = explanation.built.isEmpty && !explanation.isSorted && !explanation.isFiltered
      if !isPlanned || explanation.documentsRead != 20 || explanation.entriesRead != 20 {
        wrong.append("\(direction): \(explanation)")
      }
      let ids = try store.documents(query).map(\.path.id)
      let isOrdered = direction == .ascending ? ids.allSatisfy { $0.hasPrefix("d") } : ids.first == "nick29"
      if !isOrdered { wrong.append("\(direction): \(ids)") }
    }
    #expect(wrong == [])
  }

  @Test func aCountReadsNoDocument() throws {
    let query = try StructuredQuery.ofC.where("town", .equal, .string("Town 3"))
    let explanation = try open().explain([.count], over: query)
    #expect(explanation.documentsRead == 0)
    #expect(explanation.entriesRead == 0)
  }
}
