// Tests of data sources: live lists, pages, orders, filters, and objects that are parsed late.

import FirebaseFirestore
import Foundation
import LayerHarness
import Testing

@testable import Pring

extension CallbackValues {
  /// Waits for the next values.
  func next(_ count: Int) async -> [Value] {
    var values: [Value] = []
    for _ in 0..<count { values.append(await next()) }
    return values
  }
}

/// Logs the changes of a data source as text: `initial ids`, `+1`, `~0`, `-2`, `error`.
func log<T: Document>(_ source: DataSource<T>, _ heard: CallbackValues<String>) {
  source.on { [unowned source] _, change in
    switch change {
    case .initial: heard.add("initial \(source.documents.keys.joined(separator: " "))")
    case .update(let change):
      let parts = change.deletions.map { "-\($0)" } + change.insertions.map { "+\($0)" }
      heard.add((parts + change.modifications.map { "~\($0)" }).joined(separator: " "))
    case .error(let error): heard.add("error \((error as? DataSourceError).map { "\($0.kind)" } ?? "other")")
    }
  }
}

extension PringTests {
  @Suite final class DataSources {
    private let app = TestApp()

    private func make(_ id: String, _ price: Double = 0) async throws {
      let item = Item(id: id)
      item.price = price
      try await item.save()
    }

    private var options: Options {
      let options = Options()
      options.includeMetadataChanges = false
      return options
    }

    @Test func aDataSourceReportsInitialObjectsThenEachChange() async throws {
      try await make("a", 1)
      try await make("b", 2)
      let heard = CallbackValues<String>()
      let source = Item.order(by: \Item.price).dataSource(options: options)
      log(source, heard)
      source.listen()
      #expect(await heard.next() == "initial a b")
      try await make("c", 1.5)
      #expect(await heard.next() == "+1")
      try await Item.reference.document("a").updateData(["price": 9])
      #expect(await heard.next() == "~2")
      try await Item.reference.document("c").delete()
      #expect(await heard.next() == "-0")
      #expect(app.onCallbackQueue { source.map(\.id) } == ["b", "a"])
      source.stop()
    }

    /// Two Unicode compositions of the same text are two ids.
    @Test func canonicallyEquivalentIDsAreDistinctRows() async throws {
      let (short, long) = ("\u{e9}", "e\u{301}")
      try await make(short, 1)
      try await make(long, 2)
      let heard = CallbackValues<String>()
      let source = Item.order(by: \Item.price).dataSource(options: options)
      source.on(parse: { _, item, done in done(item) })
      log(source, heard)
      source.listen()
      _ = await heard.next()
      #expect(app.onCallbackQueue { source.documents.map(\.price) } == [1, 2])
      let rows = app.onCallbackQueue {
        [source.index(of: Item(id: short)), source.documents.index(of: long)]
      }
      #expect(rows == [0, 1])
      try await Item.reference.document(long).updateData(["price": 3])
      #expect(await heard.next() == "~1")
      try await Item.reference.document(short).delete()
      #expect(await heard.next() == "-0")
      #expect(app.onCallbackQueue { source.documents.map(\.price) } == [3])
      source.stop()
    }

    @Test func anEmptyResultIsReportedAndTheNextChangeIsInitial() async throws {
      let heard = CallbackValues<String>()
      let source = Item.query.dataSource(options: options)
      log(source, heard)
      source.onCompleted { _, items in heard.add("completed \(items.count)") }
      source.onCompleted { _, items in heard.add("again \(items.count)") }
      source.listen()
      #expect(await heard.next(3) == ["initial ", "completed 0", "again 0"])
      try await make("a")
      #expect(await heard.next(3) == ["initial a", "completed 1", "again 1"])
      try await make("b")
      #expect(await heard.next(3) == ["+1", "completed 2", "again 2"])
      source.stop()
    }

