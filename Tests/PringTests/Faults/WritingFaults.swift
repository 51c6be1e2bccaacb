// The faults of the original Pring in writing. Each test shows the correct behaviour. The numbers refer to
// the list in docs/pring.md.

import ByteStore
import FirebaseFirestore
import FirebaseStorage
import Foundation
import LayerHarness
import Testing

@testable import FirebaseFirestore
@testable import Pring

extension PringTests {
  @Suite final class WritingFaults {
    private let app = TestApp()

    private func file(_ name: String) -> File { File(data: Data("x".utf8), name: name, mimeType: .plain) }

    @Test func fault1ABatchIsNotMistakenForAFreedBatchAtTheSameAddress() async throws {
      let item = Item(id: "a")
      for _ in 0..<200 { _ = Firestore.firestore().batch().add(.update, object: item) }
      try await Firestore.firestore().batch().add(.update, object: item).commit()
      #expect(try await fields(item) != nil)
    }

    @Test func fault2ASavedMemberIsNotRewrittenInFull() async throws {
      let ada = Member(id: "ada")
      try await ada.save()
      try await ada.reference.updateData(["other": 1])
      let before = try #require(try await fields(ada))
      let room = Room(id: "r")
      room.members.insert(ada)
      ada.age = 5
      try await room.save()
      let after = try #require(try await fields(ada))
      #expect(after["other"] as? Int == 1 && after["age"] as? Int == 5)
      #expect(after["createdAt"] as? Timestamp == before["createdAt"] as? Timestamp)
    }

    @Test func fault3ANestedMemberIsWrittenOnce() throws {
      let room = Room(id: "r")
      room.items.insert(Item(id: "a"))
      let batch = Firestore.firestore().batch()
      batch.add(.save, object: room)
      #expect(batch.state.withLock { $0.mutations.count } == 2)
    }

    @Test func fault4EmptiedCollectionsAreReadAsEmpty() async throws {
      let all = Everything(id: "a")
      all.tags = []
      all.numbers = []
      all.names = []
      all.map = [:]
      all.maybe = nil
      try await all.save()
      all.maybe = 1
      try await all.update()
      all.maybe = nil
      try await all.update()
      let found = try #require(try await Everything.get("a"))
      #expect(found.tags.isEmpty && found.numbers.isEmpty && found.names.isEmpty && found.map.isEmpty)
      #expect(found.maybe == nil)
    }

    @Test func fault5EveryElementTypeIsStoredAndRead() async throws {
      let all = Everything(id: "a")
      all.single = 1.25
      all.doubles = [0.5]
      all.dates = [Date(timeIntervalSince1970: 77)]
      all.flags = [false]
      all.maps = [["x": 1], ["y": "z"]]
      all.numbers = [3, -4]
      all.counts = ["n": 2]
      try await all.save()
      let found = try #require(try await Everything.get("a"))
      #expect(found.single == 1.25 && found.doubles == [0.5] && found.dates == all.dates)
      #expect(found.flags == [false])
      #expect(found.maps[1]["y"] as? String == "z" && found.numbers == [3, -4] && found.counts == ["n": 2])
    }

    @Test func fault6AnUpdatedNumberKeepsItsType() async throws {
      let item = Item(id: "a")
      item.price = 1.5
      try await item.save()
      item.price = 3
      try await item.update()
      let found = try await Firestore.firestore().collection("version/1/item")
        .whereField("price", isEqualTo: 3.0).getDocuments()
      let number = try #require(found.documents.first?.get("price") as? NSNumber)
      #expect(String(cString: number.objCType) == "d")
    }

    @Test func fault7EveryNewListMemberIsWrittenInFull() async throws {
      let room = Room(id: "r")
      try await room.save()
      let (a, b) = (Item(id: "a"), Item(id: "b"))
      room.shelf.append(a)
      a.name = "A"
      room.shelf.append(b)
      #expect((room.shelf.updateValue).count == 2)
      try await room.update()
      let shelf = try #require(try await fields(room)?["shelf"] as? [String: [String: Any]])
      #expect(shelf["a"]?["name"] as? String == "A" && shelf["a"]?["price"] as? Double == 0)
      #expect(shelf["b"]?["price"] as? Double == 0)
    }

    @Test func fault8AListIsOrderedByIDWithoutSortingOnEachAccess() {
      let room = Room(id: "r")
      for id in (0..<3000).shuffled() { room.shelf.append(Item(id: String(format: "%05d", id))) }
      let start = ContinuousClock.now
      var ids: [String] = []
      for index in 0..<room.shelf.count { ids.append(room.shelf[index].id) }
      #expect(ids == ids.sorted() && ids.count == 3000)
      // Sorting in each subscript would take minutes in a debug build.
      #expect(ContinuousClock.now - start < .seconds(10))
    }

    @Test func fault9NoObjectOrListRetainsItsParent() {
      weak var shop: Shop?
      weak var home: Address?
      weak var room: Room?
      weak var list: List<Item>?
      do {
        let (newShop, newRoom) = (Shop(id: "s"), Room(id: "r"))
        (shop, home, room, list) = (newShop, newShop.home, newRoom, newRoom.shelf)
        newRoom.shelf.append(Item(id: "a"))
        #expect(home?.parent === newShop && list?.parent === newRoom)
      }
      #expect(shop == nil && home == nil && room == nil && list == nil)
    }

