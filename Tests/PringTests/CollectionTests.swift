// Tests of collections below objects, lists inside objects, references and relations.

import FirebaseFirestore
import Foundation
import LayerHarness
import Testing

@testable import Pring

extension PringTests {
  @Suite final class Collections {
    private let app = TestApp()

    private func ids(_ path: String) async throws -> [String] {
      try await Firestore.firestore().collection(path).getDocuments().documents.map(\.documentID)
    }

    private func item(_ id: String, _ name: String? = nil) -> Item {
      let item = Item(id: id)
      item.name = name
      return item
    }

    // MARK: Documents of other apps

    @Test func invalidDocumentIDsAreOmitted() async throws {
      try await Firestore.firestore().document("version/1/room/r").setData([
        "shelf": ["a/b": ["name": "x"], "c": ["name": "z"]], "guest": "x/y",
      ])
      let room = try #require(try await Room.get("r"))
      #expect(room.shelf.keys == ["c"] && room.guest.id == nil)
      let (object, error) = await callbackValue { heard in room.guest.get { heard(($0, $1 == nil)) } }
      #expect(object == nil && error)
    }

    @Test func objectsWithMutualReferencesAreWrittenOnce() async throws {
      let (one, two) = (Linked(id: "1"), Linked(id: "2"))
      one.other.set(two)
      two.other.set(one)
      try await one.save()
      one.update(key: "name", value: "n")
      two.isSaved = false
      try await one.update()
      #expect(try await fields(one)?["name"] as? String == "n")
    }

    // MARK: Nested collections

    @Test func nestedMembersLiveBelowTheirParent() async throws {
      let room = Room(id: "r")
      room.items.insert([item("a", "A"), item("b", "B")])
      #expect(room.items.count == 2 && room.items[0].path == "version/1/room/r/items/a")
      #expect(room.items.path == "version/1/room/r/items" && room.items.first?.id == "a")
      try await room.save()
      #expect(room.items.allSatisfy { $0.isSaved })
      #expect(try await ids("version/1/room/r/items") == ["a", "b"])
      #expect(try await ids("version/1/item") == [])
      let found = try #require(try await Room.get("r"))
      #expect(found.items.isEmpty)
      let (_, members) = await callbackValue { heard in found.items.get { heard(($0, $1)) } }
      #expect(members.map(\.name) == ["A", "B"] && found.items.map(\.id) == ["a", "b"])
      let removed = found.items[0]
      found.items.remove(removed)
      found.items.insert(item("c"))
      try await found.update()
      #expect(try await ids("version/1/room/r/items") == ["b", "c"])
      #expect(removed.path == "version/1/item/a" && !removed.isSaved)
    }

    @Test func aMemberSavedElsewhereIsWrittenInFull() async throws {
      let member = item("a", "A")
      try await member.save()
      let room = Room(id: "r")
      try await room.save()
      room.items.insert(member)
      try await room.update()
      #expect(try await fields("version/1/room/r/items/a")?["name"] as? String == "A")
      #expect(member.isSaved && member.path == "version/1/room/r/items/a")
    }

    @Test func aCollectionContainsItsLoadedMembers() {
      let room = Room(id: "r")
      room.items.insert([item("a"), item("b"), item("c")])
      let items = room.items
      #expect(items.map(\.id) == ["a", "b", "c"] && items.last?.id == "c")
      #expect(items.index(of: item("b")) == 1 && items.index(where: { $0.id == "c" }) == 2)
      #expect(items.index(0, offsetBy: 2) == 2 && items.index(0, offsetBy: 5, limitedBy: 3) == nil)
      #expect(items.objects(at: IndexSet([0, 2])).map(\.id) == ["a", "c"])
      items.insert(item("b"))
      #expect(items.count == 3 && Set(items.references.keys) == ["a", "b", "c"])
      items.setValue(7, forKey: "price")
      #expect(items.allSatisfy { $0.price == 7 })
      items.remove("b")
      #expect(items.map(\.id) == ["a", "c"])
    }

