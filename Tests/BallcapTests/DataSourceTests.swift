// Tests of the live, ordered documents of a query.

import FirebaseFirestore
import Foundation
import LayerHarness
import Testing

@testable import Ballcap

struct Item: Codable, Modelable {
  static var name: String { "items" }

  var name = ""
  var rank = 0
}

typealias ItemSource = DataSource<Document<Item>>

extension BallcapTests {
  @Suite final class DataSources {
    private let app = TestApp()
    private let heard = CallbackValues<ItemSource.Snapshot>()
    private let errors = CallbackValues<any Error>()
    private var items: CollectionReference { Item.collectionReference }

    private func save(_ id: String, _ rank: Int = 0, name: String = "") async throws {
      try await Document<Item>(id: id, from: Item(name: name, rank: rank)).save()
    }

    private func delete(_ id: String) async throws { try await items.document(id).delete() }

    private func source(_ query: ItemSource.Query = Document<Item>.query) -> ItemSource {
      query.dataSource().onChanged { [heard] _, snapshot in heard.add(snapshot) }
        .onError { [errors] (_, error: any Error) in errors.add(error) }
    }

    private func ids(_ source: ItemSource) -> [String] { app.onCallbackQueue { source.documents.keys } }

    // MARK: Listening

    @Test func changesArriveAsTheyHappen() async throws {
      try await save("a", 1)
      let source = source(Document<Item>.order(by: "rank")).listen()
      #expect(await heard.next().changes.insertions.keys == ["a"])
      try await save("b", 0)
      let second = await heard.next()
      #expect(second.before.keys == ["a"])
      #expect(second.after.keys == ["b", "a"])
      #expect(second.indices.insertions == [0])
      try await save("a", -1)
      let third = await heard.next()
      #expect(third.changes.modifications.keys == ["a"])
      #expect(third.before.keys == ["b", "a"] && third.after.keys == ["a", "b"])
      #expect(third.indices.oldModifications == [1] && third.indices.modifications == [0])
      try await delete("b")
      let fourth = await heard.next()
      #expect(fourth.changes.deletions.keys == ["b"])
      #expect(fourth.indices.deletions == [1])
      try await delete("a")
      #expect(await heard.next().after.isEmpty)
      #expect(ids(source).isEmpty)
      source.stop()
    }

    @Test func anEditThroughAnotherInstanceIsAModification() async throws {
      try await save("a")
      let source = source().listen()
      _ = await heard.next()
      let copy = app.onCallbackQueue { source[0].copy() }
      copy.data?.name = "edited"
      try await copy.update()
      #expect(await heard.next().changes.modifications.first?.data?.name == "edited")
      #expect(app.onCallbackQueue { source[0].data?.name } == "edited")
    }

    @Test func documentsMatchTheSnapshotDuringTheCallback() async throws {
      let sound = CallbackValues<Bool>()
      try await save("a")
      let source = Document<Item>.query.dataSource()
      var known: [String] = []
      source.onChanged { [unowned source] _, snapshot in
        let isSound = snapshot.before.keys == known && snapshot.after.keys == source.documents.keys
        known = source.documents.keys
        sound.add(isSound && TestApp.isCallbackQueue)
      }.listen()
      #expect(await sound.next())
      var callbackValue: [Bool] = []
      for index in 0..<5 {
        try await save("b\(index)")
        callbackValue.append(await sound.next())
      }
      #expect(callbackValue == [true, true, true, true, true])
    }

    @Test func latestUpdateComesFirstUnlessTheQueryHasAnOrder() async throws {
      for (id, rank) in [("a", 3), ("b", 1), ("c", 2)] { try await save(id, rank) }
      let byUpdate = source().listen()
      #expect(await heard.next().after.keys == ["c", "b", "a"])
      byUpdate.stop()
      let byRank = source(Document<Item>.order(by: "rank")).listen()
      #expect(await heard.next().after.keys == ["b", "c", "a"])
      byRank.stop()
      let descending = source(Document<Item>.order(by: "rank", descending: true))
      try await descending.get()
      #expect(descending.documents.keys == ["a", "c", "b"])
    }

