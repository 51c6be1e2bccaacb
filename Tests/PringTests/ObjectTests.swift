// Tests of objects, their properties and their fields.

import FirebaseFirestore
import FirebaseStorage
import Foundation
import LayerHarness
import Testing

@testable import Pring

extension PringTests {
  @Suite final class Objects {
    private let app = TestApp()

    // MARK: Locations

    @Test func theCollectionPathComesFromClassNameAndVersion() {
      #expect(Item.modelVersion == 1 && Item.modelName == "item" && Item.path == "version/1/item")
      #expect(Item.reference.path == "version/1/item" && Item.storageRef.fullPath == "version/1/item")
      #expect(Member.path == "version/1/members" && !Item.shouldBeReplicated)
      let item = Item(id: "a")
      #expect(item.id == "a" && item.path == "version/1/item/a" && item.storageRef.fullPath == item.path)
      item.id = "b"
      #expect(item.path == "version/1/item/b")
      #expect(Item().id.utf8.count == 20 && Item().id != Item().id)
    }

    @Test func initialisersSetIsSavedAndFields() async throws {
      #expect(!Item().isSaved && !Item(id: "a").isSaved)
      let known = Item(id: "a", value: ["name": "n", "createdAt": Timestamp(seconds: 5, nanoseconds: 0)])
      #expect(known.isSaved && known.name == "n" && known.price == 0 && known.createdAt.seconds == 5)
      #expect(known.updateValue.isEmpty)
      let place = Firestore.firestore().document("elsewhere/x")
      #expect(Item(snapshot: try await place.getDocument()) == nil)
      try await place.setData(["price": 2])
      let read = try #require(Item(snapshot: try await place.getDocument()))
      #expect(read.isSaved && read.path == "elsewhere/x" && read.price == 2)
      read.snapshot = try await Firestore.firestore().document("elsewhere/y").getDocument()
      #expect(read.path == "elsewhere/y" && !read.isSaved)
    }

    // MARK: Fields

    @Test func everySupportedTypeRoundTrips() async throws {
      let all = Everything(id: "a")
      all.note = "n"
      all.maybeFlag = false
      all.target = Item.reference.document("t")
      all.kind = .second
      all.map = ["list": [1, "two", ["three": 3.5]], "none": NSNull()]
      try await all.save()
      let found = try #require(try await Everything.get("a"))
      #expect(found.note == "n" && found.text == "text" && found.count == 1 && found.small == 2)
      #expect(found.large == 3 && found.maybe == 4 && found.ratio == 0.5 && found.single == 0.25)
      #expect(found.flag && found.maybeFlag == false && found.bytes == Data([1, 2]))
      #expect(found.date == all.date && found.time == all.time && found.point == all.point)
      #expect(found.target == all.target && found.link == all.link && found.tags == ["a"])
      #expect(found.numbers == [7] && found.names == ["x", "y"] && found.doubles == [1, 2.5])
      #expect(found.flags == [true, false] && found.dates == all.dates && found.counts == ["a": 1])
      #expect(found.anything.count == 2 && found.anything[0] as? String == "a")
      #expect(found.anything[1] as? Int == 1)
      let list = try #require(found.map["list"] as? [Any])
      #expect((list[2] as? [String: Any])?["three"] as? Double == 3.5 && found.map["none"] is NSNull)
      #expect(found.maps.first?["a"] as? Int == 1 && found.kind == .second && found.hidden == "hidden")
      #expect(found.updateValue.isEmpty)
      let stored = try #require(try await fields(all))
      #expect(stored["hidden"] == nil && stored["id"] == nil && stored["kind"] as? Int == 1)
      #expect(stored["tags"] as? [String: Bool] == ["a": true])
      #expect(stored["createdAt"] is Timestamp && stored["updatedAt"] is Timestamp)
    }

    @Test func alternativeStoredFormsAreDecoded() {
      let read = Everything(
        id: "a",
        value: [
          "date": "1970-01-01T00:00:30Z", "tags": [false, true, NSNull(), true], "numbers": ["5": true],
          "target": ["_path": ["segments": ["a", "b"]]], "count": NSNumber(value: 3.0), "ratio": 2,
        ])
      #expect(read.date == Date(timeIntervalSince1970: 30) && read.tags == ["1", "3"] && read.numbers == [5])
      #expect(read.target?.path == "a/b" && read.count == 3 && read.ratio == 2)
    }

    @Test func aFieldOfAnotherTypeKeepsTheDefault() {
      let read = Everything(
        id: "a",
        value: [
          "text": 1, "count": "1", "small": 1000, "flag": 0, "ratio": true, "date": "soon", "names": [1],
          "bytes": "x", "link": 5, "map": [1], "doubles": ["a"], "target": ["_path": ["segments": ["a"]]],
          "count2": 3,
        ])
      let fresh = Everything(id: "a")
      let names = ["text", "count", "small", "flag", "ratio", "date", "names", "bytes", "link", "doubles"]
      #expect(names.filter { !UntypedForm.areSame(read[$0], fresh[$0]) } == [])
      #expect(read.target == nil && read.updateValue.isEmpty)
    }

