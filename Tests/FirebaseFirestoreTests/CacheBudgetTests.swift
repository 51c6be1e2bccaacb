// The effect of `FirestoreSettings.cacheBudgets` on the cache of a database with a remote.

import Authority
import DocumentStore
import Foundation
import OfflineSync
import Testing

@testable import FirebaseFirestore

@Suite(.timeLimit(.minutes(2))) struct CacheBudgetTests {
  private let authority: DocumentStore

  /// Creates twenty documents of just over a thousand bytes in each of two collections, with ascending
  /// names.
  init() throws {
    authority = try DocumentStore.openInMemory()
    let fields = StoredMap([("text", .string(String(repeating: "x", count: 1000)))])
    for number in 10..<30 {
      for collection in ["messages", "rooms"] {
        try authority.commit([.set(try DocumentPath([collection, "\(number)"]), fields)])
      }
    }
  }

  /// Returns an offline client that has read all documents, listens to message 10, and has changed message
  /// 11.
  private func client(budgets: [String: Int64]) async throws -> Firestore {
    let firestore = Firestore.memory()
    let settings = FirestoreSettings()
    settings.dispatchQueue = DispatchQueue(label: "dugout.test.callbacks")
    settings.remote = try LoopbackRemote(authority: authority)
    settings.acknowledgement = .local
    settings.cacheBudgets = budgets
    firestore.settings = settings
    var counts: [Int] = []
    for collection in ["messages", "rooms"] {
      counts.append(try await firestore.collection(collection).getDocuments(source: .server).count)
    }
    #expect(counts == [20, 20])
    let events = Events<DocumentSnapshot>()
    firestore.document("messages/10").addSnapshotListener(events.add)
    #expect(await events.next?.exists == true)
    try await firestore.disableNetwork()
    try await firestore.document("messages/11").updateData(["n": 1])
    return firestore
  }

  private func cached(_ collection: String, of firestore: Firestore) async throws -> [String] {
    try await firestore.collection(collection).getDocuments(source: .cache).documents.map(\.documentID)
  }

  /// Sends the event that the collection timer sends one minute after the start.
  private func collect(_ firestore: Firestore) async throws {
    try await firestore.client().send(.timer(.collection))
  }

  @Test func onlyTheOldestDocumentsOfACollectionAboveItsBudgetAreEvicted() async throws {
    let firestore = try await client(budgets: ["messages": 10_000])
    try await collect(firestore)
    let messages = try await cached("messages", of: firestore)
    #expect(messages.prefix(2) == ["10", "11"], "one is seen, and a write of the other is pending")
    try #require((5...9).contains(messages.count))
    #expect(messages.dropFirst(2) == (10..<30).map { "\($0)" }.suffix(messages.count - 2))
    #expect(try await cached("rooms", of: firestore).count == 20)
    do {
      _ = try await firestore.document("messages/12").getDocument(source: .cache)
      Issue.record("it is still known")
    } catch FirestoreErrorCode.unavailable {}
    // A read from the server fetches the evicted documents again.
    try await firestore.enableNetwork()
    #expect(try await firestore.collection("messages").getDocuments(source: .server).count == 20)
    try await firestore.terminate()
  }

  @Test func observedAndPendingDocumentsStayWithAnyBudget() async throws {
    let firestore = try await client(budgets: ["messages": 0, "rooms": 1 << 20])
    try await collect(firestore)
    #expect(try await cached("messages", of: firestore) == ["10", "11"])
    #expect(try await cached("rooms", of: firestore).count == 20)
    let changed = try await firestore.document("messages/11").getDocument(source: .cache)
    #expect(changed["n"] as? Int == 1 && (changed["text"] as? String)?.count == 1000)
    try await firestore.terminate()
  }
}