    @Test func customSortOverridesTheQueryOrder() async throws {
      for (id, rank) in [("a", 3), ("b", 1), ("c", 2)] { try await save(id, rank) }
      let source = source(Document<Item>.order(by: "rank")).sorted { $0.id > $1.id }.listen()
      #expect(await heard.next().after.keys == ["c", "b", "a"])
      try await save("bb", 0)
      #expect(await heard.next().after.keys == ["c", "bb", "b", "a"])
      app.onCallbackQueue { _ = source.sorted { $0.id < $1.id } }
      #expect(ids(source) == ["a", "b", "bb", "c"])
    }

    @Test func throwingSortKeepsTheQueryOrder() async throws {
      struct Undecided: Error {}
      try await save("a", 1)
      let source = source(Document<Item>.order(by: "rank")).listen()
      _ = await heard.next()
      app.onCallbackQueue { _ = try? source.sorted { _, _ in throw Undecided() } }
      try await save("b", 0)
      #expect(await heard.next().after.keys == ["a", "b"])
    }

    @Test func inPlaceChangesOfElementsDoNotCorruptTheOrder() async throws {
      for rank in 0..<40 { try await save("\(rank)", rank * 10) }
      let source = source(Document<Item>.query).sorted { $0[\.rank] < $1[\.rank] }.listen()
      _ = await heard.next()
      // Documents in the middle of the list are changed in place, without a save, so that they belong at its
      // end.
      app.onCallbackQueue { for index in 15..<25 { source[index].data?.rank = 1000 + index } }
      for rank in stride(from: 5, to: 400, by: 20) { try await save("new\(rank)", rank) }
      var last: ItemSource.Snapshot?
      var wrong: [String] = []
      // Several changes may be reported as one.
      while last.map({ $0.after.count < 60 }) ?? true {
        let snapshot = await heard.next()
        app.onCallbackQueue {
          let applied = snapshot.before.applying(snapshot.difference)?.keys
          if applied != snapshot.after.keys {
            wrong.append("\(String(describing: applied)), not \(snapshot.after.keys)")
          }
          if let last, last.after.keys != snapshot.before.keys {
            wrong.append("\(snapshot.before.keys) after \(last.after.keys)")
          }
        }
        last = snapshot
      }
      #expect(wrong == [])
      let new = ids(source).filter { $0.hasPrefix("new") }.compactMap { Int($0.dropFirst(3)) }
      #expect(new == new.sorted())
    }

    @Test func stoppedSourceGetsNothingUntilItListensAgain() async throws {
      let source = source().listen()
      _ = await heard.next()
      app.onCallbackQueue { source.stop() }
      try await save("a")
      #expect(ids(source).isEmpty)
      source.listen().listen()
      #expect(await heard.next().after.keys == ["a"])
    }

    // MARK: Errors

    @Test func databaseErrorIsReportedOnTheCallbackQueue() async throws {
      let callbackValue = CallbackValues<Bool>()
      let source = ItemSource.Query(Firestore.firestore().collection("__reserved__")).dataSource()
      source.onError { (_, _: any Error) in callbackValue.add(TestApp.isCallbackQueue) }
      source.listen()
      #expect(await callbackValue.next())
      let isLast = await withCheckedContinuation { done in source.get { done.resume(returning: $0) } }
      #expect(!isLast)
      #expect(await callbackValue.next())
      #expect(!source.isLast)
    }

    @Test func undecodableDocumentIsOmittedAndReported() async throws {
      try await save("a")
      try await items.document("odd").setData(["name": 7])
      let source = source().listen()
      #expect(await heard.next().after.keys == ["a"])
      #expect(await errors.next() is DecodingError)
      source.stop()
    }

    // MARK: Retrieving

