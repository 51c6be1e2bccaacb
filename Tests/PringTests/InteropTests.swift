// Tests that Ballcap can read a store that Pring wrote, and that Pring can read a store that Ballcap wrote.

import Ballcap
import FirebaseFirestore
import FirebaseStorage
import Foundation
import LayerHarness
import Testing

@testable import Pring

/// A document that each layer declares as a class.
private final class Card: Pring.Object {
  var title = ""
  var count = 0
  var ratio = 0.0
  var isOpen = false
  var due: Date?
  var bytes = Data()
  var names: [String] = []
  var flags: Set<String> = []
  var owner = Reference<Card>()
  var parentCard = Relation<Card>()
  var inner: Inner?
  let parts: Pring.List<Inner> = []
  let notes: NestedCollection<Inner> = []

  final class Inner: Pring.Object { var text = "" }
}

private struct CardModel: Codable, Modelable {
  static var name: String { "card" }

  struct Inner: Codable, Equatable { var text = "" }

  var title = ""
  var count = 0
  var ratio = 0.0
  var isOpen = false
  var due: Date?
  var bytes = Data()
  var names: [String] = []
  var flags: [String: Bool] = [:]
  var owner: DocumentReference?
  var parentCard: String?
  var inner: Inner?
  var parts: [String: Inner] = [:]
}

/// A document with properties of the remaining types that a document can hold.
private final class Sheet: Pring.Object {
  var amount: Int?
  var single: Float = 0.5
  var isFinal: Bool?
  var time = Timestamp(seconds: 20, nanoseconds: 5000)
  var point = GeoPoint(latitude: 1, longitude: 2)
  var place: DocumentReference?
  var link = URL(string: "https://example.org/a?b=c")!
  var nick: String? = "n"
  var none: String? = "until it is nil"
  var numbers = [1, 2]
  var dates = [Date(timeIntervalSince1970: 7)]
  var counts = ["a": 1]
  var lines: [[String: String]] = [["x": "1"], ["y": "2"]]
  var picture: Pring.File?
  var pages: [Pring.File] = []
}

private struct SheetModel: Codable, Modelable {
  static var name: String { "sheet" }

  /// The form in which Pring describes a file.
  struct Picture: Codable, Equatable {
    var name = ""
    var url: URL?
    var mimeType: String?
  }

  var amount: Int?
  var single: Float = 0
  var isFinal: Bool?
  var time = Timestamp()
  var point = GeoPoint(latitude: 0, longitude: 0)
  var place: DocumentReference?
  var link: URL?
  var nick: String?
  var none: String?
  var numbers: [Int] = []
  var dates: [Date] = []
  var counts: [String: Int] = [:]
  var lines: [[String: String]] = []
  var picture: Picture?
  var pages: [Picture] = []
}

private struct NoteModel: Codable, Modelable { var text = "" }

extension PringTests {
  @Suite final class Interop {
    private let app = TestApp()

    init() { BallcapApp.configure(Firestore.firestore().document("version/1")) }

    deinit { BallcapApp.configure() }

    private let due = Date(timeIntervalSince1970: 1000)

    private func model() -> CardModel {
      CardModel(
        title: "t", count: 2, ratio: 1.5, isOpen: true, due: due, bytes: Data([1]), names: ["a"],
        flags: ["f": true], owner: Card.reference.document("o"), parentCard: "p", inner: .init(text: "i"),
        parts: ["x": .init(text: "x")])
    }

