// Reserved documents, and documents that are stored with given times.

import DocumentStore
import Testing

@Suite struct PlacedDocumentTests {
  @Test func aPlacedDocumentKeepsItsTimes() throws {
    let store = try DocumentStore.openInMemory()
    let path = try DocumentPath(["rooms", "eros"])
    try store.commit([.set(path, StoredMap([("n", .integer(1))]))])
    let placed = StoredDocument(
      path: path, createTime: StoredTimestamp(seconds: 5, nanoseconds: 0)!,
      updateTime: StoredTimestamp(seconds: 0, nanoseconds: 0)!, fields: StoredMap([("n", .integer(2))]))
    try store.commit([.place(placed)])
    #expect(try store.document(at: path) == placed)
  }

  /// Cached documents do not count toward the request size, so a commit can write more than a request may
  /// contain.
  @Test func namesOfPlacedDocumentsDoNotCountTowardTheRequest() throws {
    let store = try DocumentStore.openInMemory()
    let time = StoredTimestamp(seconds: 5, nanoseconds: 0)!
    let paths = (0..<3600).map {
      DocumentPath(unchecked: ["__kept__", "\($0)" + String(repeating: "x", count: 3000)])
    }
    try store.commit(
      paths.map { .place(StoredDocument(path: $0, createTime: time, updateTime: time, fields: StoredMap())) })
    #expect(try store.document(at: paths[3599]) != nil)
    #expect(throws: DocumentStoreError.self) { try store.commit(paths.map { .delete($0) }) }
  }

  /// A write gets a later time than the document that it replaces, even if one commit contains both writes.
  @Test func writeToADocumentAheadOfTheClockGetsALaterTime() throws {
    let store = try DocumentStore.openInMemory()
    let path = try DocumentPath(["rooms", "eros"])
    let ahead = StoredTimestamp(seconds: 3_976_214_400, nanoseconds: 0)!
    let placed = StoredDocument(path: path, createTime: ahead, updateTime: ahead, fields: StoredMap())
    let time = try store.commit([.place(placed), .merge(path, StoredMap([("n", .integer(1))]))])
    #expect(time < ahead)
    #expect(try store.document(at: path)?.updateTime.microseconds == ahead.microseconds + 1)
    // One commit is one change, regardless of its number of writes.
    try store.commit([
      .set(path, StoredMap([("n", .integer(2))])), .set(path, StoredMap([("n", .integer(3))])),
    ])
    #expect(try store.document(at: path)?.updateTime.microseconds == ahead.microseconds + 2)
  }

  /// A deletion alone does not need to read the document. If a set follows in the same commit, the deletion
  /// must read the document, because the new document must get a later time than the deleted one.
  @Test func aSetAfterADeletionInOneCommitIsLater() throws {
    let store = try DocumentStore.openInMemory()
    let path = try DocumentPath(["rooms", "eros"])
    let ahead = StoredTimestamp(seconds: 3_976_214_400, nanoseconds: 0)!
    try store.commit([
      .place(StoredDocument(path: path, createTime: ahead, updateTime: ahead, fields: StoredMap()))
    ])
    let time = try store.commit([.delete(path), .set(path, StoredMap([("n", .integer(1))]))])
    let document = try #require(try store.document(at: path))
    #expect(document.createTime == time, "it was created again")
    #expect(document.updateTime.microseconds == ahead.microseconds + 1)
  }

  @Test func reservedDocumentsAreReadableButInNoUserQuery() throws {
    let store = try DocumentStore.openInMemory()
    let time = StoredTimestamp(seconds: 5, nanoseconds: 0)!
    let names = ["a%2fb", String(repeating: "x", count: 3000)]
    for name in names {
      let path = DocumentPath(unchecked: ["__kept__", name])
      try store.commit([
        .place(StoredDocument(path: path, createTime: time, updateTime: time, fields: StoredMap()))
      ])
    }
    try store.commit([.set(try DocumentPath(["rooms", "eros"]), StoredMap())])
    let kept = StructuredQuery(.collection(CollectionPath(unchecked: ["__kept__"])))
    #expect(try store.documents(kept).map(\.path.id) == names)
    #expect(try store.documents(StructuredQuery(.collectionGroup("rooms"))).count == 1)
  }
}
