// A store that Pring wrote is read by Ballcap, and the other way around.

import Ballcap
import FirebaseFirestore
import Foundation
import Pring
import Testing

/// The same document to both layers.
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
  }
}
