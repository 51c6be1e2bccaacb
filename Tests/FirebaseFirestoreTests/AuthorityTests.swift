// A database that an app uses itself and that is the authority of other databases.

import Authority
import DocumentStore
import FirebaseFirestore
import Foundation
import OfflineSync
import Testing

@Suite(.timeLimit(.minutes(5))) struct AuthorityTests {
  private func client(of remote: LoopbackRemote) -> Firestore {
    let settings = FirestoreSettings()
    settings.remote = remote
    let client = Firestore.memory()
    client.settings = settings
    return client
  }

  private func code(_ body: () async throws -> Void) async -> FirestoreErrorCode.Code? {
    do {
      try await body()
      return nil
    } catch {
      return FirestoreErrorCode.Code(rawValue: (error as NSError).code)
    }
  }

  @Test func theAppAndItsClientsSeeEachOthersWrites() async throws {
    let app = Firestore.memory()
    let authority = try await app.authority()
    #expect(try await app.authority() === authority)
    // Each client has a remote of its own, and nothing asks the authority to look for changes.
    let phone = client(of: LoopbackRemote(authority: authority))
    let tablet = client(of: LoopbackRemote(authority: authority))
    let databases = [app, phone, tablet]
    let seen = databases.map { _ in Events<[Int]>() }
    let registrations = zip(databases, seen).map { database, events in
      database.collection("rooms").order(by: "n").addSnapshotListener(includeMetadataChanges: true) {
        snapshot, _ in
        guard let snapshot, !snapshot.metadata.isFromCache, !snapshot.metadata.hasPendingWrites else {
          return
        }
        events.add(snapshot.documents.compactMap { $0["n"] as? Int }, nil)
      }
    }
    func waitForAll(_ expected: [Int]) async throws {
      for events in seen { while try #require(await events.next) != expected {} }
    }
    try await waitForAll([])
    try await app.document("rooms/a").setData(["n": 1])
    try await waitForAll([1])
    try await phone.document("rooms/b").setData(["n": 2])
    try await waitForAll([1, 2])
    try await tablet.document("rooms/a").delete()
    try await waitForAll([2])
    for registration in registrations { registration.remove() }
    for database in databases.reversed() { try await database.terminate() }
  }

  @Test func aCacheIsNoAuthority() async throws {
    let cache = client(of: try LoopbackRemote(authority: try DocumentStore.openInMemory()))
    do {
      _ = try await cache.authority()
      Issue.record("a cache has become an authority")
    } catch {
      #expect((error as NSError).code == FirestoreErrorCode.failedPrecondition.rawValue)
      #expect((error as NSError).localizedDescription.contains("is a cache of a remote"))
    }
    try await cache.terminate()
  }

  @Test func aTerminatedDatabaseHasNoAuthority() async throws {
    let app = Firestore.memory()
    let authority = try await app.authority()
    try await app.terminate()
    #expect(await code { _ = try await app.authority() } == .failedPrecondition)
    let late = client(of: LoopbackRemote(authority: authority))
    #expect(
      await code { _ = try await late.document("rooms/a").getDocument(source: .server) } == .unavailable)
    try await late.terminate()
  }

  /// The client would show a state as current that never changes again.
  @Test func terminationOfTheAppTakesItsClientsOffline() async throws {
    let app = Firestore.memory()
    try await app.document("rooms/a").setData(["n": 1])
    let phone = client(of: LoopbackRemote(authority: try await app.authority()))
    let sources = Events<String>()
    let registration = phone.collection("rooms").addSnapshotListener(includeMetadataChanges: true) {
      snapshot, _ in
      if let snapshot { sources.add(snapshot.metadata.isFromCache ? "cache" : "authority", nil) }
    }
    while try #require(await sources.next) != "authority" {}
    try await app.terminate()
    while try #require(await sources.next) != "cache" {}
    registration.remove()
    try await phone.terminate()
  }
}
