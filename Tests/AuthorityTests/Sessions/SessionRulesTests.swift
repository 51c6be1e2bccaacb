// What a session does not tell a user who may not read it.

import Authority
import ByteStore
import DocumentStore
import OfflineSync
import Testing

@Suite struct SessionRulesTests {
  private let world: SessionWorld
  private let client: SessionClient

  /// All users may ask for the rooms from 2 on, and none may read a room by its path.
  init() throws {
    world = try SessionWorld()
    client = world.client()
    var rules = AuthorityRules()
    rules.mayRead = { _, query in
      if case .document = query.scope { RemoteError(.permissionDenied) } else { nil }
    }
    world.authority.setRules(rules)
  }

  @Test func aRefusedTargetIsRemoved() {
    client.watch(2, documents: [SessionWorld.room("a")])
    #expect(client.messages() == ["removed 2 permissionDenied"])
  }

  @Test func aDocumentThatLeavesHasNoContent() throws {
    try world.commit(["a": 2, "b": 3])
    client.watch(2, try SessionWorld.rooms(from: 2))
    _ = client.messages()
    try world.commit(["a": 1, "b": 4])
    #expect(client.messages() == ["rooms/a out 2", "rooms/b=4 in 2", "snapshot"])
  }

  /// The feed does not know which documents were in the target, so it could tell about others.
  @Test func aResumedTargetTellsNothingAboutOtherDocuments() throws {
    let query = try SessionWorld.rooms(from: 2)
    try world.commit(["a": 2, "b": 3, "secret": 1, "hidden": 1])
    client.watch(2, query)
    _ = client.messages()
    let token = client.token
    try world.commit(["a": 1, "b": 4, "secret": 0, "hidden": nil])
    let counting = world.client()
    counting.watch(2, query, from: token, expectedCount: 2)
    #expect(
      counting.messages() == [
        "added 2", "rooms/b=4 in 2", "filter 2 of 1 with names", "current 2", "snapshot",
      ])
    let filter = try #require(counting.filter)
    let known = ["a", "b", "secret"].filter { filter.contains("\(Authority.documentsName)/rooms/\($0)") }
    #expect(known == ["b"])
    let simple = world.client()
    simple.watch(2, query, from: token)
    #expect(simple.messages() == ["added 2", "reset 2", "rooms/b=4 in 2", "current 2", "snapshot"])
  }

  /// All rooms are in the target, so the client knows those that are deleted.
  @Test func aResumedTargetOfAllDocumentsTellsDeletions() throws {
    try world.commit(["a": 2, "b": 3])
    client.watch(2, SessionWorld.rooms)
    _ = client.messages()
    try world.commit(["a": nil])
    let other = world.client()
    other.watch(2, SessionWorld.rooms, from: client.token)
    #expect(other.messages() == ["added 2", "rooms/a gone out 2", "current 2", "snapshot"])
  }
}
