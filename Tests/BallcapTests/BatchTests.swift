// Tests of batches.

import FirebaseFirestore
import Foundation
import LayerHarness
import Testing

@testable import Ballcap

extension BallcapTests {
  @Suite final class Batches {
    private let app = TestApp()
    private var users: CollectionReference { User.collectionReference }

    private struct Odd: Codable, Modelable {
      var number = Double.infinity
    }

    private struct Nested: Codable, Modelable {
      var rows = [[1], [2]]
    }

    /// Requests two containers, which violates the rules of `Encodable`.
    private struct Doubled: Codable, Modelable {
      var number = 1

      func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(["number": number])
        try container.encode(["number": number])
      }
    }

    private func commit(_ batch: Batch) async -> (any Error)? { await outcome { batch.commit($0) } }

    @Test func batchCommitsAllWritesTogether() async throws {
      let (ada, eve) = (Document<User>(id: "ada"), Document<User>(id: "eve"))
      try await eve.save()
      ada.data?.age = 36
      let error = await commit(
        Batch().save(ada).delete(eve).set(["note": 1], reference: users.document("bob")))
      #expect(error == nil)
      #expect(try await users.getDocuments().documents.map(\.documentID) == ["ada", "bob"])
    }

    @Test func encodingErrorFailsTheCommitAndWritesNothing() async throws {
      let ada = Document<User>(id: "ada")
      #expect(await commit(Batch().save(ada).save(Document<Odd>(id: "x"))) is EncodingError)
      #expect(await commit(Batch().save(ada).save(Document<Nested>(id: "x"))) is EncodingError)
      #expect(await commit(Batch().save(ada).save(Document<Doubled>(id: "x"))) is EncodingError)
      #expect(await commit(Batch().update(Document<Nested>(id: "x")).save(ada)) is EncodingError)
      #expect(
        await commit(Batch().save(ada).set(["a": [[1]]], reference: users.document("x"))) is EncodingError)
      #expect(try await users.getDocuments().isEmpty)
    }

    @Test func anObjectWithoutDataFailsTheCommit() async throws {
      let nobody = Document<User>(users.document("nobody"))
      #expect(await outcome { nobody.save(completion: $0) } is EncodingError)
      #expect(await outcome { nobody.update(completion: $0) } is EncodingError)
      await #expect(throws: EncodingError.self) { try await nobody.save() }
    }

    @Test func encodingErrorsAreReportedOnTheCallbackQueue() async {
      let isThere = await withCheckedContinuation { done in
        Document<Odd>(id: "x").save { _ in done.resume(returning: TestApp.isCallbackQueue) }
      }
      #expect(isThere)
    }

    @Test func modelsAreEncodedWhenTheyAreAdded() async throws {
      let ada = Document<User>(id: "ada", from: User(name: "Ada"))
      let batch = Batch().save(ada)
      ada.data?.name = "Eve"
      try await batch.commit()
      #expect(try await Document<User>.get(id: "ada")?.data?.name == "Ada")
    }

    @Test func batchAcceptsAnyNumberOfWrites() async throws {
      let batch = Batch()
      for index in 0..<1200 { batch.save(Document<User>(id: "\(index)")) }
      try await batch.commit()
      #expect(try await users.getDocuments().count == 1200)
    }

    @Test func batchCanWriteTheSameIDsToOtherCollections() async throws {
      let people = [Document<User>(id: "ada"), Document<User>(id: "eve")]
      let copies = Firestore.firestore().collection("copies")
      try await Batch().save(people, to: copies).save(people[0], to: users).commit()
      try await Batch().update(people, in: copies).update(people[0], in: users).commit()
      #expect(try await copies.getDocuments().documents.map(\.documentID) == ["ada", "eve"])
      try await Batch().delete(people, in: copies).delete(people[0], in: users).commit()
      #expect(try await copies.getDocuments().isEmpty)
      try await Batch().save(document: people[0]).commit()
      try await Batch().update(document: people[0]).commit()
      try await Batch().delete(document: people[0]).commit()
    }

    @Test func saveSetsLocalTimesAtOnceAndCommitTimesLater() async throws {
      let ada = Document<User>(id: "ada")
      let old = Timestamp(seconds: 1, nanoseconds: 0)
      (ada.createdAt, ada.updatedAt) = (old, old)
      let batch = Batch().save(ada)
      let committed = await withCheckedContinuation { done in
        let queue = Firestore.firestore().settings.dispatchQueue
        queue.suspend()
        batch.commit { _ in done.resume(returning: (ada.createdAt, ada.updatedAt)) }
        // Before the completion of the commit runs, the object shows the local time.
        #expect(abs(ada.createdAt.dateValue().timeIntervalSinceNow) < 60)
        #expect(ada.updatedAt == ada.createdAt)
        queue.resume()
      }
      let stored = try #require(try await Document<User>.get(id: "ada"))
      #expect(committed == (stored.createdAt, stored.updatedAt))
      #expect(committed.0 > old && committed.0 == committed.1)
    }

    @Test func anObjectThatCouldNotBeSavedKeepsItsTimes() async throws {
      let ada = Document<User>(id: "ada")
      let times = (ada.createdAt, ada.updatedAt)
      await #expect(throws: (any Error).self) { try await ada.update() }
      #expect((ada.createdAt, ada.updatedAt) == times)
    }

    @Test func modelThatDeclaresTimeFieldsGetsThemSet() async throws {
      struct Timed: Codable, Modelable {
        var createdAt = Timestamp(seconds: 0, nanoseconds: 0)
        var value = 1
      }
      try await Document<Timed>(id: "x").save()
      #expect(try await Document<Timed>.get(id: "x")?.data?.createdAt.seconds != 0)
    }
  }
}