    @Test func ballcapReadsWhatPringWrote() async throws {
      let card = Card(id: "c")
      (card.title, card.count, card.ratio, card.isOpen) = ("t", 2, 1.5, true)
      (card.due, card.bytes, card.names, card.flags) = (due, Data([1]), ["a"], ["f"])
      card.owner.documentReference = Card.reference.document("o")
      card.parentCard.id = "p"
      card.inner = Card.Inner()
      card.inner?.text = "i"
      let part = Card.Inner(id: "x")
      part.text = "x"
      card.parts.append(part)
      let note = Card.Inner(id: "n")
      note.text = "note"
      card.notes.insert(note)
      try await card.save()
      await app.restart()
      BallcapApp.configure(Firestore.firestore().document("version/1"))
      let found = try #require(try await Ballcap.Document<CardModel>.get(id: "c"))
      #expect(found.data == model())
      #expect(found.createdAt == card.createdAt && found.path == card.path)
      let notes = found.documentReference.collection("notes")
      let read = try await Ballcap.Document<NoteModel>.get(documentReference: notes.document("n"))
      #expect(read?.data?.text == "note")
    }

    @Test func pringReadsWhatBallcapWroteAndWritesItBack() async throws {
      let document = Ballcap.Document<CardModel>(id: "c", from: model())
      try await document.save()
      await app.restart()
      BallcapApp.configure(Firestore.firestore().document("version/1"))
      let card = try #require(try await Card.get("c"))
      #expect(card.title == "t" && card.count == 2 && card.ratio == 1.5 && card.isOpen && card.due == due)
      #expect(card.bytes == Data([1]) && card.names == ["a"] && card.flags == ["f"])
      #expect(card.owner.id == "o" && card.parentCard.id == "p" && card.inner?.text == "i")
      #expect(card.parts["x"].text == "x" && card.createdAt == document.createdAt)
      card.title = "changed"
      card.flags = []
      card.parts["x"].text = "y"
      try await card.update()
      var expected = model()
      (expected.title, expected.flags, expected.parts) = ("changed", [:], ["x": .init(text: "y")])
      #expect(try await Ballcap.Document<CardModel>.get(id: "c")?.data == expected)
    }

    @Test func valuesRoundTripThroughBallcapUnchanged() async throws {
      let sheet = Sheet(id: "s")
      (sheet.amount, sheet.place) = (3, Card.reference.document("c"))
      sheet.picture = Pring.File(data: Data("p".utf8), name: "portrait", mimeType: .png)
      sheet.pages = [Pring.File(data: Data("1".utf8), name: "one", mimeType: .plain)]
      try await sheet.save()
      sheet.none = nil
      try await sheet.update()
      let written = sheet.rawValue
      await app.restart()
      BallcapApp.configure(Firestore.firestore().document("version/1"))

      let document = try #require(try await Ballcap.Document<SheetModel>.get(id: "s"))
      let model = try #require(document.data)
      #expect(model.amount == 3 && model.single == 0.5 && model.isFinal == nil && model.nick == "n")
      #expect(model.time == sheet.time && model.point == sheet.point)
      #expect(model.place?.path == "version/1/card/c")
      #expect(model.link == sheet.link && model.none == nil && model.numbers == [1, 2])
      #expect(model.dates == sheet.dates && model.counts == ["a": 1])
      #expect(model.lines == [["x": "1"], ["y": "2"]])
      #expect(model.pages.map(\.name) == ["one.txt"] && model.picture?.mimeType == "image/png")
      let picture = try #require(model.picture)
      let bytes = document.storageReference.child("picture").child(picture.name)
      #expect(try await bytes.data(maxSize: 10) == Data("p".utf8))
      // This update writes all fields of the model.
      document.data?.nick = "m"
      try await document.update()
      await app.restart()

      let found = try #require(try await Sheet.get("s"))
      #expect(found.nick == "m" && found.createdAt == sheet.createdAt)
      #expect(try await found.picture?.getData() == Data("p".utf8))
      found.nick = "n"
      #expect(found.place == Card.reference.document("c"))
      #expect(Set(found.rawValue.keys) == Set(written.keys))
      var wrong: [String] = []
      // A reference belongs to its database, and the restart has opened a new database.
      for (name, value) in found.rawValue where name != "place" {
        let isSame = UntypedForm.areSame(written[name], value as Any?)
        if !isSame { wrong.append(name) }
      }
      #expect(wrong == [])
    }
  }
}
