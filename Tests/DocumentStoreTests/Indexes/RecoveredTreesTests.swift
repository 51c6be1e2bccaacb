// The index trees of a store that is recovered from the WAL alone, or from a checkpoint and a WAL.

import Harness
import Testing

@testable import ByteStore
@testable import DocumentStore

@Suite struct RecoveredTreesTests {
  private static func definitions() throws -> [IndexDefinition] {
    [
      try IndexDefinition("c", .collection, [.init("n"), .init("text", .value(.descending))]),
      try IndexDefinition("c", .collection, [.init("tags", .element)]),
      try IndexDefinition("c", .collectionGroup, [.init("absent", .valueOrNull(.ascending))]),
      try IndexDefinition("other", .collection, [.init("n")]),
    ]
  }

  /// A store whose checkpoint contains the indexes but no documents.
  private func emptyStore() throws -> SimulatedStore {
    let machine = try SimulatedStore()
    for definition in try Self.definitions() { try machine.store.createIndex(definition) }
    try machine.store.compact()
    return try machine.afterPowerLoss()
  }

  private func place(_ rng: inout SeededRNG) -> DocumentPath {
    let id = "d\(Int.random(in: 0..<40, using: &rng))"
    switch Int.random(in: 0..<5, using: &rng) {
    case 0: return path("other", id)
    case 1: return path("c", id, "c", "below")
    case 2: return path("c", String(repeating: id, count: 300))
    default: return path("c", id)
    }
  }

  private func fields(_ rng: inout SeededRNG) -> StoredMap {
    let number = Int64.random(in: 0..<20, using: &rng)
    var fields = StoredMap([
      ("n", Bool.random(using: &rng) ? .integer(number) : .double(Double(number) / 2)),
      ("tags", .array((0..<number % 4).map { .integer($0) })),
      ("text", .string(String(repeating: "t", count: number == 7 ? 900 : Int(number)))),
    ])
    if number % 3 == 0 { fields["n"] = nil }
    return fields
  }

  @Test(arguments: 0..<8) func recoveredTreesEqualAScan(seed: Int) throws {
    var rng = SeededRNG(seed: UInt64(seed))
    var machine = try emptyStore()
    var faults: [String] = []
    var (entries, recovered): ([[Int]], [[Int]]) = ([], [])
    // Repeated power losses: first without a checkpoint, then with a checkpoint that has documents.
    for round in 0..<6 {
      for _ in 0..<60 {
        // Many documents are deleted and created again, and reuse ordinals that previously belonged to other
        // documents.
        let mutations: [Mutation] = (0..<Int.random(in: 1...6, using: &rng)).map { _ in
          let place = place(&rng)
          return Int.random(in: 0..<4, using: &rng) == 0 ? .delete(place) : .set(place, fields(&rng))
        }
        try machine.store.commit(mutations)
      }
      entries.append(machine.store.indexList.map(\.entries))
      machine = try machine.afterPowerLoss()
      if let fault = try machine.store.invariantBroken() { faults.append("round \(round): \(fault)") }
      recovered.append(machine.store.indexList.map(\.entries))
      if round == 2 { try machine.store.compact() }
    }
    #expect(faults == [])
    #expect(recovered == entries)
    #expect(entries.allSatisfy { $0.allSatisfy { $0 > 0 } }, "\(entries)")
  }

