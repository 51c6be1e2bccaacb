// Times to live, set while the database is in use.

import Authority
import DocumentStore
import Foundation
import OfflineSync
import Testing

@testable import FirebaseFirestore

@Suite(.timeLimit(.minutes(5))) struct TimeToLiveAPITests {
  private static let past = Timestamp(seconds: 1_000_000, nanoseconds: 0)
  private static let future = Timestamp(seconds: 100_000_000_000, nanoseconds: 0)

  /// Deletes expired documents now. The background does the same some time later.
  private func sweep(_ firestore: Firestore) throws {
    _ = try #require(firestore.client().store.openView).store.sweepExpired()
  }

  private func code(_ body: () async throws -> Void) async -> FirestoreErrorCode.Code? {
    do {
      try await body()
      return nil
    } catch {
      return FirestoreErrorCode.Code(rawValue: (error as NSError).code)
    }
  }

  private func rules(_ firestore: Firestore) async throws -> [String] {
    try await firestore.timesToLive().map { "\($0.collection) \($0.field)" }
  }

  @Test func listenersAndTheFeedReportExpiredDocuments() async throws {
    let firestore = Firestore.memory()
    let sessions = firestore.collection("users/x/sessions")
    try await sessions.document("old").setData(["until": Self.past])
    try await sessions.document("new").setData(["until": Self.future])
    try await sessions.document("text").setData(["until": "never"])
    var changes = firestore.changes().makeAsyncIterator()
    var snapshots = sessions.snapshots.makeAsyncIterator()
    #expect(try await snapshots.next()?.count == 3)
    try await firestore.setTimeToLive(field: "until", collection: "sessions")
    try sweep(firestore)
    let snapshot = try #require(try await snapshots.next())
    #expect(snapshot.documents.map(\.documentID) == ["new", "text"])
    let change = try #require(try await changes.next())
    #expect(change.kind == .delete && change.document.path == "users/x/sessions/old")
    try await firestore.terminate()
  }

  @Test func rulesAreSetReplacedRemovedAndListed() async throws {
    let database = try TestDatabase()
    try await database.firestore.setTimeToLive(field: "until", collection: "sessions")
    try await database.firestore.setTimeToLive(field: "a.b", collection: "drafts")
    #expect(try await rules(database.firestore) == ["drafts a.b", "sessions until"])
    try await database.firestore.setTimeToLive(
      field: FieldPath(["expires"]), collection: "sessions")
    await database.restart()
    #expect(try await rules(database.firestore) == ["drafts a.b", "sessions expires"])
    let firestore = database.firestore
    try await firestore.removeTimeToLive(collection: "sessions")
    try await firestore.removeTimeToLive(collection: "unknown")
    #expect(try await rules(firestore) == ["drafts a.b"])
    // Neither the replaced nor the removed rule has an effect.
    let document = firestore.document("sessions/a")
    try await document.setData(["until": Self.past, "expires": Self.past])
    try sweep(firestore)
    #expect(try await document.getDocument().exists)
    #expect(
      await code { try await firestore.setTimeToLive(field: "x", collection: "__x__") } == .invalidArgument)
    await database.close()
  }

  @Test func aDatabaseWithARemoteRefusesRules() async throws {
    let firestore = Firestore.memory()
    let settings = FirestoreSettings()
    settings.dispatchQueue = DispatchQueue(label: "dugout.test.callbacks")
    settings.remote = try LoopbackRemote(authority: try DocumentStore.openInMemory())
    firestore.settings = settings
    #expect(
      await code { try await firestore.setTimeToLive(field: "until", collection: "sessions") }
        == .failedPrecondition)
    #expect(try await firestore.timesToLive() == [])
    try await firestore.terminate()
  }
}
