// Tests of reading objects and of listening to them.

import FirebaseFirestore
import Foundation
import LayerHarness
import Testing

@testable import Ballcap

final class Player: Object, DataRepresentable, DataListenable, HierarchicalStructurable {
  struct Model: Codable, Modelable { var name = "" }
  enum CollectionKeys: String { case games }
  override class var name: String { "players" }
  var data: Player.Model?
  var listener: (any ListenerRegistration)?
}

struct Game: Codable, Modelable { var points = 0 }

/// A model that counts the calls of `init`.
private struct Counted: Codable, Modelable {
  nonisolated(unsafe) static var createdCount = 0
  var value = 0

  init() { Self.createdCount += 1 }
}

extension BallcapTests {
  @Suite final class Reading {
    private let app = TestApp()

    private struct Found: @unchecked Sendable {
      var player: Player?
      var error: (any Error)?
    }

    private func get(_ player: Player, _ policy: CachePolicy = .cacheElseServer) async -> Found {
      await withCheckedContinuation { done in
        player.get(policy) { done.resume(returning: Found(player: $0, error: $1)) }
      }
    }

    @Test func readErrorKeepsTheDataAndMissingDocumentClearsIt() async throws {
      let player = Player(id: "p")
      player.data?.name = "edited"
      try await player.documentReference.setData(["name": 7])
      #expect(await get(player).error is DecodingError)
      #expect(player.data?.name == "edited")
      try await player.documentReference.delete()
      let found = await get(player)
      #expect(found.player == nil && found.error == nil)
      #expect(player.data == nil)
    }

    @Test func readUpdatesDataTimesAndSnapshotOfTheObject() async throws {
      try await Player(id: "p").save()
      let player = Player(Player.collectionReference.document("p"))
      let found = try #require(await get(player).player)
      #expect(player.data == found.data)
      #expect(player.createdAt == found.createdAt && player.updatedAt == found.updatedAt)
      #expect(player.snapshot?.exists == true)
      // As in the original Ballcap, the completion gets a new object.
      #expect(found !== player)
    }

    @Test(arguments: [
      CachePolicy.cacheOnly, .serverOnly, .cacheElseServer, .serverElseCache, .cacheThenServer,
    ]) func everyPolicyFindsTheDocument(policy: CachePolicy) async throws {
      try await Player(id: "p").save()
      let player = Player(Player.collectionReference.document("p"))
      #expect(try await player.get(policy) === player)
      #expect(player.data != nil)
    }

    @Test func theCacheAnswersBeforeTheServer() async throws {
      try await Player(id: "p").save()
      let heard = CallbackValues<Bool?>()
      Player(id: "p").get(.cacheThenServer) { player, _ in
        heard.add(player?.snapshot?.metadata.isFromCache)
      }
      #expect(await heard.next() == true)
      #expect(await heard.next() == false)
    }

    @Test func readByIDCreatesNoUnusedModel() async throws {
      try await Counted.collectionReference.document("x").setData(["value": 1])
      let before = Counted.createdCount
      _ = try await Document<Counted>.get(id: "x")
      _ = await withCheckedContinuation { done in
        Document<Counted>.get(id: "x") { document, _ in done.resume(returning: document != nil) }
      }
      #expect(Counted.createdCount == before)
    }

    @Test func anObjectInASetStaysThereWhenItsDataChanges() {
      struct Tag: Codable, Modelable, Hashable { var text = "" }
      let tag = Document<Tag>(id: "t")
      let set: Set = [tag]
      tag.data?.text = "changed"
      #expect(set.contains(tag))
      #expect(tag.hashValue == Document<Tag>(id: "t").hashValue)
    }