    @Test func documentsOfACollectionAreFoundByID() async throws {
      let room = Room(id: "r")
      room.items.insert(item("a", "A"))
      try await room.save()
      #expect(await callbackValue { heard in room.items.contains("a") { heard($0) } })
      #expect(await callbackValue { heard in room.items.contains("b") { heard($0) } } == false)
      let found = await callbackValue { heard in room.items.get("a") { item, _ in heard(item) } }
      #expect(found?.name == "A")
      let known = Room(id: "r", value: [:]).items.doc("a")
      #expect(known.isSaved && known.path == "version/1/room/r/items/a")
      known.price = 4
      try await known.update()
      #expect(try await fields(known)?["name"] as? String == "A")
      let heard = CallbackValues<Item?>()
      let disposer: Disposer<Item> = room.items.listen("a") { item, _ in heard.add(item) }
      #expect(await heard.next()?.price == 4)
      disposer.dispose()
      _ = await callbackValue { heard in room.items.delete(id: "a") { heard($0 == nil) } }
      #expect(try await fields("version/1/room/r/items/a") == nil && room.items.isEmpty)
    }

    @Test func chainedDocCallsResolvePaths() async throws {
      let friend = Room(id: "r", value: [:]).members.doc("m").friends.doc("f")
      #expect(friend.path == "version/1/members/f")
      let nested = Room(id: "r", value: [:]).items
      #expect(nested.doc("x").path == "version/1/room/r/items/x")
    }

    // MARK: Plain collections

    @Test func membersOfAPlainCollectionLiveBelowTheirParent() async throws {
      let crate = Crate(id: "c")
      crate.items.insert([item("a", "A"), item("b", "B")])
      #expect(crate.items.map(\.path) == ["version/1/crate/c/items/a", "version/1/crate/c/items/b"])
      try await crate.save()
      #expect(crate.items.allSatisfy { $0.isSaved })
      #expect(try await ids("version/1/crate/c/items") == ["a", "b"])
      #expect(try await ids("version/1/item") == [])
      let found = try #require(try await Crate.get("c"))
      let dear = found.items.where(\.name, isEqualTo: "B")
      let (_, members) = await callbackValue { heard in found.items.get(dear) { heard(($0, $1)) } }
      #expect(members.map(\.path) == ["version/1/crate/c/items/b"])
      members[0].price = 4
      found.items.insert(item("c"))
      try await members[0].update()
      found.items.remove(members[0])
      try await found.update()
      #expect(try await ids("version/1/crate/c/items") == ["a", "c"])
      #expect(members[0].path == "version/1/item/b" && !members[0].isSaved)
      #expect(found.items.doc("a").path == "version/1/crate/c/items/a")
    }

    @Test func plainCollectionsWithLiteralsOrOwnTypesStoreMembersBelowTheParent() async throws {
      let crate = Crate(id: "c")
      crate.tools.insert(item("t"))
      try await crate.save()
      #expect(try await ids("version/1/crate/c/spares") == ["spare"])
      #expect(try await ids("version/1/crate/c/tools") == ["t"])
      #expect(try await ids("version/1/item") == [])
    }

    @Test func aSavedMemberOfAPlainCollectionIsWrittenInFullBelowItsParent() async throws {
      let member = item("a", "A")
      try await member.save()
      let crate = Crate(id: "c", value: [:])
      crate.items.insert(member)
      try await crate.update()
      #expect(try await fields("version/1/crate/c/items/a")?["name"] as? String == "A")
      #expect(try await fields("version/1/item/a")?["name"] as? String == "A")
    }

    // MARK: Deletions

    private func fullRoom() async throws -> Room {
      let room = Room(id: "r")
      room.items.insert([item("a"), item("b")])
      room.members.insert(Member(id: "ada"))
      room.owner.set(Member(id: "eve"))
      try await room.save()
      return room
    }

    @Test(arguments: [false, true])
    func batchDeleteLeavesCollectionMembers(isPacked: Bool) async throws {
      let room = try await fullRoom()
      room.items.insert(item("c"))
      let batch = Firestore.firestore().batch()
      if isPacked { room.pack(.delete, batch: batch) } else { batch.add(.delete, object: room) }
      try await batch.commit()
      #expect(try await fields(room) == nil && !room.isSaved)
      #expect(try await ids("version/1/room/r/items") == ["a", "b"])
      #expect(try await ids("version/1/room/r/members") == ["ada"])
      #expect(try await ids("version/1/members") == ["ada", "eve"])
      #expect(room.items[0].isSaved && room.members[0].isSaved)
      // The batch is not committed yet.
      room.batch(.delete, completion: "1")
      try await room.save()
      #expect(try await ids("version/1/room/r/items") == ["a", "b", "c"])
    }

