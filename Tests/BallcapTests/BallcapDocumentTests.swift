// Tests of Ballcap's document on the real store, across restarts.

import Ballcap
import FirebaseFirestore
import FirebaseStorage
import Foundation
import LayerHarness
import Testing

extension BallcapTests {
  @Suite final class Documents {
    private let app = TestApp()

    @Test func aSavedDocumentIsTheSameAfterARestart() async throws {
      let ada = Document<User>(id: "ada", from: User(name: "Ada", age: 36, tags: ["mathematics"]))
      #expect(await outcome { ada.save(completion: $0) } == nil)
      await app.restart()
      let found = try #require(try await Document<User>.get(id: "ada"))
      #expect(found.data == ada.data)
      #expect(found.path == "users/ada")
    }

    @Test func savingSetsBothTimesToTheCommit() async throws {
      try await Document<User>(id: "ada").save()
      let found = try #require(try await Document<User>.get(id: "ada"))
      #expect(found.createdAt == found.updatedAt)
      #expect(abs(found.createdAt.dateValue().timeIntervalSinceNow) < 60)
      #expect(found.snapshot?.data()?["createdAt"] is Timestamp)
    }

    @Test func updatingSetsTheTimeOfTheUpdateOnly() async throws {
      let ada = Document<User>(id: "ada")
      try await ada.save()
      ada.data?.age = 36
      try await ada.update()
      let found = try #require(try await Document<User>.get(id: "ada"))
      #expect(found.createdAt < found.updatedAt)
      #expect(found.data?.age == 36)
    }

    @Test func updateOfAMissingDocumentFails() async throws {
      let error = await outcome { Document<User>(id: "nobody").update(completion: $0) }
      #expect((error as? NSError)?.code == FirestoreErrorCode.Code.notFound.rawValue)
    }

    @Test func anUpdateReplacesMapsAndLeavesOtherFields() async throws {
      struct Place: Codable, Modelable { var address: [String: String] = [:] }
      let reference = Firestore.firestore().document("place/home")
      try await reference.setData(["address": ["city": "Bern", "street": "1"], "other": 1])
      try await Document<Place>(id: "home", from: Place(address: ["city": "Basel"])).update()
      let fields = try #require(try await reference.getDocument().data())
      #expect(fields["address"] as? [String: String] == ["city": "Basel"])
      #expect(fields["other"] as? Int == 1)
      #expect(fields["updatedAt"] is Timestamp)
      #expect(fields["createdAt"] == nil)
    }

    @Test func keysWithDotsAreFieldPathsInUpdates() async throws {
      struct Dotted: Codable, Modelable {
        enum CodingKeys: String, CodingKey { case inner = "a.b" }
        var inner = 7
      }
      let reference = Firestore.firestore().document("dotted/x")
      try await reference.setData(["a": ["b": 1, "c": 2]])
      try await Document<Dotted>(id: "x").update()
      let fields = try #require(try await reference.getDocument().data())
      #expect(fields["a"] as? [String: Int] == ["b": 7, "c": 2])
    }

    @Test func mergeSetsNoTimesAndKeepsTheObjectData() async throws {
      let ada = Document<User>(id: "ada", from: User(name: "Ada"))
      try await ada.save()
      let before = try #require(try await ada.documentReference.getDocument().data())
      try await ada.merge(data: ["age": 40])
      let after = try #require(try await ada.documentReference.getDocument().data())
      #expect(after["age"] as? Int == 40)
      #expect(after["updatedAt"] as? Timestamp == before["updatedAt"] as? Timestamp)
      #expect(ada.data?.age == 0)
    }

    @Test func writesToAnotherReferenceDoNotChangeTheObjectPath() async throws {
      let ada = Document<User>(id: "ada", from: User(name: "Ada"))
      let copy = Firestore.firestore().document("copies/ada")
      try await ada.save(reference: copy)
      #expect(try await copy.getDocument().exists)
      #expect(try await Document<User>.get(id: "ada") == nil)
      #expect(ada.path == "users/ada")
      try await ada.delete(reference: copy)
      #expect(try await !copy.getDocument().exists)
    }

