// Runs every example of the guide, and checks that the guide shows exactly this code.

import Ballcap
import FirebaseFirestore
import FirebaseStorage
import Foundation
import LayerHarness
import Testing

extension BallcapTests {
  @Suite final class Guide {
    private let app = TestApp()

    @Test func guideExamplesMatchTheTestedCode() throws {
      let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      let code = try String(contentsOf: root.appendingPathComponent("Guide.swift"), encoding: .utf8)
      let page = try String(
        contentsOf: root.appendingPathComponent("../../../docs/ballcap.md").standardizedFileURL,
        encoding: .utf8)
      let fences = page.matches(of: #/(?s)```swift\n(.*?)```/#).map { String($0.1) }
      #expect(fences.count > 15)
      var missing: [String] = []
      for fence in fences {
        // Guide.swift has one list of imports for all examples, so the imports of a fence are skipped.
        let lines = fence.split(separator: "\n", omittingEmptySubsequences: false)
        let start = lines.firstIndex { !$0.hasPrefix("import ") && !$0.isEmpty } ?? 0
        if !code.contains(lines[start...].joined(separator: "\n")) { missing.append(fence) }
      }
      #expect(missing == [])
    }

    @Test func documentsAreCreatedSavedReadAndDeleted() async throws {
      try makeDocuments()
      chooseTheRoot()
      #expect(City.path == "cities")
      try await saveAndRead()
      #expect(try await Document<City>.get(id: "tokyo") == nil)
      let bern = Document<City>(id: "bern", from: City(title: "Bern"))
      await withCheckedContinuation { done in saveWithCompletion(bern) { done.resume() } }
      try await Document<City>(id: "bern", from: City(title: "Bern", people: 5)).save()
      let fresh = CallbackValues<City?>()
      try await refresh(bern) { city, error in fresh.add(error == nil ? city : nil) }
      #expect(bern[\.people] == 5)
      #expect(await fresh.next()?.people == 5)
      #expect(showAtOnce("bern") == "Bern")
      #expect(showAtOnce("nowhere") == "…")
    }

    @Test func listenersGetDocumentChanges() async throws {
      let heard = CallbackValues<City?>()
      let tokyo = Document<City>(id: "tokyo", from: City(title: "Tokyo"))
      do {
        let bag = DisposeBag()
        listenUntil(bag) { heard.add($0) }
        #expect(await heard.next() == nil)
        try await tokyo.save()
        #expect(await heard.next()?.title == "Tokyo")
        withExtendedLifetime(bag) {}
      }
      let shown = CallbackValues<Int>()
      let following = Task { try await followUntilDeleted("tokyo") { shown.add($0) } }
      #expect(await shown.next() == 0)
      tokyo[\.people] = 7
      try await tokyo.update()
      #expect(await shown.next() == 7)
      try await tokyo.delete()
      try await following.value
    }

    @Test func batchesAndCountersWork() async throws {
      let (old, new) = (
        Document<City>(id: "old", from: City(title: "Old", people: 10)),
        Document<City>(id: "new", from: City(title: "New"))
      )
      try await old.save()
      try await move(4, from: old, to: new)
      #expect(try await Document<City>.get(id: "new")?.data?.people == 4)
      #expect(try await Firestore.firestore().collection("archive").getDocuments().count == 2)
      let counter = Document<Tally>(id: "c")
      try await counter.save()
      try await visit(counter, "ada")
      try await visit(counter, "eve")
      #expect(counter.data?.hits == 2)
      #expect(counter.data?.visitors == ["ada", "eve"])
    }

    @Test func filesAreUploadedAndDownloaded() async throws {
      Storage.storage().callbackQueue = Firestore.firestore().settings.dispatchQueue
      let profile = Document<Profile>(id: "ada")
      try await upload(Data("picture".utf8), for: profile)
      let found = try #require(try await Document<Profile>.get(id: "ada")?.data?.avatar)
      #expect(found.path == "profile/ada/avatar.png")
      Ballcap.FileManager.shared.delete(key: found.path)
      #expect(try await download(found) == Data("picture".utf8))
      _ = try await found.storageReference.putDataAsync(Data("newer picture".utf8))
      #expect(try await download(found) == Data("picture".utf8))
      #expect(try await downloadAgain(found) == Data("newer picture".utf8))
      Ballcap.FileManager.shared.delete(key: found.path)
      let cell = PictureCell(try #require(try await Document<Profile>.get(id: "ada")?.data?.avatar))
      #expect(try await cell.show() == 13)
      let other = File(profile, name: "other", data: Data("more".utf8), mimeType: .plain)
      #expect(await outcome { uploadWithProgress(other, $0) } == nil)
      try await replace([other], by: [File(profile, name: "new", data: Data("new".utf8), mimeType: .plain)])
      await #expect(throws: StorageError.self) { try await other.reload() }
    }

    @Test func objectsHaveCollections() async throws {
      try await openRoom()
      let room = try #require(try await Room.get(id: "lobby"))
      try await say("hello", in: room)
      #expect(try await Firestore.firestore().collection("rooms/lobby/transcripts").getDocuments().count == 1)
    }

    @Test func listsAreLive() async throws {
      let heard = CallbackValues<[String]>()
      let source = watchCities { heard.add($0) }
      #expect(await heard.next() == [])
      try await Document<City>(id: "a", from: City(title: "A", people: 200_000)).save()
      #expect(await heard.next() == ["a"])
      try await Document<City>(id: "b", from: City(title: "B", people: 300_000)).save()
      #expect(await heard.next() == ["b", "a"])
      source.stop()
      let even = CallbackValues<[String]>()
      let registration = evenCities { even.add($0) }
      #expect(await even.next() == ["a", "b"])
      try await Document<City>(id: "a", from: City(title: "A", people: 200_001)).save()
      #expect(await even.next() == ["b"])
      registration.remove()
      #expect(try await countUntil(2) == 2)
      for index in 0..<25 { try await Document<City>(id: "\(index)", from: City(title: "T\(index)")).save() }
      #expect(try await readAll().count == 27)
      try await Firestore.firestore().document("favourites/a").setData([:])
      let liked = CallbackValues<[String]>()
      let favourites = favourites { liked.add($0) }
      #expect(await liked.next() == ["A"])
      try await Firestore.firestore().document("favourites/b").setData([:])
      #expect(await Set(liked.next()) == ["A", "B"])
      #expect(try await Set(largeOrNamed("A")) == ["a", "b"])
      let picked = CallbackValues<[String]>()
      let pick = pickCities { picked.add($0) }
      #expect(await picked.next() == ["basel", "bern", "tokyo"])
      #expect(await picked.next() == ["basel", "bern"])
      #expect(pick.count == 2)
      let page = CallbackValues<[String]>()
      let first = watchTheFirst { page.add($0) }
      #expect(await page.next() == ["a", "b"])
      app.onCallbackQueue { showMore(of: first) }
      #expect(await page.next() == ["a", "b", "0", "1"])
      app.onCallbackQueue { first.stop() }
      var rows: [String] = []
      let shown = Document<City>.order(by: "title").dataSource()
      for try await change in shown.changes {
        show(&rows, change)
        break
      }
      #expect(rows.count == 27 && rows[0] == "A")
      favourites.stop()
    }

    @Test func objectsAreObserved() async throws {
      let shop = Shop(id: "corner")
      let changes = CallbackValues<Bool>()
      titleChanges(of: shop) { changes.add(true) }
      shop[\.title] = "Corner shop"
      #expect(await changes.next())
      let changed = CallbackValues<Bool>()
      let shops = app.onCallbackQueue { shopTitles { changed.add(true) } }
      try await shop.save()
      #expect(await changed.next())
      withExtendedLifetime(shops) {}
    }

    @Test func documentsWrittenByPringAreReadable() async throws {
      try await Firestore.firestore().document("version/1/person/ada").setData([
        "name": "Ada", "age": 36, "createdAt": FieldValue.serverTimestamp(),
      ])
      #expect(try await readWhatPringWrote() == Person(name: "Ada", age: 36))
    }
  }
}