    @Test func deleteWithLoadedMembersDeletesMembersAndLinks() async throws {
      let room = try await fullRoom()
      room.items.insert(item("c"))
      try await room.update()
      let found = try #require(try await Room.get("r"))
      let two = found.items.limit(to: 2)
      let (_, items) = await callbackValue { heard in found.items.get(two) { heard(($0, $1)) } }
      let (_, members) = await callbackValue { heard in found.members.get { heard(($0, $1)) } }
      try await Firestore.firestore().batch().deleteWithLoadedMembers(found).commit()
      #expect(try await fields(room) == nil && !found.isSaved)
      #expect(try await ids("version/1/room/r/items") == ["c"] && items.allSatisfy { !$0.isSaved })
      #expect(try await ids("version/1/room/r/members") == [])
      #expect(try await ids("version/1/members") == ["ada", "eve"] && members.allSatisfy { $0.isSaved })
    }

    @Test func deleteWithLoadedMembersIsRecursive() async throws {
      let (outer, inner) = (Crates(id: "o"), Crates(id: "i"))
      outer.crates.insert(inner)
      inner.crates.insert(Crates(id: "x"))
      try await outer.save()
      let below = "version/1/crates/o/crates/i"
      #expect(try await ids("\(below)/crates") == ["x"])
      try await Firestore.firestore().batch().deleteWithLoadedMembers(outer).commit()
      #expect(try await fields(below) == nil)
      #expect(try await ids("\(below)/crates") == [])
    }

    @Test func hardRemovalLeavesSubcollectionsOfTheMember() async throws {
      let (ada, eve) = (Member(id: "ada"), Member(id: "eve"))
      ada.friends.insert(eve)
      let room = Room(id: "r")
      room.members.insert(ada)
      try await room.save()
      room.members.remove(ada, hard: true)
      try await room.update()
      #expect(try await fields(ada) == nil)
      #expect(try await ids("version/1/members/ada/friends") == ["eve"])
    }

    // MARK: References

    @Test func relationsStoreLinksToMembersElsewhere() async throws {
      let room = Room(id: "r")
      let ada = Member(id: "ada")
      ada.name = "Ada"
      room.members.insert(ada)
      try await room.save()
      #expect(ada.isSaved && ada.path == "version/1/members/ada")
      let link = try #require(try await fields("version/1/room/r/members/ada"))
      #expect(Set(link.keys) == ["createdAt", "updatedAt"])
      let found = try #require(try await Room.get("r"))
      let (_, members) = await callbackValue { heard in found.members.get { heard(($0, $1)) } }
      #expect(members.first?.name == "Ada" && members.first?.createdAt == link["createdAt"] as? Timestamp)
      found.members.remove("ada")
      try await found.update()
      #expect(try await fields("version/1/room/r/members/ada") == nil)
      #expect(try await fields(ada) != nil)
    }

    @Test func reinsertingAMemberUpdatesItsLinkTime() async throws {
      let room = Room(id: "r")
      let ada = Member(id: "ada")
      room.members.insert(ada)
      try await room.save()
      let old = try #require(try await fields("version/1/room/r/members/ada"))
      room.members.insert(ada)
      try await room.update()
      let new = try #require(try await fields("version/1/room/r/members/ada"))
      #expect(old["createdAt"] as? Timestamp == new["createdAt"] as? Timestamp)
      #expect(try #require(old["updatedAt"] as? Timestamp) < #require(new["updatedAt"] as? Timestamp))
    }

    @Test func linksCopyFieldsOfReplicatedClasses() async throws {
      let album = Album(id: "x")
      let song = Copied(id: "s")
      song.name = "song"
      album.songs.insert(song)
      try await album.save()
      #expect(try await fields("version/1/album/x/songs/s")?["name"] as? String == "song")
      let found = Album(id: "x", value: [:])
      let (_, songs) = await callbackValue { heard in
        found.songs.get(found.songs.where(\.name, isEqualTo: "song")) { heard(($0, $1)) }
      }
      #expect(songs.map(\.id) == ["s"])
    }

    @Test func membersWithMutualReferencesAreSavedTogether() async throws {
      let (ada, eve) = (Member(id: "ada"), Member(id: "eve"))
      ada.friends.insert(eve)
      eve.friends.insert(ada)
      try await ada.save()
      #expect(ada.isSaved && eve.isSaved)
      #expect(try await ids("version/1/members/eve/friends") == ["ada"])
    }

    @Test func hardRemovalAlsoDeletesTheMemberDocument() async throws {
      let room = Room(id: "r")
      let members = ["ada", "eve"].map { Member(id: $0) }
      room.members.insert(members)
      try await room.save()
      room.members.remove(members[0], hard: true)
      room.members.remove("eve", hard: true)
      try await room.update()
      #expect(try await ids("version/1/members") == [] && !members[0].isSaved)
    }

