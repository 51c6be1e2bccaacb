// Targets that are lists of documents.

import Authority
import ByteStore
import DocumentStore
import OfflineSync
import Testing

@Suite struct DocumentTargetTests {
  private let world: SessionWorld
  private let client: SessionClient
  private let paths = ["a", "b", "c"].map { SessionWorld.room($0) }

  init() throws {
    world = try SessionWorld()
    client = world.client()
  }

  @Test func anAbsentDocumentIsSentAsDeleted() throws {
    try world.commit(["b": 2])
    client.watch(2, documents: paths)
    #expect(
      client.messages() == [
        "added 2", "rooms/b=2 in 2", "rooms/a gone out 2", "rooms/c gone out 2", "current 2", "snapshot",
      ])
    client.watch(4, StructuredQuery(.document(paths[2])))
    #expect(client.messages() == ["added 4", "rooms/c gone out 4", "current 4", "snapshot"])
  }

  /// Regression: the client was told that the document does not exist.
  @Test func aDocumentThatDoesNotMatchAQueryOfItIsNotSent() throws {
    try world.commit(["a": 1])
    let query = try StructuredQuery(.document(paths[0]))
      .filtered(by: .field(FieldFilter(StoredFieldPath(["n"]), .equal, .integer(2))))
    client.watch(2, query)
    #expect(client.messages() == ["added 2", "current 2", "snapshot"])
  }

  @Test func changesOfAllDocumentsAreOneSnapshot() throws {
    try world.commit(["a": 1, "b": 2])
    client.watch(2, documents: paths + paths)
    client.watch(4, try SessionWorld.rooms(from: 2))
    _ = client.messages()
    try world.commit(["a": 4, "b": nil, "c": 3, "other": 9])
    #expect(
      client.messages() == [
        "rooms/a=4 in 2,4", "rooms/b gone out 2,4", "rooms/c=3 in 2,4", "rooms/other=9 in 4", "snapshot",
      ])
    client.unwatch(2)
    try world.commit(["a": 5, "c": 0])
    #expect(client.messages() == ["removed 2", "rooms/a=5 in 4", "rooms/c=0 out 4", "snapshot"])
  }

  @Test func aTargetOfDocumentsIsResumed() throws {
    try world.commit(["a": 1, "b": 2])
    client.watch(2, documents: paths)
    _ = client.messages()
    client.unwatch(2)
    _ = client.messages()
    try world.commit(["b": nil, "c": 3, "other": 9])
    client.watch(2, documents: paths, from: client.token, expectedCount: 2)
    #expect(
      client.messages() == [
        "added 2", "rooms/b gone out 2", "rooms/c=3 in 2", "current 2", "snapshot",
      ])
    client.unwatch(2)
    client.watch(2, documents: paths, from: client.token, expectedCount: 3)
    #expect(
      client.messages() == ["removed 2", "added 2", "filter 2 of 2 with names", "current 2", "snapshot"])
  }
}