    @Test func removalsDoNotRetrieveTheirDocument() async throws {
      try await save("a")
      let source = source().retrieve { _, document, done in
        Document<Item>.get(id: document.documentID) { item, _ in done(item) }
      }.listen()
      #expect(await heard.next().after.keys == ["a"])
      try await delete("a")
      #expect(await heard.next().changes.deletions.keys == ["a"])
      #expect(ids(source).isEmpty)
    }

    /// Retrieves objects from another collection, which lacks one of the documents.
    @Test func objectsMayBeAwaited() async throws {
      try await save("a")
      try await save("b")
      let names = Firestore.firestore().collection("names")
      try await names.document("b").setData(["name": "B", "rank": 7])
      let source = source().retrieve { _, document in
        try? await Document<Item>.get(documentReference: names.document(document.documentID))
      }.listen()
      let after = await heard.next().after
      #expect(after.keys == ["b"] && after.first?.data?.rank == 7)
      #expect(ids(source) == ["b"])
    }

    /// Holds answers back until the test releases them.
    private final class Held: @unchecked Sendable {
      private var answers: [String: () -> Void] = [:]
      private let lock = NSLock()
      let asked = CallbackValues<String>()

      func hold(_ id: String, _ answer: @escaping () -> Void) {
        lock.withLock { answers[id] = answer }
        asked.add(id)
      }

      func release(_ id: String) { lock.withLock { answers.removeValue(forKey: id) }?() }
    }

    private func holding(_ held: Held, timeout: Int = 10) -> ItemSource {
      var option = ItemSource.Option()
      option.timeout = timeout
      return Document<Item>.order(by: "rank").dataSource(option: option)
        .onChanged { [heard] _, snapshot in heard.add(snapshot) }
        .onError { [errors] (_, error: any Error) in errors.add(error) }
        .retrieve { _, document, done in
          held.hold(document.documentID) { done(try? Document<Item>(snapshot: document)) }
        }.listen()
    }

    @Test func snapshotsAreDeliveredInOrderDespiteEarlyRetrievals() async throws {
      let held = Held()
      let source = holding(held)
      #expect(await heard.next().after.isEmpty)
      try await save("a", 0)
      try await save("b", 1)
      #expect(await held.asked.next() == "a")
      #expect(await held.asked.next() == "b")
      held.release("b")
      #expect(ids(source).isEmpty)
      held.release("a")
      #expect(await heard.next().after.keys == ["a"])
      #expect(await heard.next().after.keys == ["a", "b"])
    }

    @Test func lateRetrievalIsStillDelivered() async throws {
      let held = Held()
      let source = holding(held, timeout: 0)
      #expect(await heard.next().after.isEmpty)
      try await save("a", 0)
      #expect(await held.asked.next() == "a")
      #expect(await errors.next() as? DataSourceError == .timeout)
      #expect(await heard.next().after.isEmpty)
      held.release("a")
      #expect(await heard.next().changes.insertions.keys == ["a"])
      #expect(ids(source) == ["a"])
      held.release("a")
    }

    @Test func lateRetrievalDoesNotRestoreADeletedDocument() async throws {
      let held = Held()
      let source = holding(held, timeout: 0)
      _ = await heard.next()
      try await save("a", 0)
      _ = await held.asked.next()
      _ = await errors.next()
      _ = await heard.next()
      try await delete("a")
      #expect(await heard.next().after.isEmpty)
      held.release("a")
      #expect(ids(source).isEmpty)
    }

    @Test func documentsThatAreNotRetrievedAreLeftOut() async throws {
      try await save("a")
      try await save("b")
      let source = source().retrieve { _, document, done in
        done(document.documentID == "a" ? nil : try? Document<Item>(snapshot: document))
      }.listen()
      #expect(await heard.next().after.keys == ["b"])
      source.stop()
    }

    // MARK: Sources without an owner

