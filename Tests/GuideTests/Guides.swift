// The Swift code of docs/guides, verbatim; GuideTests runs it.
//
// The lines match those of the pages, with one more level of indentation.
// swift-format-ignore-file

import Authority
import Ballcap
import ObjectSync
import Dispatch
import DocumentStore
import DugoutTesting
import DugoutTestingTrait
import FirebaseAuth
import FirebaseFirestore
import FirebaseStorage
import FirestoreRemote
import Foundation
import Observation
import OfflineSync
import Testing

/// docs/guides/backup.md
struct BackupGuide {
  func backUp(_ database: Firestore, to folder: URL) async throws {
    try await database.backup(to: folder)
  }
}

/// docs/guides/beyond-firestore.md, and the write queue in docs/guides/offline.md
struct BeyondFirestoreGuide {
  func openShop(in folder: URL) throws -> Firestore {
    let settings = FirestoreSettings()
    settings.dispatchQueue = DispatchQueue(label: "shop")  // a server does not run its main queue
    return try Firestore.open(at: folder.appendingPathComponent("shop"), settings: settings)
  }

  func explain(_ error: any Error) -> String {
    let evidence = (error as NSError).userInfo
    switch error {
    case FirestoreErrorCode.unavailable:
      return "process \(evidence[FirestoreErrorEvidence.holder] ?? "unknown") has the database"
    case FirestoreErrorCode.dataLoss:
      return "\(evidence[FirestoreErrorEvidence.file] ?? "a file") is damaged"
    default: return error.localizedDescription
    }
  }

  func showProgress(of shop: Firestore) async throws {
    for try await progress in shop.writeQueueProgress {
      print("\(Int(progress.fractionCompleted * 100)) %: \(progress.sentCount) of \(progress.pendingCount) on their way")
      if progress.rejectedCount > 0 { print("\(progress.rejectedCount) were refused") }
    }
  }

  func cancelOrders(in shop: Firestore) async throws {
    for write in try await shop.pendingWrites() where write.paths.contains(where: { $0.hasPrefix("orders/") }) {
      // The remote may already have applied a write that was sent; then it returns as remote data.
      if !write.isSent { try await shop.cancelPendingWrite(write.id) }
    }
  }

  func reportRefusals(of shop: Firestore, to person: @escaping (String) -> Void) {
    shop.addRejectedWritesListener { rejected, _ in
      guard let rejected else { return }
      let paths = rejected.write.paths.joined(separator: ", ")
      person("\(paths) was refused: \(rejected.error.localizedDescription)")
    }
  }

  func population(of city: String, in shop: Firestore) throws -> Int? {
    try shop.document("cities/\(city)").read()["population"] as? Int
  }

  struct Station: FirestoreRecordDecodable, FirestoreRecordEncodable {
    @DocumentID var id: String?
    var name: String
    var lines: [String]
    var opened: Timestamp?

    init(from fields: inout FieldReader) throws {
      _id = try fields.decode("id")
      name = try fields.decode("name")
      lines = try fields.decode("lines")
      opened = try fields.decodeIfPresent("opened")
    }

    func encode(to fields: inout FieldWriter) throws {
      try fields.encode(_id, as: "id")
      try fields.encode(name, as: "name")
      try fields.encode(lines, as: "lines")
      try fields.encodeIfPresent(opened, as: "opened")
    }
  }

  func extend(_ line: String, to id: String, in city: Firestore) throws -> Station {
    let reference = city.document("stations/\(id)")
    var station = try reference.read(as: Station.self)
    station.lines.append(line)
    try reference.setData(from: station)
    return station
  }

  func revenue(in directory: String) throws -> Int64? {
    let store = try DocumentStore.open(directory)
    defer { try? store.close() }
    var revenue: Int64 = 0
    var areWhole = true
    try store.forEach(StructuredQuery(.collection(CollectionPath(["orders"])))) { order in
      var fields = order.fields
      while let value = fields.next() {
        if fields.name.string == "total" { revenue &+= value.integer ?? 0 }
      }
      areWhole = fields.isWhole
      return areWhole
    }
    return areWhole ? revenue : nil  // nil if a record is damaged
  }

  struct Ticket: Codable { var seat: String }

  func sell(_ seat: String, in shop: Firestore) async throws -> DocumentReference {
    try await shop.collection("tickets").addDocument(from: Ticket(seat: seat))
  }

  struct Customer: Codable {
    @DocumentID var id: String?
    var name: String
    var orders: Int
  }

  func best(in shop: Firestore) async throws -> [Customer] {
    let customers = shop.collection("customers").typed(Customer.self)
    return try await customers.where(\.orders, .atLeast(10)).order(by: \.orders, descending: true).get()
  }

