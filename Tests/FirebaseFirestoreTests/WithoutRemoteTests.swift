// A database without a remote runs no client of a remote.

import Authority
import DocumentStore
import FirebaseCore
import FirebaseFirestore
import Foundation
import OfflineSync
import Testing

@Suite struct WithoutRemoteTests {
  /// All work for a remote runs on the queue that a sync driver creates. Without a driver, the queue does not
  /// exist and uses no thread.
  @Test(.timeLimit(.minutes(5)), arguments: [false, true])
  func onlyADatabaseWithARemoteStartsASyncDriver(hasRemote: Bool) async throws {
    let database = try TestDatabase()
    let firestore = database.firestore
    if hasRemote {
      let settings = firestore.settings
      settings.remote = try LoopbackRemote(authority: try DocumentStore.openInMemory())
      firestore.settings = settings
    }
    let room = firestore.document("rooms/eros")
    try await room.setData(["n": 1])
    #expect(try await room.getDocument()["n"] as? Int == 1)
    #expect(try await firestore.collection("rooms").getDocuments().count == 1)
    let events = Events<DocumentSnapshot>()
    let registration = room.addSnapshotListener(events.add)
    #expect(await events.next?["n"] as? Int == 1)
    try await firestore.waitForPendingWrites()

    #expect(firestore.client().hasRemote == hasRemote)
    // A second use of the same open store.
    let use = try AppStores.shared.use(.directory(firestore.storeDirectory))
    #expect(use.hasDriver == hasRemote)
    // A client of a remote creates its records when it is attached. They stay after the client has stopped.
    let isClientCache = try use.view.store.isClientCache()
    #expect(isClientCache == hasRemote)
    try use.end()
    registration.remove()
    await database.close()
  }
}
