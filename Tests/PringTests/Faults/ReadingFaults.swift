// The faults of the original Pring in links, equality and lists. Each test shows the correct behaviour. The
// numbers refer to the list in docs/pring.md.

import FirebaseFirestore
import FirebaseStorage
import Foundation
import LayerHarness
import ObjectSync
import OfflineSync
import Testing

@testable import FirebaseFirestore
@testable import Pring

extension PringTests {
  @Suite final class ReadingFaults {
    private let app = TestApp()

    private func make(_ ids: String...) async throws {
      for id in ids { try await Item(id: id).save() }
    }

    private var options: Options {
      let options = Options()
      options.includeMetadataChanges = false
      return options
    }

    // MARK: Links

    @Test func fault20LinksWithoutTimestampsResolveToTheirTargets() async throws {
      let ada = Member(id: "ada")
      try await ada.save()
      try await Firestore.firestore().document("version/1/room/r/members/ada").setData([:])
      let room = Room(id: "r", value: [:])
      let (_, members) = await callbackValue { heard in room.members.get { heard(($0, $1)) } }
      #expect(members.first?.createdAt == ada.createdAt)
    }

    @Test func fault21AReferenceReadsItsStoredPath() async throws {
      let elsewhere = Firestore.firestore().document("elsewhere/ada")
      try await elsewhere.setData(["name": "Ada"])
      let room = Room(id: "r", value: ["owner": elsewhere])
      let owner = await callbackValue { heard in room.owner.get { member, _ in heard(member) } }
      #expect(owner?.name == "Ada" && owner?.path == "elsewhere/ada")
    }

    @Test func fault22ReferencesForwardFileOperationsToTheirObjects() async throws {
      let room = Room(id: "r")
      let (ada, eve) = (Member(id: "ada"), Member(id: "eve"))
      for member in [ada, eve] { member.picture = File(data: Data("x".utf8), name: "p.txt") }
      room.owner.set(ada)
      room.guest.set(eve)
      #expect(room.owner.shouldUploadFiles("1") && room.guest.shouldUploadFiles("1"))
      try await room.save()
      #expect(!room.owner.shouldUploadFiles("2") && ada.picture?.isSaved == true)
      #expect(await callbackValue { heard in room.owner.deleteFiles("3") { heard($0 == nil) } })
      #expect(await callbackValue { heard in room.guest.deleteFiles("3") { heard($0 == nil) } })
      #expect(await bytes("version/1/members/ada/picture/p.txt") == nil)
      #expect(await bytes("version/1/members/eve/picture/p.txt") == nil)
    }

    @Test func fault23EqualIDsInRelatedClassesAreEqualWithEqualHashes() {
      let (item, same, better, other) = (Item(id: "a"), Item(id: "a"), BetterItem(id: "a"), Member(id: "a"))
      #expect(item == same && item.hash == same.hash && Set([item]).contains(same))
      #expect(item == better && better == item && item.hash == better.hash)
      #expect(!item.isEqual(other) && !other.isEqual(item) && item != Item(id: "b") && !item.isEqual("a"))
    }

    @Test func fault24TheLastInsertOrRemoveOfAMemberWins() async throws {
      let ada = Member(id: "ada")
      let room = Room(id: "r")
      room.members.insert(ada)
      try await room.save()
      let link = "version/1/room/r/members/ada"
      room.members.insert(ada)
      room.members.remove(ada)
      try await room.update()
      #expect(try await fields(link) == nil)
      room.members.remove("ada")
      room.members.insert(ada)
      try await room.update()
      #expect(try await fields(link) != nil)
    }

    @Test func fault25AHardRemovalIsNotRepeated() async throws {
      let room = Room(id: "r")
      room.members.insert(Member(id: "ada"))
      try await room.save()
      room.members.remove("ada", hard: true)
      try await room.update()
      try await Member(id: "ada").save()
      room.title = "new"
      try await room.update()
      #expect(try await fields("version/1/members/ada") != nil)
    }

    @Test func fault26IsSavedFollowsBatchSavesAndDeletes() async throws {
      let (item, other) = (Item(id: "a"), Item(id: "b"))
      try await Firestore.firestore().batch().add(.save, object: item).add(.save, object: other).commit()
      #expect(item.isSaved && other.isSaved && item.updateValue.isEmpty)
      try await item.delete()
      #expect(!item.isSaved)
      let batch = Firestore.firestore().batch().add(.delete, object: other)
      let isSaved = await callbackValue { heard in
        batch.commit(completion: { _ in heard(other.isSaved) })
      }
      #expect(isSaved == false)
      let failing = Firestore.firestore().batch().add(.save, object: item)
      failing.updateData(["x": 1], forDocument: Item.reference.document("missing"))
      await #expect(throws: (any Error).self) { try await failing.commit() }
      #expect(!item.isSaved)
    }

    // MARK: Lists