  struct Parcel: Codable {
    var town: String
    var weight: Double
    var isLost: Bool
  }

  func heavy(in shop: Firestore, _ towns: [String]) async throws -> [Parcel] {
    let parcels = shop.collection("parcels").typed(Parcel.self)
    return try await parcels.filter(
      using: #Predicate { towns.contains($0.town) && ($0.weight > 30 || $0.isLost) }
    ).get()
  }

  struct Offer: Codable {
    var title: String
  }

  func watch(
    _ shop: Firestore, _ changed: @escaping @Sendable () -> Void
  ) -> FirestoreQueryObservable<[Offer]> {
    let configuration = FirestoreQueryConfiguration(path: "offers", predicates: [.order(by: "title")])
    let offers = FirestoreQueryObservable<[Offer]>(configuration: configuration, firestore: shop)
    withObservationTracking { print(offers.items.count) } onChange: { changed() }
    return offers
  }

  func prepare(_ shop: Firestore) async throws {
    try await shop.createIndex(FirestoreIndex("orders", [.ascending("state"), .descending("total")]))
    let open = shop.collection("orders").whereField("state", isEqualTo: "open").order(by: "total", descending: true)
    print(try await open.explain())
  }

  func everyNight(_ shop: Firestore, _ folder: URL) async throws {
    try await shop.evict(collection: "sessions", olderThan: Date(timeIntervalSinceNow: -30 * 86_400))
    try await shop.backup(to: folder)
    print(try await shop.statistics().documentCount)
  }

  func turnover(of shop: Firestore) async throws -> Int {
    var total = 0
    for try await order in shop.documents(in: shop.collection("orders"), pageSize: 1000) {
      total += order["total"] as? Int ?? 0
    }
    return total
  }

  func migrate(_ shop: Firestore) async throws {
    var migrator = Migrator()
    migrator.registerMigration("currency") { transaction in
      transaction.setData(["currency": "CHF"], forDocument: shop.document("settings/shop"), merge: true)
    }
    migrator.registerPagedMigration("turnover of customers", over: shop.collection("orders")) { batch, orders in
      for order in orders {
        let customer = shop.document("customers/\(order["customer"] ?? "unknown")")
        let total = FieldValue.increment(Int64(order["total"] as? Int ?? 0))
        batch.setData(["turnover": total], forDocument: customer, merge: true)
      }
    }
    try await migrator.migrate(shop) { progress in
      print("\(progress.migration): \(progress.documentCount) of \(progress.totalDocumentCount ?? 0)")
    }
  }
}

/// docs/guides/change-feed.md
struct ChangeFeedGuide {
  func printChanges(of database: Firestore, after position: ChangePosition?) async throws {
    for try await change in database.changes(after: position) {
      switch change.kind {
      case .set: print(change.position, change.document.path, change.snapshot.data() ?? [:])
      case .delete: print(change.position, change.document.path, "was deleted")
      }
    }
  }

  func mirror(_ database: Firestore, with send: (FirestoreChange) async throws -> Void) async throws {
    let consumer = try await database.registerConsumer("mirror")
    for try await change in consumer.changes() {
      try await send(change)
      if change.isLastOfCommit { try await consumer.acknowledge(change.position) }
    }
  }

  /// A search engine that ignores a call with an older version than its last one for the same path.
  protocol SearchEngine: Sendable {
    func position() async throws -> String?
    func setPosition(_ position: String) async throws
    func put(_ path: String, title: String, version: UInt64) async throws
    func remove(_ path: String, version: UInt64) async throws
    /// Removes all entries, all versions and the position.
    func removeAll() async throws
  }

  func updateSearch(_ engine: some SearchEngine, from database: Firestore) async throws {
    let outbox = try await database.registerConsumer("search")
    while !Task.isCancelled {
      do {
        if let text = try await engine.position(), let position = ChangePosition(text) {
          try await send(database.changes(after: position), to: engine, acknowledging: outbox)
        } else {
          try await fill(engine, from: database)
        }
      } catch is FirestoreChangesError {
        // Changes are missing. Without a position, the engine is filled again.
        try await engine.removeAll()
      }
    }
  }

  func send(
    _ changes: FirestoreChanges, to engine: some SearchEngine, acknowledging outbox: FirestoreChangeConsumer
  ) async throws {
    for try await change in changes {
      let path = change.document.path
      if change.document.parent.collectionID == "articles" {
        if let title = change.snapshot.get("title") as? String {
          try await engine.put(path, title: title, version: change.version)
        } else {
          try await engine.remove(path, version: change.version)
        }
      }
      if change.isLastOfCommit {
        try await engine.setPosition(change.position.description)
        try await outbox.acknowledge(change.position)
      }
    }
  }

