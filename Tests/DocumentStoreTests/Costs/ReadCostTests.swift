// What reads allocate, and what queries look at: counts that no machine changes. A change that raises one fails here.

import ByteStore
import CAllocations
import Testing

@testable import DocumentStore

@Suite struct ReadCostTests {
  private let directory = TemporaryDirectory()

  /// 2000 documents in segments, and an index for each of the queries below.
  private func open() throws -> DocumentStore {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    let store = try DocumentStore.open(directory.path, options: options)
    for batch in 0..<4 {
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
    let count = try allocations(paths.count) { index in
      _ = try store.withDocument(at: paths[index]) { document in
        var fields = 0
        _ = document.forEachField { _, _ in fields += 1 }
        #expect(fields == 6)
      }
    }
    #expect(count <= Self.allocationsOfGetMax, "\(count) allocations for each read")
  }

  @Test(.enabled(if: allocations_are_counted()))
  func aBorrowedQueryAllocatesOnceForEachFurtherDocument() throws {
    let store = try open()
    func count(_ limit: Int) throws -> Double {
      let query = try StructuredQuery.ofC.order("score").limited(to: .first(limit))
      return try allocations(20) { _ in
        var documents = 0
        try store.forEach(query) { _ in
          documents += 1
          return true
        }
        #expect(documents == limit)
      }
    }
    let (few, many) = (try count(20), try count(1000))
    #expect(few <= Self.allocationsOfQueryMax, "\(few) allocations for a query of 20")
    let perDocument = (many - few) / 980
    #expect(
      perDocument <= Self.allocationsOfDocumentMax, "\(perDocument) allocations for each further document")
  }

  /// Of each call, once everything has been used before.
  private func allocations(_ calls: Int, _ body: (Int) throws -> Void) throws -> Double {
    for index in 0..<calls { try body(index) }
    let before = allocations_of_this_thread()
    for index in 0..<calls { try body(index) }
    return Double(allocations_of_this_thread() - before) / Double(calls)
  }

  // Tests are built without optimisation, which allocates more; a build with it stays below.
  private static let allocationsOfGetMax = 8.0
  private static let allocationsOfQueryMax = 130.0
  private static let allocationsOfDocumentMax = 1.05

  // MARK: Work

  @Test func aQueryReadsWhatItAnswersAndNoMore() throws {
    let store = try open()
    let town = FilterTree.field("town", .equal, .string("Town 3"))
    let inOrder = try StructuredQuery.ofC.order("score").limited(to: .first(20))
    let ofTown = try StructuredQuery.ofC.filtered(by: town).order("score", .descending).limited(
      to: .first(20))
    for query in [inOrder, ofTown] {
      let explanation = try store.explain(query)
      #expect(explanation.built.isEmpty && !explanation.isSorted && !explanation.isFiltered)
      #expect(explanation.results == 20)
      #expect(explanation.documentsRead == 20)
      #expect(explanation.entriesRead == 20)
    }
  }

  @Test func aQueryFromTheMiddleReadsNothingBeforeIt() throws {
    let query = try StructuredQuery.ofC.order("score").starting(.after, [.double(100)]).limited(
      to: .first(20))
    let explanation = try open().explain(query)
    #expect(explanation.results == 20 && explanation.documentsRead == 20 && explanation.entriesRead == 20)
  }

  @Test func aCountReadsNoDocument() throws {
    let query = try StructuredQuery.ofC.where("town", .equal, .string("Town 3"))
    let explanation = try open().explain([.count], over: query)
    #expect(explanation.documentsRead == 0)
    #expect(explanation.entriesRead == 0)
  }
}
