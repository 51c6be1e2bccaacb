// Results in pages: together, the pages are the result.

import ByteStore
import Harness
import Testing

@testable import DocumentStore

@Suite struct QueryPagesTests {
  private func all(_ pages: QueryPages) throws -> [[DocumentRecord]] {
    var pages = pages
    var found: [[DocumentRecord]] = []
    while let page = Optional(try pages.next()), !page.isEmpty { found.append(page) }
    #expect(try pages.next().isEmpty)
    return found
  }

  /// A page has one document, so each document is at the edge of a page. Without indexes, plans gather all
  /// matches first.
  @Test(arguments: [1, 2, 3, 4] as [UInt64])
  func pagesAreTheResultOfTheQuery(seed: UInt64) throws {
    var options = DocumentStore.Options()
    if seed % 2 == 1 { options.scanMax = 0 }
    if seed == 4 { options.createsIndexes = false }
    let store = try DocumentStore.openInMemory(options: options)
    var generator = DocumentGenerator(seed: seed)
    for document in generator.documents(120) { _ = try? store.commit([.set(document.path, document.fields)]) }
    let snapshot = try store.snapshot()
    var documents: [StoredDocument] = []
    for id in try store.collectionGroups() {
      documents += try snapshot.documents(StructuredQuery(.collectionGroup(id)))
    }
    var queries = QueryGenerator(seed: seed, about: documents)
    var rng = SeededRNG(seed: seed)
    var severalCount = 0
    for number in 0..<60 {
      var query = number % 2 == 0 ? queries.query() : queries.selectiveQuery()
      query = try query.skipping(rng.pick([0, 0, 1, 3]))
      guard (try? query.check()) != nil else { continue }
      let expected = query.answer(from: documents).map(\.path)
      let label: Comment = "seed \(seed), query \(number): \(query.canonicalID)"
      for pageBytes in [1, 2000] {
        let pages = try all(snapshot.pages(query, pageBytes: pageBytes))
        #expect(pages.flatMap { $0 }.map(\.path) == expected, label)
        if pages.count > 1 { severalCount += 1 }
      }
    }
    #expect(severalCount > 10)
  }

  private func largeStore(createsIndexes: Bool = true) throws -> DocumentStore {
    var options = DocumentStore.Options()
    options.createsIndexes = createsIndexes
    let store = try DocumentStore.openInMemory(options: options)
    for number in 0..<20 { try store.commit([large(number)]) }
    return store
  }

  /// A document of 50 kB. Writes of two versions differ.
  private func large(_ number: Int, version: UInt8 = 1) -> Mutation {
    let bytes = StoredValue.bytes([UInt8](repeating: version, count: 50_000))
    return .set(path("c", "d\(number)"), StoredMap([("n", .integer(Int64(number))), ("bytes", bytes)]))
  }

  @Test(arguments: [true, false]) func aPageIsBounded(createsIndexes: Bool) throws {
    let store = try largeStore(createsIndexes: createsIndexes)
    let pages = try all(try store.snapshot().pages(.ofC.order("n")))
    #expect(pages.flatMap { $0 }.map(\.path) == (0..<20).map { path("c", "d\($0)") })
    #expect(pages.allSatisfy { $0.count <= 6 })
  }

  @Test func laterCommitsDoNotChangePages() throws {
    let store = try largeStore()
    let snapshot = try store.snapshot()
    var pages = snapshot.pages(try .ofC.order("n"))
    var count = try pages.next().count
    try store.commit((0..<20).map { .delete(path("c", "d\($0)")) })
    while let page = Optional(try pages.next()), !page.isEmpty { count += page.count }
    #expect(count == 20)
    var late = snapshot.pages(.ofC)
    _ = try late.next()
    snapshot.close()
    #expect(throws: DocumentStoreError.self) { try late.next() }
  }

  // MARK: Transactions

  /// The commit validates the whole result, although one page was read.
  @Test func aChangeBehindTheFirstPageIsAConflict() throws {
    let store = try largeStore()
    func isAborted(by mutation: Mutation, reading query: StructuredQuery) throws -> Bool {
      let transaction = try store.beginTransaction()
      defer { transaction.end() }
      var pages = try transaction.pages(query)
      #expect(try !pages.next().isEmpty)
      try store.commit([mutation])
      try transaction.write(.set(path("other", "x"), StoredMap()))
      do throws(DocumentStoreError) { _ = try transaction.commit() } catch {
        guard case .aborted = error else { throw error }
        return true
      }
      return false
    }
    let query = try StructuredQuery.ofC.order("n")
    #expect(try isAborted(by: large(19, version: 2), reading: query))
    #expect(try isAborted(by: large(30, version: 2), reading: query))
    #expect(try isAborted(by: .delete(path("c", "d15")), reading: query))
    #expect(try !isAborted(by: large(31, version: 2), reading: query.limited(to: .first(12))))
    #expect(try isAborted(by: large(5, version: 3), reading: query.limited(to: .first(12))))
    #expect(try isAborted(by: large(1, version: 2), reading: query.limited(to: .first(2))))
    #expect(try !isAborted(by: large(9, version: 2), reading: query.limited(to: .first(2))))
    #expect(try !isAborted(by: .set(path("d", "x"), StoredMap()), reading: query))
  }
}