  func fill(_ engine: some SearchEngine, from database: Firestore) async throws {
    try await engine.removeAll()
    let snapshot = try await database.databaseSnapshot()
    defer { snapshot.close() }
    for article in try await snapshot.documents(of: database.collectionGroup("articles")) {
      guard let title = article.get("title") as? String else { continue }
      try await engine.put(article.reference.path, title: title, version: snapshot.position.commit)
    }
    try await engine.setPosition(snapshot.position.description)
  }
}

/// docs/guides/coming-from-ballcap.md
struct ComingFromBallcapGuide {
  struct Room: Codable, Modelable {
    var title = ""
    var members = 0
    var opened: ServerTimestamp = .pending
  }

  func open(_ title: String) async throws {
    let room = Document<Room>(id: "lobby", from: Room(title: title))
    try await room.save()
    let found = try await Document<Room>.get(id: "lobby")
    print(found?.data?.title ?? "nothing")
  }

  struct Reading: Codable, Modelable, FirestoreRecordDecodable, FirestoreRecordEncodable {
    var sensor = ""
    var celsius = 0.0
    var taken: ServerTimestamp = .pending

    init() {}

    init(from fields: inout FieldReader) throws {
      sensor = try fields.decode("sensor")
      celsius = try fields.decode("celsius")
      taken = try fields.decode("taken")
    }

    func encode(to fields: inout FieldWriter) throws {
      try fields.encode(sensor, as: "sensor")
      try fields.encode(celsius, as: "celsius")
      try fields.encode(taken, as: "taken")
    }
  }

  func record(_ celsius: Double, of sensor: String) async throws -> Reading? {
    let reading = Document<Reading>(id: sensor)
    reading[\.sensor] = sensor
    reading[\.celsius] = celsius
    try await reading.save()
    return try await Document<Reading>.get(id: sensor)?.data
  }
}

/// docs/guides/coming-from-core-data.md
struct ComingFromCoreDataGuide {
  struct Chore: Codable, Sendable {
    @DocumentID var id: String?
    var title: String
    var isDone: Bool
  }

  @MainActor
  @Observable
  final class ChoreList {
    private(set) var chores: [Chore] = []

    func follow(_ database: Firestore) async throws {
      let query = database.collection("chores").typed(Chore.self).where(\.isDone, .equals(false)).order(by: \.title)
      for try await snapshot in query.query.snapshots { chores = try query.values(of: snapshot) }
    }
  }
}

/// docs/guides/coming-from-firestore.md
struct ComingFromFirestoreGuide {
  func start() {
    FirebaseApp.configure()
    let cities = Firestore.firestore().collection("cities")
    cities.whereField("people", isGreaterThan: 1_000_000).order(by: "people", descending: true)
      .addSnapshotListener { snapshot, error in
        if let error { return print("The cities cannot be read: \(error.localizedDescription)") }
        print(snapshot?.documents.count ?? 0)
      }
  }

  final class Room: Object, DataRepresentable, HierarchicalStructurable {
    struct Model: Codable, Modelable { var title = "" }
    enum CollectionKeys: String { case transcripts }
    override class var name: String { "rooms" }
    var data: Room.Model?
  }

  struct Message: Codable, Modelable {
    var sender = ""
    var text = ""
    var sentAt: ServerTimestamp = .pending
  }

  func say(_ text: String, in room: Room) async throws -> Document<Message> {
    if Auth.auth().currentUser == nil { try await Auth.auth().signInAnonymously() }
    let message: Document<Message> = Document(collectionReference: room.collection(path: .transcripts))
    message[\.sender] = Auth.auth().currentUser!.uid
    message[\.text] = text
    try await message.save()
    return message
  }

  struct Club: AuthIdentityProvider {
    var guestID: @Sendable () async throws -> String

    func anonymousIdentity() async throws -> AuthIdentity {
      AuthIdentity(uid: try await guestID(), isAnonymous: true, providerID: "club")
    }
  }

  func useAccounts(of club: Club) {
    Auth.auth().provider = club
  }

  func welcome(member id: String, name: String) throws {
    try Auth.auth().signIn(as: AuthIdentity(uid: id, providerID: "club", displayName: name))
  }
}

/// docs/guides/coming-from-sqlite.md
struct ComingFromSqliteGuide {
  struct Player: Codable {
    @DocumentID var id: String?
    var name: String
    var score: Int
  }

  func best(in database: Firestore) async throws -> [Player] {
    try await database.collection("players").typed(Player.self)
      .where(\.score, .atLeast(100)).order(by: \.score, descending: true).limit(to: 10).get()
  }