    @Test func getOfAMissingDocumentReturnsNilWithoutError() async throws {
      #expect(try await Document<User>.get(id: "nobody") == nil)
      let found = await withCheckedContinuation { done in
        Document<User>.get(id: "nobody") { done.resume(returning: ($0 == nil, $1 == nil)) }
      }
      #expect(found == (true, true))
    }

    @Test func aDocumentThatDoesNotDecodeIsAnError() async throws {
      try await Firestore.firestore().document("users/odd").setData(["name": 7])
      await #expect(throws: DecodingError.self) { try await Document<User>.get(id: "odd") }
    }

    @Test func aDeletedDocumentIsGone() async throws {
      let ada = Document<User>(id: "ada")
      try await ada.save()
      #expect(await outcome { ada.delete(completion: $0) } == nil)
      #expect(try await Document<User>.get(id: "ada") == nil)
    }

    @Test func collectionNameIsTheTypeNameUnlessTheModelOverridesIt() {
      struct Local: Codable, Modelable {}
      #expect(Plain.name == "plain")
      #expect(Local.name == "local")
      #expect(Document<User>(id: "x").path == "users/x")
      #expect(Document<Plain>(id: "x").path == "plain/x")
      #expect(Document<User>().id.count == 20)
    }

    @Test func aModelNamesItsOwnCollection() async throws {
      struct Moved: Codable, Modelable {
        static var collectionReference: CollectionReference {
          Firestore.firestore().document("version/1").collection("moved")
        }
        var value = 1
      }
      try await Document<Moved>(id: "x").save()
      #expect(try await Firestore.firestore().document("version/1/moved/x").getDocument().exists)
      #expect(try await Document<Moved>.get(id: "x")?.data?.value == 1)
      #expect(try await Document<Moved>.query.query.getDocuments().count == 1)
    }

    @Test func aRootDocumentIsAboveAllCollections() {
      BallcapApp.configure(Firestore.firestore().document("version/1"))
      defer { BallcapApp.configure() }
      #expect(Document<User>(id: "ada").path == "version/1/users/ada")
      #expect(User.path == "version/1/users")
      #expect(User.parent?.path == "version/1")
    }

    @Test func modelDescriptionListsItsFields() {
      #expect(Plain().debugDescription == "plain {\n  value: -4.0\n  list: [\"a\"]\n}")
    }

    @Test func objectDescriptionListsPathTimesAndFields() throws {
      let zero = Timestamp(seconds: 0, nanoseconds: 0)
      let document = Document<Plain>(id: "x", from: ["createdAt": zero, "updatedAt": zero])
      #expect(document == nil)
      let plain = try Document<Plain>(
        documentReference: Plain.collectionReference.document("x"),
        from: ["value": 1, "list": [], "createdAt": zero, "updatedAt": zero])
      let time = "<FIRTimestamp: seconds=0 nanoseconds=0> (1970-01-01 00:00:00 +0000)"
      #expect(
        plain.description == """
          plain {
            path: plain/x
            createdAt: \(time)
            updatedAt: \(time)
            value: 1.0
            list: []
          }
          """)
      plain.data = nil
      #expect(plain.description == "plain {\n data: nil\n}")
    }

    @Test func propertiesAreReachedByKeyPath() {
      let ada = Document<User>(id: "ada")
      ada[\.age] = 36
      #expect(ada[\.age] == 36)
      #expect(ada.data?.age == 36)
    }

