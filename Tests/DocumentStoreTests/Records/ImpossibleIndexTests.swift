// Queries that need an index which cannot be built, because a record of the collection cannot be decoded.

import ByteStore
import Harness
import Testing

@testable import DocumentStore

@Suite struct ImpossibleIndexTests {
  private let bad = path("c", "bad")

  private func open(_ directory: TemporaryDirectory) throws -> DocumentStore {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    return try DocumentStore.open(directory.path, options: options, platform: .real)
  }

  private enum Fault {
    /// One value is nested too deeply. The fields outside that value can still be read.
    case deep
    /// No valid record at all: no field can be read.
    case garbage
  }

  /// A hundred documents with ten values of `n`, and one document that cannot be decoded.
  private func poisoned(_ directory: TemporaryDirectory, _ fault: Fault) throws -> DocumentStore {
    let store = try open(directory)
    for start in stride(from: 0, to: 100, by: 10) {
      try store.commit(
        (start..<start + 10).map { .set(path("c", "d\($0)"), StoredMap([("n", .integer(Int64($0 % 10)))])) })
    }
    try store.close()
    var value = StoredValue.map(StoredMap([("end", .null)]))
    for _ in 0..<20 { value = .map(StoredMap([("m", value)])) }
    var options = ByteStore.Options()
    options.maintenance = .manual
    let bytes = try ByteStore.open(directory.path, options: options)
    var batch = Batch(stamp: bytes.lastStamp + 1)
    let deep = RecordCodec.encode(
      createTime: .epoch, updateTime: .epoch, fields: StoredMap([("n", 77), ("deep", value)]))
    try batch.put(fault == .deep ? deep : [9, 9, 9], for: DocumentKey.encode(bad))
    try bytes.commit(batch)
    try bytes.close()
    return try open(directory)
  }

  private func query(_ n: Int64) throws -> StructuredQuery {
    try StructuredQuery.ofC.where("n", .equal, .integer(n))
  }

  private func hasIndex(_ store: DocumentStore) -> Bool {
    store.indexList.contains { $0.definition.collectionID == "c" && !$0.isLost }
  }

  private func reads(_ store: DocumentStore) -> Int { store.documentsReadForIndexes.withLock { $0 } }

  // MARK: Snapshots and transactions

  /// Guards against queries that fail in a snapshot or a transaction although the same queries succeed on the
  /// store.
  @Test func snapshotsAndTransactionsRunWithoutAnUnbuildableIndex() throws {
    let directory = TemporaryDirectory()
    let store = try poisoned(directory, .deep)
    let snapshot = try store.snapshot()
    var counts: [Int] = []
    var messages: [String] = []
    for _ in 0..<2 {
      counts.append(try snapshot.documents(try query(3)).count)
      counts.append(try snapshot.count(try query(3)))
      guard case .corrupted(let evidence) = failure(of: { try snapshot.documents(query(77)) }) else {
        messages.append("The answer needs the record.")
        continue
      }
      messages.append(evidence.message)
    }
    #expect(counts == [10, 10, 10, 10])
    #expect(messages.filter { !$0.contains("c/bad") } == [])
    let found = try store.transaction { try $0.documents(try query(3)) }
    #expect(found.count == 10)
    // The snapshot still has the record.
    try store.commit([.delete(bad)])
    #expect(try store.documents(try query(3)).count == 10)
    #expect(hasIndex(store))
    #expect(try snapshot.documents(try query(4)).count == 10)
    snapshot.close()
    #expect(try store.snapshot().documents(try query(4)).count == 10)
    #expect(try store.invariantBroken() == nil)
    try store.close()
  }

  // MARK: Retries

  @Test func onlyAChangeOfTheDamagedRecordRetriesTheIndexBuild() throws {
    let directory = TemporaryDirectory()
    let store = try poisoned(directory, .garbage)
    #expect(failure(of: { try store.documents(query(3)) }) != nil)
    let first = reads(store)
    // These commits do not read the previous documents.
    try store.commit([.delete(path("c", "d13"))])
    try store.commit([.delete(path("c", "none"))])
    #expect(failure(of: { try store.documents(query(3)) }) != nil)
    #expect(reads(store) == first, "it is tried once")
    #expect(!hasIndex(store))
    try store.commit([.delete(bad)])
    #expect(try store.documents(try query(3)).count == 9)
    #expect(hasIndex(store))
    #expect(try store.invariantBroken() == nil)
    try store.close()
  }

  /// The build reads the documents as of its start.
  @Test(arguments: [true, false])
  func aRecordRepairedDuringTheBuildDoesNotFailIt(isDeleted: Bool) throws {
    let directory = TemporaryDirectory()
    let store = try poisoned(directory, .garbage)
    let definition = try IndexDefinition("c", .collection, [.init(field("n"))])
    var isMended = false
    let isBuilt = try store.createIndex(definition) { _ in
      guard !isMended else { return true }
      isMended = true
      let mend = isDeleted ? Mutation.delete(bad) : .set(bad, StoredMap([("n", 3)]))
      return (try? store.commit([mend])) != nil
    }
    #expect(isBuilt)
    #expect(try store.documents(try query(3)).count == (isDeleted ? 10 : 11))
    #expect(store.indexList.map(\.definition) == [definition])
    #expect(try store.invariantBroken() == nil)
    try store.close()
  }
}