  func splitNames(in database: Firestore) async throws {
    var migrator = Migrator()
    migrator.registerPagedMigration("split names", over: database.collection("players")) { batch, players in
      for player in players {
        let words = (player["name"] as? String ?? "").split(separator: " ", maxSplits: 1).map(String.init)
        let names = ["first": words.first ?? "", "last": words.dropFirst().first ?? ""]
        batch.updateData(names, forDocument: player.reference)
      }
    }
    try await migrator.migrate(database)
  }
}

/// docs/guides/durability.md
struct DurabilityGuide {
  func transfer(_ amount: Int64, from: DocumentReference, to: DocumentReference) async throws {
    let batch = from.firestore.batch()
    batch.updateData(["balance": FieldValue.increment(-amount)], forDocument: from)
    batch.updateData(["balance": FieldValue.increment(amount)], forDocument: to)
    try await batch.commit()
    // Both or neither, whatever happens from here on.
  }

  func openCache(at folder: URL) throws -> Firestore {
    let settings = FirestoreSettings()
    settings.durability = .buffered
    return try Firestore.open(at: folder, settings: settings)
  }
}

/// docs/guides/files.md
struct FilesGuide {
  func keep(_ picture: Data, of name: String) async throws -> URL {
    let reference = Storage.storage().reference().child("pictures/\(name).jpg")
    let metadata = StorageMetadata()
    metadata.contentType = "image/jpeg"
    _ = try await reference.putDataAsync(picture, metadata: metadata)
    return try await reference.downloadURL()
  }

  func picture(of name: String) async throws -> Data? {
    do {
      return try await Storage.storage().reference().child("pictures/\(name).jpg").data(maxSize: 10 << 20)
    } catch StorageError.objectNotFound {
      return nil
    }
  }

  func resumeUploads() async throws {
    for pending in try await Storage.storage().pendingUploads() where !pending.isActive {
      if pending.resume() == nil { try await pending.cancel() }
    }
  }

  func openClient() -> Storage {
    let storage = Storage.storage()
    storage.remote = LoopbackBlobRemote()
    storage.acknowledgement = .local
    return storage
  }
}

/// docs/guides/five-minutes.md
struct FiveMinutesGuide {
  struct User: Codable {
    @DocumentID var id: String?
    var name: String
    var age: Int
  }

  struct App {
    static func main() async throws {
      let folder = URL(fileURLWithPath: "app-data")
      let firestore = try Firestore.open(at: folder)
      let users = firestore.collection("users")
      try await users.document("ada").setData(["name": "Ada", "age": 36])
      for user in try await users.typed(User.self).where(\.age, .atLeast(18)).get() { print(user.name) }
      try await firestore.terminate()
    }
  }
}

/// docs/guides/modelling.md
struct ModellingGuide {
  func post(_ text: String, by author: DocumentReference, named name: String, in room: DocumentReference) async throws {
    let batch = room.firestore.batch()
    let message: [String: Any] = ["text": text, "author": author, "name": name, "sent": FieldValue.serverTimestamp()]
    batch.setData(message, forDocument: room.collection("messages").document())
    batch.updateData(["messages": FieldValue.increment(Int64(1)), "last": text], forDocument: room)
    try await batch.commit()
  }

  func lately(in database: Firestore) async throws -> [QueryDocumentSnapshot] {
    try await database.collectionGroup("messages").order(by: "sent", descending: true).limit(to: 20).getDocuments().documents
  }

  func prepare(_ database: Firestore) async throws {
    // Ahead of time, so that the first query after an update need not wait for it.
    try await database.createIndex(FirestoreIndex("users", [.ascending("city"), .descending("age")]))
    let query = database.collection("users").whereField("city", isEqualTo: "Paris").order(by: "age", descending: true)
    print(try await query.explain())
  }

  func keepSessionsForAWhile(in database: Firestore) async throws {
    // The rule is stored and takes effect at once.
    try await database.setTimeToLive(field: "expires", collection: "sessions")
    for rule in try await database.timesToLive() {
      print(rule.collection, rule.field, rule.deletedCount, rule.failure ?? "no failure")
    }
  }
}

/// docs/guides/offline.md
struct OfflineGuide {
  func openClient() throws -> Firestore {
    let authority = try DocumentStore.openInMemory()
    let settings = FirestoreSettings()
    settings.remote = try LoopbackRemote(authority: authority)
    let firestore = Firestore.memory()
    firestore.settings = settings
    return firestore
  }

  func openClient(of shop: Firestore) async throws -> Firestore {
    let authority = try await shop.authority()
    let settings = FirestoreSettings()
    settings.remote = LoopbackRemote(authority: authority)
    let client = Firestore.memory()
    client.settings = settings
    return client
  }