    @Test func valueContainsServerTimestampsAndRawValueDoesNot() {
      let item = Item()
      #expect(Set(item.rawValue.keys) == ["price", "tags"])
      #expect(item.value["createdAt"] is FieldValue && item.value["updatedAt"] is FieldValue)
      #expect(Item(id: "a", value: [:]).value["createdAt"] == nil)
    }

    @Test func propertiesAreReadAndSetByName() {
      let item = BetterItem()
      item["name"] = "n"
      item["stars"] = 4
      item["price"] = "no number"
      #expect(item.name == "n" && item["stars"] as? Int == 4 && item.price == 0)
      item["name"] = nil
      #expect(item.name == nil && item["name"] == nil && item["nothing"] == nil)
      #expect(item["id"] as? String == item.id)
      let labels = item.allChildrenUpToRootObject.compactMap(\.label)
      #expect(labels == ["stars", "name", "price", "tags"])
      #expect(item.description.hasPrefix("BetterItem {") && item.description.contains("\n  stars: 4\n"))
      let touched = Touched()
      touched.score = 7
      #expect(touched.description.contains("\n  score: Optional(7)\n"))
    }

    @Test func dataTypeClassifiesValues() {
      func kind(_ value: Any?) -> String {
        String(describing: DataType(key: "k", value: value)).prefix { $0 != "(" }.description
      }
      #expect(kind("a") == "string" && kind(1) == "int" && kind(1.5) == "float" && kind(true) == "bool")
      #expect(kind(Float(1)) == "float" && kind(UInt8(1)) == "int" && kind(Data()) == "binary")
      #expect(kind(Date()) == "date" && kind(Timestamp()) == "timestamp" && kind(nil) == "unknown")
      #expect(kind(Set(["a"])) == "set" && kind(["a"]) == "array" && kind(["a": 1]) == "dictionary")
      #expect(kind(URL(string: "a:b")!) == "url" && kind(GeoPoint(latitude: 0, longitude: 0)) == "geoPoint")
      #expect(kind(File(name: "a")) == "file" && kind([File(name: "a")]) == "files")
      #expect(kind(Item()) == "document" && kind(Optional(Item())) == "document")
      let room = Room(id: "r")
      #expect(kind(room.items) == "collection" && kind(room.shelf) == "list")
      #expect(kind(room.owner) == "reference" && kind(room.guest) == "relation")
      #expect(kind(ObjectTests.self) == "unknown")
      let set = DataType(key: "k", value: Set<String>(), data: ["k": ["a": true]])
      guard case .set(_, let stored, let local) = set else { return #expect(Bool(false)) }
      #expect(stored == ["a": true] && local == ["a"])
      guard case .unknown = DataType(key: "k", value: "", data: ["k": 1]) else { return #expect(Bool(false)) }
    }

    private struct ObjectTests {}

    // MARK: Nested objects

    @Test func nestedObjectsAreStoredAsMaps() async throws {
      let shop = Shop(id: "s")
      shop.home.city = "Bern"
      shop.branch = Address()
      shop.branch?.next = Address()
      shop.branch?.next?.city = "Basel"
      try await shop.save()
      let found = try #require(try await Shop.get("s"))
      #expect(found.home.city == "Bern" && found.branch?.next?.city == "Basel")
      #expect(found.branch?.next?.next == nil)
      #expect(found.home.parent === found && found.home.key == "home")
      let home = found.home
      home.city = "Chur"
      #expect((found.updateValue["home"] as? [String: Any])?["city"] as? String == "Chur")
      #expect(found.updateValue.count == 1)
      found.branch = nil
      try await found.update()
      let stored = try #require(try await fields(found))
      #expect((stored["home"] as? [String: Any])?["city"] as? String == "Chur" && stored["branch"] is NSNull)
      #expect(try await Shop.get("s")?.branch == nil)
    }

    // MARK: Reading and listening

    @Test func missingDocumentsAreNotErrors() async throws {
      let (item, error) = await callbackValue { heard in Item.get("none") { heard(($0, $1)) } }
      #expect(item == nil && error == nil)
      #expect(try await Item.get("none") == nil)
    }

    @Test func listenersGetANewObjectForEachChange() async throws {
      let heard = CallbackValues<Item?>()
      let disposer: Disposer<Item> = Item.listen("a") { item, _ in heard.add(item) }
      #expect(await heard.next() == nil)
      let item = Item(id: "a")
      try await item.save()
      let first = await heard.next()
      item.price = 2
      try await item.update()
      let second = await heard.next()
      #expect(first?.price == 0 && second?.price == 2 && first !== second)
      disposer.dispose()
      let registration: any ListenerRegistration = item.listen { item, _ in heard.add(item) }
      #expect(await heard.next()?.price == 2)
      registration.remove()
    }

    @Test func aReferenceReadsAnObjectOfItsArgumentsClass() async throws {
      try await Firestore.firestore().document("x/y").setData(["name": "n"])
      let (item, _) = await callbackValue { heard in
        Firestore.firestore().document("x/y").get(Item()) { heard(($0, $1)) }
      }
      #expect(item?.name == "n" && item?.path == "x/y")
    }
  }
}
