// The loopback remote's messages about a target, from the start and after a resume.

import Authority
import ByteStore
import DocumentStore
import Harness
import OfflineSync
import Testing

@Suite struct LoopbackWatchTests {
  private let world: LoopbackWorld
  private static let rooms = StructuredQuery(.collection(CollectionPath(unchecked: ["rooms"])))

  init() throws { world = try LoopbackWorld() }

  private static func set(_ name: String, _ number: Int64) -> Mutation {
    .set(DocumentPath(unchecked: ["rooms", name]), StoredMap([("n", .integer(number))]))
  }

  private static func delete(_ name: String) -> Mutation {
    .delete(DocumentPath(unchecked: ["rooms", name]))
  }

  private func commit(_ mutations: Mutation...) throws {
    for mutation in mutations { try world.authority.commit([mutation]) }
  }

  /// Returns the resume token of an up-to-date target.
  private func token(_ query: StructuredQuery = rooms) -> [UInt8] {
    let watcher = Watcher(world)
    watcher.watch(query)
    _ = watcher.messages()
    watcher.close()
    return watcher.token
  }

  private func messages(
    _ query: StructuredQuery = rooms, from token: [UInt8], expectedCount: Int? = nil,
    in world: LoopbackWorld? = nil
  ) -> [String] {
    let watcher = Watcher(world ?? self.world)
    defer { watcher.close() }
    watcher.watch(query, from: token, expectedCount: expectedCount)
    return watcher.messages()
  }

  private static let all = [
    "opened", "added 2", "rooms/a=1 in 2", "rooms/b=2 in 2", "current 2", "snapshot",
  ]
  private static let allAgain = [
    "opened", "added 2", "reset 2", "rooms/a=1 in 2", "rooms/b=2 in 2", "current 2", "snapshot",
  ]

  // MARK: Initial and later messages

  @Test func aTargetReceivesItsResultThenChanges() throws {
    try commit(Self.set("a", 1), Self.set("b", 2))
    let watcher = Watcher(world)
    watcher.watch(Self.rooms)
    #expect(watcher.messages() == Self.all)
    try commit(Self.set("a", 3), Self.delete("b"))
    #expect(watcher.messages() == ["rooms/a=3 in 2", "rooms/b gone out 2", "snapshot"])
    watcher.unwatch()
    #expect(watcher.messages() == ["removed 2"])
    try commit(Self.set("a", 4))
    #expect(watcher.messages() == [])
  }

  @Test func aForbiddenTargetIsRefused() throws {
    var rules = LoopbackRules()
    rules.mayRead = { user, _ in user == "ann" ? nil : RemoteError(.permissionDenied) }
    world.remote.setRules(rules)
    let (ann, bob) = (Watcher(world, as: "ann"), Watcher(world, as: "bob"))
    ann.watch(Self.rooms)
    bob.watch(Self.rooms)
    #expect(ann.messages() == ["opened", "added 2", "current 2", "snapshot"])
    #expect(bob.messages() == ["opened", "removed 2 permissionDenied"])
  }

  // MARK: Resuming