  /// The trees are built from the first keys, as many as fit within the limit. Later keys are inserted into
  /// the finished trees.
  @Test(arguments: [0, 1, 1000, 5000, .max]) func recoveredTreesDoNotDependOnTheLimit(bytesMax: Int) throws {
    var rng = SeededRNG(seed: 1)
    func empty() throws -> IndexSet.State {
      var state = IndexSet.State()
      state.names = IndexSet.NameTree()
      state.indexes = try Self.definitions().enumerated().map {
        ManagedIndex(id: UInt32($0), definition: $1, isAutomatic: false)
      }
      return state
    }
    var sorted = try empty()
    var expected = try empty()
    let trees = try #require(RecoveredTrees(sorted, bytesMax: bytesMax))
    let indexes = sorted.indexes.map { RecoveredParts.Index(id: $0.id, definition: $0.definition) }
    var seen = Set<DocumentPath>()
    for _ in 0..<20 {
      let paths = (0..<20).map { _ in place(&rng) }.filter { seen.insert($0).inserted }
      let changes = paths.map { path in
        IndexChanges.Change(
          path: path, key: DocumentKey.encode(path), before: .none,
          after: StoredDocument(path: path, createTime: .epoch, updateTime: .epoch, fields: fields(&rng)))
      }
      let ordinals = changes.indices.map { UInt32(seen.count + $0) }
      let recovered = zip(changes, ordinals).map { change, ordinal in
        ByteStore.RecoveredChange(
          key: change.key, before: nil, after: change.after.map { (ordinal, $0.record) })
      }
      trees.add(RecoveredDocuments(recovered, indexes, shapes: .empty), state: &sorted)
      expected.apply(IndexChanges(changes), ordinals)
    }
    trees.finish(&sorted)
    #expect(try entries(sorted) == entries(expected))
    #expect(
      sorted.names?.nested == expected.names?.nested
        && sorted.names?.truncatedCount == expected.names?.truncatedCount)
    #expect(sorted.indexes.map(\.longKeys) == expected.indexes.map(\.longKeys))
    #expect(sorted.indexes.map(\.numbers) == expected.indexes.map(\.numbers))
    #expect(sorted.indexes.allSatisfy { !$0.tree.isEmpty })
    // A tree that is not empty is not rebuilt.
    #expect(RecoveredTrees(sorted) == nil)
  }

  private struct Entry: Equatable {
    let key: [UInt8]
    let ordinal: UInt32
  }

  private func entries(_ state: IndexSet.State) throws -> [[Entry]] {
    let trees = [try #require(state.names).tree] + state.indexes.map(\.tree)
    return try trees.map { tree in
      var entries: [Entry] = []
      var cursor = try tree.cursor()
      while try cursor.next() {
        entries.append(Entry(key: [UInt8](copying: cursor.key()), ordinal: cursor.ordinal))
      }
      return entries
    }
  }

  /// Keys are sorted before the trees are built. If the keys were inserted one by one in random order, a
  /// third of each leaf would stay free.
  @Test func recoveredKeysAreSortedBeforeTheTreesAreBuilt() throws {
    let machine = try emptyStore()
    var numbers = Array(0..<6000)
    var rng = SeededRNG(seed: 1)
    numbers.shuffle(using: &rng)
    for start in stride(from: 0, to: numbers.count, by: 500) {
      try machine.store.commit(
        numbers[start..<start + 500].map {
          .set(path("other", "d\($0)"), StoredMap([("n", .integer(Int64($0)))]))
        })
    }
    let recovered = try machine.afterPowerLoss()
    let before = try nodes(machine.store)
    let after = try nodes(recovered.store)
    #expect(after < before * 4 / 5, "\(before) nodes of two trees before, and \(after) after")
    #expect(try recovered.store.invariantBroken() == nil)
  }

  /// The WAL contains more changes than one batch decodes, and these changes affect documents in the
  /// checkpoint. Each change is applied to the right entry.
  @Test func thousandsOfRecoveredChangesAreApplied() throws {
    var machine = try emptyStore()
    let count = 5000
    func commit(_ mutation: (Int) -> Mutation) throws {
      for start in stride(from: 0, to: count, by: 500) {
        try machine.store.commit((start..<start + 500).map(mutation))
      }
    }
    func place(_ number: Int) -> DocumentPath { path("other", "d\(number)") }
    try commit { .set(place($0), StoredMap([("n", .integer(Int64($0)))])) }
    try machine.store.compact()
    // A fifth of the documents is deleted. A tenth is created again, with ordinals that previously belonged
    // to other documents.
    try commit {
      $0 % 5 == 0 ? .delete(place($0)) : .set(place($0), StoredMap([("n", .integer(Int64(-$0)))]))
    }
    try commit { .set(place($0 % 10 == 0 ? count - $0 : 1), StoredMap([("n", .double(0.5))])) }
    let entries = machine.store.indexList.map(\.entries)
    machine = try machine.afterPowerLoss()
    #expect(try machine.store.invariantBroken() == nil)
    #expect(machine.store.indexList.map(\.entries) == entries)
    let kept = try machine.store.documents(StructuredQuery(.collection(CollectionPath(["other"]))))
    #expect(kept.count == count * 9 / 10)
  }

  /// The nodes of the name index and of the index of `other`.
  private func nodes(_ store: DocumentStore) throws -> Int {
    let definition = try Self.definitions()[3]
    return try store.indexes.state.withLock { state in
      let index = try #require(state.indexes.first { $0.definition == definition })
      return try #require(state.names).tree.memory.nodes + index.tree.memory.nodes
    }
  }
}
