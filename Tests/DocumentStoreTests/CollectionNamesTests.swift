// Lists of names in one snapshot.

import ByteStore
import Testing

@testable import DocumentStore

@Suite struct CollectionNamesTests {
  /// The two names are equal strings, and different names.
  @Test func groupsWithEqualTextAndOtherBytesAreListedEachOnce() throws {
    let store = try DocumentStore.openInMemory()
    let names = ["caf\u{E9}", "cafe\u{301}", "cafe"]
    for name in names + names {
      try store.commit([.set(path("rooms", "a", name, "b"), StoredMap()), .set(path(name, "b"), StoredMap())])
    }
    let groups = try store.collectionGroups()
    #expect(Set(groups.map { Array($0.utf8) }) == Set(names.map { Array($0.utf8) }))
    #expect(groups.count == 3)
  }

  /// The index orders names that are too long by their digests. Many documents have such a name in their
  /// paths.
  @Test func aNameIsListedBehindLongOnes() throws {
    let store = try DocumentStore.openInMemory()
    let long = String(repeating: "m", count: 800)
    for number in 0..<40 { try store.commit([.set(path("c", long, "sub", "\(number)"), StoredMap())]) }
    for name in ["a", "z"] { try store.commit([.set(path("c", name, "sub", "b"), StoredMap())]) }
    let collection = CollectionPath(unchecked: ["c"])
    #expect(try store.snapshot().documentIDs(in: collection, max: 3) == ["a", long, "z"])
    #expect(try store.snapshot().documentIDs(in: collection, max: 2) == ["a", long])
    #expect(try store.snapshot().documentIDs(in: collection, after: long, max: 2) == ["z"])
  }

  @Test func namesAreThoseOfTheSnapshot() throws {
    let store = try DocumentStore.openInMemory()
    try store.commit([.set(path("rooms", "a", "chats", "b"), StoredMap())])
    let snapshot = try store.snapshot()
    try store.commit([
      .delete(path("rooms", "a", "chats", "b")), .set(path("rooms", "z"), StoredMap()),
      .set(path("users", "u"), StoredMap()),
    ])
    let rooms = CollectionPath(unchecked: ["rooms"])
    #expect(try snapshot.documentIDs(in: rooms) == ["a"])
    #expect(try snapshot.collectionIDs(below: nil) == ["rooms"])
    #expect(try store.snapshot().documentIDs(in: rooms) == ["z"])
    #expect(try store.snapshot().collectionIDs(below: nil) == ["rooms", "users"])
    let changed = [path("rooms", "a", "chats", "b"): false, path("rooms", "q", "x", "1"): true]
    #expect(try snapshot.documentIDs(in: rooms, changed: changed) == ["q"])
    #expect(try snapshot.collectionIDs(below: path("rooms", "a"), changed: changed).isEmpty)
  }
}
