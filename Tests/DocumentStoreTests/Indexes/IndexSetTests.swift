import ByteStore
import Foundation
import Harness
import Testing

@testable import DocumentStore

/// The indexes of a store: declared, automatic, persisted, lost and rebuilt.
@Suite("Indexes of a store")
struct IndexSetTests {
  private let directory = TemporaryDirectory()

  private func open(_ change: (inout DocumentStore.Options) -> Void = { _ in }) throws -> DocumentStore {
    var options = DocumentStore.Options()
    options.scanMax = 0
    options.maintenance = .manual
    change(&options)
    return try DocumentStore.open(directory.path, options: options)
  }

  private func fill(_ store: DocumentStore, _ numbers: Range<Int>) throws {
    try store.commit(numbers.map { .set(path("c", "d\($0)"), Self.fields($0)) })
  }

  private static func fields(_ number: Int) -> StoredMap {
    StoredMap([
      (name: "a", value: .integer(Int64(number % 10))),
      (name: "s", value: .string(String(repeating: "s", count: number % 900))),
    ])
  }

  private func index(_ names: StoredFieldPath...) throws -> IndexDefinition {
    try IndexDefinition("c", .collection, names.map { IndexDefinition.Field($0) })
  }

  // MARK: Declared

  @Test("are listed, used, and gone once they are dropped")
  func explicitIndexIsListedUsedAndDropped() throws {
    let store = try open { $0.createsIndexes = false }
    try fill(store, 0..<100)
    let query = try StructuredQuery.ofC.where("a", .equal, 3)
    #expect(try store.explain(query).isFiltered)
    #expect(try store.createIndex(try index("a")))
    #expect(store.indexList == [IndexInfo(definition: try index("a"), entries: 100, isAutomatic: false)])
    #expect(try !store.explain(query).isFiltered)
    #expect(try store.count(query) == 10)
    #expect(store.dropIndex(try index("a")))
    #expect(!store.dropIndex(try index("a")))
    #expect(store.indexList.isEmpty)
    #expect(try store.count(query) == 10)
    try store.close()
  }

  @Test("that queries built are permanent once they are declared")
  func automaticIndexBecomesPermanentWhenCreatedExplicitly() throws {
    let store = try open()
    try fill(store, 0..<20)
    _ = try store.documents(try StructuredQuery.ofC.where("a", .equal, 3))
    #expect(store.indexList.map(\.isAutomatic) == [true])
    #expect(try store.createIndex(try index("a")))
    #expect(store.indexList.map(\.isAutomatic) == [false])
    try store.close()
  }

  @Test("are not there if their build was cancelled")
  func cancelledBuildLeavesNoIndex() throws {
    let store = try open()
    for start in 0..<10 { try fill(store, start * 500..<start * 500 + 500) }
    var calls: [IndexProgress] = []
    let isBuilt = try store.createIndex(try index("a")) { progress in
      calls.append(progress)
      return false
    }
    #expect(!isBuilt)
    #expect(calls.map(\.step) == [.reading])
    #expect(store.indexList.isEmpty)
    #expect(try store.createIndex(try index("a")) { (0...1).contains($0.fraction) })
    #expect(store.indexList.map(\.entries) == [5000])
    try store.close()
  }

  @Test("are dropped if no query wants them any more, and are built once one does")
  func abandonedBuildLeavesNoIndexUntilItIsNeededAgain() throws {
    let store = try open()
    for start in 0..<10 { try fill(store, start * 500..<start * 500 + 500) }
    let query = try StructuredQuery.ofC.where("a", .equal, 3)
    #expect(try !store.isReady(query))
    var asked = 0
    try store.makeIndexes(for: query) {
      asked += 1
      return asked < 2
    }
    #expect(asked == 2)
    #expect(store.indexList.isEmpty)
    // The build stopped at the second call of `isWanted`.
    #expect(store.documentsReadForIndexes.withLock { $0 } == 4096)
    try store.makeIndexes(for: query)
    #expect(store.indexList.map(\.entries) == [5000])
    #expect(try store.isReady(query))
    // A second listener on the same query needs no new index.
    let registration = try store.listen(to: query, on: DispatchQueue(label: "dugout.test")) { _ in }
    #expect(store.dropIndex(try index("a")))
    #expect(try !store.isReady(query))
    #expect(try store.isReady(toListenTo: query))
    registration.remove()
    #expect(try !store.isReady(toListenTo: query))
    try store.close()
  }

  @Test("have the commits of the time of their build")
  func indexIncludesCommitsDuringItsBuild() throws {
    let store = try open()
    for start in 0..<10 { try fill(store, start * 500..<start * 500 + 500) }
    var round = 0
    var problem: (any Error)?
    try store.createIndex(try index("a", "s")) { _ in
      // Simulates commits of another thread during the build.
      round += 1
      do {
        try store.commit([
          .delete(path("c", "d\(round)")), .set(path("c", "d\(round + 10)"), Self.fields(round + 800)),
          .set(path("c", "new\(round)"), Self.fields(3)),
        ])
      } catch {
        problem = error
      }
      return true
    }
    #expect(problem == nil)
    #expect(round > 0)
    #expect(try store.invariantBroken() == nil)
    try store.close()
  }

