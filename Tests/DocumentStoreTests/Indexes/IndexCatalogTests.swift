// The index catalog of a checkpoint.
//
// Catalogs in an older format are still decoded, and an inconsistent catalog leads to a rebuilt index.

import ByteStore
import Harness
import Testing

@testable import DocumentStore

@Suite struct IndexCatalogTests {
  private static let definition = IndexDefinition(unchecked: "c", .collection, fields: [.init(field("s"))])

  private func catalog(nextID: UInt32 = 7) -> IndexCatalog {
    IndexCatalog(
      nextID: nextID, nested: ["c": 2, "d": 1], longNames: 4,
      indexes: [
        ManagedIndex(
          id: 3, definition: Self.definition, isAutomatic: true, longKeys: 5,
          numbers: NumberCounts([.init(integers: 1, doubles: 2)]), lastUse: 9)
      ], nextShape: 0, shapes: [])
  }

  @Test func catalogRoundTrips() throws {
    let read = try #require(IndexCatalog(decoding: catalog().encoded()))
    #expect(read.nested == ["c": 2, "d": 1] && read.longNames == 4 && read.nextID == 7)
    #expect(read.indexes.map(\.lastUse) == [9])
    #expect(read.indexes.map(\.longKeys) == [5])
    #expect(read.indexes.map(\.isAutomatic) == [true])
  }

  /// Returns a catalog, written byte by byte, in the encoding that was used before use counters were added.
  private func former(nested: UInt64) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: UInt16(1))
    bytes.append(littleEndian: UInt32(7))
    for number in [nested, 4] { bytes.append(littleEndian: number) }
    bytes.append(littleEndian: UInt16(1))
    bytes.append(littleEndian: UInt32(3))
    bytes.append(1)
    bytes.append(littleEndian: UInt64(5))
    bytes.append(0)
    FeedFormat.append("c", to: &bytes)
    bytes.append(littleEndian: UInt16(1))
    bytes.append(0)
    bytes.append(littleEndian: UInt16(1))
    FeedFormat.append("s", to: &bytes)
    bytes.append(1)
    for number: UInt32 in [1, 2] { bytes.append(littleEndian: number) }
    for number: UInt16 in [0, 0] { bytes.append(littleEndian: number) }
    return bytes
  }

  @Test func catalogOfThePreviousVersionIsReadable() throws {
    let read = try #require(IndexCatalog(decoding: former(nested: 0)))
    #expect(read.nested == [:])
    #expect(read.indexes.map(\.definition) == [Self.definition])
    #expect(read.indexes.map(\.lastUse) == [0])
    // The old version did not store the collection ids of nested names, so the names are rebuilt.
    #expect(try #require(IndexCatalog(decoding: former(nested: 2))).nested == nil)
  }

  @Test func impossibleIndexIDsAreRefused() {
    #expect(IndexCatalog(decoding: catalog(nextID: .max).encoded()) == nil)
    #expect(IndexCatalog(decoding: catalog(nextID: 1 << 31).encoded()) == nil)
    #expect(IndexCatalog(decoding: catalog(nextID: 3).encoded()) == nil, "an id that is still to come")
    var twice = catalog()
    twice.indexes.append(twice.indexes[0])
    #expect(IndexCatalog(decoding: twice.encoded()) == nil)
  }

  // MARK: Wrong counts

  private func fields(_ number: Int) -> StoredMap {
    StoredMap([("s", .string(String(repeating: "s", count: 900))), ("n", .integer(Int64(number)))])
  }

  /// Returns a store that has long keys, nested names and integers, and whose checkpoint records wrong
  /// counts.
  private func machine(_ lie: (inout IndexSet.State) -> Void) throws -> SimulatedStore {
    let machine = try SimulatedStore()
    try machine.store.commit((0..<6).map { .set(path("c", "d\($0)"), fields($0)) })
    try machine.store.commit((0..<6).map { .set(path("c", "d0", "c", "e\($0)"), fields($0)) })
    try machine.store.createIndex(Self.definition)
    try machine.store.createIndex(IndexDefinition(unchecked: "c", .collection, fields: [.init(field("n"))]))
    machine.store.indexes.state.withLock { lie(&$0) }
    try machine.store.compact()
    machine.store.bytes.abandon()
    return try SimulatedStore(machine.disk.image)
  }

  private func empty(_ machine: SimulatedStore, name: String) throws {
    let store = machine.store
    try store.commit((0..<6).map { .delete(path("c", "d0", "c", "e\($0)")) })
    try store.commit((0..<6).map { .delete(path("c", "d\($0)")) })
    try store.compact()
    #expect(try store.count(.ofC) == 0, "\(name)")
    #expect(try store.invariantBroken() == nil, "\(name)")
    try store.commit([.set(path("c", "d1"), fields(1))])
    #expect(try store.documents(StructuredQuery.ofC.order("s")).count == 1, "\(name)")
  }

  @Test func tooLowStoredCountsInvalidateTheIndexWithoutATrap() throws {
    try empty(machine { $0.names?.nested = ["c": 2] }, name: "nested names")
    try empty(machine { $0.names?.nested = [:] }, name: "no nested names")
    try empty(machine { $0.indexes[0].longKeys = 1 }, name: "long keys")
    try empty(
      machine { $0.indexes[1].numbers = NumberCounts([.init(integers: 1, doubles: 0)]) }, name: "integers")
  }

  @Test func excessiveStoredCountsDiscardTheirIndex() throws {
    let names = try machine { $0.names?.nested = ["c": 13] }
    #expect(names.store.indexes.documentCount == nil)
    #expect(names.store.count == 12)
    let longKeys = try machine { $0.indexes[0].longKeys = 13 }
    let numbers = try machine {
      $0.indexes[0].numbers = NumberCounts([.init(integers: 7, doubles: 6)])
    }
    #expect(longKeys.store.indexList.map(\.isLost).sorted { $0 && !$1 } == [true, false])
    #expect(numbers.store.indexList.map(\.isLost).sorted { $0 && !$1 } == [true, false])
    try empty(longKeys, name: "long keys")
    try empty(numbers, name: "numbers")
  }
}
