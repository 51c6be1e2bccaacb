// The invariant check detects every kind of fault. Campaigns rely on this check.

import ByteStore
import Testing

@testable import DocumentStore

@Suite struct IndexInvariantTests {
  /// A fault to inject into an index, with a description and the expected message.
  struct Fault: CustomTestStringConvertible, Sendable {
    var name: String
    var plant: @Sendable (inout IndexSet.State) -> Void
    var said: String

    var testDescription: String { name }
  }

  static let faults: [Fault] = [
    Fault(
      name: "an index lost all keys", plant: { $0.indexes[0].tree = OrderedIndex() },
      said: "the index c(n): it has 0 keys, and the documents have 40"),
    Fault(
      name: "indexes have each other's keys",
      plant: { state in
        let tree = state.indexes[0].tree
        state.indexes[0].tree = state.indexes[1].tree
        state.indexes[1].tree = tree
      }, said: "the index c(n): no document has its key"),
    Fault(
      name: "a key leads to another document",
      plant: { state in
        var changes = OrderedIndexChanges()
        let key = StoredKey.of(IndexFixture.key(of: 7))
        changes.insert(key.rawSpan, 0)
        try? state.indexes[0].tree.apply(changes)
      }, said: "leads to document 0, not"),
    Fault(
      name: "an index counts other numbers", plant: { $0.indexes[0].numbers = NumberCounts() },
      said: "the index c(n): it counts other integers and doubles than there are"),
    Fault(
      name: "an index counts too many long keys", plant: { $0.indexes[1].longKeys += 1 },
      said: "it counts 1 long keys, and there are 0"),
    Fault(
      name: "names of nested documents are counted wrongly", plant: { $0.names?.countNested("c", 1) },
      said: "the names: "),
    Fault(
      name: "an index is there twice", plant: { $0.indexes.append($0.indexes[0]) },
      said: "an index is there twice"),
  ]

  @Test(arguments: faults) func injectedIndexFaultIsDetected(_ fault: Fault) throws {
    let store = try DocumentStore.openInMemory()
    for number in 0..<40 {
      try store.commit([.set(try DocumentPath(["c", "\(100 + number)"]), IndexFixture.fields(number))])
    }
    for name in ["n", "text"] {
      try store.createIndex(IndexDefinition("c", .collection, [.init(try StoredFieldPath(dotted: name))]))
    }
    _ = try store.documents(StructuredQuery(.collection(try CollectionPath(["c"]))))
    #expect(try store.invariantBroken() == nil)
    store.indexes.state.withLock { fault.plant(&$0) }
    let broken = try #require(try store.invariantBroken())
    #expect(broken.contains(fault.said), "\(broken)")
  }
}

private enum IndexFixture {
  static func fields(_ number: Int) -> StoredMap {
    StoredMap([("n", .integer(Int64(number))), ("text", .string("text \(number)"))])
  }

  /// The key of a document in the index on `n`.
  static func key(of number: Int) -> [UInt8] {
    let field = StoredFieldPath(unchecked: ["n"])
    guard let path = try? DocumentPath(["c", "\(100 + number)"]),
      let definition = try? IndexDefinition("c", .collection, [.init(field)])
    else { return [] }
    let document = StoredDocument(
      path: path, createTime: .epoch, updateTime: .epoch, fields: fields(number))
    return definition.keys(of: document).first ?? []
  }
}