  @Test("stay declared ones, if a query had begun to build the same")
  func explicitIndexSurvivesAConcurrentAutomaticBuild() throws {
    let store = try open()
    try fill(store, 0..<500)
    let definition = try index("a")
    var isAsked = false
    let request = IndexBuild(definition: definition, isForQuery: true)
    try store.build(request, reportsProgress: true) { _ in
      // Simulates another thread that creates the index at this moment, so that the build for the query
      // finishes after it.
      if !isAsked {
        isAsked = true
        _ = try? store.createIndex(definition)
      }
      return true
    }
    #expect(store.indexList.map(\.isAutomatic) == [false])
    try store.close()
  }

  @Test("follow the commits of other threads while they are built")
  func indexBuildFollowsCommitsOfOtherThreads() throws {
    let store = try open { $0.maintenance = .inBackground(afterMilliseconds: 1) }
    try fill(store, 0..<400)
    let isOver = Locked(false)
    let ended = DispatchSemaphore(value: 0)
    Thread {
      var number = 0
      while !isOver.withLock({ $0 }) {
        number += 1
        _ = try? store.commit([
          .set(path("c", "d\(number % 500)"), Self.fields(number)), .delete(path("c", "d\(number % 37)")),
        ])
      }
      ended.signal()
    }.start()
    for _ in 0..<20 {
      try store.createIndex(try index("s", "a"))
      try store.createIndex(try index("a"))
      _ = store.dropIndex(try index("a"))
      _ = try store.documents(try StructuredQuery.ofC.where("a", .equal, 3))
      _ = store.dropIndex(try index("s", "a"))
    }
    isOver.withLock { $0 = true }
    ended.wait()
    #expect(try store.invariantBroken() == nil)
    try store.close()
  }

  // MARK: Persisted

  @Test("are there after a flush and a reopening, and need no build")
  func indexesSurviveFlushAndReopeningWithoutARebuild() throws {
    var store = try open()
    try fill(store, 0..<300)
    try store.createIndex(try index("a"))
    let query = try StructuredQuery.ofC.order("s", .descending)
    #expect(try store.explain(query).built == [try index("s")])
    let list = store.indexList
    try store.compact()
    try store.close()
    store = try open()
    #expect(store.indexList == list)
    #expect(try store.explain(query).built == [])
    try fill(store, 290..<320)
    store.bytes.abandon()
    store = try open()
    #expect(store.indexList.map(\.entries) == [320, 320])
    #expect(try store.invariantBroken() == nil)
    try store.close()
  }

  @Test(
    "that are created and dropped with nothing to flush stay created and dropped", arguments: [0, 30])
  func indexChangesPersistWithNothingElseToFlush(documents: Int) throws {
    var store = try open()
    if documents > 0 { try fill(store, 0..<documents) }
    try store.compact()
    try store.createIndex(try index("a"))
    try store.createIndex(try index("s", "a"))
    let list = store.indexList
    #expect(list.map(\.entries) == [documents, documents])
    try store.close()
    store = try open()
    #expect(store.indexList == list)
    #expect(store.dropIndex(try index("a")))
    // Abandons the store without closing it, as the command line tool does.
    try store.compact()
    store.bytes.abandon()
    store = try open()
    #expect(store.indexList == Array(list.dropFirst()))
    #expect(store.dropIndex(try index("s", "a")))
    try store.close()
    store = try open()
    #expect(store.indexList.isEmpty)
    try fill(store, 0..<40)
    #expect(try store.invariantBroken() == nil)
    try store.close()
  }

  @Test("that queries built are evicted when there are too many, in LRU order")
  func excessAutomaticIndexesAreEvictedLeastRecentlyUsedFirst() throws {
    let store = try open()
    try fill(store, 0..<5)
    func use(_ number: Int) throws {
      _ = try store.documents(try StructuredQuery.ofC.where(field("f\(number)"), .equal, 3))
    }
    let asked = try IndexDefinition(
      "c", .collection, [IndexDefinition.Field(field("explicitIndexIsListedUsedAndDropped"))])
    try store.createIndex(asked)
    for number in 0..<DocumentStore.automaticIndexesMax { try use(number) }
    try use(0)
    try use(1000)
    let names = store.indexList.map { $0.definition.fields[0].path.canonical }
    #expect(names.count == DocumentStore.automaticIndexesMax + 1)
    #expect(!names.contains("f1"))
    #expect(Set(names).isSuperset(of: ["explicitIndexIsListedUsedAndDropped", "f0", "f2", "f1000"]))
    try store.close()
  }