    @Test func pagesAreLoadedInSequence() async throws {
      for id in ["a", "b", "c"] { try await make(id) }
      let heard = CallbackValues<String>()
      let source = Item.order(by: "createdAt").limit(to: 2).dataSource()
      log(source, heard)
      source.onCompleted { _, items in heard.add("completed \(items.count)") }
      source.get()
      #expect(await heard.next(3) == ["+0", "+1", "completed 2"])
      source.next { heard.add("last \($0)") }
      #expect(await heard.next(3) == ["last false", "+2", "completed 3"])
      source.next { heard.add("last \($0)") }
      #expect(await heard.next(2) == ["last true", "completed 3"])
      #expect(app.onCallbackQueue { source.isLast })
    }

    /// The bug: a request for a page that starts at a pending server timestamp ended the program. Such a
    /// timestamp cannot be a cursor.
    @Test(arguments: [false, true])
    func pagingContinuesAcrossPendingServerTimestamps(descending: Bool) async throws {
      let firestore = try app.storeWithRemote()
      try await firestore.disableNetwork()
      let items = firestore.collection("items")
      try await items.document("a").setData(["createdAt": Timestamp(seconds: 1, nanoseconds: 0)])
      for id in ["b", "c", "d", "e"] {
        try await items.document(id).setData(["createdAt": FieldValue.serverTimestamp()])
      }
      let query = items.order(by: "createdAt", descending: descending).limit(to: 2)
      let source = DataSource<Item>.Query(query, reference: items).dataSource()
      var found: [String] = []
      var wrong: [String] = []
      for isLast in [false, false, false, true] {
        let isEnd: Bool = await callbackValue { heard in source.next { heard($0) } }
        let ids = app.onCallbackQueue { source.documents.keys }
        if isEnd != isLast || Array(ids.prefix(found.count)) != found || (ids.count > found.count) == isLast {
          wrong.append("\(ids) after \(found), the last page: \(isEnd)")
        }
        found = ids
      }
      #expect(wrong == [])
      #expect(found == (descending ? ["e", "d", "c", "b", "a"] : ["a", "b", "c", "d", "e"]))
      try await firestore.terminate()
    }

    @Test func descriptorsAndPredicatesSortAndFilterObjects() async throws {
      for (id, price) in [("a", 3.0), ("b", 1), ("c", 2), ("d", 0)] { try await make(id, price) }
      let options = options
      options.sortDescriptors = [NSSortDescriptor(keyPath: \Item.price, ascending: false)]
      options.predicate = NSPredicate { object, _ in ((object as? Item)?.price ?? 0) > 0 }
      options.filter = { ($0 as? Item)?.id != "c" }
      let heard = CallbackValues<String>()
      let source = Item.query.dataSource(options: options)
      log(source, heard)
      source.listen()
      #expect(await heard.next() == "initial a b")
      try await Item.reference.document("d").updateData(["price": 2])
      #expect(await heard.next() == "+1")
      try await Item.reference.document("a").updateData(["price": 0])
      #expect(await heard.next() == "-0")
      source.stop()
    }

    @Test func changesOfOtherTypesAreIgnored() async throws {
      try await make("a")
      let options = options
      options.listeningChangeTypes = [.added]
      let heard = CallbackValues<String>()
      let source = Item.query.dataSource(options: options)
      log(source, heard)
      source.listen()
      #expect(await heard.next() == "initial a")
      try await Item.reference.document("a").updateData(["price": 2])
      try await Item.reference.document("a").delete()
      try await make("b")
      #expect(await heard.next() == "+1")
      source.stop()
    }

    @Test func objectsAreAddedAfterParsing() async throws {
      try await make("a")
      try await make("b")
      let answers = CallbackValues<(Item, (Item) -> Void)>()
      let heard = CallbackValues<String>()
      let source = Item.query.dataSource(options: options)
      log(source, heard)
      source.on(parse: { _, item, done in answers.add((item, done)) }).listen()
      let (first, second) = (await answers.next(), await answers.next())
      second.0.name = "parsed"
      second.1(second.0)
      first.1(first.0)
      #expect(await heard.next() == "initial a b")
      #expect(app.onCallbackQueue { source[1].name } == "parsed")
      source.stop()
    }

