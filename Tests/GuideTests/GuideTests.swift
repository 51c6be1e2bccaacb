// Runs every Swift example of docs/guides and the example of a remote, and checks that the pages show
// this code.

import Ballcap
import DocumentStore
import FirebaseAuth
import FirebaseFirestore
import FirebaseStorage
import Foundation
import Harness
import Observation
import OfflineSync
import Testing

@Suite(.timeLimit(.minutes(15))) struct GuideTests {
  private let folder = Folder()

  private final class Folder: Sendable {
    let url = Foundation.FileManager.default.temporaryDirectory
      .appendingPathComponent("dugout-guide-\(UUID().uuidString)")

    deinit { try? Foundation.FileManager.default.removeItem(at: url) }
  }

  /// Opens a database whose callbacks run on a background queue, because no run loop serves the main
  /// queue in a test.
  private func database(_ name: String = "database") throws -> Firestore {
    try ServerGuide().open(folder.url.appendingPathComponent(name))
  }

  @Test func guideSnippetsMatchTheTestedCode() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    let code = Self.plain(
      try String(contentsOf: root.appendingPathComponent("Guides.swift"), encoding: .utf8))
    let guides = root.appendingPathComponent("../../docs/guides").standardizedFileURL
    let names = try Foundation.FileManager.default.contentsOfDirectory(atPath: guides.path)
    let remote = root.appendingPathComponent("../../Sources/Sync/OfflineSync/OfflineSync.docc/OfflineSync.md")
    var count = 0
    var missing: [String] = []
    for page in names.map(guides.appendingPathComponent) + [remote.standardizedFileURL] {
      let text = try String(contentsOf: page, encoding: .utf8)
      for match in text.matches(of: #/(?s)(<!-- snippet: not compiled[^\n]*\n)?```swift\n(.*?)```/#)
      where match.1 == nil {
        count += 1
        if !code.contains(Self.plain(String(match.2))) { missing.append("\(page.path): \(match.2)") }
      }
    }
    #expect(missing == [], "not in Guides.swift")
    #expect(count > 25)
  }

  /// Returns the lines of code without indentation, imports and blank lines.
  private static func plain(_ text: String) -> String {
    text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
      .filter { !$0.isEmpty && !$0.hasPrefix("import ") && $0 != "@main" }.joined(separator: "\n")
  }

  // MARK: One database

  @Test func serverGuideOpensReadsBacksUpAndShutsDown() async throws {
    let server = ServerGuide()
    let shop = try database()
    try await shop.document("articles/tea").setData(["price": 3])
    #expect(try server.price(of: "tea", in: shop) == 3)
    #expect(try server.price(of: "coffee", in: shop) == nil)
    #expect(try await server.health(of: shop) == "documents: 1")
    let backups = folder.url.appendingPathComponent("backups")
    try await server.backUp(shop, into: backups)
    #expect(try await server.verify(shop))
    #expect(try Foundation.FileManager.default.contentsOfDirectory(atPath: backups.path).count == 1)
    let monday = folder.url.appendingPathComponent("monday")
    try await BackupGuide().backUp(shop, to: monday)
    try await server.end(shop)
    let copy = try server.open(monday)
    #expect(try server.price(of: "tea", in: copy) == 3)
    try await server.end(copy)
  }

  @Test func serverGuideLimitsTheMemory() async throws {
    let server = ServerGuide()
    let shop = try server.openBounded(folder.url.appendingPathComponent("bounded"))
    try await shop.document("articles/tea").setData(["price": 3])
    let memory = try #require(shop.health().memory)
    #expect(memory.budget?.byteCount == 192 << 20 && memory.budget?.origin == .settings)
    #expect(!server.needsMoreMemory(shop))
    try await server.end(shop)
    #expect(!server.needsMoreMemory(shop))
  }

  @Test func secondProcessGuideExamplesRun() async throws {
    let guide = SecondProcessGuide()
    let writer = try database("notes")
    try await writer.document("orders/1").setData(["total": 3])
    try await writer.document("notes/1").setData(["text": "tea", "written": 1])
    try await writer.terminate()
    let directory = folder.url.appendingPathComponent("notes")
    #expect(try await guide.largestOrders(in: directory) == ["1"])
    #expect(try guide.newestNote(in: folder.url) == "tea")
    try await guide.printOrders(in: directory, until: 1)
    try await guide.refresh(try Firestore.open(at: directory, access: .readOnly))
  }

  @Test func outsideInputGuideExamplesRun() async throws {
    let guide = OutsideInputGuide()
    let database = try database()
    #expect(try guide.notes(of: "ada", by: "date", count: 3, in: database).firestore === database)
    try await guide.store(["n": 1], as: "one", in: database)
    #expect(try await database.document("notes/one").getDocument()["n"] as? Int == 1)
    var statuses: [Int] = []
    let queries = [("", "date", 1), ("a/b", "date", 1), ("ada", "a..b", 1), ("ada", "date", 0)]
    for (user, field, count) in queries {
      do {
        _ = try guide.notes(of: user, by: field, count: count, in: database)
      } catch {
        statuses.append(guide.status(of: error))
      }
    }
    let writes: [([String: UInt64], String)] = [
      (["n": .max], "two"), (["__x__": 1], "two"), (["n": 1], "__x__"),
    ]
    for (fields, id) in writes {
      do {
        try await guide.store(fields, as: id, in: database)
      } catch {
        statuses.append(guide.status(of: error))
      }
    }
    #expect(statuses == Array(repeating: 400, count: 7))
    try await database.terminate()
  }

  @Test func beyondFirestoreGuideExamplesRun() async throws {
    let guide = BeyondFirestoreGuide()
    let shop = try guide.openShop(in: folder.url)
    try await shop.document("cities/bern").setData(["population": 134_000])
    #expect(try guide.population(of: "bern", in: shop) == 134_000)
    try await shop.document("stations/zytglogge").setData(["name": "Zytglogge", "lines": ["6"]])
    #expect(try guide.extend("7", to: "zytglogge", in: shop).id == "zytglogge")
    let station = try await shop.document("stations/zytglogge").getDocument()
    #expect(station["lines"] as? [String] == ["6", "7"])
    #expect(Set((station.data() ?? [:]).keys) == ["name", "lines"])
    let ticket = try await guide.sell("7a", in: shop)
    #expect(try await ticket.getDocument().data()?["seat"] as? String == "7a")
    for (name, orders) in [("ada", 12), ("bob", 3), ("cy", 40)] {
      try await shop.document("customers/\(name)").setData(["name": name, "orders": orders])
    }
    #expect(try await guide.best(in: shop).map(\.id) == ["cy", "ada"])
    for (id, town, weight, isLost) in [
      ("1", "Bern", 31.0, false), ("2", "Bern", 1, false), ("3", "Bern", 1, true),
    ] {
      try await shop.document("parcels/\(id)").setData(["town": town, "weight": weight, "isLost": isLost])
    }
    try await shop.document("parcels/4").setData(["town": "Basel", "weight": 99.0, "isLost": true])
    #expect(try await guide.heavy(in: shop, ["Bern"]).map(\.weight).sorted() == [1, 31])
    try await guide.prepare(shop)
    let indexes = try await shop.indexes()
    #expect(indexes.contains { $0.hasPrefix("orders(state") }, "\(indexes)")
    for (id, total) in [("1", 3), ("2", 4)] {
      try await shop.document("orders/\(id)").setData(["customer": "ada", "total": total])
    }
    #expect(try await guide.turnover(of: shop) == 7)
    for _ in 0..<2 { try await guide.migrate(shop) }
    #expect(try shop.document("customers/ada").read()["turnover"] as? Int == 7)
    #expect(try shop.document("settings/shop").read()["currency"] as? String == "CHF")
    #expect(guide.explain(FirestoreErrorCode(.dataLoss)) == "a file is damaged")
    // Without a remote, the outbox is empty.
    try await guide.cancelOrders(in: shop)
    try await shop.document("sessions/old").setData(["user": "ada"])
    try await guide.everyNight(shop, folder.url.appendingPathComponent("night"))
    #expect(try await shop.document("sessions/old").getDocument().exists)
    try await shop.terminate()
  }

  @Test func observedQueryResultsChangeWhileRetained() async throws {
    let shop = try database()
    let (changes, continuation) = AsyncStream.makeStream(of: Void.self)
    let offers = BeyondFirestoreGuide().watch(shop) { continuation.yield() }
    try await shop.document("offers/1").setData(["title": "Tea"])
    var iterator = changes.makeAsyncIterator()
    await iterator.next()
    withExtendedLifetime(offers) {}
    try await shop.terminate()
  }

  @Test func beyondFirestoreGuideVisitsFields() throws {
    let path = folder.url.appendingPathComponent("engine").path
    let store = try DocumentStore.open(path)
    for (id, total) in [("1", 3), ("2", 4)] {
      let order = try DocumentPath(["orders", id])
      try store.commit([
        .set(order, StoredMap([("customer", .string("ada")), ("total", .integer(Int64(total)))]))
      ])
    }
    try store.close()
    #expect(try BeyondFirestoreGuide().revenue(in: path) == 7)
  }

  @Test func sqliteGuideQueriesAndMigrates() async throws {
    let guide = ComingFromSqliteGuide()
    let database = try database()
    for (name, score) in [("Ada Lovelace", 300), ("Bob", 99), ("Grace Brewster Hopper", 200)] {
      try await database.collection("players").document(name).setData(["name": name, "score": score])
    }
    #expect(try await guide.best(in: database).map(\.score) == [300, 200])
    for _ in 0..<2 { try await guide.splitNames(in: database) }
    let grace = try await database.document("players/Grace Brewster Hopper").getDocument()
    #expect(grace["first"] as? String == "Grace" && grace["last"] as? String == "Brewster Hopper")
    #expect(try await database.document("players/Bob").getDocument()["last"] as? String == "")
    try await database.terminate()
  }

  @Test func coreDataGuideFollowsAList() async throws {
    let database = try database()
    let chores = database.collection("chores")
    try await chores.document("1").setData(["title": "Write", "isDone": false])
    try await chores.document("2").setData(["title": "Read", "isDone": true])
    let list = await MainActor.run { ComingFromCoreDataGuide.ChoreList() }
    let following = Task { try await list.follow(database) }
    try #require(await Self.waits(for: ["Write"], in: list))
    try await chores.document("2").updateData(["isDone": false])
    try #require(await Self.waits(for: ["Read", "Write"], in: list))
    following.cancel()
    _ = await following.result
    try await database.terminate()
  }

  /// Waits until the list has these titles. Returns false if the task is cancelled.
  @MainActor
  private static func waits(for titles: [String], in list: ComingFromCoreDataGuide.ChoreList) async -> Bool {
    while !Task.isCancelled {
      let change = EventCount()
      let isReached = withObservationTracking {
        list.chores.map(\.title) == titles
      } onChange: {
        change.add()
      }
      // The list changes on the main actor after the event, and before this function continues there.
      if isReached { return true }
      _ = await change.next()
    }
    return false
  }

  @Test func durabilityGuideCommitsBothAccountsTogether() async throws {
    let guide = DurabilityGuide()
    let bank = try guide.openCache(at: folder.url.appendingPathComponent("bank"))
    #expect(bank.settings.durability == .buffered)
    let (ada, bob) = (bank.document("accounts/ada"), bank.document("accounts/bob"))
    try await ada.setData(["balance": 10])
    try await bob.setData(["balance": 0])
    try await guide.transfer(7, from: ada, to: bob)
    #expect(try ada.read()["balance"] as? Int == 3)
    #expect(try bob.read()["balance"] as? Int == 7)
    try await bank.terminate()
  }

  @Test func modellingGuidePostsAndFindsMessages() async throws {
    let guide = ModellingGuide()
    let database = try database()
    let room = database.document("rooms/eros")
    try await room.setData(["messages": 0])
    for text in ["one", "two"] {
      try await guide.post(text, by: database.document("users/ada"), named: "Ada", in: room)
    }
    #expect(try await guide.lately(in: database).map { $0["text"] as? String } == ["two", "one"])
    #expect(try room.read()["messages"] as? Int == 2)
    try await guide.prepare(database)
    let indexes = try await database.indexes()
    #expect(indexes.contains { $0.hasPrefix("users(city") }, "\(indexes)")
    try await guide.keepSessionsForAWhile(in: database)
    try await database.terminate()
    // The policy persists when the database is opened again.
    let directory = folder.url.appendingPathComponent("database").path
    let store = try DocumentStore.open(directory)
    #expect(try store.timeToLivePolicies == ["sessions": StoredFieldPath(dotted: "expires")])
    try store.close()
  }

  // MARK: The change feed

  /// A search engine that counts the calls that changed an entry and the calls that it ignored.
  private actor SearchEngine: ChangeFeedGuide.SearchEngine {
    struct Crash: Error {}

    private(set) var titles: [String: String] = [:]
    private(set) var changeCount = 0
    private(set) var ignoredCount = 0
    private var crashes = false
    private var versions: [String: UInt64] = [:]
    private var stored: String?
    private let progress: AsyncStream<[String: String]>.Continuation
    /// The titles after each position.
    nonisolated let states: AsyncStream<[String: String]>

    init() { (states, progress) = AsyncStream.makeStream() }

    func position() -> String? { stored }

    func setPosition(_ position: String) throws {
      if crashes {
        crashes = false
        throw Crash()
      }
      stored = position
      progress.yield(titles)
    }

    func put(_ path: String, title: String, version: UInt64) { apply(title, to: path, version: version) }

    func remove(_ path: String, version: UInt64) { apply(nil, to: path, version: version) }

    private func apply(_ title: String?, to path: String, version: UInt64) {
      guard versions[path].map({ $0 < version }) ?? true else { return ignoredCount += 1 }
      versions[path] = version
      if titles[path] != title { changeCount += 1 }
      titles[path] = title
    }

    func removeAll() { (titles, versions, stored) = ([:], [:], nil) }

    /// Sets the position that an earlier run left.
    func restore(_ position: String) { stored = position }

    func crashAtNextPosition() { crashes = true }
  }

  /// Updates the engine until it has these titles.
  private func update(
    _ engine: SearchEngine, from database: Firestore, until titles: [String: String]
  ) async throws {
    let task = Task { try await ChangeFeedGuide().updateSearch(engine, from: database) }
    for await state in engine.states where state == titles { break }
    task.cancel()
    try await task.value
  }

  @Test func theSearchEngineLosesAndDoublesNothing() async throws {
    let engine = SearchEngine()
    var database = try self.database()
    try await database.document("articles/a").setData(["title": "A"])
    try await update(engine, from: database, until: ["articles/a": "A"])
    // The engine does not run while these are written.
    try await database.document("articles/b").setData(["title": "B"])
    try await database.document("users/ada").setData(["title": "no article"])
    try await database.document("articles/a").delete()
    try await database.terminate()
    database = try self.database()
    try await update(engine, from: database, until: ["articles/b": "B"])
    #expect(await engine.changeCount == 3)
    #expect(await engine.ignoredCount == 0)
    // The engine has the change, but not its position, and gets the change again.
    try await database.document("articles/c").setData(["title": "C"])
    await engine.crashAtNextPosition()
    await #expect(throws: SearchEngine.Crash.self) {
      try await ChangeFeedGuide().updateSearch(engine, from: database)
    }
    try await update(engine, from: database, until: ["articles/b": "B", "articles/c": "C"])
    #expect(await engine.changeCount == 4)
    #expect(await engine.ignoredCount == 1)
    try await database.terminate()
  }

  @Test func theSearchEngineIsFilledAgainIfChangesAreMissing() async throws {
    let engine = SearchEngine()
    let database = try self.database()
    try await database.document("articles/a").setData(["title": "A"])
    await engine.put("articles/old", title: "an entry of another database", version: 1_000_000)
    await engine.restore("00000000000000010000000000000002-7-0")
    try await update(engine, from: database, until: ["articles/a": "A"])
    // The consumer is registered before the loop, and therefore gets the change.
    _ = try await database.registerConsumer("mirror")
    try await database.document("articles/b").setData(["title": "B"])
    let (changes, printed) = AsyncStream<String>.makeStream()
    let mirror = Task {
      try await ChangeFeedGuide().mirror(database) { printed.yield($0.document.path) }
    }
    for await path in changes where path == "articles/b" { break }
    mirror.cancel()
    try await mirror.value
    try await database.terminate()
  }

  @Test func aClientOfAnAppsDatabaseWritesToIt() async throws {
    let shop = try database("shop")
    let client = try await OfflineGuide().openClient(of: shop)
    let settings = client.settings
    settings.dispatchQueue = DispatchQueue(label: "callbacks")
    client.settings = settings
    try await client.document("orders/1").setData(["count": 2])
    #expect(try await shop.document("orders/1").getDocument().data()?["count"] as? Int == 2)
    try await client.terminate()
    try await shop.terminate()
  }

  /// Two phones over one authority: the states of a write, and the badge of the one that is offline.
  @Test func syncGuideShowsTheStatesOfAWrite() async throws {
    let guide = SyncGuide()
    let authority = try database("authority")
    let phone = try await OfflineGuide().openClient(of: authority)
    let settings = phone.settings
    settings.dispatchQueue = DispatchQueue(label: "callbacks")
    settings.acknowledgement = .local
    let network = guide.watchModem(for: settings)
    phone.settings = settings
    var states = phone.collection("orders").snapshots(includeMetadataChanges: true).makeAsyncIterator()
    func waitForStatus(_ text: String) async throws {
      while let snapshot = try await states.next(), guide.status(of: snapshot) != text {}
    }
    // The monitor has said that there is no network, and is wrong.
    try await waitForStatus("Up to date")
    guide.modemDidConnect("one", network)
    try await phone.disableNetwork()
    try await waitForStatus("Offline")
    try await phone.document("orders/1").setData(["count": 2])
    try await waitForStatus("Offline. Your changes will be sent.")
    let (badges, shown) = AsyncStream<String>.makeStream()
    let showing = Task { try await guide.showPending(of: phone) { shown.yield($0) } }
    for await badge in badges where badge == "1 not sent, since 0 min" { break }
    try await phone.enableNetwork()
    for await badge in badges where badge == "" { break }
    try await waitForStatus("Up to date")
    #expect(try await authority.document("orders/1").getDocument()["count"] as? Int == 2)
    showing.cancel()
    try await showing.value
    network.report(.available(NetworkPath("mobile", .metered)))
    try await guide.allowMobileData(false, in: phone)
    let (labels, label) = AsyncStream<String>.makeStream()
    let explaining = Task { try await guide.explainPause(of: phone) { label.yield($0) } }
    for await text in labels where text == "Waits for Wi-Fi" { break }
    try await guide.allowMobileData(true, in: phone)
    for await text in labels where text == "" { break }
    explaining.cancel()
    try await explaining.value
    try await phone.terminate()
    try await authority.terminate()
  }

  /// The authority has one of two waiting sales already, as after a lost answer of a server that cannot know
  /// a batch again.
  @Test func syncGuideCountsASaleOnce() async throws {
    let guide = SyncGuide()
    let authority = try database("authority")
    let phone = try await OfflineGuide().openClient(of: authority)
    let settings = phone.settings
    settings.dispatchQueue = DispatchQueue(label: "callbacks")
    settings.acknowledgement = .local
    guide.countSalesOnce(in: settings)
    phone.settings = settings
    let stored = authority.document("articles/tea")
    try await stored.setData(["sold": 1, "sales": ["first": 1]])
    let article = phone.document("articles/tea")
    let following = article.addSnapshotListener { @Sendable _, _ in }
    #expect(try await article.getDocument()["sold"] as? Int == 1)
    try await phone.disableNetwork()
    try await guide.sell(2, of: article)
    try await guide.sell(4, of: article)
    let waiting = try await article.getDocument(source: .cache)["sales"] as? [String: Int]
    let sale = try #require(waiting?.first { $0.value == 2 }?.key)
    try await stored.setData(["sold": FieldValue.increment(Int64(2)), "sales": [sale: 2]], merge: true)
    try await phone.enableNetwork()
    try await phone.waitForPendingWrites()
    let result = try await stored.getDocument()
    #expect(result["sold"] as? Int == 7)
    #expect((result["sales"] as? [String: Int])?.values.sorted() == [1, 2, 4])
    following.remove()
    try await phone.terminate()
    try await authority.terminate()
  }

  @Test func syncGuideAsksForTheTokenOfTheUser() async throws {
    struct NoToken: Error {}
    let (asked, ask) = AsyncStream<(user: String?, isNew: Bool)>.makeStream()
    // No connection is made, because there is no token.
    let shop = try SyncGuide().openShop(in: folder.url.appendingPathComponent("shop"), of: "127.0.0.1:1") {
      user, isNew in
      ask.yield((user, isNew))
      throw NoToken()
    }
    try await shop.changeUser("ada")
    try await shop.document("orders/1").setData(["count": 2])
    for await request in asked where request.user == "ada" {
      #expect(!request.isNew)
      break
    }
    #expect(try await shop.pendingWrites().count == 1)
    try await shop.terminate()
  }

  @Test func offlineGuideExamplesRun() async throws {
    let guide = OfflineGuide()
    let client = try guide.openClient()
    let settings = client.settings
    settings.dispatchQueue = DispatchQueue(label: "callbacks")
    settings.acknowledgement = .local
    guide.mergeTags(in: settings)
    client.settings = settings
    try await client.disableNetwork()
    try await client.document("messages/1").setData(["isRead": false])
    try await client.document("messages/2").setData(["isRead": true])
    #expect(try await guide.unread(in: client) == 1)
    try await guide.forgetOldWrites(of: client)
    #expect(try await client.pendingWrites().count == 2)
    let (refusals, continuation) = AsyncStream.makeStream(of: String.self)
    BeyondFirestoreGuide().reportRefusals(of: client) { continuation.yield($0) }
    // The document does not exist, but only the authority has that information.
    try await client.document("messages/3").updateData(["isRead": true])
    try await client.enableNetwork()
    try await client.waitForPendingWrites()
    var lines = refusals.makeAsyncIterator()
    #expect(await lines.next()?.hasPrefix("messages/3 was refused: ") == true)
    async let status: Void = guide.showStatus(of: client)
    try await guide.prepareTrip(client)
    try await guide.showLoading(of: client.collection("orders").whereField("state", isEqualTo: "open"))
    #expect(try await client.pinnedQueries().map(\.isOverBudget) == [false])
    try await client.terminate()
    try await status
  }

  @Test func customRemoteGuideRefusesSomeWritesInOrder() async throws {
    let authority = try DocumentStore.openInMemory()
    let settings = FirestoreSettings()
    settings.remote = try RemoteGuide().remote(to: authority)
    settings.dispatchQueue = DispatchQueue(label: "callbacks")
    settings.acknowledgement = .local
    let client = Firestore.memory()
    client.settings = settings
    let (refusals, continuation) = AsyncStream.makeStream(of: String.self)
    BeyondFirestoreGuide().reportRefusals(of: client) { continuation.yield($0) }
    try await client.disableNetwork()
    let paths = ["notes/1", "audit/1", "notes/2", "audit/2", "notes/3"]
    for path in paths { try await client.document(path).setData(["n": 1]) }
    try await client.enableNetwork()
    try await client.waitForPendingWrites()
    var lines = refusals.makeAsyncIterator()
    var refused: [String] = []
    while refused.count < 2, let line = await lines.next() {
      refused.append(String(line.prefix("audit/1 was refused: ".count)))
    }
    #expect(refused == ["audit/1 was refused: ", "audit/2 was refused: "])
    let accepted = try paths.filter { path in
      try authority.document(at: DocumentPath(path.split(separator: "/").map(String.init))) != nil
    }
    #expect(accepted == ["notes/1", "notes/2", "notes/3"])
    // Transactions do not use the write stream.
    let audit = client.document("audit/3")
    do {
      _ = try await client.runTransaction { transaction, _ in
        transaction.setData(["n": 1], forDocument: audit)
        return nil
      }
      Issue.record("the transaction was taken")
    } catch FirestoreErrorCode.permissionDenied {}
    try await client.terminate()
  }

  // MARK: Programs of their own

  /// The programs derive the location of their data from the working directory and the user.
  @Test func guideProgramsStart() async throws {
    let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
      let folder = Foundation.FileManager.default.temporaryDirectory
        .appendingPathComponent("dugout-guide-\(UUID().uuidString)")
      try Foundation.FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? Foundation.FileManager.default.removeItem(at: folder) }
      precondition(chdir(folder.path) == 0 && setenv("XDG_DATA_HOME", folder.path, 1) == 0)
      try await FiveMinutesGuide.App.main()
      precondition(Foundation.FileManager.default.fileExists(atPath: "app-data/MANIFEST"))
      ComingFromFirestoreGuide().start()
      let city = Firestore.firestore().document("cities/tokyo")
      try await city.setData(["people": 37_000_000])
      let people = try await city.getDocument()["people"] as? Int
      precondition(people == 37_000_000)
      precondition(Firestore.firestore().storeDirectory.hasPrefix(folder.path))
    }
    #expect(
      result.map { String(decoding: $0.standardOutputContent, as: UTF8.self) }?.contains("Ada\n") == true)
  }

  // MARK: The default app

  @Test func defaultAppExamplesRun() async throws {
    await AsyncMutex.defaultApp.acquire()
    let outcome: Result<Void, any Error>
    do { outcome = .success(try await useDefaultApp()) } catch { outcome = .failure(error) }
    await AsyncMutex.defaultApp.release()
    try outcome.get()
  }

  private func signInAndWrite() async throws {
    let guide = ComingFromFirestoreGuide()
    let room = ComingFromFirestoreGuide.Room(id: "lobby")
    let first = try await guide.say("Hello", in: room)
    let stored = try await Document<ComingFromFirestoreGuide.Message>.get(
      documentReference: first.documentReference)
    #expect(stored?.data?.sender == Auth.auth().currentUser?.uid)
    #expect(Auth.auth().currentUser?.isAnonymous == true)
    try Auth.auth().signOut()
    guide.useAccounts(of: ComingFromFirestoreGuide.Club { "guest" })
    #expect(try await guide.say("Hello again", in: room)[\.sender] == "guest")
    try guide.welcome(member: "ada", name: "Ada")
    #expect(try await guide.say("It is Ada", in: room)[\.sender] == "ada")
    #expect(Auth.auth().currentUser?.displayName == "Ada")
  }

  private func useDefaultApp() async throws {
    FirebaseApp.configure(options: FirebaseOptions(directory: folder.url.appendingPathComponent("app")))
    try await ComingFromBallcapGuide().open("Lobby")
    #expect(try await Document<ComingFromBallcapGuide.Room>.get(id: "lobby")?.data?.title == "Lobby")
    let reading = try #require(try await ComingFromBallcapGuide().record(19.5, of: "roof"))
    #expect(reading.sensor == "roof" && reading.celsius == 19.5 && reading.taken != .pending)
    try await signInAndWrite()
    let files = FilesGuide()
    let url = try await files.keep(Data("picture".utf8), of: "ada")
    #expect(url.absoluteString.contains("pictures%2Fada.jpg"))
    #expect(try await files.picture(of: "ada") == Data("picture".utf8))
    #expect(try await files.picture(of: "nobody") == nil)
    try await files.resumeUploads()
    #expect(try await Storage.storage().pendingUploads().isEmpty)
    await withCheckedContinuation { done in FirebaseApp.app()?.delete { _ in done.resume() } }
    FirebaseApp.configure(options: FirebaseOptions(directory: folder.url.appendingPathComponent("client")))
    let client = files.openClient()
    client.callbackQueue = DispatchQueue(label: "callbacks")
    _ = try await files.keep(Data("later".utf8), of: "eve")
    #expect(try await files.picture(of: "eve") == Data("later".utf8))
    await withCheckedContinuation { done in FirebaseApp.app()?.delete { _ in done.resume() } }
  }
}
