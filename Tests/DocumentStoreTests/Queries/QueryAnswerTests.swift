import ByteStore
import Harness
import Testing

@testable import DocumentStore

/// Compares a store's query results with those of a brute-force evaluation. `campaign queries`, which runs an
/// optimized build, compares many more queries.
@Suite("Answers of a store")
struct QueryAnswerTests {
  @Test(
    "are those of the naive evaluator, whatever the indexes", arguments: [1, 2, 3, 4] as [UInt64])
  func resultsEqualTheNaiveEvaluatorWithAnyIndexes(seed: UInt64) throws {
    let directory = TemporaryDirectory()
    var generator = DocumentGenerator(seed: seed)
    var options = DocumentStore.Options()
    // With odd seeds, no query scans if an index would suffice.
    if seed % 2 == 1 { options.scanMax = 0 }
    let store = try DocumentStore.open(directory.path, options: options)
    let documents = fill(store, generator.documents(150))
    try compare(store, documents, seed: seed, queries: 150)
    try store.close()
    // Automatic indexes survive reopening.
    let reopened = try DocumentStore.open(directory.path)
    try compare(reopened, documents, seed: seed, queries: 50)
  }

  @Test("are the same without indexes")
  func resultsAreTheSameWithoutIndexes() throws {
    let directory = TemporaryDirectory()
    var options = DocumentStore.Options()
    options.createsIndexes = false
    var generator = DocumentGenerator(seed: 4)
    let store = try DocumentStore.open(directory.path, options: options)
    let documents = fill(store, generator.documents(150))
    try compare(store, documents, seed: 4, queries: 150)
    #expect(store.indexList.isEmpty)
  }

  /// Guards against a page that starts at the wrong document. If a field that an `in` filter fixes is dropped
  /// from the cursor but kept in the index keys, a page repeats the last document of the previous page.
  @Test("begin after a document, though a field orders twice")
  func pageStartsAfterItsCursorIfAFieldOrdersTwice() throws {
    let directory = TemporaryDirectory()
    var options = DocumentStore.Options()
    options.scanMax = 0
    let store = try DocumentStore.open(directory.path, options: options)
    let documents = (0..<12).map { number in
      document("d\(number)", ("b", .integer(Int64(number % 3))), ("c", .integer(Int64(number / 6))))
    }
    try store.commit(documents.map { .set($0.path, $0.fields) })
    var wrong: [String] = []
    for direction in [OrderBy.Direction.ascending, .descending] {
      let all = try StructuredQuery.ofC.where("b", .isIn, [0, 1]).order("b", direction).order("c").order(
        "b", .ascending)
      var found: [String] = []
      var page = try all.limited(to: .first(3))
      while let last = try store.documents(page).last, found.count < 20 {
        found += try store.documents(page).map(\.path.id)
        page = try all.starting(.after, last).limited(to: .first(3))
        let ending = try store.documents(all.ending(.after, last)).map(\.path)
        if ending.last != last.path { wrong.append("\(direction): \(ending) does not end at \(last.path)") }
      }
      if found != all.ids(documents) { wrong.append("\(direction): \(found)") }
    }
    #expect(wrong == [])
  }

  /// Guards against encoding a key for a name without segments.
  @Test("have no document for a name without segments", arguments: [0, 64])
  func nameWithoutSegmentsMatchesNoDocument(scanMax: Int) throws {
    let directory = TemporaryDirectory()
    var options = DocumentStore.Options()
    options.scanMax = scanMax
    let store = try DocumentStore.open(directory.path, options: options)
    try store.commit([.set(path("c", "a"), StoredMap([("n", 1)]))])
    #expect(try store.documents(StructuredQuery.ofGroupC.where(.documentID, .equal, "/")).isEmpty)
    let either = try StructuredQuery.ofGroupC.where(.documentID, .isIn, ["c/a", "/"])
    #expect(try store.documents(either).map(\.path.id) == ["a"])
    #expect(try store.count(either) == 1)
    let transaction = try store.beginTransaction()
    #expect(try transaction.documents(either.where("n", .equal, 1)).map(\.path.id) == ["a"])
  }

  /// A query run pins a snapshot. A leaked run would therefore keep files and old versions forever.
  @Test("leave no trace of their execution")
  func queryRunsReleaseTheirSnapshots() throws {
    let directory = TemporaryDirectory()
    var options = DocumentStore.Options()
    options.scanMax = 0
    var generator = DocumentGenerator(seed: 9)
    let store = try DocumentStore.open(directory.path, options: options)
    let documents = fill(store, generator.documents(100))
    var queries = QueryGenerator(seed: 9, about: documents)
    var leaks: [String] = []
    for number in 0..<150 {
      let query = queries.query()
      guard (try? query.check()) != nil else { continue }
      weak var run: QueryRun?
      _ = try store.run(query) { carried throws(DocumentStoreError) in
        run = carried
        return try carried.documents()
      }
      if run != nil { leaks.append("documents of query \(number): \(query.canonicalID)") }
      _ = try store.run(query) { carried throws(DocumentStoreError) in
        run = carried
        return try carried.count()
      }
      if run != nil { leaks.append("count of query \(number): \(query.canonicalID)") }
    }
    #expect(leaks == [])
  }

  /// Adds the documents that are within the limits.
  private func fill(_ store: DocumentStore, _ documents: [StoredDocument]) -> [StoredDocument] {
    documents.filter { document in (try? store.commit([.set(document.path, document.fields)])) != nil }
  }

  private func compare(
    _ store: DocumentStore, _ documents: [StoredDocument], seed: UInt64, queries: Int
  ) throws {
    var generator = QueryGenerator(seed: seed, about: documents)
    var wrong: [String] = []
    for number in 0..<queries {
      let query = generator.query()
      guard (try? query.check()) != nil else { continue }
      let expected = NaiveEvaluator(query).answer(from: documents).map(\.path)
      let found = try store.documents(query).map(\.path)
      let count = try store.count(query)
      if count != expected.count { wrong.append("query \(number): the count is \(count)") }
      if found != expected {
        wrong.append("query \(number): \(query.canonicalID) has \(found) instead of \(expected)")
        break
      }
    }
    #expect(wrong == [], "seed \(seed)")
  }
}
