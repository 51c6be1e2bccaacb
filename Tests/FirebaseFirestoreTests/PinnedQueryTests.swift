// Pinned queries as an app uses them: offline, after a restart, by several users, and within a budget.

import Authority
import DocumentStore
import FirebaseFirestore
import Foundation
import OfflineSync
import Testing

@Suite(.timeLimit(.minutes(2))) struct PinnedQueryTests {
  private let authority: DocumentStore
  private let remote: LoopbackRemote

  init() throws {
    authority = try DocumentStore.openInMemory()
    remote = try LoopbackRemote(authority: authority)
    try add(0..<20)
  }

  private func add(_ numbers: Range<Int>) throws {
    for number in numbers {
      let fields = StoredMap([("n", .integer(Int64(number)))])
      try authority.commit([.set(DocumentPath(["rooms", "\(number)"]), fields)])
    }
    remote.refresh()
  }

  private var settings: FirestoreSettings {
    let settings = FirestoreSettings()
    settings.dispatchQueue = DispatchQueue(label: "dugout.test.callbacks")
    settings.remote = remote
    return settings
  }

  /// Waits until a query has this number of documents and is current.
  private func load(_ query: Query, count: Int) async throws {
    for try await progress in query.syncProgress
    where progress.state == .current && progress.documentCount == count { break }
  }

  @Test func aPinnedQueryCanBeReadOfflineAfterARestart() async throws {
    let database = try TestDatabase()
    database.firestore.settings = settings
    func recent() -> Query { database.firestore.collection("rooms").order(by: "n").limit(toLast: 5) }
    try await recent().pin(budget: PinBudget(documentsMax: 100, bytesMax: 1 << 20))
    try await load(recent(), count: 5)
    await database.restart()

    database.firestore.settings = settings
    try add(20..<22)
    // The pin is watched as soon as the database is open.
    let pins = try await database.firestore.pinnedQueries()
    #expect(pins.map(\.query) == [recent()])
    #expect(pins.map(\.budget) == [PinBudget(documentsMax: 100, bytesMax: 1 << 20)])
    #expect(pins.map(\.isOverBudget) == [false] && pins.map(\.error) == [nil])
    for try await progress in recent().syncProgress where progress.state == .current {
      #expect(progress.isPinned && !progress.isListening)
      let cached = try await recent().getDocuments(source: .cache)
      if cached.documents.last?.documentID == "21" { break }
    }
    remote.setReachable(false)
    let cached = try await recent().getDocuments(source: .cache)
    #expect(cached.documents.map(\.documentID) == ["17", "18", "19", "20", "21"])
    try await recent().unpin()
    try await recent().unpin()
    #expect(try await database.firestore.pinnedQueries().isEmpty)
    await database.close()
  }

  @Test func aPinOverItsBudgetSaysSoUntilItIsRenewed() async throws {
    let firestore = Firestore.memory()
    firestore.settings = settings
    let rooms = firestore.collection("rooms")
    try await rooms.pin(budget: .documents(20))
    try await load(rooms, count: 20)
    let pinned = try #require(try await firestore.pinnedQueries().first)
    #expect(pinned.query == rooms && pinned.documentCount == 20 && pinned.byteCount > 100)
    try add(20..<21)
    for try await progress in rooms.syncProgress where progress.state == .inactive { break }
    let suspended = try #require(try await firestore.pinnedQueries().first)
    #expect(suspended.isOverBudget && suspended.documentCount == 21 && suspended.budget == .documents(20))
    try await rooms.pin(budget: .bytes(1 << 20))
    try await load(rooms, count: 21)
    #expect(try await firestore.pinnedQueries().map(\.isOverBudget) == [false])
    // A negative limit is one of zero.
    try await rooms.pin(budget: .documents(-1))
    #expect(try await firestore.pinnedQueries().map(\.isOverBudget) == [true])
    #expect(try await firestore.pinnedQueries().map(\.budget) == [.documents(0)])
    try await firestore.terminate()
  }

  @Test func eachUserHasPinsAndARefusedOneHasItsError() async throws {
    var rules = LoopbackRules()
    rules.mayRead = { user, _ in user == "ann" ? nil : RemoteError(.permissionDenied, "no") }
    remote.setRules(rules)
    let firestore = Firestore.memory()
    firestore.settings = settings
    let rooms = firestore.collection("rooms")
    try await firestore.changeUser("ann")
    try await rooms.pin(budget: PinBudget())
    try await load(rooms, count: 20)
    try await firestore.changeUser("bob")
    #expect(try await firestore.pinnedQueries().isEmpty)
    try await rooms.pin(budget: PinBudget())
    for try await progress in rooms.syncProgress where progress.state == .inactive { break }
    let refused = try #require(try await firestore.pinnedQueries().first)
    #expect(refused.error?.code == FirestoreErrorCode.permissionDenied.rawValue && !refused.isOverBudget)
    try await firestore.changeUser("ann")
    try await load(rooms, count: 20)
    #expect(try await firestore.pinnedQueries().map(\.error) == [nil])
    try await firestore.terminate()
  }
}