    @Test func objectsParsedAfterTheTimeoutAreReportedAndInserted() async throws {
      try await make("a")
      try await make("b")
      let options = options
      options.timeout = 0
      let answers = CallbackValues<(Item, (Item) -> Void)>()
      let heard = CallbackValues<String>()
      let source = Item.query.dataSource(options: options)
      log(source, heard)
      source.on(parse: { _, item, done in answers.add((item, done)) })
        .onError { _, error in heard.add("timeout \(error.kind)") }
        .listen()
      let (first, second) = (await answers.next(), await answers.next())
      #expect(await heard.next(3) == ["timeout timeout", "error timeout", "initial "])
      second.1(second.0)
      #expect(await heard.next() == "+0")
      first.1(first.0)
      #expect(await heard.next() == "+1")
      source.stop()
    }

    @Test func documentsAreRemovedAndObservedByIndex() async throws {
      try await make("a")
      let heard = CallbackValues<String>()
      let source = Item.query.dataSource(options: options)
      log(source, heard)
      source.listen()
      #expect(await heard.next() == "initial a")
      let removed = await callbackValue { heard in
        app.onCallbackQueue { source.removeDocument(at: 0) { id, error in heard("\(id) \(error == nil)") } }
      }
      #expect(removed == "a true")
      #expect(await heard.next() == "-0")
      source.stop()
    }

    @Test func aDataSourceOfObjectsIsACollection() {
      let source: DataSource<Item> = [Item(id: "a"), Item(id: "b")]
      #expect(source.count == 2 && source.first?.id == "a" && source.last?.id == "b" && source[1].id == "b")
      source.insert(Item(id: "b"))
      source.insert(Item(id: "c"))
      source.remove(Item(id: "a"))
      #expect(source.documents.keys == ["b", "c"] && source.index(of: Item(id: "c")) == 1)
      #expect(source.index(where: { $0.id == "c" }) == 1 && source.documents.index(of: "c") == 1)
      var ids: [String] = []
      source.forEach { ids.append($0.id) }
      #expect(ids == ["b", "c"])
      source.documents = [Item(id: "z")]
      #expect(source.map(\.id) == ["z"])
      let sorted = [Item(id: "x", value: ["price": 2]), Item(id: "y", value: ["price": 1])]
        .sort(sortDescriptors: [NSSortDescriptor(keyPath: \Item.price, ascending: true)])
      #expect(sorted.keys == ["y", "x"])
    }

    @Test func rowPositionsMatchASimpleArray() {
      var random = SystemRandomNumberGenerator()
      var wrong: [String] = []
      for order in [ElementOrder.none, .user { ($0 as! Item).price < ($1 as! Item).price }] {
        var rows = Rows<Item>([], order)
        var model: [Item] = []
        for step in 0..<2000 {
          let id = "\(Int.random(in: 0..<60, using: &random))"
          let item = Item(id: id, value: ["price": Double.random(in: 0..<1, using: &random)])
          let place = model.firstIndex { $0.id == id }
          if Int.random(in: 0..<3, using: &random) == 0 {
            let removed = rows.remove(id)
            if removed != place { wrong.append("step \(step): removed \(String(describing: removed))") }
            if let place { model.remove(at: place) }
          } else if let place {
            model.remove(at: place)
            let new = order.isNone ? place : model.firstIndex { $0.price > item.price } ?? model.count
            model.insert(item, at: new)
            let moved = rows.replace(id, with: item, key: nil)
            if moved?.old != place || moved?.new != new {
              wrong.append("step \(step): moved \(String(describing: moved)), not (\(place), \(new))")
            }
          } else {
            let new = order.isNone ? model.count : model.firstIndex { $0.price > item.price } ?? model.count
            model.insert(item, at: new)
            let inserted = rows.insert(item, id, key: nil)
            if inserted != new { wrong.append("step \(step): inserted at \(inserted), not at \(new)") }
          }
          guard rows.elements.map(ObjectIdentifier.init) == model.map(ObjectIdentifier.init) else {
            wrong.append("step \(step): the order differs")
            break
          }
        }
      }
      #expect(wrong == [])
    }