  // MARK: Damaged

  @Test("that are damaged in the checkpoint give no wrong answer")
  func damagedCheckpointPagesGiveNoWrongAnswer() throws {
    var store = try open()
    try fill(store, 0..<300)
    try store.createIndex(try index("a"))
    try store.createIndex(try index("s"))
    try store.compact()
    try store.close()
    let contents = try directory.contents()
    let queries = [
      StructuredQuery.ofC, try StructuredQuery.ofC.where("a", .equal, 3),
      try StructuredQuery.ofC.where("s", .greaterThan, "sss"),
    ]
    let name = try #require(contents.keys.first { $0.contains("checkpoint") }, "\(contents.keys)")
    let bytes = try #require(contents[name])
    var answers = (right: 0, refused: 0)
    var wrong: [String] = []
    for offset in stride(from: 0, to: bytes.count, by: 997) {
      let copy = TemporaryDirectory()
      try copy.create()
      for (other, content) in contents where other != name { try copy.write(content, to: other) }
      var damaged = bytes
      damaged[offset] ^= 0x10
      try copy.write(damaged, to: name)
      var options = DocumentStore.Options()
      options.maintenance = .manual
      do {
        store = try DocumentStore.open(copy.path, options: options)
      } catch {
        answers.refused += 1
        continue
      }
      for (query, expected) in zip(queries, [300, 30, 296]) {
        guard let found = Self.documents(query, in: store) else {
          answers.refused += 1
          continue
        }
        if found.count == expected {
          answers.right += 1
        } else {
          wrong.append("\(found.count) documents instead of \(expected), offset \(offset)")
        }
      }
      store.bytes.abandon()
    }
    #expect(wrong == [])
    #expect(answers.right > 0)
    #expect(answers.refused > 0)
  }

  /// Returns nil if the query reports damage.
  private static func documents(_ query: StructuredQuery, in store: DocumentStore) -> [StoredDocument]? {
    do throws(DocumentStoreError) {
      return try store.documents(query)
    } catch {
      guard case .corrupted = error else {
        Issue.record("\(error)")
        return nil
      }
      return nil
    }
  }

  @Test("are rebuilt after an unreadable document was deleted")
  func indexIsRebuiltAfterAnUndecodableDocumentIsDeleted() throws {
    let store = try open()
    try fill(store, 0..<30)
    try store.createIndex(try index("a"))
    // A valid head, and nothing after it.
    let place = path("c", "d3")
    let record = try #require(try store.document(at: place)).record
    var batch = Batch(stamp: UInt64(Int64.max / 4))
    try batch.put(Array(record.prefix(9)) + [0xFF], for: DocumentKey.encode(place))
    try store.bytes.commit(batch)
    #expect(failure { try store.document(at: place) } != nil)
    try store.commit([.delete(place)])
    #expect(store.indexList.map(\.isLost) == [true], "the index could not follow")
    let query = try StructuredQuery.ofC.where("a", .equal, 3)
    #expect(try store.documents(query).map(\.path.id) == ["d13", "d23"])
    #expect(store.indexList == [IndexInfo(definition: try index("a"), entries: 29, isAutomatic: false)])
    #expect(try store.invariantBroken() == nil)
    try store.close()
  }

  // MARK: Long keys

  /// Guards against storing keys of 753 to 767 bytes in trees without truncation. Next to truncated keys,
  /// such keys broke the sort order, and range scans missed documents.
  @Test("have keys of about the greatest length in order")
  func keysOfNearlyMaximalLengthStayInOrder() throws {
    let store = try open()
    let long = String(repeating: "k", count: 900)
    let texts = stride(from: 738, through: 772, by: 2).flatMap { count in
      [String(long.prefix(count)), String(long.prefix(count)) + "a", String(long.prefix(count)) + "z"]
    }
    try store.commit(
      texts.enumerated().map { number, text in
        .set(path("c", "\(number)"), StoredMap([(name: "s", value: .string(text))]))
      })
    let documents = try store.documents(.ofC)
    #expect(documents.count == texts.count)
    var wrong: [String] = []
    for direction in [OrderBy.Direction.ascending, .descending] {
      let all = try StructuredQuery.ofC.order("s", direction)
      if try store.documents(all).map(\.path.id) != all.ids(documents) { wrong.append("\(direction)") }
      for text in texts {
        for kind in [FieldFilter.Operator.equal, .lessThan, .greaterThanOrEqual] {
          let query = try all.where("s", kind, .string(text))
          let expected = query.ids(documents)
          let found = try store.documents(query).map(\.path.id)
          let count = try store.count(query)
          if found != expected || count != expected.count {
            wrong.append("\(direction), \(kind) \(text): \(found), counted \(count), not \(expected)")
          }
        }
      }
    }
    #expect(wrong == [])
    try store.close()
  }
}
