// Merges, updates and field transforms.

import FirebaseFirestore
import Foundation
import Testing

@Suite struct WriteTests {
  /// Returns the fields of a document after the given writes, so that tests can compare them.
  private static func result(
    _ write: (DocumentReference) async throws -> Void
  ) async throws -> NSDictionary {
    let database = try TestDatabase()
    let document = database.firestore.document("a/b")
    try await document.setData(["n": 1, "m": ["x": 1, "y": 2], "l": [1, 2], "t": "text"])
    try await write(document)
    let data = try await document.getDocument().data()
    await database.close()
    return try #require(data) as NSDictionary
  }

  @Test func aMergeSetsOnlyTheGivenLeafFields() async throws {
    let after = try await Self.result {
      try await $0.setData(
        ["m": ["x": 5, "z": [:] as [String: Any]], "l": FieldValue.delete(), "new": ["a": ["b": true]]],
        merge: true)
    }
    #expect(
      after == [
        "n": 1, "m": ["x": 5, "y": 2, "z": [:] as [String: Any]] as [String: Any], "t": "text",
        "new": ["a": ["b": true]],
      ] as NSDictionary)
  }

  @Test func anEmptyMergeCreatesAnEmptyDocument() async throws {
    let database = try TestDatabase()
    let document = database.firestore.document("a/b")
    try await document.setData([:], merge: true)
    #expect(try await document.getDocument().data()?.isEmpty == true)
    try await document.setData(["n": 1], mergeFields: ["n"])
    try await document.setData(["n": 2], mergeFields: [])
    #expect(try await document.getDocument()["n"] as? Int == 1)
    await database.close()
  }

  @Test func mergeFieldsWritesOnlyTheListedFields() async throws {
    let after = try await Self.result {
      try await $0.setData(
        ["m": ["x": 5], "n": 7, "t": FieldValue.delete(), "c": FieldValue.increment(2), "d": 4],
        mergeFields: ["m", FieldPath(["t"]), "c"])
    }
    #expect(after == ["n": 1, "m": ["x": 5], "l": [1, 2], "c": 2] as NSDictionary)
  }

  @Test func anUpdateChangesFieldsByTheirPaths() async throws {
    let after = try await Self.result {
      try await $0.updateData([
        "m.x": 9, FieldPath(["m", "a.b"]): 3, "l": FieldValue.delete(), "t.deep": true,
        "gone": FieldValue.delete(),
        "r": ["x": 1],
      ])
    }
    #expect(
      after == [
        "n": 1, "m": ["x": 9, "y": 2, "a.b": 3], "t": ["deep": true], "r": ["x": 1],
      ] as NSDictionary)
  }

  @Test func anUpdateReplacesAMapThatContainsATransform() async throws {
    let after = try await Self.result {
      try await $0.updateData(["m": ["c": FieldValue.increment(3)], "n": FieldValue.increment(1.5)])
    }
    #expect(after == ["n": 2.5, "m": ["c": 3], "l": [1, 2], "t": "text"] as NSDictionary)
  }

  @Test func transformsApplyToStoredValues() async throws {
    let after = try await Self.result {
      try await $0.updateData([
        "n": FieldValue.increment(Int64.max), "m.x": FieldValue.minimum(0), "m.y": FieldValue.maximum(7.5),
        "l": FieldValue.arrayUnion([2.0, 3, 3, ["k": 1]]), "t": FieldValue.arrayRemove(["text"]),
      ])
    }
    #expect(
      after == [
        "n": Int64.max, "m": ["x": 0, "y": 7.5], "l": [1, 2, 3, ["k": 1]] as [Any], "t": [] as [Any],
      ] as NSDictionary)
  }

  @Test func aSetAppliesTransformsToAbsentFields() async throws {
    let after = try await Self.result {
      try await $0.setData(["n": FieldValue.increment(5), "v": FieldValue.vector([1, 2.5] as [Float])])
    }
    #expect(after == ["n": 5, "v": VectorValue([1, 2.5])] as NSDictionary)
  }

  @Test func aBatchAppliesWritesInOrder() async throws {
    let database = try TestDatabase()
    let firestore = database.firestore
    let document = firestore.document("a/b")
    try await firestore.batch().setData(["n": 1], forDocument: document)
      .setData(["m": 2], forDocument: document, merge: true)
      .updateData(["n": FieldValue.increment(1), "t": FieldValue.serverTimestamp()], forDocument: document)
      .setData(["m": 9, "o": 9], forDocument: document, mergeFields: ["o"])
      .setData(["t": FieldValue.serverTimestamp()], forDocument: firestore.document("a/c"))
      .deleteDocument(firestore.document("a/d")).commit()
    let (one, two) = (try await document.getDocument(), try await firestore.document("a/c").getDocument())
    #expect(one["n"] as? Int == 2 && one["m"] as? Int == 2 && one["o"] as? Int == 9)
    #expect(one["t"] as? Timestamp != nil && one["t"] as? Timestamp == two["t"] as? Timestamp)
    try await firestore.batch().commit()
    await database.close()
  }

  @Test func anUpdateOfAnAbsentDocumentFailsTheWholeBatch() async throws {
    let database = try TestDatabase()
    let batch = database.firestore.batch()
    batch.setData(["n": 1], forDocument: database.firestore.document("a/b"))
    batch.updateData(["n": 1], forDocument: database.firestore.document("a/c"))
    do {
      try await batch.commit()
      Issue.record("it was committed")
    } catch FirestoreErrorCode.notFound {}
    #expect(try await !database.firestore.document("a/b").getDocument().exists)
    await database.close()
  }

  @Test func typedValuesCanBeMerged() async throws {
    struct Part: Codable {
      var n: Int
      var m: [String: Int]
      @ServerTimestamp var t: Date?
    }
    let after = try await Self.result { document in
      try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
        do {
          try document.setData(from: Part(n: 4, m: ["z": 1]), merge: true) { error in
            done.resume(with: error.map(Result.failure) ?? .success(()))
          }
        } catch {
          done.resume(throwing: error)
        }
      }
    }
    #expect(after["n"] as? Int == 4)
    #expect(after["m"] as? [String: Int] == ["x": 1, "y": 2, "z": 1])
    #expect(after["t"] is Timestamp)
    let listed = try await Self.result { document in
      let batch = document.firestore.batch()
      try batch.setData(from: Part(n: 4, m: ["z": 1]), forDocument: document, mergeFields: ["m"])
      try await batch.commit()
    }
    #expect(listed == ["n": 1, "m": ["z": 1], "l": [1, 2], "t": "text"] as NSDictionary)
  }

  @Test func everyFormOfAddDocumentCreatesADocument() async throws {
    struct Note: Codable, Equatable {
      @DocumentID var id: String?
      var text: String
    }
    let database = try TestDatabase()
    let notes = database.firestore.collection("notes")
    let first = notes.addDocument(data: ["text": "one"], completion: nil)
    let second = try await notes.addDocument(data: ["text": "two"])
    let third = try await notes.addDocument(from: Note(text: "three"))
    #expect(Set([first, second, third]).count == 3)
    let read = try await notes.order(by: "text").getDocuments().documents.map { try $0.data(as: Note.self) }
    #expect(read.map(\.text) == ["one", "three", "two"])
    #expect(read.map(\.id) == [first.documentID, third.documentID, second.documentID])
    #expect(try await third.getDocument(as: Note.self).text == "three")
    #expect(try await notes.document("none").getDocument(as: Note?.self) == nil)
    let result = await withCheckedContinuation {
      (done: CheckedContinuation<Result<Note, any Error>, Never>) in
      first.getDocument(as: Note.self) { done.resume(returning: $0) }
    }
    #expect(try result.get().text == "one")
    await database.close()
  }

  @Test func fieldValuesAreComparedByContent() {
    #expect(FieldValue.delete() == FieldValue.delete())
    #expect(FieldValue.delete() != FieldValue.serverTimestamp())
    #expect(FieldValue.increment(1) == FieldValue.increment(Int64(1)))
    #expect(FieldValue.increment(1) != FieldValue.increment(1.5))
    #expect(FieldValue.increment(1) != FieldValue.minimum(1))
    #expect(FieldValue.arrayUnion([1, "a"]) == FieldValue.arrayUnion([1, "a"]))
    #expect(FieldValue.arrayUnion([1, "a"]) != FieldValue.arrayRemove([1, "a"]))
  }
}
