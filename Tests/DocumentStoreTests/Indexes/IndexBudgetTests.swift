// Eviction of automatic indexes.

import ByteStore
import Harness
import Testing

@testable import DocumentStore

@Suite struct IndexBudgetTests {
  private let directory = TemporaryDirectory()

  private func open(bytesMax: Int?) throws -> DocumentStore {
    var options = DocumentStore.Options()
    options.scanMax = 0
    options.maintenance = .manual
    options.automaticIndexBytesMax = bytesMax
    return try DocumentStore.open(directory.path, options: options)
  }

  private func fill(_ store: DocumentStore) throws {
    try store.commit(
      (0..<400).map { number in
        .set(
          path("c", "d\(number)"), StoredMap((0..<6).map { ("f\($0)", .string("a text \(number) \($0)")) }))
      })
  }

  private func use(_ numbers: Int..., of store: DocumentStore) throws {
    let counts = try numbers.map { number in
      try store.documents(StructuredQuery.ofC.order(field("f\(number)"))).count
    }
    #expect(counts == numbers.map { _ in 400 })
  }

  private func fields(of store: DocumentStore) -> [String] {
    store.indexList.map { $0.definition.fields[0].path.canonical }.sorted()
  }

  private func bytes(of store: DocumentStore) -> Int {
    store.indexes.state.withLock { $0.indexes.filter(\.isAutomatic).reduce(0) { $0 + $1.tree.memory.bytes } }
  }

  @Test func leastRecentlyUsedIndexesBeyondTheBudgetAreEvicted() throws {
    var store = try open(bytesMax: nil)
    try fill(store)
    try use(0, of: store)
    let one = bytes(of: store)
    #expect(one > 400 * 10)
    try store.close()

    store = try open(bytesMax: one * 5 / 2)
    store.dropIndex(IndexDefinition(unchecked: "c", .collection, fields: [.init(field("f0"))]))
    try store.createIndex(IndexDefinition(unchecked: "c", .collection, fields: [.init(field("f5"))]))
    try use(0, 1, 0, 2, of: store)
    #expect(fields(of: store) == ["f0", "f2", "f5"], "f1 was used before f0, and f5 was asked for")
    #expect(bytes(of: store) <= one * 5 / 2)
    try store.close()
  }

  @Test func repeatedUsesKeepTheOrderOfUse() throws {
    let store = try open(bytesMax: nil)
    try fill(store)
    func order() -> [String] {
      store.indexes.state.withLock { state in
        state.indexes.sorted { $0.lastUse < $1.lastUse }.map { $0.definition.fields[0].path.canonical }
      }
    }
    try use(0, 0, 1, 1, 0, 0, 2, 0, 0, 1, 1, of: store)
    #expect(order() == ["f2", "f0", "f1"])
    // A new index counts as used, even if no query has used it.
    try store.createIndex(IndexDefinition(unchecked: "c", .collection, fields: [.init(field("f5"))]))
    #expect(order() == ["f2", "f0", "f1", "f5"])
    try use(1, of: store)
    #expect(order() == ["f2", "f0", "f5", "f1"])
    // A query that uses no index changes nothing.
    _ = try store.documents(.ofC)
    try use(1, of: store)
    #expect(order() == ["f2", "f0", "f5", "f1"])
    try store.close()
  }

  @Test func anIndexLargerThanTheBudgetStaysUntilTheNextBuild() throws {
    let store = try open(bytesMax: 1)
    try fill(store)
    try use(0, of: store)
    #expect(fields(of: store) == ["f0"])
    try use(1, of: store)
    #expect(fields(of: store) == ["f1"])
    try store.close()
  }

  @Test func indexesOfOneQueryAreKeptTogether() throws {
    let store = try open(bytesMax: 1)
    try fill(store)
    let query = try StructuredQuery.ofC.filtered(
      by: .any([
        .field("f0", .equal, "a text 3 0"), .field("f1", .equal, "a text 4 1"),
        .field("f2", .equal, "a text 5 2"),
      ]))
    let explanation = try store.explain(query)
    #expect(explanation.built.count == 3 && explanation.results == 3 && !explanation.isSorted)
    try store.close()
  }

  @Test func indexesThatOutgrewTheBudgetAreEvictedByTheNextFlush() throws {
    let store = try open(bytesMax: nil)
    try fill(store)
    try use(1, 2, of: store)
    let both = fields(of: store)
    let bytesMax = bytes(of: store) - 1
    store.indexes.state.withLock { $0.automaticBytesMax = bytesMax }
    try store.commit([.set(path("other", "d"), StoredMap())])
    try store.compact()
    #expect(both == ["f1", "f2"])
    #expect(fields(of: store) == ["f2"])
    try store.close()
  }

  @Test func theOrderOfUseSurvivesReopening() throws {
    var store = try open(bytesMax: nil)
    try fill(store)
    try use(0, 1, 0, 2, of: store)
    try store.compact()
    let bytesMax = bytes(of: store)
    try store.close()
    store = try open(bytesMax: bytesMax)
    // Only loaded pages count toward the limit.
    #expect(bytes(of: store) < bytesMax / 2)
    try use(2, 0, of: store)
    try store.commit([.set(path("other", "d"), StoredMap())])
    try store.compact()
    try store.close()
    store = try open(bytesMax: nil)
    let order = store.indexes.state.withLock { state in
      state.indexes.sorted { $0.lastUse < $1.lastUse }.map { $0.definition.fields[0].path.canonical }
    }
    #expect(order == ["f1", "f2", "f0"])
    store.indexes.state.withLock { $0.automaticBytesMax = 1 }
    store.indexes.evictToBudget()
    #expect(fields(of: store) == ["f0"])
    try store.close()
  }
}