    @Test(.timeLimit(.minutes(1)), arguments: [false, true])
    func readCompletesWithoutReferencesToTheSource(isAwaited: Bool) async throws {
      try await save("a")
      try await save("b", 1)
      let query = Document<Item>.order(by: "rank")
      let after = await callbackValue { heard in
        let source = query.dataSource().onChanged { _, snapshot in heard(snapshot.after.keys) }
        if isAwaited {
          source.retrieve { _, document in try? await Document<Item>.get(id: document.documentID) }.get()
        } else {
          source.retrieve { _, document, done in
            Document<Item>.get(id: document.documentID) { item, _ in done(item) }
          }.next()
        }
      }
      #expect(after == ["a", "b"])
    }

    @Test(.timeLimit(.minutes(1))) func readTimesOutWithoutReferencesToTheSource()
      async throws
    {
      try await save("a")
      var option = ItemSource.Option()
      option.timeout = 0
      let (isAlive, life) = AsyncStream.makeStream(of: Void.self)
      let error = await callbackValue { heard in
        let end = AtEnd { life.finish() }
        Document<Item>.query.dataSource(option: option).retrieve { _, _, _ in }
          .onError { (_, error: any Error) in withExtendedLifetime(end) { heard(error) } }.get()
      }
      #expect(error as? DataSourceError == .timeout)
      // The loop ends when the source has released its closures. Otherwise the test reaches its time limit.
      for await _ in isAlive {}
    }

    @Test func aListeningSourceEndsWhenItIsReleased() async throws {
      try await save("a")
      let held = Held()
      var source: ItemSource? = source().retrieve { _, document, done in
        held.hold(document.documentID) { done(try? Document<Item>(snapshot: document)) }
      }.listen()
      weak let gone = source
      #expect(await held.asked.next() == "a")
      app.onCallbackQueue { source = nil }
      #expect(app.onCallbackQueue { gone == nil })
      held.release("a")
    }

    /// The bug: the answer went to the loop, which had ended. The page and all later events were lost.
    @Test(.timeLimit(.minutes(1)), arguments: [false, true])
    func pageRequestedByALoopIsDeliveredAfterTheLoopEnds(isAnsweredBefore: Bool) async throws {
      try await save("a", 0)
      try await save("b", 1)
      let held = Held()
      let source = source(Document<Item>.order(by: "rank").limit(to: 1)).retrieve { _, document, done in
        let answer = { done(try? Document<Item>(snapshot: document)) }
        if document.documentID == "a" { answer() } else { held.hold("b", answer) }
      }
      var changes: ItemSource.ChangesSequence.Iterator? = source.changes.makeAsyncIterator()
      #expect(try await changes?.next()?.after.keys == ["a"])
      #expect(await heard.next().after.keys == ["a"])
      try await source.next()
      #expect(await held.asked.next() == "b")
      if isAnsweredBefore { held.release("b") }
      changes = nil
      if !isAnsweredBefore { held.release("b") }
      #expect(await heard.next().after.keys == ["a", "b"])
    }

    // MARK: Pages

    private func page(_ source: ItemSource, _ read: (ItemSource, @escaping (Bool) -> Void) -> Void) async
      -> Bool
    {
      await withCheckedContinuation { done in read(source) { done.resume(returning: $0) } }
    }

    @Test func pagesFollowOneAnother() async throws {
      for rank in 0..<5 { try await save("\(rank)", rank) }
      let source = source(Document<Item>.order(by: "rank").limit(to: 2))
      #expect(await page(source) { $0.get($1) } == false)
      #expect(await heard.next().after.keys == ["0", "1"])
      #expect(await page(source) { $0.next($1) } == false)
      #expect(await heard.next().after.keys == ["0", "1", "2", "3"])
      #expect(source.hasMore)
      #expect(await page(source) { $0.next($1) } == false)
      #expect(await heard.next().after.count == 5)
      #expect(!source.hasMore && !source.isLast)
      #expect(await page(source) { $0.next($1) } == true)
      let last = await heard.next()
      #expect(last.changes.insertions.isEmpty && last.after.count == 5)
      #expect(source.isLast)
    }

