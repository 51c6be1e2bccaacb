// Tests of a data source's list: its order, its reported changes, predicates, and remotes.

import Authority
import DocumentStore
import FirebaseFirestore
import Foundation
import LayerHarness
import LayerKit
import Observation
import OfflineSync
import Testing

@testable import Ballcap

extension BallcapTests {
  @Suite final class Lists {
    private let app = TestApp()
    private var items: CollectionReference { Item.collectionReference }

    private func save(_ id: String, _ rank: Int = 0, name: String = "") async throws {
      try await Document<Item>(id: id, from: Item(name: name, rank: rank)).save()
    }

    /// Applies a change to the rows of an on-screen list, which uses only the indices.
    private func apply(_ change: ItemSource.Snapshot, to rows: inout [String]) {
      let (gone, come) = change.indices.steps
      for row in gone.sorted(by: >) { rows.remove(at: row) }
      for row in come.sorted() { rows.insert(change.after[row].id, at: row) }
    }

    // MARK: Order

    @Test func retrievedDocumentsKeepTheQueryOrder() async throws {
      let favourites = Firestore.firestore().collection("favourites")
      for (place, id) in ["c", "a", "b"].enumerated() {
        try await favourites.document(id).setData(["place": place])
        // The retrieved documents have the reverse order in their own collection, which the query does not
        // read.
        try await items.document(id).setData(["name": id, "rank": -place, "place": -place])
      }
      let source = ItemSource.Query(favourites.order(by: "place")).dataSource()
        .retrieve { _, found, done in Document<Item>.get(id: found.documentID) { item, _ in done(item) } }
      var changes = source.changes.makeAsyncIterator()
      #expect(try await changes.next()?.after.keys == ["c", "a", "b"])
      try await favourites.document("c").updateData(["place": 9])
      let moved = try #require(try await changes.next())
      #expect(moved.after.keys == ["a", "b", "c"])
      #expect(moved.indices.oldModifications == [0] && moved.indices.modifications == [2])
      // After the list is assigned in reverse order, each object still belongs to the query's document for
      // which it was retrieved.
      source.documents = source.documents.reversed()
      try await favourites.document("c").updateData(["place": -9])
      #expect(try await changes.next()?.after.keys == ["c", "a", "b"])
    }

    @Test func unreadObjectsKeepTheQueryOrderOfTheirDocuments() async throws {
      for (place, id) in ["c", "a", "b"].enumerated() { try await save(id, place) }
      let source = Document<Item>.order(by: "rank").dataSource()
        .retrieve { _, found, done in done(Document<Item>(id: found.documentID)) }
      var changes = source.changes.makeAsyncIterator()
      #expect(try await changes.next()?.after.keys == ["c", "a", "b"])
      try await save("d", 1)
      #expect(try await changes.next()?.after.keys == ["c", "a", "d", "b"])
    }