    // MARK: Queries

    @Test func keyPathsResolveToFieldNames() {
      func query(_ query: DataSource<Everything>.Query) -> FirebaseFirestore.Query { query.query }
      let all = Everything.reference
      #expect(query(Everything.where(\.text, isEqualTo: "a")) == all.whereField("text", isEqualTo: "a"))
      #expect(query(Everything.where(\.note, isEqualTo: "a")) == all.whereField("note", isEqualTo: "a"))
      #expect(query(Everything.where(\.count, isLessThan: 1)) == all.whereField("count", isLessThan: 1))
      #expect(query(Everything.where(\.maybe, isGreaterThan: 1)) == all.whereField("maybe", isGreaterThan: 1))
      let maybe = query(Everything.where(\.maybeFlag, isEqualTo: true))
      #expect(maybe == all.whereField("maybeFlag", isEqualTo: true))
      let names = query(Everything.where(\.names, arrayContains: "x"))
      #expect(names == all.whereField("names", arrayContains: "x"))
      #expect(query(Everything.where(\.flag, isEqualTo: true)) == all.whereField("flag", isEqualTo: true))
      #expect(query(Everything.order(by: \.date)) == all.order(by: "date"))
      #expect(query(Everything.order(by: \.time)) == all.order(by: "time"))
      #expect(query(Everything.order(by: \.createdAt)) == all.order(by: "createdAt"))
      let latest = query(Everything.order(by: \.updatedAt, descending: true))
      #expect(latest == all.order(by: "updatedAt", descending: true))
      #expect(query(Everything.order(by: \.single)) == all.order(by: "single"))
      #expect(query(Everything.order(by: \.bytes)) == all.order(by: "bytes"))
      #expect(query(Everything.order(by: \.link)) == all.order(by: "link"))
      let better = BetterItem.where(\BetterItem.name, isEqualTo: "a").query
      #expect(better == BetterItem.reference.whereField("name", isEqualTo: "a"))
      let items = Firestore.firestore().collection("version/1/room/r/items")
      let cheap = Room(id: "r").items.where(\.price, isLessThanOrEqualTo: 1).query
      #expect(cheap == items.whereField("price", isLessThanOrEqualTo: 1))
    }

    @Test func keyPathsOfEncodedEnumsResolveToFields() {
      func query(_ query: DataSource<Coded>.Query) -> FirebaseFirestore.Query { query.query }
      let all = Coded.reference
      #expect(query(Coded.where(\.kind, isEqualTo: 1)) == all.whereField("kind", isEqualTo: 1))
      #expect(query(Coded.where(\.other, isLessThan: 1)) == all.whereField("other", isLessThan: 1))
      let missing = query(Coded.where(\.status, isEqualTo: 404))
      #expect(missing == all.whereField("status", isEqualTo: 404))
      #expect(query(Coded.order(by: \.mood)) == all.order(by: "mood"))
    }

    @Test func enumsAreComparedAsTheirObjectsEncodeThem() {
      func query(_ query: DataSource<Coded>.Query) -> FirebaseFirestore.Query { query.query }
      let all = Coded.reference
      let second = query(Coded.where(\.kind, isEqualTo: Coded.Kind.second))
      #expect(second == all.whereField("kind", isEqualTo: 1))
      let missing = query(Coded.where(\.status, isGreaterThanOrEqualTo: Coded.Status.missing))
      #expect(missing == all.whereField("status", isGreaterThanOrEqualTo: 404))
      let bad = query(Coded.where(\.mood, isEqualTo: Coded.Mood.bad))
      #expect(bad == all.whereField("mood", isEqualTo: "bad"))
    }