    @Test func everyInitialiserRefersToItsDocument() throws {
      let collection = Firestore.firestore().collection("elsewhere")
      let fields: [String: Any] = ["name": "Ada", "age": 36, "tags": []]
      #expect(Document<User>("ada").path == "users/ada")
      #expect(Document<User>(id: "ada", collectionReference: collection).path == "elsewhere/ada")
      #expect(Document<User>(collectionReference: collection).path.hasPrefix("elsewhere/"))
      #expect(Document<User>(id: "ada", from: fields)?.data == User(name: "Ada", age: 36))
      #expect(Document<User>(id: "ada", from: ["name": 1]) == nil)
      #expect(throws: DecodingError.self) {
        try Document<User>(documentReference: collection.document("x"), from: [:])
      }
      let inferred: Document<User> = Document()
      #expect(inferred.data == User())
      #expect(Document<User>(collection.document("y")).data == nil)
    }

    @Test func timesInFieldsAreUsedOnlyIfTheyAreTimestamps() throws {
      let time = Timestamp(seconds: 5, nanoseconds: 0)
      let fields: [String: Any] = [
        "name": "", "age": 0, "tags": [], "createdAt": time, "updatedAt": NSNull(),
      ]
      let ada = try #require(Document<User>(id: "ada", from: fields))
      #expect(ada.createdAt == time)
      #expect(abs(ada.updatedAt.dateValue().timeIntervalSinceNow) < 60)
    }

    @Test func aCopyHasTheSameDataAndIsAnotherObject() {
      let ada = Document<User>(id: "ada", from: User(name: "Ada"))
      let copy = ada.copy()
      #expect(copy == ada)
      #expect(copy !== ada)
      copy.data?.name = "Eve"
      #expect(copy != ada)
      #expect(ada.data?.name == "Ada")
    }

    @Test func classCanOptOutOfTimestamps() async throws {
      final class Bare: Object, DataRepresentable {
        struct Model: Codable, Modelable { var value = 1 }
        var data: Bare.Model?
        var shouldIncludedInTimestamp: Bool { false }
      }
      try await Bare(id: "x").save()
      #expect(
        try await Firestore.firestore().document("bare/x").getDocument().data() as? [String: Int] == [
          "value": 1
        ])
    }

    @Test func classesNotDerivedFromObjectHaveTheSameDefaults() async throws {
      final class Bare: DataRepresentable {
        var data: User?
        static func == (left: Bare, right: Bare) -> Bool { left.data == right.data }
        func hash(into hasher: inout Hasher) {}
      }
      #expect(Bare.collectionReference.path == "users" && Bare().shouldIncludedInTimestamp)
      final class Lone: Documentable, DataRepresentable {
        static var name: String { "lone" }
        var data: User?
        var documentReference: DocumentReference!
        var storageReference: StorageReference { Storage.storage().reference(withPath: path) }
        var createdAt = Timestamp()
        var updatedAt = Timestamp()
        init() { documentReference = Self.collectionReference.document() }
        init(_ documentReference: DocumentReference) { self.documentReference = documentReference }
        static func == (left: Lone, right: Lone) -> Bool { left.data == right.data }
        func hash(into hasher: inout Hasher) {}
      }
      let lone = Lone()
      lone.data = User(name: "Ada")
      #expect(lone.path.hasPrefix("lone/") && lone.shouldIncludedInTimestamp)
      try await Batch().save(lone).commit()
      #expect(try await lone.documentReference.getDocument().data()?["updatedAt"] is Timestamp)
    }

    @Test func modelsMayBeClassesAndInherit() {
      class Shape: Codable, Modelable {
        var sides = 3
        required init() {}
        static func == (left: Shape, right: Shape) -> Bool { left.sides == right.sides }
      }
      final class Star: Shape { var rays = 5 }
      #expect(Shape.name == "shape" && Star.name == "star" && Star.collectionReference.path == "star")
      #expect(Star().debugDescription == "star {\n  sides: 3\n  rays: 5\n}")
      #expect(Document<Shape>(id: "x").path == "shape/x")
    }

    @Test func classesMayNameTheirOwnCollection() async throws {
      final class Moved: Object, DataRepresentable {
        struct Model: Codable, Modelable { var value = 1 }
        var data: Moved.Model?
        class var collectionReference: CollectionReference { Firestore.firestore().collection("elsewhere") }
      }
      try await Moved(id: "x").save()
      #expect(Moved(id: "x").path == "elsewhere/x")
      #expect(try await Moved.get(id: "x") != nil)
      #expect(try await Moved.query.query.getDocuments().count == 1)
    }
  }
}