    private final class Poster: Object {
      var picture: File? = File(name: "default.txt")
    }

    @Test func fault10OnlyReadOrUploadedFilesAreDeletedAndOnlyOnce() async throws {
      let place = Storage.storage().reference(withPath: "version/1/poster/p/picture/default.txt")
      _ = try await place.putDataAsync(Data("d".utf8))
      try await Firestore.firestore().document("version/1/poster/p").setData([
        "picture": ["name": "stored.txt", "url": "http://x/y"]
      ])
      let poster = try #require(try await Poster.get("p"))
      #expect(poster.picture?.name == "stored.txt")
      poster.picture = file("new")
      try await poster.update()
      #expect(try await place.data(maxSize: 10) == Data("d".utf8))
      // Once the old file is deleted, no update deletes it again.
      let old = Storage.storage().reference(withPath: "version/1/poster/p/picture/stored.txt")
      _ = try await old.putDataAsync(Data("again".utf8))
      poster.picture?.additionalData = ["a": 1]
      try await poster.update()
      #expect(try await old.data(maxSize: 10) == Data("again".utf8))
    }

    @Test func fault11NoChangeIsPendingAfterAFileWasRemoved() async throws {
      let member = Member(id: "m")
      member.picture = file("a")
      try await member.save()
      member.picture = File.delete()
      try await member.update()
      #expect(member.picture == nil && member.updateValue.isEmpty)
    }

    @Test func fault12NoChangeIsPendingAfterASave() async throws {
      let item = Item(id: "a")
      item.name = "n"
      try await item.save()
      #expect(item.updateValue.isEmpty)
      try await item.reference.updateData(["name": "of another"])
      item.price = 1
      try await item.update()
      #expect(try await fields(item)?["name"] as? String == "of another")
    }

    private final class Hiding: Object {
      var secret: File?
      var open: File?
      override var ignore: [String] { ["secret"] }
    }

    @Test func fault13FilesAfterAnIgnoredPropertyAreUploaded() async throws {
      let hiding = Hiding(id: "h")
      hiding.secret = file("secret")
      hiding.open = file("open")
      try await hiding.save()
      #expect(hiding.open?.isSaved == true && hiding.secret?.isSaved == false)
    }

    private final class Shelf: Object { let members: List<Member> = [] }

    @Test func fault14FilesOfMembersOfListsAreUploaded() async throws {
      let shelf = Shelf(id: "s")
      let ada = Member(id: "ada")
      ada.picture = file("a")
      shelf.members.append(ada)
      try await shelf.save()
      let found = try #require(try await Shelf.get("s"))
      #expect(found.members["ada"].picture?.isSaved == true)
      #expect(try await found.members["ada"].picture?.getData() == Data("x".utf8))
    }

    @Test func fault15UploadTasksOfMembersHaveDistinctNames() async throws {
      let room = Room(id: "r")
      room.cover = file("cover")
      let members = ["a", "b"].map { Member(id: $0) }
      for member in members { member.picture = file("p") }
      room.members.insert(members)
      let tasks = CallbackValues<[String]>()
      _ = await callbackValue { heard in
        tasks.add(room.save { _, error in heard(error == nil) }.keys.sorted())
      }
      #expect(await tasks.next() == ["cover", "members.a.picture", "members.b.picture"])
      #expect(members.allSatisfy { $0.picture?.isSaved == true && $0.isSaved })
    }

    @Test func fault16UploadedFilesDoNotDelayAWrite() async throws {
      let member = Member(id: "m")
      member.picture = file("a")
      #expect(member.shouldUploadFiles("1"))
      try await member.save()
      #expect(!member.shouldUploadFiles("2"))
      member.age = 2
      let batch = Firestore.firestore().batch()
      member.update(batch, block: nil)
      #expect(batch.state.withLock { $0.isCommitted })
    }

    @Test func fault17AFileWithoutALocationDoesNotBlockADeletion() async throws {
      let member = Member(id: "m")
      try await member.save()
      member.picture = File.delete()
      try await member.delete()
      #expect(try await fields(member) == nil)
    }

    @Test func fault18SavingASavedObjectTrapsInDebugBuilds() async {
      let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        FirebaseApp.configure(
          options: FirebaseOptions(directory: FileManager.default.temporaryDirectory))
        Item(id: "a", value: [:]).save()
      }
      let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
      #expect(message.contains("call update()"))
    }

    private final class Numbers: Object {
      var a: Int?
      var b: Double?
      var c: Float?
      var d: Bool?
      var e: UInt = 5
      var f: UInt64? = 6
      var g: Int16?
    }

    @Test func fault19OptionalAndUnsignedNumbersWork() async throws {
      let numbers = Numbers(id: "n")
      numbers.a = 1
      numbers.c = 2.5
      try await numbers.save()
      let found = try #require(try await Numbers.get("n"))
      #expect(found.a == 1 && found.b == nil && found.c == 2.5 && found.d == nil)
      #expect(found.e == 5 && found.f == 6)
      numbers.e = .max
      await #expect(throws: (any Error).self) { try await numbers.update() }
      numbers.e = 7
      numbers.g = -3
      try await numbers.update()
      #expect(try await Numbers.get("n")?.g == -3)
    }
  }
}