    @Test func fault27ASecondListenReplacesTheFirst() async throws {
      try await make("a")
      let heard = CallbackValues<String>()
      let source = Item.query.dataSource(options: options)
      log(source, heard)
      source.listen()
      #expect(await heard.next() == "initial a")
      app.onCallbackQueue { _ = source.listen() }
      #expect(await heard.next() == "initial a")
      try await make("b")
      #expect(await heard.next() == "+1")
      app.onCallbackQueue { source.stop() }
      try await make("c")
      app.onCallbackQueue { heard.add("nothing more \(source.count)") }
      #expect(await heard.next() == "nothing more 2")
      #expect(app.onCallbackQueue { source.listener == nil })
    }

    @Test func fault28DocumentsChangeOnlyOnTheCallbackQueue() async throws {
      try await make("a", "b")
      let heard = CallbackValues<Bool>()
      let source = Item.query.dataSource(options: options)
      source.on(parse: { _, item, done in
        nonisolated(unsafe) let (item, done) = (item, done)
        DispatchQueue.global().async { done(item) }
      })
      .on { _, _ in heard.add(TestApp.isCallbackQueue) }
      .listen()
      #expect(await heard.next())
      try await Item.reference.document("a").delete()
      #expect(await heard.next())
      #expect(app.onCallbackQueue { source.documents.keys } == ["b"])
      source.stop()
    }

    @Test func fault29RemovingAFilteredDocumentDelaysNoChange() async throws {
      try await make("hidden")
      let options = options
      options.filter = { ($0 as? Item)?.id != "hidden" }
      options.timeout = 1
      let heard = CallbackValues<String>()
      let source = Item.query.dataSource(options: options)
      log(source, heard)
      source.listen()
      #expect(await heard.next() == "initial ")
      try await Item.reference.document("hidden").delete()
      try await make("b")
      #expect(await heard.next() == "+0")
      source.stop()
    }

    @Test func fault30ASnapshotIsAlsoReportedAsOneBatch() async throws {
      try await make("a", "b", "c")
      let heard = CallbackValues<DataSource<Item>.BatchedChange>()
      let source = Item.order(by: \Item.price).dataSource(options: options)
      source.onBatch { _, change in heard.add(change) }.listen()
      #expect(await heard.next().insertions == [0, 1, 2])
      try await Firestore.firestore().batch()
        .deleteDocument(Item.reference.document("b"))
        .updateData(["price": 7], forDocument: Item.reference.document("a"))
        .setData(["price": 5], forDocument: Item.reference.document("d"))
        .commit()
      let change = await heard.next()
      #expect(change.before.keys == ["a", "b", "c"] && change.after.keys == ["c", "d", "a"])
      #expect(change.deletions == [1] && change.insertions == [1] && change.modifications == [2])
      source.stop()
    }

    @Test func fault31LinkedObjectsKeepTheOrderOfTheLinkQuery() async throws {
      let album = Album(id: "x")
      for (index, id) in ["c", "a", "b"].enumerated() {
        let song = Copied(id: id)
        song.name = "\(index)"
        album.songs.insert(song)
      }
      try await album.save()
      let heard = CallbackValues<String>()
      let source = album.songs.order(by: \.name).dataSource(options: options)
      log(source, heard)
      source.listen()
      #expect(await heard.next() == "initial c a b")
      source.stop()
      let (_, songs) = await callbackValue { heard in
        album.songs.get(album.songs.order(by: \.name, descending: true)) { heard(($0, $1)) }
      }
      #expect(songs.keys == ["b", "a", "c"])
    }

    @Test func fault32EveryDanglingLinkIsReported() async throws {
      let links = Firestore.firestore().collection("version/1/room/r/members")
      try await links.document("gone").setData([:])
      let heard = CallbackValues<String>()
      let source = Room(id: "r", value: [:]).members.query.dataSource(options: options)
      log(source, heard)
      source.listen()
      #expect(await heard.next() == "error invalidReference")
      #expect(await heard.next() == "initial ")
      try await links.document("lost").setData([:])
      #expect(await heard.next() == "error invalidReference")
      source.stop()
    }

    @Test func fault34ObserversGetTheChangedObject() async throws {
      try await make("a")
      let heard = CallbackValues<Item?>()
      let source = Item.query.dataSource(options: options)
      let shown = CallbackValues<Bool>()
      source.onCompleted { _, items in if !items.isEmpty { shown.add(true) } }.listen()
      _ = await shown.next()
      let disposer = app.onCallbackQueue { source.observeObject(at: 0) { item, _ in heard.add(item) } }
      let first = await heard.next()
      try await Item.reference.document("a").updateData(["price": 4])
      let second = await heard.next()
      #expect(first?.price == 0 && second?.price == 4 && first !== second)
      disposer.dispose()
      source.stop()
    }

    @Test func fault35AnUpdateCompletesOnce() async throws {
      let room = Room(id: "r")
      room.pages = (0..<3).map { File(data: Data("x".utf8), name: "\($0).txt") }
      try await room.save()
      // Two of the old files are already deleted, so deleting them again fails.
      for name in ["0.txt", "1.txt"] {
        try await Storage.storage().reference(withPath: "version/1/room/r/pages/\(name)").delete()
      }
      room.pages = []
      let heard = CallbackValues<String>()
      room.update { error in heard.add("completed \(error == nil)") }
      #expect(await heard.next() == "completed true")
      heard.add("nothing more")
      try await room.reference.firestore.waitForPendingWrites()
      #expect(await heard.next() == "nothing more")
    }

