// Declared indexes that lose their keys stay declared and are rebuilt.
//
// The keys are lost if a checkpoint on a full disk has no room for them, or if a page is damaged.

import ByteStore
import Harness
import Testing

@testable import DocumentStore

@Suite struct LostIndexTests {
  private static let byText = IndexDefinition(unchecked: "c", .collection, fields: [.init(field("s"))])

  /// A store with an index of one megabyte, on a disk that another process filled before the index was built.
  private struct Full {
    let machine: SimulatedStore
    static let documents = 2000
    /// The number of documents that remain after the deletions.
    static let kept = 1900

    init() throws {
      machine = try SimulatedStore(kibibytes: 8192)
      for start in stride(from: 0, to: Self.documents, by: 100) {
        try machine.store.commit(
          (start..<start + 100).map { .set(path("c", "d\($0)"), LostIndexTests.fields($0)) })
      }
      try machine.store.compact()
      try takeTheRest("other")
      try machine.store.createIndex(LostIndexTests.byText)
    }

    /// Fills the disk except for the store's reserve.
    private func takeTheRest(_ name: String) throws {
      let file = try machine.disk.openDirectory("/").createFile(name)
      var offset: UInt64 = 0
      while let taken = try? file.write([UInt8](repeating: 1, count: 4096).rawSpan, at: offset) {
        offset += UInt64(taken)
      }
    }

    func giveRoom() throws { try machine.disk.openDirectory("/").remove("other") }

    func deleteSome() throws {
      for number in Self.kept..<Self.documents {
        try machine.store.commit([.delete(path("c", "d\(number)"))])
        machine.store.bytes.performMaintenance()
      }
    }

    var checkpointBytes: Int {
      machine.disk.image.paths.filter { $0.contains("/checkpoint-") }
        .reduce(0) { $0 + (machine.disk.image.contents(of: $1)?.size ?? 0) }
    }
  }

  private static func fields(_ number: Int) -> StoredMap {
    StoredMap([("s", .string("\(number % 10) " + String(repeating: "\(number) ", count: 100)))])
  }

  /// The documents whose field `s` begins with "3", in the order of `s`.
  private func answer(in store: DocumentStore) throws -> [String] {
    let query = try StructuredQuery.ofC.where("s", .greaterThanOrEqual, "3").where("s", .lessThan, "4")
    return try store.documents(query.order("s")).map(\.path.id)
  }

  /// The answers of a store, and what its invariant check says.
  private struct Answers: Equatable {
    var beginningWith3: Set<String>
    var count: Int
    var fault: String?

    static let right = Answers(
      beginningWith3: Set(stride(from: 3, to: Full.kept, by: 10).map { "d\($0)" }), count: Full.kept)
  }

  private func answers(of store: DocumentStore) throws -> Answers {
    let answer = try answer(in: store)
    return Answers(
      beginningWith3: Set(answer), count: try store.count(.ofC), fault: try store.invariantBroken())
  }

  private func expect(_ store: DocumentStore) throws {
    #expect(try answers(of: store) == .right)
  }

  private var intactIndexes: [IndexInfo] {
    [IndexInfo(definition: Self.byText, entries: Full.kept, isAutomatic: false)]
  }

  // MARK: A full disk

  @Test func indexesLeftOutOnAFullDiskAreRebuilt() throws {
    let full = try Full()
    try full.deleteSome()
    try full.machine.store.compact()
    #expect(full.checkpointBytes < 128 << 10, "the table alone")
    // The running process still has the index in memory, so nothing is lost yet.
    #expect(full.machine.store.indexList == intactIndexes)
    try expect(full.machine.store)

    var (opened, queried, reopened): ([[IndexInfo]], [[IndexInfo]], [[IndexInfo]]) = ([], [], [])
    var documentCounts: [Int?] = []
    var answered: [Answers] = []
    for image in [
      full.machine.disk.image(after: .kill), full.machine.disk.image(after: .powerLoss(.nothing, seed: 1)),
    ] {
      let next = try SimulatedStore(image)
      opened.append(next.store.indexList)
      documentCounts.append(next.store.indexes.documentCount)
      answered.append(try answers(of: next.store))
      queried.append(next.store.indexList)
      try next.store.close()
      let last = try SimulatedStore(next.disk.image(after: .kill))
      reopened.append(last.store.indexList)
      documentCounts.append(last.store.indexes.documentCount)
    }
    let lost = [IndexInfo(definition: Self.byText, entries: 0, isAutomatic: false, isLost: true)]
    #expect(opened == [lost, lost])
    #expect(queried == [intactIndexes, intactIndexes], "the first query rebuilds it, as a declared one")
    #expect(reopened == [intactIndexes, intactIndexes])
    #expect(answered == [.right, .right])
    let expectedCounts: [Int?] = [nil, Full.kept, nil, Full.kept]
    #expect(documentCounts == expectedCounts)
  }

  /// Guards against a checkpoint that leaves out all indexes because one index has no room on the disk.
  @Test func oneIndexWithoutRoomDoesNotDropTheOthers() throws {
    let full = try Full()
    #expect(throws: DocumentStoreError.self) { try full.machine.store.compact() }
    #expect(!full.machine.store.areIndexesUnwritten)
    try full.machine.store.close()
    let next = try SimulatedStore(full.machine.disk.image(after: .kill))
    #expect(next.store.indexes.documentCount == Full.documents, "the names are where they were")
    #expect(next.store.indexList.isEmpty)
  }