  func signOut(_ user: String, of shop: Firestore, saving file: URL) async throws {
    try await shop.changeUser(nil)
    if try await !shop.pendingWrites(of: user).isEmpty {
      let export = try await shop.exportPendingWrites(of: user)
      try export.write(to: file)
      try await shop.discardPendingWrites(in: export)
    }
  }

  func signIn(_ user: String, to shop: Firestore, restoring file: URL) async throws {
    try await shop.changeUser(user)
    guard let data = try? Data(contentsOf: file) else { return }
    try await shop.importPendingWrites(data)
  }

  func review(_ shop: Firestore, mayRepeat: (RejectedDocument) async -> Bool) async throws {
    for try await rejected in shop.rejectedWrites {
      guard let first = rejected.documents.first, await mayRepeat(first) else { continue }
      try await shop.batch().addWrites(of: rejected).commit()
    }
  }

  func forgetOldWrites(of firestore: Firestore) async throws {
    for write in try await firestore.pendingWrites() where write.date.timeIntervalSinceNow < -86_400 {
      try await firestore.cancelPendingWrite(write.id)
    }
  }

  func mergeTags(in settings: FirestoreSettings) {
    settings.conflictResolver = { conflict in
      let ours = conflict.local.data()?["tags"] as? [String] ?? []
      let theirs = conflict.remote.data()?["tags"] as? [String] ?? []
      return .write(["tags": Set(ours + theirs).sorted()])
    }
  }

  func unread(in firestore: Firestore) async throws -> Int {
    let messages = firestore.collection("messages").whereField("isRead", isEqualTo: false)
    return try await messages.count.getAggregation(source: .cache).count.intValue
  }

  func showStatus(of shop: Firestore) async throws {
    for try await progress in shop.syncProgress {
      let time = progress.syncedUpTo.map { "synced up to \($0)" } ?? "not synced yet"
      let error = progress.error.map { " (\($0.localizedDescription))" } ?? ""
      print("\(progress.connection)\(error), \(time), \(progress.pendingWriteCount) writes to send")
    }
  }

  func showLoading(of rooms: Query) async throws {
    for try await progress in rooms.syncProgress {
      if progress.state == .current { return }
      print("\(progress.receivedCount) documents, \(progress.receivedByteCount / 1000) kB")
    }
  }

  func prepareTrip(_ shop: Firestore) async throws {
    let orders = shop.collection("orders").whereField("state", isEqualTo: "open")
    try await orders.pin(budget: PinBudget(documentsMax: 5_000, bytesMax: 20 << 20))
    for pin in try await shop.pinnedQueries() {
      print("\(pin.documentCount) documents, \(pin.byteCount / 1000) kB\(pin.isOverBudget ? ", over its budget" : "")")
    }
  }
}

/// Sources/Sync/OfflineSync/OfflineSync.docc/OfflineSync.md
struct RemoteGuide {
  /// Forwards all calls to another remote, except writes to one collection, which it rejects.
  final class GuardedRemote: Remote {
    private let inner: LoopbackRemote
    private let collection: CollectionPath
    private let queue = DispatchQueue(label: "guarded-remote")

    init(_ inner: LoopbackRemote, readOnly collection: CollectionPath) {
      self.inner = inner
      self.collection = collection
    }

    var documentsName: String { inner.documentsName }

    func openWatchStream(
      as user: String?, _ handler: @escaping @Sendable (WatchStreamEvent) -> Void
    ) -> any WatchStream {
      inner.openWatchStream(as: user, handler)
    }

    func openWriteStream(
      as user: String?, _ handler: @escaping @Sendable (WriteStreamEvent) -> Void
    ) -> any WriteStream {
      GuardedWrites(to: inner, as: user, { self.refusal(of: $0) }, handler)
    }

    func documents(
      at paths: [DocumentPath], as user: String?,
      _ answer: @escaping @Sendable (Result<[RemoteDocument], RemoteError>) -> Void
    ) {
      inner.documents(at: paths, as: user, answer)
    }

    func commit(
      _ mutations: [Mutation], as user: String?,
      _ answer: @escaping @Sendable (Result<SnapshotVersion, RemoteError>) -> Void
    ) {
      guard let error = refusal(of: mutations) else { return inner.commit(mutations, as: user, answer) }
      queue.async { answer(.failure(error)) }
    }

    func aggregate(
      _ aggregates: [Aggregate], over query: StructuredQuery, as user: String?,
      _ answer: @escaping @Sendable (Result<[StoredValue], RemoteError>) -> Void
    ) {
      inner.aggregate(aggregates, over: query, as: user, answer)
    }