    /// Covers a class of this module and a class from outside. The bug: each object got its own creation
    /// time, so a list that was sorted by update time was reversed.
    @Test func objectsWithoutTimesFromOneQueryShareACreateTime() async throws {
      for id in ["a", "b", "c"] {
        try await Game.collectionReference.document(id).setData(["points": 3])
        try await Player.collectionReference.document(id).setData(["name": "ada"])
      }
      let before = Date()
      let games = Document<Game>.query.dataSource()
      try await games.get()
      let players = Player.query.dataSource()
      try await players.get()
      var wrong: [String] = []
      for objects in [games.documents, players.documents] as [[Object]] {
        let ids = objects.map(\.id)
        let created = objects[0].createdAt
        let isNew =
          created.dateValue() >= before.addingTimeInterval(-0.001)
          && created.dateValue() <= Date().addingTimeInterval(0.001)
        let areAlike = objects.allSatisfy { $0.createdAt == created && $0.updatedAt == created }
        let exist = objects.allSatisfy { $0.snapshot?.exists == true }
        if ids != ["a", "b", "c"] || !isNew || !areAlike || !exist {
          wrong.append("\(ids), created \(created), new \(isNew), alike \(areAlike), exist \(exist)")
        }
      }
      #expect(wrong == [])
      #expect(games.documents[0].data?.points == 3 && players.documents[0].data?.name == "ada")
    }

    @Test func timestampsAreReadUnchanged() async throws {
      let reference = Player.collectionReference.document("p")
      let time = Timestamp(seconds: 7, nanoseconds: 1000)
      try await reference.setData(["name": "", "createdAt": time, "updatedAt": "soon"])
      let player = try #require(try await Player.get(id: "p"))
      #expect(player.createdAt == time)
      #expect(abs(player.updatedAt.dateValue().timeIntervalSinceNow) < 60)
    }

    // MARK: Listening

    @Test func staticListenersGetANewObjectEachTime() async throws {
      let heard = CallbackValues<Player?>()
      let disposer = Player.listen(id: "p") { player, _ in heard.add(player) }
      #expect(await heard.next() == nil)
      try await Player(id: "p").save()
      let first = await heard.next()
      try await Player(id: "p").update()
      let second = await heard.next()
      #expect(first?.data != nil && first !== second)
      disposer.dispose()
      try await Player(id: "p").delete()
    }

    @Test func aListeningObjectKeepsItsLastDataWhenItsDocumentIsDeleted() async throws {
      let heard = CallbackValues<Player?>()
      let player = Player(id: "p")
      try await player.save()
      let disposer: Disposer = player.listen { found, _ in heard.add(found) }
      #expect(await heard.next() === player)
      let other = Player(id: "p")
      other.data?.name = "other"
      try await other.save()
      #expect(await heard.next() === player)
      #expect(player.data?.name == "other")
      try await other.delete()
      #expect(await heard.next() == nil)
      #expect(player.data?.name == "other")
      disposer.dispose()
    }

    @Test func objectListensOnceAndIsNotRetainedByItsListener() async throws {
      let heard = CallbackValues<String?>()
      var player: Player? = Player(id: "p")
      weak let freed = player
      do {
        let same: Player? = player?.listen { player, _ in heard.add(player?.data?.name) }
        #expect(same === player)
      }
      _ = await heard.next()
      let registration = player?.listener
      #expect(player?.listen() === player)
      #expect(player?.listener === registration)
      player = nil
      app.onCallbackQueue {}
      #expect(freed == nil)
      registration?.remove()
    }

    @Test func loopsFollowADocument() async throws {
      var updates = Player.updates(id: "p").makeAsyncIterator()
      #expect(try await updates.next().map { $0 == nil } == true)
      let player = Player(id: "p")
      player.data?.name = "first"
      try await player.save()
      #expect(try await updates.next().flatMap { $0 }?.data?.name == "first")
      var own = player.updates.makeAsyncIterator()
      #expect(try await own.next().flatMap { $0 } === player)
      let other = player.copy()
      other.data?.name = "second"
      try await other.update()
      #expect(try await own.next().flatMap { $0 } === player)
      #expect(player.data?.name == "second")
      #expect(try await updates.next().flatMap { $0 }?.data?.name == "second")
    }

    // MARK: Below a document

    @Test func collectionsLieBelowADocument() async throws {
      let player = Player(id: "p")
      #expect(player.data == Player.Model())
      #expect(player.collection(path: .games).path == "players/p/games")
      let game: Document<Game> = player.collection(path: .games).child(id: "g", type: Document<Game>.self)
      #expect(game.path == "players/p/games/g")
      game.data = Game(points: 3)
      try await game.save()
      let games: DataSource<Document<Game>>.Query = player.collection(path: .games)
      #expect(try await games.query.getDocuments().count == 1)
      let fresh = player.collection(path: .games).child(type: Document<Game>.self)
      #expect(fresh.path.hasPrefix("players/p/games/"))
    }
  }
}