    @Test func canonicallyEquivalentIDsAreDistinctMembers() async throws {
      let (short, long) = ("\u{e9}", "e\u{301}")
      let room = Room(id: "r")
      room.items.insert([item(short, "short"), item(long, "long")])
      room.guest.id = short
      try await room.save()
      #expect(try await ids("version/1/room/r/items").count == 2)
      room.items.remove(short)
      room.guest.id = long
      try await room.update()
      let left = try await Firestore.firestore().collection("version/1/room/r/items").getDocuments().documents
      #expect(left.map { $0.get("name") as? String } == ["long"])
      #expect(room.items.map(\.name) == ["long"])
      let guest = try #require(try await fields(room)?["guest"] as? String)
      #expect(guest.utf8.elementsEqual(long.utf8))
    }

    @Test func referencesAndRelationsSaveTheirObjects() async throws {
      let room = Room(id: "r")
      let (ada, eve) = (Member(id: "ada"), Member(id: "eve"))
      room.owner.set(ada)
      room.guest.set(eve)
      #expect(room.owner.id == "ada" && room.guest.id == "eve")
      #expect(room.updateValue["owner"] is DocumentReference && room.updateValue["guest"] == nil)
      try await room.save()
      #expect(ada.isSaved && eve.isSaved && room.updateValue.isEmpty)
      let stored = try #require(try await fields(room))
      #expect(stored["owner"] as? DocumentReference == ada.reference && stored["guest"] as? String == "eve")
      let found = try #require(try await Room.get("r"))
      #expect(found.owner.object == nil && found.owner.id == "ada" && found.guest.id == "eve")
      let owner = await callbackValue { heard in found.owner.get { object, _ in heard(object) } }
      let guest = await callbackValue { heard in found.guest.get { object, _ in heard(object) } }
      #expect(owner === found.owner.object && guest === found.guest.object && guest?.id == "eve")
      owner?.age = 5
      found.guest.set(Member(id: "new"))
      #expect(found.updateValue["guest"] as? String == "new")
      found.owner.delete()
      try await found.update()
      let changed = try #require(try await fields(found))
      #expect(changed["owner"] == nil && changed["guest"] as? String == "new")
      #expect(try await fields("version/1/members/new") != nil)
      let nothing = await callbackValue { heard in found.owner.get { heard(($0, $1)) } }
      #expect(nothing.0 == nil && nothing.1 == nil)
    }

    @Test func anUpdateAlsoUpdatesReferencedObjects() async throws {
      let room = Room(id: "r")
      let ada = Member(id: "ada")
      room.owner.set(ada)
      try await room.save()
      ada.age = 36
      try await room.update()
      #expect(try await fields(ada)?["age"] as? Int == 36)
    }

    // MARK: Lists

    @Test func listsAreStoredAsMapsInTheDocument() async throws {
      let room = Room(id: "r")
      room.shelf.append(item("b", "B"))
      room.shelf.append(item("a", "A"))
      try await room.save()
      let stored = try #require(try await fields(room)?["shelf"] as? [String: [String: Any]])
      #expect(stored["a"]?["name"] as? String == "A" && stored.count == 2)
      let found = try #require(try await Room.get("r"))
      #expect(found.shelf.keys == ["a", "b"] && found.shelf.map(\.name) == ["A", "B"])
      #expect(found.shelf["b"].isSaved)
      found.shelf["a"].price = 3
      #expect((found.updateValue["shelf"] as? [String: Any])?.keys.map { $0 } == ["a"])
      try await Firestore.firestore().document(found.path).updateData(["shelf.b.name": "of another"])
      try await found.update()
      let changed = try #require(try await fields(room)?["shelf"] as? [String: [String: Any]])
      #expect(changed["a"]?["price"] as? Double == 3 && changed["a"]?["name"] as? String == "A")
      #expect(changed["b"]?["name"] as? String == "of another")
      found.shelf.remove(found.shelf["b"])
      try await found.update()
      #expect((try await fields(room)?["shelf"] as? [String: Any])?.keys.map { $0 } == ["a"])
    }

    @Test func iteratingAnEmptyListDoesNotTrap() {
      let room = Room(id: "r")
      #expect(room.shelf.isEmpty && room.shelf.first == nil && room.shelf.keys.isEmpty)
      var count = 0
      for _ in room.shelf { count += 1 }
      #expect(count == 0)
    }
  }
}
