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