    @Test func nextPageExtendsTheListenedPage() async throws {
      for rank in 0..<4 { try await save("\(rank)", rank) }
      let source = source(Document<Item>.order(by: "rank").limit(to: 2)).listen()
      #expect(await heard.next().after.keys == ["0", "1"])
      app.onCallbackQueue { _ = source.next() }
      #expect(await heard.next().after.keys == ["0", "1", "2", "3"])
      source.stop()
    }

    // MARK: Edits by the user

    @Test func documentsAreAddedAndRemovedByHand() async throws {
      let source: ItemSource = [Document(id: "a"), Document(id: "b")]
      #expect(source.map(\.id) == ["a", "b"])
      source.sorted { $0.id < $1.id }
      var callbackValue: [[String]] = []
      source.onChanged { snapshot, change in
        #expect(snapshot == nil)
        callbackValue.append(change.after.keys)
      }
      source.add(document: Document(id: "aa"))
      source.add(document: Document(id: "aa"))
      source.remove(document: Document(id: "b"))
      source.remove(document: Document(id: "b"))
      #expect(callbackValue == [["a", "aa", "b"], ["a", "aa"]])
      let silent = Document<Item>(id: "0")
      source.insert(silent)
      #expect(source.last === silent && source.count == 3)
      source.remove(silent)
      #expect(callbackValue.count == 2 && source.documents.keys == ["a", "aa"])
      #expect(source.firstIndex(of: Document(id: "aa")) == 1)
      #expect(source.index { $0.id == "aa" } == 1)
      #expect(source.first?.id == "a" && source.startIndex == 0 && source.endIndex == 2)
      source.documents = []
      #expect(source.isEmpty)
    }

    // MARK: Queries

    @Test func everyQueryMethodIsAvailable() async throws {
      for rank in 0..<6 { try await save("\(rank)", rank, name: "n\(rank % 2)") }
      typealias Items = Document<Item>
      func found(_ query: ItemSource.Query) async throws -> [String] {
        try await query.query.getDocuments().documents.map(\.documentID)
      }
      let third = try await items.document("3").getDocument()
      #expect(try await found(Items.where("rank", isEqualTo: 1)) == ["1"])
      #expect(try await found(Items.where("rank", isNotEqualTo: 1)).count == 5)
      #expect(try await found(Items.where("rank", isLessThan: 2)) == ["0", "1"])
      #expect(try await found(Items.where("rank", isLessThanOrEqualTo: 1)) == ["0", "1"])
      #expect(try await found(Items.where("rank", isGreaterThan: 4)) == ["5"])
      #expect(try await found(Items.where("rank", isGreaterThanOrEqualTo: 5)) == ["5"])
      #expect(try await found(Items.where("rank", in: [1, 2])) == ["1", "2"])
      #expect(try await found(Items.where("rank", notIn: [0, 1, 2, 3])) == ["4", "5"])
      #expect(try await found(Items.where("rank", arrayContains: 1)).isEmpty)
      #expect(try await found(Items.where("rank", arrayContainsAny: [1])).isEmpty)
      #expect(try await found(Items.order(by: "rank", descending: true).limit(to: 1)) == ["5"])
      #expect(try await found(Items.order(by: "rank").limit(toLast: 1)) == ["5"])
      #expect(try await found(Items.limit(to: 2)) == ["0", "1"])
      #expect(try await found(Items.order(by: "rank").start(at: [4])) == ["4", "5"])
      #expect(try await found(Items.order(by: "rank").start(after: [4])) == ["5"])
      #expect(try await found(Items.order(by: "rank").end(at: [1])) == ["0", "1"])
      #expect(try await found(Items.order(by: "rank").end(before: [1])) == ["0"])
      #expect(try await found(Items.start(atDocument: third)) == ["3", "4", "5"])
      #expect(try await found(Items.start(afterDocument: third)) == ["4", "5"])
      #expect(try await found(Items.end(atDocument: third)).count == 4)
      #expect(try await found(Items.end(beforeDocument: third)).count == 3)
      #expect(
        try await found(
          Items.filter(.orFilter([.whereField("rank", isEqualTo: 0), .whereField("rank", isEqualTo: 5)])))
          == ["0", "5"])
      let query = Items.where("name", isEqualTo: "n1").where("rank", isGreaterThan: 1)
      #expect(query._originalQuery == items)
      #expect(try await found(query) == ["3", "5"])
    }

