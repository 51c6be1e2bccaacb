// Offsets: the first results are skipped before the limit counts.

import ByteStore
import Harness
import Testing

@testable import DocumentStore

@Suite struct QueryOffsetTests {
  private func store(scanMax: Int = 64, count: Int = 20) throws -> DocumentStore {
    var options = DocumentStore.Options()
    options.scanMax = scanMax
    let store = try DocumentStore.openInMemory(options: options)
    try store.commit((0..<count).map { .set(path("c", "d\($0)"), StoredMap([("n", .integer(Int64($0)))])) })
    return store
  }

  private func byNumber() throws -> StructuredQuery { try .ofC.order("n") }

  private func numbers(_ documents: [StoredDocument]) -> [Int64] {
    documents.compactMap { if case .integer(let number)? = $0.fields["n"] { number } else { nil } }
  }

  // MARK: Values

  @Test func anOffsetThatIsNotANumberOfResultsIsRefused() throws {
    #expect(failure { try byNumber().skipping(-1) }?.complaint?.contains("-1") == true)
    #expect(failure { try byNumber().skipping(1 << 31) }?.complaint != nil)
    #expect(try byNumber().skipping(1 << 31 - 1).offset == 1 << 31 - 1)
  }

  @Test func theIdentityOfAQueryIncludesItsOffsetUnlessItIsZero() throws {
    let query = try byNumber()
    #expect(try query.skipping(0).canonicalID == query.canonicalID && query.skipping(0) == query)
    let skipping = try query.skipping(1)
    let ids = [
      query.canonicalID, skipping.canonicalID, try query.skipping(2).canonicalID,
      try skipping.limited(to: .first(1)).canonicalID,
    ]
    #expect(Set(ids).count == 4 && ids[1].contains("|o:1"))
  }

  @Test func theLimitCountsBehindTheOffset() throws {
    let store = try store()
    let query = try byNumber()
    #expect(try numbers(store.documents(query.skipping(17))) == [17, 18, 19])
    #expect(try numbers(store.documents(query.skipping(3).limited(to: .first(2)))) == [3, 4])
    #expect(try numbers(store.documents(query.limited(to: .last(2)).skipping(3))) == [15, 16])
    #expect(try store.documents(query.skipping(20)).isEmpty)
    #expect(try store.count(query.skipping(17)) == 3 && store.count(query.skipping(21)) == 0)
    #expect(try store.count(query.skipping(15).limited(to: .first(4))) == 4)
  }

  // MARK: Costs

  /// The index finds a position by its rank.
  @Test func skippedResultsAreNotRead() throws {
    let store = try store(scanMax: 0, count: 2000)
    let query = try byNumber().skipping(1900).limited(to: .first(3))
    #expect(try numbers(store.documents(query)) == [1900, 1901, 1902])
    let explanation = try store.explain(query)
    #expect(explanation.documentsRead == 3 && explanation.entriesRead <= 3)
    let sum = try store.explain([.sum("n")], over: query)
    #expect(sum.documentsRead == 0 && sum.entriesRead <= 3)
  }

  @Test func aSnapshotReportsHowManyResultsWereSkipped() throws {
    let snapshot = try store().snapshot()
    let some = StoredValue.array((0..<30).map { StoredValue.integer(Int64($0)) })
    let queries = [
      try byNumber(), try byNumber().where("n", .lessThan, 99), try .ofC.where("n", .isIn, some),
    ]
    let cases: [(offset: Int, skipped: Int, found: Int)] = [(0, 0, 20), (5, 5, 15), (20, 20, 0), (99, 20, 0)]
    for (offset, skipped, found) in cases {
      for query in queries {
        let query = try query.skipping(offset)
        let answer = try snapshot.recordsBehindOffset(query)
        #expect(answer.skipped == skipped && answer.records.count == found)
        var seen = 0
        let alsoSkipped = try snapshot.forEach(query) { _ in
          seen += 1
          return true
        }
        #expect(alsoSkipped == skipped && seen == found)
      }
    }
  }

  // MARK: Model

  @Test(arguments: [1, 2, 3, 4] as [UInt64])
  func resultsEqualTheEvaluationOfEveryDocument(seed: UInt64) throws {
    var options = DocumentStore.Options()
    if seed % 2 == 1 { options.scanMax = 0 }
    if seed == 4 { options.createsIndexes = false }
    let store = try DocumentStore.openInMemory(options: options)
    var generator = DocumentGenerator(seed: seed)
    for document in generator.documents(120) { _ = try? store.commit([.set(document.path, document.fields)]) }
    let documents = try stored(store)
    var queries = QueryGenerator(seed: seed, about: documents)
    var rng = SeededRNG(seed: seed)
    var skipping = 0
    for number in 0..<60 {
      var query = number % 2 == 0 ? queries.query() : queries.selectiveQuery()
      query = try query.skipping(rng.pick([1, 1, 2, 5]))
      guard (try? query.check()) != nil else { continue }
      let expected = query.answer(from: documents)
      if !expected.isEmpty { skipping += 1 }
      let label: Comment = "seed \(seed), query \(number): \(query.canonicalID)"
      let found = try store.documents(query)
      #expect(found.map(\.path) == expected.map(\.path), label)
      #expect(try store.records(query).map(\.path) == expected.map(\.path), label)
      #expect(try store.count(query) == expected.count, label)
      let snapshot = try store.snapshot()
      #expect(try snapshot.recordsBehindOffset(query).records.map(\.path) == expected.map(\.path), label)
      let aggregates: [Aggregate] = [.count, .sum("a"), .average("b")]
      var model = Aggregation(aggregates)
      for document in expected { model.add(document) }
      #expect(try store.aggregate(aggregates, over: query) == model.results, label)
      #expect(try snapshot.aggregate(aggregates, over: query) == model.results, label)
      if found.map(\.path) != expected.map(\.path) { return }
    }
    #expect(skipping > 8)
  }

  private func stored(_ store: DocumentStore) throws -> [StoredDocument] {
    var documents: [StoredDocument] = []
    for id in ["c", "d", "e", "rooms", "messages"] {
      documents += try store.documents(StructuredQuery(.collectionGroup(id)))
    }
    return documents
  }

  // MARK: Transactions

  /// A deletion of a skipped document moves the others forward.
  @Test func aChangeOfASkippedDocumentIsAConflict() throws {
    let store = try store()
    let query = try byNumber().skipping(5).limited(to: .first(2))
    func isAborted(by mutation: Mutation) throws -> Bool {
      let transaction = try store.beginTransaction()
      #expect(try transaction.documents(query).count == 2)
      try store.commit([mutation])
      try transaction.write(.set(path("other", "x"), StoredMap()))
      if case .aborted = failure(of: { try transaction.commit() }) { return true }
      return false
    }
    #expect(try isAborted(by: .delete(path("c", "d0"))))
    #expect(try !isAborted(by: .delete(path("c", "d19"))))
  }
}