    /// Returns nil if the writes are allowed. A mutation that only verifies is not a write.
    private func refusal(of mutations: [Mutation]) -> RemoteError? {
      let isRefused = mutations.contains { $0.change != .verify && $0.path.parent == collection }
      return isRefused ? RemoteError(.permissionDenied, "\(collection) is read only.") : nil
    }
  }

  /// Answers some batches itself, in order. Events are delivered on a private queue: one at a time, and
  /// never from within a call.
  final class GuardedWrites: WriteStream, @unchecked Sendable {
    // All mutable state is confined to the queue.
    private let queue = DispatchQueue(label: "guarded-writes")
    private let refusal: @Sendable ([Mutation]) -> RemoteError?
    private let handler: @Sendable (WriteStreamEvent) -> Void
    private var inner: (any WriteStream)?
    private var unanswered = 0
    private var refused: RemoteError?
    private var isClosed = false

    init(
      to remote: LoopbackRemote, as user: String?,
      _ refusal: @escaping @Sendable ([Mutation]) -> RemoteError?,
      _ handler: @escaping @Sendable (WriteStreamEvent) -> Void
    ) {
      self.refusal = refusal
      self.handler = handler
      inner = remote.openWriteStream(as: user) { [weak self] event in
        guard let self else { return }
        queue.async { self.receive(event) }
      }
    }

    func handshake(_ token: [UInt8], runs: [RunRegistration]) {
      queue.async { self.inner?.handshake(token, runs: runs) }
    }

    func write(_ write: RemoteWrite) { queue.async { self.send(write) } }

    func close() { queue.async { self.end() } }

    private func send(_ write: RemoteWrite) {
      // Ignore batches after a rejected one: the client sends them again on another stream.
      guard !isClosed, refused == nil else { return }
      refused = refusal(write.mutations)
      guard refused == nil else { return refuse() }
      unanswered += 1
      inner?.write(write)
    }

    private func receive(_ event: WriteStreamEvent) {
      guard !isClosed else { return }
      switch event {
      case .opened, .registered, .handshakeComplete: handler(event)
      case .answered:
        unanswered -= 1
        handler(event)
        refuse()
      case .overtaken, .closed:
        end()
        handler(event)
      }
    }

    /// Reports the rejection once all earlier batches are answered.
    private func refuse() {
      guard let refused, unanswered == 0 else { return }
      end()
      handler(.closed(refused))
    }

    private func end() {
      isClosed = true
      inner?.close()
    }
  }

  func remote(to authority: DocumentStore) throws -> any Remote {
    GuardedRemote(try LoopbackRemote(authority: authority), readOnly: try CollectionPath(["audit"]))
  }
}

/// docs/guides/observability.md, except for the recipes
struct ObservabilityGuide {
  func healthCheck(of database: Firestore) throws -> (status: Int, body: Data) {
    let health = database.health()
    return (health.canWrite ? 200 : 503, try JSONEncoder().encode(health))
  }

  struct Problems: Instruments {
    func event(_ event: InstrumentEvent) {
      guard event.level == .warning || event.level == .error else { return }
      print(event)
    }
  }

  func openObserved(_ folder: URL) throws -> Firestore {
    let settings = FirestoreSettings()
    settings.instruments = Problems()
    return try Firestore.open(at: folder, settings: settings)
  }
}

/// docs/guides/outside-input.md
struct OutsideInputGuide {
  func notes(of user: String, by field: String, count: Int, in database: Firestore) throws -> Query {
    try database.validated {
      $0.collection("users").document(user).collection("notes").order(by: field).limit(to: count)
    }
  }

  func store(_ fields: [String: Any], as id: String, in database: Firestore) async throws {
    let batch = try database.validated {
      $0.batch().setData(fields, forDocument: $0.collection("notes").document(id))
    }
    try await batch.commit()
  }

  func status(of error: any Error) -> Int {
    switch error {
    case FirestoreErrorCode.invalidArgument: 400
    case FirestoreErrorCode.notFound: 404
    case FirestoreErrorCode.failedPrecondition, FirestoreErrorCode.unavailable: 503
    default: 500
    }
  }
}

/// docs/guides/server.md
struct ServerGuide {
  func open(_ folder: URL) throws -> Firestore {
    let settings = FirestoreSettings()
    settings.dispatchQueue = DispatchQueue(label: "callbacks", qos: .userInitiated)
    return try Firestore.open(at: folder, settings: settings)
  }

  func price(of article: String, in shop: Firestore) throws -> Int? {
    try shop.document("articles/\(article)").read()["price"] as? Int
  }

  func health(of database: Firestore) async throws -> String {
    let statistics = try await database.statistics()
    return "documents: \(statistics.documentCount)"
  }

