// The first query that needs an index: which calls wait for the build, and which do not.

import Foundation
import Testing

@testable import FirebaseFirestore

@Suite(.timeLimit(.minutes(2))) struct IndexBuildTests {
  private static func filled(_ firestore: Firestore) async throws {
    let batch = firestore.batch()
    for n in 0..<300 { batch.setData(["n": n, "m": n % 10], forDocument: firestore.document("a/\(n)")) }
    try await batch.commit()
  }

  /// Runs `question` on the main actor during an index build, and checks that the main actor stays free.
  @MainActor private func ask<Value: Sendable>(
    _ question: @escaping @MainActor (Firestore) async throws -> Value
  ) async throws -> Value {
    let firestore = Firestore.memory()
    try await Self.filled(firestore)
    let held = try HeldBuild(in: firestore)
    let asked = Task { @MainActor in try await question(firestore) }
    // Runs after `question` has started, because both are on the main actor.
    await Task { @MainActor in }.value
    #expect(!held.isReleased, "the main actor waited for an index")
    held.release()
    let answer = try await asked.value
    try await firestore.terminate()
    return answer
  }

  @Test func aQueryDoesNotBlockTheMainActor() async throws {
    let count = try await ask { firestore in
      try await firestore.collection("a").whereField("m", isEqualTo: 3).order(by: "n").getDocuments().count
    }
    #expect(count == 30)
  }

  @Test func aSumDoesNotBlockTheMainActor() async throws {
    let sum = try await ask { firestore in
      let query = firestore.collection("a").whereField("m", isEqualTo: 3)
      return try await query.aggregate([.count(), .sum("n")]).getAggregation(source: .server)
        .get(.sum("n")) as? Int
    }
    #expect(sum == (0..<30).reduce(0) { $0 + $1 * 10 + 3 })
  }

  @Test func aListenerDoesNotBlockTheMainActor() async throws {
    let count = try await ask { firestore in
      let query = firestore.collection("a").whereField("m", isEqualTo: 3).order(by: "n")
      for try await snapshot in query.snapshots { return snapshot.count }
      return 0
    }
    #expect(count == 30)
  }

  @Test func anIndexedQueryIsAnsweredDuringAnIndexBuild() async throws {
    let firestore = Firestore.memory()
    try await Self.filled(firestore)
    let query = firestore.collection("a").whereField("m", isEqualTo: 3).order(by: "n")
    #expect(try await query.getDocuments().count == 30)
    let held = try HeldBuild(in: firestore)
    #expect(try await query.getDocuments().count == 30)
    #expect(try await firestore.collection("a").limit(to: 5).getDocuments().count == 5)
    #expect(!held.isReleased, "a query waited for an index that it does not need")
    held.release()
    try await firestore.terminate()
  }

  @Test func noCallWaitsIfIndexCreationIsDisabled() async throws {
    let database = try TestDatabase()
    try await Self.filled(database.firestore)
    database.firestore.persistentCacheIndexManager?.disableIndexAutoCreation()
    let query = database.firestore.collection("a").whereField("m", isEqualTo: 3).order(by: "n")
    #expect(try await query.getDocuments().count == 30)
    #expect(try await database.firestore.indexes().isEmpty)
    await database.close()
  }

  /// The next read uses the new setting, even if an earlier write still blocks the write queue.
  @Test func disablingIndexCreationAffectsTheNextRead() async throws {
    let database = try TestDatabase()
    let firestore = database.firestore
    try await Self.filled(firestore)
    let manager = try #require(firestore.persistentCacheIndexManager)
    let query = firestore.collection("a").whereField("m", isEqualTo: 3).order(by: "n")
    let resume = DispatchSemaphore(value: 0)
    // Blocks the write queue.
    firestore.client().store.work(
      after: 0,
      inTurn: { _ in
        _ = resume.wait(timeout: .now() + 30)
        return .global()
      }, { _ in }, done: { _ in })
    manager.disableIndexAutoCreation()
    let count = Result { try query.read().count }
    resume.signal()
    #expect(try count.get() == 30)
    #expect(try await firestore.indexes().isEmpty)
    manager.enableIndexAutoCreation()
    _ = try query.read()
    #expect(try await firestore.indexes().count == 1)
    await database.close()
  }

  @Test func indexCreationMayBeDisabledBeforeTheDatabaseIsOpen() async throws {
    let database = try TestDatabase()
    try await Self.filled(database.firestore)
    let settings = database.firestore.settings
    try await database.firestore.terminate()
    database.firestore.settings = settings
    let manager = try #require(database.firestore.persistentCacheIndexManager)
    manager.enableIndexAutoCreation()
    manager.disableIndexAutoCreation()
    let query = database.firestore.collection("a").whereField("m", isEqualTo: 3).order(by: "n")
    #expect(try query.read().count == 30)
    #expect(try await database.firestore.indexes().isEmpty)
    await database.close()
  }
}