  @Test func aResumedTargetReceivesOnlyLaterChanges() throws {
    try commit(Self.set("a", 1), Self.set("b", 2), Self.set("c", 3))
    let before = token()
    #expect(messages(from: before) == ["opened", "added 2", "current 2", "snapshot"])
    try commit(Self.delete("b"), Self.set("d", 4), Self.set("d", 5))
    try world.authority.commit([.set(DocumentPath(unchecked: ["others", "a"]), StoredMap())])
    #expect(
      messages(from: before)
        == ["opened", "added 2", "rooms/b gone out 2", "rooms/d=5 in 2", "current 2", "snapshot"])
    #expect(messages(from: token()) == ["opened", "added 2", "current 2", "snapshot"])
  }

  @Test func aDocumentThatNoLongerMatchesLeavesTheTarget() throws {
    let field = StoredFieldPath(unchecked: ["n"])
    let query = try Self.rooms.filtered(by: .field(field, .greaterThanOrEqual, .integer(2)))
    try commit(Self.set("a", 1), Self.set("b", 2), Self.set("c", 3))
    let before = token(query)
    try commit(Self.set("b", 0), Self.set("a", 5))
    #expect(
      messages(query, from: before)
        == ["opened", "added 2", "rooms/b=0 out 2", "rooms/a=5 in 2", "current 2", "snapshot"])
  }

  /// A document can leave the result of a query with a limit even though the document itself did not change.
  @Test func aTargetWithALimitIsResent() throws {
    let query = try Self.rooms.limited(to: .first(2))
    try commit(Self.set("a", 1), Self.set("b", 2), Self.set("c", 3))
    #expect(messages(query, from: token(query), expectedCount: 1) == Self.allAgain)
  }

  /// A new remote over the same store accepts its predecessor's tokens.
  @Test func aResumeTokenIsValidAtANewRemoteOverTheSameStore() throws {
    try commit(Self.set("a", 1), Self.set("b", 2))
    let before = token()
    try commit(Self.set("c", 3))
    let next = try LoopbackWorld(authority: world.authority)
    #expect(
      messages(from: before, in: next) == ["opened", "added 2", "rooms/c=3 in 2", "current 2", "snapshot"])
  }

  /// A document in the bundle may have been deleted since the bundle was built.
  @Test func aTargetKnownFromABundleIsResent() throws {
    try commit(Self.set("a", 1), Self.set("gone", 1))
    let readTime = try #require(try world.authority.snapshot().time)
    try commit(Self.delete("gone"), Self.set("b", 2))
    let watcher = Watcher(world)
    watcher.watch(Self.rooms, readTime: SnapshotVersion(readTime))
    #expect(watcher.messages() == Self.allAgain)
  }

  // MARK: Restarting

  /// Commits enough data in another collection that the feed drops older changes.
  private func forgetTheFeed() throws {
    let reader = try world.authority.feedConsumer("reader")
    let much = StoredMap([("t", .bytes([UInt8](repeating: 1, count: 900_000)))])
    for number in 0..<8 {
      try world.authority.commit([.set(DocumentPath(unchecked: ["others", "\(number)"]), much)])
    }
    try reader.acknowledge(reader.position)
    #expect(throws: DocumentStoreError.self) {
      _ = try world.authority.feedChanges(after: FeedPosition(1), max: 1)
    }
  }

  @Test func aResumeTokenOfADroppedFeedPositionRestartsTheTarget() throws {
    try commit(Self.set("a", 1))
    let before = token()
    try commit(Self.set("b", 2))
    try forgetTheFeed()
    #expect(messages(from: before) == Self.allAgain)
  }

  /// The client finds out by the filter which documents are gone.
  @Test func aClientThatKnowsItsCountResumesWithoutTheFeed() throws {
    try commit(Self.set("a", 1), Self.set("gone", 1))
    let before = token()
    try commit(Self.set("b", 2), Self.delete("gone"))
    try forgetTheFeed()
    let watcher = Watcher(world)
    watcher.watch(Self.rooms, from: before, expectedCount: 2)
    #expect(
      watcher.messages()
        == [
          "opened", "added 2", "rooms/b=2 in 2", "filter 2 of 2 with names", "current 2", "snapshot",
        ])
    let bloom = try #require(watcher.filter.flatMap { BloomFilter($0) })
    #expect(["a", "b", "gone"].filter { isIn(bloom, $0) } == ["a", "b"])
  }

  /// The documents that are older than the token are as many as those of the client.
  @Test func aClientFromWhichNothingIsGoneNeedsNoFilterWithoutTheFeed() throws {
    let field = StoredFieldPath(unchecked: ["n"])
    let query = try Self.rooms.filtered(by: .field(field, .greaterThanOrEqual, .integer(2)))
    try commit(Self.set("a", 2), Self.set("b", 2))
    let tokens = [token(), token(query)]
    try commit(Self.set("b", 3), Self.set("c", 4))
    try forgetTheFeed()
    let changes = ["opened", "added 2", "rooms/b=3 in 2", "rooms/c=4 in 2"]
    let (none, names) = (["current 2", "snapshot"], ["filter 2 of 3 with names", "current 2", "snapshot"])
    let whole = [1, 2, 3].map { messages(from: tokens[0], expectedCount: $0) }
    #expect(whole == [changes + names, changes + none, changes + names])
    // The document b matches now, and may not have matched before.
    let matching = [1, 2].map { messages(query, from: tokens[1], expectedCount: $0) }
    #expect(matching == [changes + none, changes + names])
  }

  /// The watchers are still connected when the feed drops the changes.
  @Test func aWatchedTargetNeedsNoFeed() throws {
    try commit(Self.set("a", 1), Self.set("c", 3))
    let watcher = Watcher(world)
    watcher.watch(Self.rooms)
    let idle = Watcher(world)
    _ = watcher.messages()
    _ = idle.messages()
    try commit(Self.set("b", 2), Self.delete("c"))
    try forgetTheFeed()
    #expect(watcher.messages() == ["rooms/b=2 in 2", "rooms/c gone out 2", "snapshot"])
    world.remote.refresh()
    #expect(watcher.messages() == ["snapshot"], "its time is that of the other commits")
    #expect(idle.messages() == [], "there is nothing to send it")
    #expect(messages(from: watcher.token) == ["opened", "added 2", "current 2", "snapshot"])
    try commit(Self.set("d", 4))
    #expect(watcher.messages() == ["rooms/d=4 in 2", "snapshot"])
  }

  /// The token names its database, and everything in it is authenticated. A correct client may have a token
  /// of another server in its cache.
  @Test func aTokenThatThisDatabaseDidNotGiveRestartsTheTarget() throws {
    try commit(Self.set("a", 1))
    let before = token()
    try commit(Self.set("b", 2))
    #expect(messages(from: before) == ["opened", "added 2", "rooms/b=2 in 2", "current 2", "snapshot"])
    var wrong: [String] = []
    for place in before.indices {
      var token = before
      token[place] ^= 0x55
      let lines = messages(from: token)
      if lines != Self.allAgain { wrong.append("byte \(place): \(lines)") }
    }
    for token in [[1], Array(before[16..<24]), Array(before.dropLast()), before + [0]] {
      let lines = messages(from: token)
      if lines != Self.allAgain { wrong.append("\(token.count) bytes: \(lines)") }
    }
    #expect(wrong == [])

    let other = try LoopbackWorld()
    try other.authority.commit([Self.set("a", 1)])
    try other.authority.commit([Self.set("b", 2)])
    #expect(messages(from: before, in: other) == Self.allAgain)
  }

  /// The authority is restored from a disk image and continues with different commits.
  @Test func aResumeTokenOfLostCommitsRestartsTheTarget() throws {
    func open(_ disk: SimulatedDisk, seconds: Int64) throws -> LoopbackWorld {
      var options = DocumentStore.Options()
      options.maintenance = .manual
      let clock = SimulatedClock(wallMicroseconds: 1_700_000_000_000_000 + seconds * 1_000_000)
      let platform = Platform(fileSystem: disk, clock: clock, random: SimulatedRandomSource(seed: 1))
      return try LoopbackWorld(
        authority: try DocumentStore.open("/authority", options: options, platform: platform))
    }
    let disk = SimulatedDisk()
    let first = try open(disk, seconds: 0)
    try first.authority.commit([Self.set("a", 1)])
    let image = disk.image(after: .kill)
    try first.authority.commit([Self.set("lost", 9)])
    let watcher = Watcher(first)
    watcher.watch(Self.rooms)
    #expect(
      watcher.messages()
        == ["opened", "added 2", "rooms/a=1 in 2", "rooms/lost=9 in 2", "current 2", "snapshot"])

    let second = try open(SimulatedDisk(image), seconds: 60)
    #expect(second.authority.storeID == first.authority.storeID)
    let other = Watcher(second)
    other.watch(Self.rooms)
    #expect(other.messages() == ["opened", "added 2", "rooms/a=1 in 2", "current 2", "snapshot"])
    #expect(messages(from: watcher.token, in: second) == ["opened", "closed unavailable"])
    #expect(other.messages() == ["closed unavailable"], "its token is one of the former life, too")
    let ahead = ["opened", "added 2", "reset 2", "rooms/a=1 in 2", "current 2", "snapshot"]
    #expect(messages(from: watcher.token, in: second) == ahead, "it is ahead of the store")
    #expect(messages(from: other.token, in: second) == ahead, "later states of that life are lost")
    try second.authority.commit([Self.set("b", 2)])
    #expect(messages(from: watcher.token, in: second) == Self.allAgain, "another commit has its place")
    try second.authority.commit([Self.delete("b")])
    #expect(messages(from: watcher.token, in: second) == ahead, "and others came after it")
  }

  // MARK: Existence filters

  private func filter(_ lines: [String]) -> [String] { lines.filter { $0.hasPrefix("filter") } }

  @Test func anExistenceFilterIsSentIfChangesDoNotExplainTheCount() throws {
    try commit(Self.set("a", 1), Self.set("b", 2))
    let before = token()
    #expect(filter(messages(from: before, expectedCount: 2)) == [])
    #expect(filter(messages(from: before)) == [], "it is not asked for")
    #expect(filter(messages(from: [], expectedCount: 7)) == [], "all of it is sent")
    let filtered = ["opened", "added 2", "filter 2 of 2 with names", "current 2", "snapshot"]
    let lists = [0, 1, 3].map { messages(from: before, expectedCount: $0) }
    #expect(lists == [filtered, filtered, filtered])
    try commit(Self.delete("b"), Self.set("c", 3), Self.set("d", 4))
    let filters = [1, 2, 3].map { filter(messages(from: before, expectedCount: $0)) }
    #expect(filters == [["filter 2 of 3 with names"], [], ["filter 2 of 3 with names"]])
  }

  /// A document that was created and deleted meanwhile, and one that was deleted and created again, do not
  /// change the count.
  @Test func documentsThatCameAndWentAreNotCounted() throws {
    try commit(Self.set("a", 1), Self.set("b", 2))
    let before = token()
    try commit(Self.set("c", 3), Self.delete("c"), Self.delete("a"), Self.set("a", 4))
    #expect(
      messages(from: before, expectedCount: 2)
        == ["opened", "added 2", "rooms/c gone out 2", "rooms/a=4 in 2", "current 2", "snapshot"])
    #expect(filter(messages(from: before, expectedCount: 1)) == ["filter 2 of 2 with names"])
  }

  /// Regression: the feed has only the new document, so it seemed that the client did not have the old one.
  @Test func aDocumentThatWasReplacedByOneCommitAndThenDeletedLeavesTheTarget() throws {
    try commit(Self.set("a", 1), Self.set("b", 2))
    let before = token()
    try world.authority.commit([Self.delete("b"), Self.set("b", 3)])
    try commit(Self.delete("b"))
    for count in [nil, 2] {
      let lines = messages(from: before, expectedCount: count)
      #expect(lines.contains("rooms/b gone out 2"))
    }
  }

  private func isIn(_ bloom: BloomFilter, _ name: String) -> Bool {
    bloom.contains("\(world.remote.documentsName)/rooms/\(name)")
  }

  @Test func anExistenceFilterContainsTheNamesOfMatchingDocuments() throws {
    try commit(Self.set("a", 1), Self.set("b", 2))
    let before = token()
    try commit(Self.delete("b"), Self.set("c", 3))
    let watcher = Watcher(world)
    watcher.watch(Self.rooms, from: before, expectedCount: 3)
    #expect(filter(watcher.messages()) == ["filter 2 of 2 with names"])
    let bloom = try #require(watcher.filter.flatMap { BloomFilter($0) })
    #expect(["a", "b", "c", "d"].filter { isIn(bloom, $0) } == ["a", "c"])
  }

  @Test func anExistenceFilterOfAnEmptyResultHasNoNames() throws {
    try commit(Self.set("a", 1), Self.set("b", 2))
    let before = token()
    try commit(Self.delete("a"), Self.delete("b"))
    #expect(
      messages(from: before, expectedCount: 3)
        == [
          "opened", "added 2", "rooms/a gone out 2", "rooms/b gone out 2", "filter 2 of 0", "current 2",
          "snapshot",
        ])
  }

  @Test func anExistenceFilterCountsMatchingDocuments() throws {
    let field = StoredFieldPath(unchecked: ["n"])
    let query = try Self.rooms.filtered(by: .field(field, .greaterThanOrEqual, .integer(2)))
    try commit(Self.set("a", 1), Self.set("b", 2), Self.set("c", 3), Self.set("d", 4))
    let before = token(query)
    #expect(filter(messages(query, from: before, expectedCount: 3)) == [])
    #expect(filter(messages(query, from: before, expectedCount: 4)) == ["filter 2 of 3 with names"])
  }

  /// It is unknown whether a changed document matched before. The client finds that its count is right, and
  /// needs no names.
  @Test func anExistenceFilterOfAPossibleCountHasNoNames() throws {
    let field = StoredFieldPath(unchecked: ["n"])
    let query = try Self.rooms.filtered(by: .field(field, .greaterThanOrEqual, .integer(2)))
    try commit(Self.set("a", 1), Self.set("b", 2), Self.set("c", 3), Self.set("d", 4))
    let before = token(query)
    try commit(Self.set("b", 1), Self.set("e", 5))
    let filters = [1, 2, 3, 4].map { filter(messages(query, from: before, expectedCount: $0)) }
    let (names, count) = (["filter 2 of 3 with names"], ["filter 2 of 3"])
    #expect(filters == [names, count, count, names])
  }

  /// Each document has a name, so the changes explain the count as they do without an order.
  @Test func anOrderByNameNeedsNoFilter() throws {
    let query = try Self.rooms.ordered(by: OrderBy(.documentID, .descending))
    try commit(Self.set("a", 1), Self.set("b", 2))
    let before = token(query)
    try commit(Self.delete("b"), Self.set("c", 3), Self.set("a", 4))
    let filters = [1, 2, 3].map { filter(messages(query, from: before, expectedCount: $0)) }
    #expect(filters == [["filter 2 of 2 with names"], [], ["filter 2 of 2 with names"]])
  }
}