  func openBounded(_ folder: URL) throws -> Firestore {
    let settings = FirestoreSettings()
    settings.dispatchQueue = DispatchQueue(label: "callbacks", qos: .userInitiated)
    settings.memoryBudget = 192 << 20
    return try Firestore.open(at: folder, settings: settings)
  }

  func needsMoreMemory(_ database: Firestore) -> Bool {
    guard let memory = database.health().memory, let budget = memory.budget else { return false }
    return memory.refusalCount > 0 || 2 * memory.fixedByteCount > budget.byteCount / 2
  }

  func end(_ database: Firestore) async throws {
    try await database.terminate()
  }

  func waitForSignal() async {
    let (signals, continuation) = AsyncStream<Int32>.makeStream()
    // On a global queue, the handler would wait while requests block all threads of the pool.
    let queue = DispatchQueue(label: "signals")
    let sources = [SIGTERM, SIGINT].map { number in
      // Without this call, the signal ends the process at once.
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler { continuation.yield(number) }
      source.resume()
      return source
    }
    for await _ in signals { break }
    for source in sources { source.cancel() }
  }

  func serve(_ database: Firestore, finishRequests: () async -> Void) async throws {
    await waitForSignal()
    await finishRequests()
    try await database.terminate()
  }

  func backUp(_ database: Firestore, into folder: URL) async throws {
    let name = Date().ISO8601Format().replacing(":", with: "-")
    try await database.backup(to: folder.appendingPathComponent(name))
  }

  func verify(_ database: Firestore) async throws -> Bool {
    let report = try await database.check { progress in
      print("\(progress.step): \(Int(100 * progress.fractionCompleted)) %")
    }
    for finding in report.findings { print(finding, "Lost:", finding.loss) }
    for path in report.lostDocuments { print("cannot be read:", path) }
    return report.isHealthy
  }
}

/// docs/guides/second-process.md
struct SecondProcessGuide {
  func largestOrders(in folder: URL) async throws -> [String] {
    let shop = try Firestore.open(at: folder, access: .readOnly)
    let orders = shop.collection("orders").order(by: "total", descending: true).limit(to: 10)
    return try await orders.getDocuments().documents.map(\.documentID)
  }

  func refresh(_ shop: Firestore) async throws {
    try await shop.refresh()
    if let age = shop.snapshotAge {
      print("as of \(age.lastCommit?.description ?? "the beginning"), \(age.secondsSinceRefresh) s ago")
    }
  }

  func printOrders(in folder: URL, until count: Int) async throws {
    let settings = FirestoreSettings()
    settings.refreshInterval = 1
    let shop = try Firestore.open(at: folder, access: .readOnly, settings: settings)
    for try await snapshot in shop.collection("orders").snapshots {
      print(snapshot.count)
      if snapshot.count >= count { break }
    }
  }

  func newestNote(in group: URL) throws -> String? {
    let notes = try Firestore.open(at: group.appendingPathComponent("notes"), access: .readOnly)
    let newest = try notes.collection("notes").order(by: "written", descending: true).limit(to: 1).read()
    return newest.documents.first?.get("text") as? String
  }
}

/// docs/guides/sync.md
struct SyncGuide {
  func openShop(in folder: URL) -> Firestore {
    let options = FirebaseOptions(directory: folder)
    options.projectID = "my-shop"
    FirebaseApp.configure(options: options)
    let shop = Firestore.firestore()
    shop.useEmulator(withHost: "127.0.0.1", port: 8080)
    return shop
  }

  func status(of orders: QuerySnapshot) -> String {
    switch (orders.metadata.isFromCache, orders.metadata.hasPendingWrites) {
    case (false, false): "Up to date"
    case (false, true): "Sending"
    case (true, false): "Offline"
    case (true, true): "Offline. Your changes will be sent."
    }
  }

  func watchModem(for settings: FirestoreSettings) -> ReportedNetworkMonitor {
    let network = ReportedNetworkMonitor(.unavailable)
    settings.networkMonitor = network
    return network
  }

  func modemDidConnect(_ provider: String, _ network: ReportedNetworkMonitor) {
    network.report(.available(NetworkPath("modem \(provider)")))
  }

  func allowMobileData(_ isAllowed: Bool, in shop: Firestore) async throws {
    try await shop.setNetworkUse(isAllowed ? .any : .unmetered)
  }

  func explainPause(of shop: Firestore, in label: (String) -> Void) async throws {
    for try await progress in shop.syncProgress {
      label(progress.pause == .meteredNetwork ? "Waits for Wi-Fi" : "")
    }
  }

