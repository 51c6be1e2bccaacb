// Runs every example of the guide, and checks that the guide shows exactly this code.

import FirebaseFirestore
import FirebaseStorage
import Foundation
import LayerHarness
import Pring
import Testing

extension PringTests {
  @Suite final class Guide {
    private let app = TestApp()

    @Test func guideSnippetsMatchTheTestedCode() throws {
      let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      let code = try ["Guide.swift", "GuideToBallcap.swift"].map {
        try String(contentsOf: root.appendingPathComponent($0), encoding: .utf8)
      }.joined()
      let page = try String(
        contentsOf: root.appendingPathComponent("../../../docs/pring.md").standardizedFileURL,
        encoding: .utf8)
      let fences = page.matches(of: #/(?s)```swift\n(.*?)```/#).map { String($0.1) }
      #expect(fences.count >= 20)
      var missing: [String] = []
      for fence in fences {
        // The file has one list of imports for all examples.
        let lines = fence.split(separator: "\n", omittingEmptySubsequences: false)
        let start = lines.firstIndex { !$0.hasPrefix("import ") && !$0.isEmpty } ?? 0
        if !code.contains(lines[start...].joined(separator: "\n")) { missing.append(fence) }
      }
      #expect(missing == [])
      #expect((1...40).filter { !page.contains("\n\($0). ") } == [])
    }

    private func person(_ id: String, _ name: String) -> Person {
      let person = Person(id: id)
      person.name = name
      return person
    }

    @Test func objectsAreCreatedSavedReadAndDeleted() async throws {
      makeObjects()
      try await saveAndUpdate()
      #expect(try await Person.get("ada") == nil)
      let eve = person("eve", "E")
      await callbackValue { done in saveWithCompletion(eve) { done(()) } }
      #expect(try await Person.get("eve")?.name == "Eve")
      let player = Player(id: "p")
      player.rank = .high
      try await saveTogether(person("ada", "Ada"), player)
      #expect(try await Player.get("p")?.rank == .high)
      let high = await callbackValue { heard in
        findPlayers(.high).get { snapshot, _ in heard(snapshot?.count) }
      }
      #expect(high == 1)
      let draft = Draft(id: "d")
      draft.isBeingEdited = true
      try await draft.save()
      #expect(try await fields(draft)?.keys.contains("isBeingEdited") == false)
      let beacon = Beacon(id: "b")
      try await beacon.save()
      let before = beacon.updatedAt
      try await repeatTheWord(beacon)
      #expect(beacon.updatedAt > before)
      let heard = CallbackValues<String?>()
      let disposer = try await readAndListen { heard.add($0?.name) }
      #expect(await heard.next() == "Ada")
      disposer.dispose()
    }

    @Test func collectionsAndReferencesAreWritten() async throws {
      let (ada, eve) = (person("ada", "Ada"), person("eve", "Eve"))
      try await ada.save()
      try await writeNotes(ada)
      let notes = await callbackValue { heard in readNotes(ada) { heard($0) } }
      #expect(notes.map(\.text) == ["It weaves algebraic patterns."])
      let author = await callbackValue { heard in findAuthor(of: notes[0]) { heard($0?.name) } }
      #expect(author == "Ada")
      try await makeFriends(ada, eve)
      #expect(eve.isSaved)
      #expect(try await ada.friends.reference.getDocuments().isEmpty)
      #expect(try await eve.friends.reference.getDocuments().count == 1)
      let basket = Order(id: "o")
      try await order("tea", basket)
      let found = try #require(try await Order.get("o"))
      #expect(found.lines["tea"].count == 2 && found.address?.city == "London")
    }

    @Test func deletionsAndMovesAffectTheNamedDocuments() async throws {
      let ada = person("ada", "Ada")
      try await ada.save()
      try await writeNotes(ada)
      let note = try #require(ada.notes.first)
      let found = try #require(try await Person.get("ada"))
      #expect(await callbackValue { heard in deleteWithNotes(found) { heard($0 == nil) } })
      #expect(try await fields(ada) == nil)
      #expect(try await fields(note) == nil)
      let page = Note(id: "1")
      page.text = "old"
      try await page.save()
      let notebook = Notebook(id: "n")
      try await movePages(["1", "missing"], into: notebook)
      let (_, pages) = await callbackValue { heard in notebook.pages.get { heard(($0, $1)) } }
      #expect(pages.map(\.text) == ["old"] && pages[0].createdAt == page.createdAt)
      #expect(try await fields(page) == nil)
    }

    @Test func filesAreSavedLoadedAndRemoved() async throws {
      let ada = person("ada", "Ada")
      #expect(await callbackValue { heard in savePicture(Data("p".utf8), of: ada) { heard($0 == nil) } })
      let found = try #require(try await Person.get("ada"))
      #expect(try await loadPicture(of: found) == Data("p".utf8))
      #expect(try await readPictureOfModel("ada") == Data("p".utf8))
      try await removePicture(of: found)
      #expect(try await Person.get("ada")?.picture == nil)
      let (bea, dan) = (person("bea", "Bea"), person("dan", "Dan"))
      let heard = CallbackValues<Bool>()
      let names = saveWithFriend(bea, dan, Data("q".utf8)) { heard.add($0 == nil) }
      #expect(await heard.next())
      #expect(names == ["friends.dan.picture", "picture"])
      // A file belongs to its object, but does not retain it.
      let friend = try #require(try await Person.get("dan"))
      #expect(try await friend.picture?.getData() == Data("q".utf8))
    }

    @Test func listsAreReadAndObserved() async throws {
      let (ada, eve) = (person("ada", "Ada"), person("eve", "Eve"))
      (ada.age, eve.age, eve.isMember) = (36, 17, true)
      ada.friends.insert(eve)
      try await ada.save()
      let heard = CallbackValues<[String]>()
      let adults = findAdults { heard.add($0) }
      #expect(await heard.next() == ["ada"])
      let rows = CallbackValues<String>()
      let friends = watchFriends(of: ada) { rows.add($0) }
      #expect(await rows.next() == "reload")
      try await writeNotes(ada)
      let notes = watchNotes(of: ada) { heard.add($0) }
      #expect(await heard.next() == ["It weaves algebraic patterns. Ada"])
      let pages = Person.order(by: "age").limit(to: 1).dataSource()
      let people = await callbackValue { heard in readPages(pages) { heard($0.keys) } }
      #expect(people == ["eve", "ada"])
      friends.stop()
      notes.stop()
      withExtendedLifetime(adults) {}
    }

    @Test func rowsFollowTheirDocumentsAndCanBeDeleted() async throws {
      let ada = person("ada", "Ada")
      try await ada.save()
      let heard = CallbackValues<[String]>()
      let people = Person.query.dataSource().onCompleted { _, people in heard.add(people.keys) }.listen()
      #expect(await heard.next() == ["ada"])
      let cell = PersonCell()
      app.onCallbackQueue { cell.show(people[0]) }
      // This listener has the same query as the cell's listener, and is called after it.
      let names = CallbackValues<String?>()
      let registration = ada.reference.addSnapshotListener(includeMetadataChanges: true) { snapshot, _ in
        names.add(snapshot?.get("name") as? String)
      }
      ada.name = "Ada Lovelace"
      try await ada.update()
      while await names.next() != "Ada Lovelace" {}
      registration.remove()
      #expect(app.onCallbackQueue { cell.text } == "Ada Lovelace")
      app.onCallbackQueue { deleteRow(0, of: people) }
      while await heard.next() != [] {}
      #expect(try await Person.get("ada") == nil)
      app.onCallbackQueue { people.stop() }
    }

    @Test func transactionsCountEachFriendOnce() async throws {
      let (ada, eve) = (person("ada", "Ada"), person("eve", "Eve"))
      try await ada.save()
      var wrong: [String] = []
      for _ in 0..<2 {
        let (count, error) = await callbackValue { heard in befriend(ada, eve) { heard(($0, $1)) } }
        if error != nil || count != 1 {
          wrong.append("\(String(describing: count)), \(String(describing: error))")
        }
      }
      #expect(wrong == [])
    }

    @Test func articlesAreFoundByWordAndByPrefix() async throws {
      let article = Article(id: "a")
      article.title = "Analytical engines"
      try await article.save()
      var counts: [Int?] = []
      for query in [findByWords("Engines"), findByWords("engines analytical"), findByPrefix("Anal")] {
        let found = await callbackValue { heard in query.get { snapshot, _ in heard(snapshot?.count) } }
        counts.append(found)
      }
      #expect(counts == [1, 1, 1])
    }

    /// The bug: text that users had typed was used as a field path without escaping, and some texts ended the
    /// program.
    @Test(arguments: [
      ("a/b", 1), ("[x] and/or", 1), ("x.y", 1), ("*~`\u{1F600}", 2), ("", 2), ("__a__", 1), ("b.c", 0),
      ("\u{c9}t\u{e9}", 1), ("no", 0),
    ]) func searchTextIsSplitIntoWords(text: String, count: Int) async throws {
      for (id, title) in [("1", "A/B [x] and/or x.y"), ("2", "c* ~\u{e9}t\u{e9} `2.0`")] {
        let article = Article(id: id)
        article.title = title
        try await article.save()
      }
      let found = await callbackValue { heard in
        findByWords(text).get { snapshot, _ in heard(snapshot?.count) }
      }
      #expect(found == count)
    }

    @Test func objectsAtOtherPathsAreReadableByBallcap() async throws {
      let ada = person("ada", "Ada")
      #expect(try await copyToTeam("x", ada)?.path == "teams/x/people/ada")
      (ada.age, ada.isMember, ada.tags) = (36, true, ["pioneer"])
      try await ada.save()
      #expect(
        try await readAsModel("ada") == Human(name: "Ada", age: 36, isMember: true, tags: ["pioneer": true]))
      let visitor = Visitor(id: "v")
      visitor.visits = 2
      try await visitor.save()
      #expect(try await Visitor.get("v")?.visits == 2)
    }
  }
}