    /// The bug: a key path whose property could not be determined ended the program.
    @Test func aQueryByAKeyPathWithoutAFieldFailsWhenRun() async throws {
      let keyPaths: [PartialKeyPath<Coded>] = [\.shape, \.computed, \.text.count]
      var wrong: [String] = []
      for keyPath in keyPaths {
        let query = Coded.limit(to: 3).where(keyPath, isEqualTo: 1).order(by: "text")
        let heard = CallbackValues<String>()
        query.get { snapshot, error in heard.add("get \(snapshot == nil) \(error is DocumentError)") }
        let got = await heard.next()
        let listener = query.listen { snapshot, error in
          heard.add("listen \(TestApp.isCallbackQueue) \((error as? DocumentError)?.description ?? "")")
        }
        let listened = await heard.next()
        listener.remove()
        let source = query.dataSource()
        log(source, heard)
        source.next { heard.add("last \($0)") }
        let page = await heard.next(2)
        source.listen()
        let last = await heard.next()
        if got != "get true true" || !listened.hasPrefix("listen true The key path ")
          || page != ["error other", "last true"] || last != "error other"
        {
          wrong.append("\(keyPath): \(got), \(listened), \(page), \(last)")
        }
      }
      #expect(wrong == [])
      let ordered = Coded.order(by: \.computed)
      #expect(await callbackValue { heard in ordered.get { heard($0 == nil && $1 is DocumentError) } })
    }

    @Test func objectsThatStopMatchingThePredicateAreRemoved() async throws {
      for (id, price) in [("a", 2.0), ("b", 3)] { try await make(id, price) }
      let isDear = NSPredicate { fields, _ in
        ((fields as? [String: Any])?["price"] as? Double ?? 0) > 1.5
      }
      let source = Item.query.filter(using: isDear).dataSource()
      let heard = CallbackValues<String>()
      log(source, heard)
      source.listen()
      #expect(await heard.next() == "initial a b")
      try await Item.reference.document("a").updateData(["price": 1.0])
      #expect(await heard.next() == "-0")
      #expect(app.onCallbackQueue { source.documents.keys } == ["b"])
    }

    @Test func queryStepsEqualThoseOfFirestore() async throws {
      for (id, price) in [("a", 1.0), ("b", 2), ("c", 3)] { try await make(id, price) }
      let items = Item.reference.order(by: "price")
      let base = Item.order(by: "price")
      let b = try await Item.reference.document("b").getDocument()
      #expect(base.start(at: [2.0]).query == items.start(at: [2.0]))
      #expect(base.start(after: [2.0]).query == items.start(after: [2.0]))
      #expect(base.start(atDocument: b).query == items.start(atDocument: b))
      #expect(base.start(afterDocument: b).query == items.start(afterDocument: b))
      #expect(base.end(at: [2.0]).query == items.end(at: [2.0]))
      #expect(base.end(before: [2.0]).query == items.end(before: [2.0]))
      #expect(base.end(atDocument: b).query == items.end(atDocument: b))
      #expect(base.end(beforeDocument: b).query == items.end(beforeDocument: b))
      #expect(Item.limit(to: 2).query == Item.reference.limit(to: 2))
      let dear = Item.where("price", isGreaterThanOrEqualTo: 2).query
      #expect(dear == Item.reference.whereField("price", isGreaterThanOrEqualTo: 2))
      let isDear = NSPredicate { fields, _ in
        ((fields as? [String: Any])?["price"] as? Double ?? 0) > 1.5
      }
      let filtered = Item.query.filter(using: isDear)
      let heard = CallbackValues<String>()
      let source = filtered.dataSource()
      log(source, heard)
      source.get()
      #expect(await heard.next() == "+0")
      #expect(await heard.next() == "+1")
      #expect(app.onCallbackQueue { source.documents.keys } == ["b", "c"])
    }
  }
}