  func showPending(of shop: Firestore, in badge: (String) -> Void) async throws {
    for try await progress in shop.writeQueueProgress {
      guard let oldest = progress.oldest else {
        badge("")
        continue
      }
      let minutes = Int(-oldest.timeIntervalSinceNow / 60)
      badge("\(progress.pendingCount) not sent, since \(minutes) min")
    }
  }

  func openShop(
    in folder: URL, of host: String,
    token: @escaping @Sendable (_ user: String?, _ isNew: Bool) async throws -> String
  ) throws -> Firestore {
    var options = FirestoreRemoteOptions(project: "my-shop")
    options.host = host
    options.credentials = { request in
      FirestoreToken(try await token(request.user, request.refused != nil))
    }
    let settings = FirestoreSettings()
    settings.remote = FirestoreRemote(options)
    settings.acknowledgement = .local
    return try Firestore.open(at: folder, settings: settings)
  }

  func sell(_ count: Int, of article: DocumentReference) async throws {
    let sale = [UUID().uuidString: count]
    try await article.setData(["sold": FieldValue.increment(Int64(count)), "sales": sale], merge: true)
  }

  func countSalesOnce(in settings: FirestoreSettings) {
    settings.conflictResolver = { conflict in
      guard var article = conflict.remote.data(), let local = conflict.local["sales"] as? [String: Int] else {
        return .keepWrites
      }
      let sales = article["sales"] as? [String: Int] ?? [:]
      let missing = local.filter { sales[$0.key] == nil }
      if missing.isEmpty { return .dropWrites }
      article["sold"] = (article["sold"] as? Int ?? 0) + missing.values.reduce(0, +)
      article["sales"] = sales.merging(missing) { first, _ in first }
      return .write(article)
    }
  }
}

/// docs/guides/testing-your-app.md
@Suite struct TestingGuide {
  func notesReachTheTablet() async throws {
    try await TestWorld.run(seed: 7) { world in
      let phone = try world.client("phone")
      let tablet = try world.client("tablet")
      try await phone.firestore.document("notes/1").setData(["text": "milk"])
      let note = try await tablet.firestore.document("notes/1").getDocument()
      precondition(note.data()?["text"] as? String == "milk")
    }
  }

  func offlineClient(in world: TestWorld) throws -> TestClient {
    try world.client("phone", user: "ann") { settings in
      settings.acknowledgement = .local
    }
  }

  func aNoteSurvivesATunnel(_ world: TestWorld, phone: TestClient, tablet: TestClient) async throws {
    world.network.cut(phone)
    try await phone.firestore.document("notes/1").setData(["text": "milk"])
    let own = try await phone.firestore.document("notes/1").getDocument()
    precondition(own.metadata.isFromCache && own.metadata.hasPendingWrites)

    world.network.restore(phone)
    world.network.setFaults(.flaky, of: tablet)
    try await world.checkConvergence(of: "notes")
  }

  func aReminderIsDueTomorrow(_ world: TestWorld, phone: TestClient) async throws {
    try await phone.firestore.document("reminders/1").setData(["due": world.time.now.addingTimeInterval(86_400)])
    try await world.time.advance(by: .seconds(86_400))
    let due = try await phone.firestore.collection("reminders")
      .whereField("due", isLessThanOrEqualTo: world.time.now).getDocuments()
    precondition(due.count == 1)
  }

  func aForeignListCannotBeChanged(_ world: TestWorld, phone: TestClient) async throws {
    world.authority.refuseWrites { $0.path.hasPrefix("lists/") && $0.user != "ben" }
    try await world.authority.firestore.document("lists/1").setData(["name": "Ben's list"])
    do {
      try await phone.firestore.document("lists/1").updateData(["name": "mine"])
      preconditionFailure("the write was accepted")
    } catch FirestoreErrorCode.permissionDenied {}
    let list = try await phone.firestore.document("lists/1").getDocument()
    precondition(list.data()?["name"] as? String == "Ben's list")
  }

  @Test(.seeds(100)) func twoPhonesAgree() async throws {
    try await TestWorld.run { world in
      var random = world.generator()
      let clients = try ["phone", "tablet"].map { name in
        try world.client(name) { $0.acknowledgement = .local }
      }
      for number in 0..<20 {
        let client = clients.randomElement(using: &random) ?? clients[0]
        world.network.setFaults(.random(using: &random), of: client)
        try await client.firestore.document("notes/\(number % 5)").setData(["text": "\(number)"])
        if Bool.random(using: &random) { world.network.cut(client) } else { world.network.restore(client) }
        try await world.time.advance(by: .milliseconds(Int.random(in: 0...500, using: &random)))
      }
      world.network.restoreAll()
      world.network.setFaults(.none)
      try await world.checkConvergence(of: "notes")
    }
  }
}