    @Test func predicateFiltersTheQueryResults() async throws {
      for rank in 0..<4 { try await save("\(rank)", rank) }
      let isEven = NSPredicate { fields, _ in
        ((fields as? [String: Any])?["rank"] as? Int).map { $0 % 2 } == 0
      }
      let source = source(Document<Item>.order(by: "rank").filter(using: isEven)).listen()
      #expect(await heard.next().after.keys == ["0", "2"])
      try await save("2", 5)
      #expect(await heard.next().changes.deletions.keys == ["2"])
      try await save("2", 6)
      #expect(await heard.next().changes.insertions.keys == ["2"])
      source.stop()
    }

    @Test func documentsOfAGroupWithTheSameIdAreKeptApart() async throws {
      for parent in ["p", "q"] {
        try await Firestore.firestore().document("lists/\(parent)/items/x").setData([
          "name": parent, "rank": 0,
        ])
      }
      let source = source(ItemSource.Query(Firestore.firestore().collectionGroup("items"))).listen()
      #expect(await heard.next().after.count == 2)
      try await Firestore.firestore().document("lists/p/items/x").delete()
      #expect(await heard.next().after.map { $0.data?.name } == ["q"])
      source.stop()
    }

    @Test func snapshotsWithoutDocumentChangesMayBeSkipped() async throws {
      var option = ItemSource.Option()
      option.skipsMetadataChanges = true
      let empty = try await items.getDocuments()
      let counts = CallbackValues<Int>()
      for option in [ItemSource.Option(), option] {
        var count = 0
        let source = Document<Item>.query.dataSource(option: option).onChanged { _, _ in count += 1 }
        app.onCallbackQueue { for _ in 0..<3 { source.receive(empty, []) } }
        counts.add(count)
      }
      #expect(await counts.next() == 3)
      #expect(await counts.next() == 1)
    }

    // MARK: Loops

    @Test func loopsFollowTheChanges() async throws {
      try await save("a", 1)
      let source = Document<Item>.order(by: "rank").dataSource()
      var changes = source.changes.makeAsyncIterator()
      #expect(try await changes.next()?.after.keys == ["a"])
      try await save("b", 0)
      #expect(try await changes.next()?.after.keys == ["b", "a"])
      #expect(source.map(\.id) == ["b", "a"])
      try await delete("b")
      #expect(try await changes.next()?.changes.deletions.keys == ["b"])
    }

    @Test func aLoopEndsWithTheErrorOfTheDatabase() async {
      let source = ItemSource.Query(Firestore.firestore().collection("__reserved__")).dataSource()
      await #expect(throws: (any Error).self) { for try await _ in source.changes {} }
    }

    @Test func loopsWaitForRetrievedDocuments() async throws {
      try await save("a", 1)
      let source = Document<Item>.order(by: "rank").dataSource().retrieve { _, document, done in
        Document<Item>.get(id: document.documentID) { item, _ in done(item) }
      }
      var changes = source.changes.makeAsyncIterator()
      #expect(try await changes.next()?.after.keys == ["a"])
    }

    @Test func pagesCanBeAwaited() async throws {
      for rank in 0..<3 { try await save("\(rank)", rank) }
      let source = Document<Item>.order(by: "rank").limit(to: 2).dataSource()
      #expect(try await source.get() == false)
      #expect(source.map(\.id) == ["0", "1"])
      #expect(try await source.next() == false)
      #expect(try await source.next() == true)
      #expect(source.map(\.id) == ["0", "1", "2"])
    }
  }
}

/// Calls a closure when it is released.
private final class AtEnd: Sendable {
  private let body: @Sendable () -> Void

  init(_ body: @escaping @Sendable () -> Void) { self.body = body }

  deinit { body() }
}