    @Test func fault35AnUpdateCompletesOnceEvenIfDeletionsHang() async throws {
      let remote = LoopbackBlobRemote()
      Storage.storage().remote = remote
      let room = Room(id: "r")
      room.pages = (0..<3).map { File(data: Data("x".utf8), name: "\($0).txt") }
      try await room.save()
      remote.isReachable = false
      room.pages = []
      let batch = Firestore.firestore().batch()
      Packing.of(batch).removals.timeout = 0
      let heard = CallbackValues<String>()
      room.update(batch) { error in heard.add("completed \(error == nil)") }
      #expect(await heard.next() == "completed true")
      #expect(try await fields(room)?["pages"] as? [String] == [])
      // All three deletions have started, and they continue although no caller waits for them.
      try await waitForPendingChanges(3)
      remote.isReachable = true
      try await Storage.storage().waitForPendingChanges()
      let last = Storage.storage().reference(withPath: "version/1/room/r/pages/2.txt")
      #expect(remote.content(bucket: last.bucket, name: last.fullPath) == nil)
      app.onCallbackQueue { heard.add("nothing more") }
      #expect(await heard.next() == "nothing more")
    }

    @Test func fault36ALargeListTakesManyChangesQuickly() {
      var rows = Rows<Item>([], .none)
      for index in 0..<5000 { _ = rows.insert(Item(id: "\(index)"), "\(index)", key: nil) }
      let start = ContinuousClock.now
      for index in 0..<5000 { _ = rows.replace("\(index)", with: Item(id: "\(index)"), key: nil) }
      // Scanning the rows for each change would compare twelve million ids.
      #expect(ContinuousClock.now - start < .seconds(10))
      #expect(rows.count == 5000 && rows.index(of: "4321") == 4321)
    }

    @Test func fault37NilIsStoredAsNull() async throws {
      let item = Item(id: "a")
      item.name = "n"
      try await item.save()
      item.name = nil
      #expect(item.updateValue["name"] is NSNull)
      try await item.update()
      let found = try await Item.reference.whereField("name", isEqualTo: NSNull()).getDocuments()
      #expect(found.documents.map(\.documentID) == ["a"])
    }

    private final class Moody: Object {
      var a = 1
      var b = 2
      var hides = false
      override var ignore: [String] { hides ? ["a", "hides"] : ["hides"] }
    }

    @Test func fault38TheSetOfIgnoredFieldsMayChange() async throws {
      let moody = Moody(id: "m")
      moody.hides = true
      moody.a = 5
      try await moody.save()
      moody.hides = false
      #expect(moody.updateValue["a"] == nil && moody.rawValue["a"] as? Int == 5)
      moody.a = 6
      try await moody.update()
      #expect(try await fields(moody)?["a"] as? Int == 6)
    }

    @Test func fault39ReferencesDoNotChangeTheSettings() {
      let before = Firestore.firestore().settings
      _ = (Item.reference, Item().reference, Item.query)
      #expect(Firestore.firestore().settings == before)
      let changed = Firestore.firestore().settings
      changed.durability = .buffered
      Firestore.firestore().settings = changed
      #expect(Firestore.firestore().settings.durability == .buffered)
    }

    @Test func fault40AClassMayHaveDocumentsAtAnyPath() async throws {
      let place = Firestore.firestore().document("teams/x/items/a")
      let item = Item()
      item.setReference(place)
      item.price = 3
      try await item.save()
      let found = try #require(Item(snapshot: try await place.getDocument()))
      found.price = 4
      try await found.update()
      #expect(try await fields("teams/x/items/a")?["price"] as? Double == 4 && found.id == "a")
    }
  }

  @Suite final class BrokenDatabases {
    private let app = TestApp(isBroken: true)

    @Test func fault33AFailedPageIsNotTheLastPage() async {
      let heard = CallbackValues<String>()
      let source = Item.query.dataSource()
      log(source, heard)
      source.get()
      #expect(await heard.next() == "error other")
      #expect(app.onCallbackQueue { !source.isLast })
      // A caller that waits for the page continues as if the page were empty.
      var pages: [[String]] = []
      var ends: [Bool] = []
      for _ in 0..<2 {
        source.next { heard.add("last \($0)") }
        pages.append(await heard.next(2))
        ends.append(app.onCallbackQueue { source.isLast })
      }
      #expect(pages == [["error other", "last true"], ["error other", "last true"]])
      #expect(ends == [false, false])
      let (item, error) = await callbackValue { heard in Item.get("a") { heard(($0, $1)) } }
      #expect(item == nil && error != nil)
      #expect(await callbackValue { heard in Item(id: "a").save { _, error in heard(error != nil) } })
    }
  }
}
