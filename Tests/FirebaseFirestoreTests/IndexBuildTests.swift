// The first query that needs an index: who waits for it, and who does not.

import DocumentStore
import Foundation
import OfflineSync
import Synchronization
import Testing

@testable import FirebaseFirestore

@Suite(.timeLimit(.minutes(2))) struct IndexBuildTests {
  private static func filled(_ firestore: Firestore) async throws {
    let batch = firestore.batch()
    for n in 0..<300 { batch.setData(["n": n, "m": n % 10], forDocument: firestore.document("a/\(n)")) }
    try await batch.commit()
  }

  /// Holds the making of all indexes up, until it is let go.
  private final class HeldBuild: Sendable {
    private let goOn = DispatchSemaphore(value: 0)
    let isReleased = Mutex(false)

    /// Returns once another index is being made, of so many documents that somebody is told how far it is.
    init(in firestore: Firestore) async throws {
      let batch = firestore.batch()
      for n in 0..<4200 { batch.setData(["n": n], forDocument: firestore.document("b/\(n)")) }
      try await batch.commit()
      let store = try #require(firestore.client().openView).store
      let other = try IndexDefinition("b", .collection, [.init(try StoredFieldPath(["n"]))])
      let goOn = goOn
      await withCheckedContinuation { begun in
        let isFirst = Mutex(true)
        DispatchQueue.global().async {
          _ = try? store.createIndex(other) { _ in
            let isFirst = isFirst.withLock { first in
              defer { first = false }
              return first
            }
            if isFirst {
              begun.resume()
              goOn.wait()
            }
            return true
          }
        }
      }
      // Nobody waits for ever, whatever goes wrong.
      DispatchQueue.global().asyncAfter(deadline: .now() + 10) { [self] in release() }
    }

    func release() {
      let isFirst = isReleased.withLock { released in
        defer { released = true }
        return !released
      }
      if isFirst { goOn.signal() }
    }
  }

  /// What somebody on the main actor asks for while an index is made: the main actor is free meanwhile.
  @MainActor private func ask<Value: Sendable>(
    _ question: @escaping @MainActor (Firestore) async throws -> Value
  ) async throws -> Value {
    let firestore = Firestore.memory()
    try await Self.filled(firestore)
    let held = try await HeldBuild(in: firestore)
    let asked = Task { @MainActor in try await question(firestore) }
    // Behind the question, on the same actor.
    await Task { @MainActor in }.value
    #expect(held.isReleased.withLock { !$0 }, "the main actor waited for an index")
    held.release()
    let answer = try await asked.value
    try await firestore.terminate()
    return answer
  }

  @Test func aQueryOnTheMainActorDoesNotHoldItUp() async throws {
    let count = try await ask { firestore in
      try await firestore.collection("a").whereField("m", isEqualTo: 3).order(by: "n").getDocuments().count
    }
    #expect(count == 30)
  }

  @Test func aSumOnTheMainActorDoesNotHoldItUp() async throws {
    let sum = try await ask { firestore in
      let query = firestore.collection("a").whereField("m", isEqualTo: 3)
      return try await query.aggregate([.count(), .sum("n")]).getAggregation(source: .server)
        .get(.sum("n")) as? Int
    }
    #expect(sum == (0..<30).reduce(0) { $0 + $1 * 10 + 3 })
  }

  @Test func aListenerOnTheMainActorDoesNotHoldItUp() async throws {
    let count = try await ask { firestore in
      let query = firestore.collection("a").whereField("m", isEqualTo: 3).order(by: "n")
      for try await snapshot in query.snapshots { return snapshot.count }
      return 0
    }
    #expect(count == 30)
  }

  @Test func aQueryWhoseIndexIsThereIsAnsweredWhileAnotherIsMade() async throws {
    let firestore = Firestore.memory()
    try await Self.filled(firestore)
    let query = firestore.collection("a").whereField("m", isEqualTo: 3).order(by: "n")
    #expect(try await query.getDocuments().count == 30)
    let held = try await HeldBuild(in: firestore)
    #expect(try await query.getDocuments().count == 30)
    #expect(try await firestore.collection("a").limit(to: 5).getDocuments().count == 5)
    #expect(held.isReleased.withLock { !$0 }, "a query waited for an index that it does not need")
    held.release()
    try await firestore.terminate()
  }

  @Test func withoutTheMakingOfIndexesNobodyWaits() async throws {
    let database = try TestDatabase()
    try await Self.filled(database.firestore)
    database.firestore.persistentCacheIndexManager?.disableIndexAutoCreation()
    let query = database.firestore.collection("a").whereField("m", isEqualTo: 3).order(by: "n")
    #expect(try await query.getDocuments().count == 30)
    #expect(try await database.firestore.indexes().isEmpty)
    await database.close()
  }
}
