// Snapshots as asynchronous sequences.

import DocumentStore
import FirebaseFirestore
import Foundation
import Testing

@Suite struct SnapshotSequenceTests {
  @Test func aLoopReceivesEachSnapshotUntilItExits() async throws {
    let database = try TestDatabase()
    let rooms = database.firestore.collection("rooms")
    var counts: [Int] = []
    for try await snapshot in rooms.snapshots {
      counts.append(snapshot.count)
      if counts.count == 4 { break }
      try await rooms.document("\(counts.count)").setData(["n": 1])
    }
    #expect(counts == [0, 1, 2, 3])
    await database.close()
  }

  @Test func aLoopOverADocumentNeedsNoCallbackQueue() async throws {
    let firestore = Firestore.memory()
    let document = firestore.document("a/b")
    var iterator = document.snapshots(includeMetadataChanges: true).makeAsyncIterator()
    #expect(try await iterator.next()?.exists == false)
    try await document.setData(["n": 1])
    #expect(try await iterator.next()?["n"] as? Int == 1)
    try await firestore.terminate()
  }

  @Test func cancellingATaskEndsItsSnapshotLoop() async throws {
    let firestore = Firestore.memory()
    let rooms = firestore.collection("rooms")
    let (started, starting) = AsyncStream<Void>.makeStream()
    let task = Task {
      var count = 0
      for try await _ in rooms.snapshots {
        count += 1
        starting.yield()
      }
      return count
    }
    for await _ in started { break }
    task.cancel()
    #expect(try await task.value == 1)
    try await firestore.terminate()
  }

  @Test func anErrorEndsTheLoop() async throws {
    let firestore = Firestore.memory()
    do {
      for try await _ in Query.QuerySnapshotsSequence(
        firestore.collection("__bad__"), includeMetadataChanges: false)
      { Issue.record("there was a snapshot") }
      Issue.record("the loop ended without the error")
    } catch FirestoreErrorCode.invalidArgument {}
    try await firestore.terminate()
  }

  @Test func aFailedOpenThrowsFromTheSnapshotLoop() async throws {
    let database = try TestDatabase()
    let holder = try DocumentStore.open(database.firestore.storeDirectory)
    do {
      for try await _ in database.firestore.collection("rooms").snapshots { Issue.record("it was opened") }
      Issue.record("the loop ended without the error")
    } catch FirestoreErrorCode.unavailable {}
    try holder.close()
    await database.close()
  }

  @Test(.timeLimit(.minutes(5))) func sequencesEndWithTheirDatabase() async throws {
    let firestore = Firestore.memory()
    var counts: [Int] = []
    for try await snapshot in firestore.collection("rooms").snapshots {
      counts.append(snapshot.count)
      if counts.count == 1 { try await firestore.terminate() }
    }
    #expect(counts == [0])

    // Deleting the app also ends the sequence.
    let database = try TestDatabase()
    var snapshots = database.firestore.document("a/b").snapshots.makeAsyncIterator()
    #expect(try await snapshots.next()?.exists == false)
    await database.close()
    #expect(try await snapshots.next() == nil)
  }
}
