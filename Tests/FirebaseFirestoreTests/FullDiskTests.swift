// A full disk as an app sees it: the sync pauses, says why, and continues by itself.

import Authority
import DocumentStore
import FirebaseFirestore
import Foundation
import Testing

@Suite struct FullDiskTests {
  private let database: SimulatedDatabase

  init() throws { database = try SimulatedDatabase() }

  private func number(of snapshot: DocumentSnapshot) -> Int { snapshot.data()?["n"] as? Int ?? -1 }

  @Test func theProgressNamesTheFullDiskAndTheSyncContinuesByItself() throws {
    let firestore = database.firestore
    let rooms = firestore.collection("rooms")
    var progress: [SyncProgress] = []
    firestore.addSyncProgressListener { value, error in
      #expect(error == nil)
      if let value { progress.append(value) }
    }
    var numbers: [String: Int] = [:]
    var isFromCache = true
    rooms.addSnapshotListener(includeMetadataChanges: true) { snapshot, error in
      #expect(error == nil)
      guard let snapshot else { return }
      isFromCache = snapshot.metadata.isFromCache
      numbers = Dictionary(
        uniqueKeysWithValues: snapshot.documents.map { ($0.documentID, number(of: $0)) })
    }
    try database.put("rooms/a", 1)
    database.pass(seconds: 2)
    #expect(numbers == ["a": 1] && !isFromCache && progress.last?.isSynced == true)

    // A write waits in the outbox when the disk becomes full.
    database.remote.setReachable(false)
    var outcomes: [String] = []
    rooms.document("own").setData(["n": 2]) { outcomes.append("own \($0.map { "\($0)" } ?? "accepted")") }
    database.pass(seconds: 30)
    #expect(progress.last?.pause == nil && progress.last?.pendingWriteCount == 1)
    database.fillDisk()
    try database.put("rooms/b", 3)
    database.remote.setReachable(true)
    database.pass(seconds: 1000)
    let paused = try #require(progress.last)
    #expect(paused.pause == .diskFull && paused.pendingWriteCount == 1 && !paused.isSynced)
    #expect(firestore.health().receiving == .diskFull)
    #expect(numbers == ["a": 1, "own": 2] && isFromCache && outcomes.isEmpty)
    #expect(try database.authority.document(at: DocumentPath(["rooms", "own"])) == nil)
    rooms.document("late").setData(["n": 4]) { outcomes.append("late \(($0 as NSError?)?.code ?? 0)") }
    database.pass(seconds: 1)
    #expect(outcomes == ["late \(FirestoreErrorCode.resourceExhausted.rawValue)"])

    database.freeDisk()
    database.pass(seconds: 100)
    let resumed = try #require(progress.last)
    #expect(resumed.pause == nil && resumed.pendingWriteCount == 0 && resumed.isSynced)
    #expect(firestore.health().receiving == .possible)
    #expect(numbers == ["a": 1, "b": 3, "own": 2] && !isFromCache && outcomes.last == "own accepted")
    let pauses = progress.map(\.pause)
    #expect(zip(pauses, pauses.dropFirst()).filter { $0 != $1 }.map(\.1) == [.diskFull, nil])
  }
}