  @Test func closeWritesLostIndexesOnceThereIsRoom() throws {
    let full = try Full()
    try full.deleteSome()
    try full.machine.store.compact()
    try full.giveRoom()
    #expect(full.checkpointBytes < 128 << 10)
    try full.machine.store.close()
    let next = try SimulatedStore(full.machine.disk.image(after: .kill))
    #expect(next.store.indexes.documentCount == Full.kept)
    #expect(next.store.indexList == intactIndexes)
    try expect(next.store)
  }

  @Test func closeOnAPersistentlyFullDiskLosesNothing() throws {
    let full = try Full()
    try full.deleteSome()
    try full.machine.store.compact()
    try full.machine.store.close()
    let next = try SimulatedStore(full.machine.disk.image(after: .kill), kibibytes: 8192)
    #expect(next.store.indexList.map(\.isLost) == [true])
    try expect(next.store)
    #expect(next.store.indexList == intactIndexes)
  }

  @Test func lostIndexesDoNotCauseRepeatedFlushes() throws {
    let full = try Full()
    try full.deleteSome()
    try full.machine.store.compact()
    let before = full.machine.disk.counters.bytesWritten
    for _ in 0..<10 { full.machine.store.bytes.performMaintenance() }
    #expect(full.machine.disk.counters.bytesWritten - before < 64 << 10)
  }

  /// A flush before the first query writes only the declaration of the index.
  @Test func lostIndexesStayDeclaredAcrossCheckpointsWithoutNames() throws {
    let full = try Full()
    try full.deleteSome()
    try full.machine.store.compact()
    var next = try SimulatedStore(full.machine.disk.image(after: .kill))
    var areLost: [[Bool]] = []
    for _ in 0..<2 {
      try next.store.commit([.set(path("d", "1"), StoredMap())])
      try next.store.compact()
      next = try SimulatedStore(next.disk.image(after: .kill))
      areLost.append(next.store.indexList.map(\.isLost))
    }
    #expect(areLost == [[true], [true]])
    try expect(next.store)
    #expect(next.store.indexList == intactIndexes)
  }

  // MARK: Rebuilding on demand

  private func lost() throws -> SimulatedStore {
    let full = try Full()
    try full.deleteSome()
    try full.machine.store.compact()
    return try SimulatedStore(full.machine.disk.image(after: .kill))
  }

  @Test func lostIndexesAreRebuiltEvenIfQueriesCreateNone() throws {
    let machine = try lost()
    machine.store.createsIndexes = false
    try expect(machine.store)
    #expect(machine.store.indexList == intactIndexes)
  }

  @Test func snapshotQueryRebuildsTheLostIndex() throws {
    let machine = try lost()
    let snapshot = try machine.store.snapshot()
    let query = try StructuredQuery.ofC.where("s", .greaterThanOrEqual, "3").where("s", .lessThan, "4")
    #expect(try snapshot.documents(query.order("s")).count == Full.kept / 10)
    #expect(machine.store.indexList == intactIndexes)
    try expect(machine.store)
  }

  @Test func lostIndexCanBeRecreatedOrDroppedExplicitly() throws {
    let asked = try lost()
    #expect(try asked.store.createIndex(Self.byText))
    #expect(asked.store.indexList == intactIndexes)
    let dropped = try lost()
    #expect(dropped.store.dropIndex(Self.byText))
    #expect(!dropped.store.dropIndex(Self.byText))
    #expect(dropped.store.indexList.isEmpty)
    try dropped.store.close()
    #expect(try SimulatedStore(dropped.disk.image(after: .kill)).store.indexList.isEmpty)
  }

  @Test func indexDroppedDuringItsRebuildStaysDropped() throws {
    let machine = try lost()
    var answers: [Bool] = []
    _ = try machine.store.createIndex(Self.byText) { _ in
      answers.append(machine.store.dropIndex(Self.byText))
      return true
    }
    #expect(answers.first == true && answers.dropFirst().allSatisfy { !$0 })
    #expect(machine.store.indexList.isEmpty)
    #expect(try machine.store.createIndex(Self.byText))
    #expect(machine.store.indexList == intactIndexes)
  }

  @Test func closeWithoutRoomForLostIndexesKeepsTheReserve() throws {
    let full = try Full()
    try full.deleteSome()
    try full.machine.store.compact()
    #expect(full.checkpointBytes < 128 << 10)
    func reserve() -> Int { full.machine.disk.image.contents(of: "/store/RESERVE")?.size ?? 0 }
    let before = (written: full.machine.disk.counters.bytesWritten, reserve: reserve())
    let room = full.machine.disk.bytesInUse
    try full.machine.store.close()
    #expect(reserve() == before.reserve && before.reserve > 0)
    // The close wrote only the failed attempt and did not rewrite the reserve.
    let free = 8192 << 10 - room
    #expect(full.machine.disk.counters.bytesWritten - before.written < free + 64 << 10)
  }

  @Test func damagedDocumentMakesQueriesRunWithoutTheLostIndex() throws {
    let machine = try lost()
    var batch = Batch(stamp: UInt64(Int64.max / 4))
    let record = try #require(try machine.store.document(at: path("c", "d3"))).record
    try batch.put(Array(record.prefix(9)) + [0xFF], for: DocumentKey.encode(path("c", "d3")))
    try machine.store.bytes.commit(batch)
    #expect(try machine.store.count(.ofC) == Full.kept)
    let first = machine.store.documentsReadForIndexes.withLock { $0 }
    #expect(try machine.store.count(.ofC) == Full.kept)
    #expect(machine.store.documentsReadForIndexes.withLock { $0 } == first, "it is tried once")
    #expect(machine.store.indexList.map(\.isLost) == [true])
  }
}
