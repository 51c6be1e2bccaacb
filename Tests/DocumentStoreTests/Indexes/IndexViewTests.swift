// Views of the indexes that queries share.

import ByteStore
import Harness
import Testing

@testable import DocumentStore

@Suite("Views of indexes")
struct IndexViewTests {
  private static func open() throws -> DocumentStore {
    let store = try DocumentStore.openInMemory()
    try store.createIndex(IndexDefinition("c", .collection, [IndexDefinition.Field("a")]))
    try commit(0..<20, to: store)
    return store
  }

  private static func commit(_ numbers: Range<Int>, to store: DocumentStore) throws {
    try store.commit(
      numbers.map { .set(path("c", "d\($0)"), StoredMap([(name: "a", value: .integer(Int64($0)))])) })
  }

  @Test("are shared until a commit changes an index")
  func viewsAreSharedUntilACommit() throws {
    let store = try Self.open()
    let view = try #require(store.indexes.view("c"))
    #expect(store.indexes.view("c") === view)
    #expect(store.indexes.view("other")?.indexes.isEmpty == true)
    #expect(store.indexes.view("c") === view)
    try Self.commit(20..<21, to: store)
    let next = try #require(store.indexes.view("c"))
    #expect((view.names.count, next.names.count) == (20, 21))
    #expect((view.indexes[0].tree.count, next.indexes[0].tree.count) == (20, 21))
    try store.close()
  }

  @Test("of earlier queries cause no copy of a tree")
  func commitChangesTreesInPlace() throws {
    let store = try Self.open()
    let trees = {
      store.indexes.state.withLock { state in
        [state.names?.tree.tree, state.indexes.first?.tree.tree].map { $0.map { ObjectIdentifier($0) } }
      }
    }
    let query = try StructuredQuery.ofC.where("a", .equal, 3)
    // Maintenance in the background can take a snapshot of the trees once in a while.
    let isInPlace = try (20..<40).contains { number in
      let before = trees()
      #expect(try store.count(query) == 1)
      try Self.commit(number..<number + 1, to: store)
      return trees() == before
    }
    #expect(isInPlace)
    try store.close()
  }

  @Test("do not outlive their indexes")
  func droppedIndexIsInNoView() throws {
    let store = try Self.open()
    let definition = try IndexDefinition("c", .collection, [IndexDefinition.Field("a")])
    #expect(store.indexes.view("c")?.place(of: definition) == 0)
    #expect(store.dropIndex(definition))
    #expect(store.indexes.view("c")?.place(of: definition) == nil)
    try store.close()
  }
}