    @Test(arguments: 1...6) func changesOfAnUnorderedListReportMoves(seed: UInt64) async throws {
      var rng = SeededRNG(seed: seed)
      for rank in 0..<12 { try await save("\(rank)", rank) }
      let source = Document<Item>.order(by: "rank").dataSource()
      try await source.get()
      var order = source.documents
      for place in order.indices { order.swapAt(place, rng.roll(order.count)) }
      source.documents = order
      var snapshots: [ItemSource.Snapshot] = []
      source.onChanged { _, change in snapshots.append(change) }
      try await save("new", rng.roll(12))
      source.add(document: try #require(try await Document<Item>.get(id: "new")))
      source.remove(document: Document<Item>(id: "\(rng.roll(12))"))
      #expect(snapshots.count == 2)
      var wrong: [String] = []
      for (place, change) in snapshots.enumerated() {
        let applied = change.before.applying(change.difference)?.keys
        var rows = change.before.keys
        apply(change, to: &rows)
        if applied != change.after.keys || rows != change.after.keys {
          wrong.append("\(place): \(String(describing: applied)), \(rows), not \(change.after.keys)")
        }
      }
      #expect(wrong == [])
      #expect(snapshots[0].before.keys == order.keys)
      #expect(source.map { $0[\.rank] } == source.map { $0[\.rank] }.sorted())
    }

    // MARK: Long lists

    @Test func aChangeOfALongListTakesFewComparisons() {
      var comparisons = 0
      var list = DocumentList<Document<Item>>([], .latestUpdate)
      list.setOrder(
        .user {
          comparisons += 1
          return $0[\.rank] < $1[\.rank]
        })
      let collection = Firestore.memory().collection("items")
      var rng = SeededRNG(seed: 3)
      func item(_ id: Int) -> ListedDocument {
        let place = collection.document("\(id)")
        let item = Item(rank: rng.roll(1 << 20))
        return ListedDocument(Document(documentReference: place, from: item), at: place)
      }
      for id in 0..<10_000 { list.update(removing: [], setting: [item(id)]) }
      comparisons = 0
      for _ in 0..<1000 {
        _ = list.takeEdits()
        list.update(removing: [], setting: [item(rng.roll(10_000))])
      }
      #expect(comparisons < 1000 * 50)
      #expect(list.count == 10_000)
    }

    /// A model that counts its comparisons.
    private struct Compared: Codable, Modelable {
      nonisolated(unsafe) static var count = 0
      var rank = 0

      static func == (left: Compared, right: Compared) -> Bool {
        count += 1
        return left.rank == right.rank
      }
    }

    @Test func manualEditOfALongListDoesNotScanIt() {
      let collection = Firestore.memory().collection("items")
      func item(_ id: String, _ rank: Int) -> Document<Compared> {
        let item = Document<Compared>(collection.document(id))
        item.data = Compared()
        item.data?.rank = rank
        return item
      }
      let source = DataSource((0..<5000).map { item("\($0)", $0 * 2) })
      var comparisons = 0
      _ = source.sorted {
        comparisons += 1
        return $0[\.rank] < $1[\.rank]
      }
      (comparisons, Compared.count) = (0, 0)
      var wrong: [String] = []
      for id in 0..<100 {
        source.add(document: item("new\(id)", id * 77 + 1))
        source.remove(document: item("none\(id)", 0))
        source.remove(document: item("\(id * 40)", 0))
        if source.firstIndex(of: item("no\(id)", 0)) != nil { wrong.append("no\(id)") }
      }
      #expect(wrong == [])
      #expect(source.count == 5000)
      // Placing an element takes about twenty calls of the sort predicate. Models are compared only if they
      // may have changed since they were placed.
      #expect(comparisons < 100 * 40 && Compared.count < 100 * 40, "\(comparisons), \(Compared.count)")
    }

    // MARK: Duplicates

    /// The user has inserted documents twice.
    @Test func changesOfAListWithDuplicatesLeadFromBeforeToAfter() async throws {
      for rank in 0..<4 { try await save("\(rank)", rank) }
      let source = Document<Item>.order(by: "rank").dataSource()
      try await source.get()
      let all = source.documents
      var snapshots: [ItemSource.Snapshot] = []
      source.onChanged { _, change in snapshots.append(change) }
      // One document is in the list twice as the same object. Another document is in the list as two objects.
      source.documents = [all[0], all[1], all[0], all[2]]
      let copy = all[1].copy()
      copy.data?.name = "copy"
      source.insert(copy)
      #expect(source.count == 5)
      source.add(document: all[3])
      source.remove(document: all[0])
      source.remove(document: all[1])
      #expect(source.documents.keys == ["2", "3"])
      #expect(snapshots.count == 3)
      var wrong: [String] = []
      for (place, change) in snapshots.enumerated() {
        let applied = change.before.applying(change.difference)?.keys
        var rows = change.before.keys
        apply(change, to: &rows)
        if applied != change.after.keys || rows != change.after.keys {
          wrong.append("\(place): \(String(describing: applied)), \(rows), not \(change.after.keys)")
        }
        if change.countBefore != change.before.count {
          wrong.append("\(place): \(change.countBefore) before")
        }
      }
      #expect(wrong == [])
      #expect(snapshots[1].changes.deletions.keys == ["0", "0"])
    }

    @Test func changeOfADuplicatedDocumentLeavesItListedOnce() async throws {
      try await save("a", 1)
      try await save("b", 2)
      let source = Document<Item>.order(by: "rank").dataSource()
      var changes = source.changes.makeAsyncIterator()
      _ = try await changes.next()
      source.documents = [source[0], source[1], source[0]]
      try await save("a", 3)
      let change = try #require(try await changes.next())
      #expect(change.after.keys == ["b", "a"] && change.after.last?[\.rank] == 3)
      #expect(change.before.applying(change.difference)?.keys == change.after.keys)
    }

    @Test func documentsAreFoundByIDRegardlessOfCollectionOrDatabase() {
      let (one, other) = (Firestore.memory(), Firestore.memory())
      let source = ItemSource([
        Document<Item>(one.document("items/a")),
        Document<Item>(one.document("items/b")),
        Document<Item>(one.document("old/a")),
      ])
      let stranger = Document<Item>(other.document("items/a"))
      #expect(source.firstIndex(of: stranger) == 0)
      source.remove(document: stranger)
      #expect(Set(source.map(\.path)) == ["items/b", "old/a"])
      #expect(source.firstIndex(of: stranger).map { source[$0].path } == "old/a")
      source.remove(document: stranger)
      source.remove(document: stranger)
      #expect(source.map(\.path) == ["items/b"])
      source.add(document: stranger)
      #expect(source.count == 2)
    }

    // MARK: Loops

    @Test func secondLoopStartsWithTheFullState() async throws {
      for (rank, id) in ["a", "b", "c"].enumerated() { try await save(id, rank) }
      let source = Document<Item>.order(by: "rank").dataSource()
      var keys: [String] = []
      for try await change in source.changes {
        keys = change.after.keys
        break
      }
      #expect(keys == ["a", "b", "c"])
      try await items.document("a").delete()
      try await save("b", 9, name: "edited")
      try await save("d", 3)
      var rows: [String] = []
      var countBefore: Int?
      for try await change in source.changes {
        countBefore = change.before.count
        apply(change, to: &rows)
        break
      }
      #expect(countBefore == 0)
      #expect(rows == ["c", "d", "b"])
      #expect(source.map(\.id) == rows && source.last?.data?.name == "edited")
      // An iterator that is created but not advanced has no effect.
      _ = source.changes.makeAsyncIterator()
      for try await change in source.changes {
        keys = change.after.keys
        break
      }
      #expect(keys == rows)
    }

    @Test func pagesStayLoadedWhenANewLoopBegins() async throws {
      for rank in 0..<6 { try await save("\(rank)", rank) }
      let source = Document<Item>.order(by: "rank").limit(to: 2).dataSource()
      for try await _ in source.changes { break }
      try await source.next()
      #expect(source.map(\.id) == ["0", "1", "2", "3"])
      try await items.document("1").delete()
      var (before, after): ([String], [String]) = ([], [])
      for try await change in source.changes {
        (before, after) = (change.before.keys, change.after.keys)
        break
      }
      // The documents of the first page are live again, and a document of the second page has moved up to the
      // first page.
      #expect(before == ["2", "3"])
      #expect(after == ["0", "2", "3"])
    }

    @Test func newLoopDoesNotWaitForRetrievalsOfThePreviousLoop() async throws {
      try await save("a", 1)
      let asked = CallbackValues<Bool>()
      // Only one task uses the source at a time.
      nonisolated(unsafe) let source = Document<Item>.order(by: "rank").dataSource()
      source.retrieve { _, _, _ in asked.add(true) }
      let waiting = Task { for try await _ in source.changes {} }
      #expect(await asked.next())
      waiting.cancel()
      _ = await waiting.result
      source.retrieve(from: nil)
      var second = source.changes.makeAsyncIterator()
      #expect(try await second.next()?.after.keys == ["a"])
    }

    // MARK: Predicates

    private var isEven: NSPredicate {
      NSPredicate { fields, _ in ((fields as? [String: Any])?["rank"] as? Int).map { $0 % 2 } == 0 }
    }

    @Test func getOfAPredicateQueryReturnsAcceptedDocuments() async throws {
      for rank in 0..<5 { try await save("\(rank)", rank) }
      let query = Document<Item>.order(by: "rank", descending: true).filter(using: isEven)
      #expect(try await query.get().documents.map(\.documentID) == ["4", "2", "0"])
      let found = await withCheckedContinuation { done in
        query.get { snapshot, error in
          done.resume(returning: snapshot?.documents.map(\.documentID) ?? ["\(String(describing: error))"])
        }
      }
      #expect(found == ["4", "2", "0"])
    }

    @Test func firstSnapshotListsAllAcceptedDocumentsWithoutRows() async throws {
      for rank in 0..<6 { try await save("\(rank)", rank) }
      let source = Document<Item>.order(by: "rank", descending: true).filter(using: isEven).dataSource()
      var changes = source.changes.makeAsyncIterator()
      let first = try #require(try await changes.next())
      #expect(first.before.isEmpty && first.after.keys == ["4", "2", "0"])
      #expect(first.changes.insertions.keys == ["4", "2", "0"] && first.indices.insertions == [0, 1, 2])
      // The list has no rows yet, because only changes need them.
      #expect(source.list.rows.count == 0)
      try await save("3", 8)
      #expect(try await changes.next()?.after.keys == ["3", "4", "2", "0"])
    }

    @Test func predicateQueryChangesLeadFromEachStateToTheNext() async throws {
      var rng = SeededRNG(seed: 11)
      for rank in 0..<8 { try await save("\(rank)", rank) }
      let heard = CallbackValues<QuerySnapshot>()
      let registration = Document<Item>.order(by: "rank").filter(using: isEven).listen { snapshot, _ in
        if let snapshot { heard.add(snapshot) }
      }
      defer { registration.remove() }
      var rows: [String] = []
      var wrong: [String] = []
      func show(_ snapshot: QuerySnapshot) {
        for change in snapshot.documentChanges {
          if change.type != .added {
            let (row, id) = (Int(change.oldIndex), change.document.documentID)
            if rows[row] != id { wrong.append("row \(row) is \(rows[row]), not \(id)") }
            rows.remove(at: Int(change.oldIndex))
          }
          if change.type != .removed { rows.insert(change.document.documentID, at: Int(change.newIndex)) }
        }
        let ids = snapshot.documents.map(\.documentID)
        if rows != ids || rows.count != snapshot.count { wrong.append("\(rows), not \(ids)") }
      }
      show(await heard.next())
      #expect(rows == ["0", "2", "4", "6"])
      // This document fails the predicate, so the list reports nothing.
      try await save("odd", 99)
      for step in 0..<20 {
        let batch = Batch()
        for id in 0..<4 {
          batch.save(Document<Item>(id: "\(id * 2)", from: Item(name: "\(step)", rank: rng.roll(30))))
        }
        // This document guarantees at least one reported change per step.
        batch.save(Document<Item>(id: "always", from: Item(name: "\(step)", rank: 2 * rng.roll(15))))
        try await batch.commit()
        show(await heard.next())
        let all = try await items.order(by: "rank").getDocuments().documents
        let even = all.filter { ($0["rank"] as? Int ?? 1) % 2 == 0 }.map(\.documentID)
        if rows != even { wrong.append("step \(step): \(rows), not \(even)") }
      }
      #expect(wrong == [])
    }

    @Test func loopOverAPredicateQueryGetsOnlyAcceptedDocuments() async throws {
      for rank in 0..<3 { try await save("\(rank)", rank) }
      var snapshots = Document<Item>.order(by: "rank").filter(using: isEven).snapshots().makeAsyncIterator()
      #expect(try await snapshots.next()?.documents.map(\.documentID) == ["0", "2"])
      try await save("1", 3)
      try await save("4", 4)
      let second = try await snapshots.next()
      #expect(second?.documents.map(\.documentID) == ["0", "2", "4"])
      #expect(second?.documentChanges.map(\.document.documentID) == ["4"])
    }

    // MARK: With a remote

    private func client(_ remote: LoopbackRemote) -> Firestore {
      let firestore = Firestore.memory()
      let settings = FirestoreSettings()
      settings.dispatchQueue = Firestore.firestore().settings.dispatchQueue
      settings.remote = remote
      settings.acknowledgement = .local
      firestore.settings = settings
      return firestore
    }

    @Test func metadataOnlyChangesAreSkippedOnRequest() async throws {
      let firestore = client(try LoopbackRemote(authority: try DocumentStore.openInMemory()))
      let items = firestore.collection("items")
      _ = try await items.getDocuments(source: .server)
      var option = ItemSource.Option()
      option.skipsMetadataChanges = true
      let (quiet, chatty) = (CallbackValues<ItemSource.Snapshot>(), CallbackValues<ItemSource.Snapshot>())
      let sources = [(option, quiet), (ItemSource.Option(), chatty)].map { option, heard in
        ItemSource.Query(items.order(by: "rank")).dataSource(option: option)
          .onChanged { _, change in heard.add(change) }.listen()
      }
      for id in ["a", "b"] {
        try await items.document(id).setData(["name": id, "rank": 1])
        try await firestore.waitForPendingWrites()
      }
      // Wait until the remote has confirmed both documents.
      var confirmed = Set<String>()
      while confirmed.count < 2 { confirmed.formUnion(await chatty.next().changes.modifications.keys) }
      app.onCallbackQueue {
        #expect(sources[0].allSatisfy { $0.snapshot?.metadata.hasPendingWrites == false })
      }
      try await items.document("c").setData(["name": "c", "rank": 2])
      var reports: [[String]] = []
      repeat {
        let change = await quiet.next()
        reports.append(change.changes.insertions.keys + change.changes.modifications.keys.map { $0 + "!" })
      } while reports.last != ["c"]
      // The source makes its first report even if the list is empty.
      #expect(Array(reports.drop { $0.isEmpty }) == [["a"], ["b"], ["c"]])
      app.onCallbackQueue { for source in sources { source.stop() } }
      try await firestore.terminate()
    }

    @Test func pageMayEndAtADocumentWithAPendingServerTimestamp() async throws {
      struct Timed: Codable, Modelable { var at: Timestamp? }
      let firestore = client(try LoopbackRemote(authority: try DocumentStore.openInMemory()))
      let items = firestore.collection("timed")
      try await firestore.disableNetwork()
      try await items.document("a").setData(["at": Timestamp(seconds: 1, nanoseconds: 0)])
      try await items.document("b").setData(["at": FieldValue.serverTimestamp()])
      let source = DataSource<Document<Timed>>.Query(items.order(by: "at").limit(to: 2)).dataSource()
      #expect(try await source.get() == false)
      #expect(source.map(\.id) == ["a", "b"])
      #expect(try await source.next() == false)
      #expect(source.map(\.id) == ["a", "b"])
      try await firestore.terminate()
    }

    @Test func pendingServerTimestampIsEstimatedForNonOptionalFields() async throws {
      struct Timed: Codable, Modelable { var at = Timestamp(seconds: 0, nanoseconds: 0) }
      let firestore = client(try LoopbackRemote(authority: try DocumentStore.openInMemory()))
      try await firestore.disableNetwork()
      let place = firestore.document("timed/a")
      try await place.setData(["at": FieldValue.serverTimestamp()])
      let snapshot = try await place.getDocument(source: .cache)
      #expect(snapshot.metadata.hasPendingWrites)
      let object = Document<Timed>(place)
      try object._set(snapshot: snapshot)
      let data = try #require(object.data)
      #expect(abs(data.at.dateValue().timeIntervalSinceNow) < 60)
      try await firestore.terminate()
    }

    // MARK: Other tests

    @Test func timeoutIsReportedOnTheCallbackQueue() async throws {
      try await save("a")
      let errorReports = CallbackValues<Bool>()
      var option = ItemSource.Option()
      option.timeout = 0
      let source = Document<Item>.query.dataSource(option: option)
        .onError { (_: QuerySnapshot?, _: DataSourceError) in errorReports.add(TestApp.isCallbackQueue) }
        .retrieve { _, _, _ in }.listen()
      #expect(await errorReports.next())
      app.onCallbackQueue { source.stop() }
    }

    @Test func aLiveListIsObserved() async throws {
      try await save("a", 1)
      let list = LiveList(Document<Item>.order(by: "rank"))
      func look() -> (ids: [String], changed: CallbackValues<Bool>) {
        let changed = CallbackValues<Bool>()
        let ids = withObservationTracking {
          list.documents.keys
        } onChange: {
          changed.add(true)
        }
        return (ids, changed)
      }
      let first = app.onCallbackQueue { look() }
      #expect(first.ids.isEmpty)
      #expect(await first.changed.next())
      let second = app.onCallbackQueue { look() }
      #expect(second.ids == ["a"])
      try await save("b", 0)
      #expect(await second.changed.next())
      #expect(app.onCallbackQueue { look() }.ids == ["b", "a"])
      #expect(app.onCallbackQueue { list.error == nil && list.source.count == 2 })
      let broken = LiveList(ItemSource.Query(Firestore.firestore().collection("__reserved__")))
      let failed = CallbackValues<Bool>()
      app.onCallbackQueue {
        withObservationTracking {
          _ = broken.error
          _ = broken.documents
        } onChange: {
          failed.add(true)
        }
      }
      #expect(await failed.next())
      #expect(app.onCallbackQueue { broken.error != nil })
    }
  }
}
