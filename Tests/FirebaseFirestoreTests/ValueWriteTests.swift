// Writes of encoded values, in the forms that return when the write is durable.

import FirebaseFirestore
import Foundation
import Testing

@Suite struct ValueWriteTests {
  struct City: Codable, Equatable {
    var name: String
    var people: Int?
  }

  private let firestore = Firestore.memory()
  private var document: DocumentReference { firestore.document("cities/bern") }

  private func fields() async throws -> NSDictionary? {
    try await document.getDocument().data() as NSDictionary?
  }

  @Test func aValueReplacesMergesOrSetsFields() async throws {
    try await document.setData(["old": 1])
    try await document.setData(from: City(name: "Bern", people: 1))
    #expect(try await fields() == ["name": "Bern", "people": 1])
    try await document.setData(from: City(name: "Berne", people: nil), merge: true)
    #expect(try await fields() == ["name": "Berne", "people": 1])
    try await document.setData(from: City(name: "Bern", people: 2), mergeFields: ["people"])
    #expect(try await fields() == ["name": "Berne", "people": 2])
    let added = try await document.parent.addDocument(from: City(name: "Biel", people: 3))
    #expect(try await added.getDocument(as: City.self) == City(name: "Biel", people: 3))
    try await firestore.terminate()
  }

  @Test func everyFormUsesTheGivenEncoder() async throws {
    struct Model: Codable { var firstName: String }
    let encoder = Firestore.Encoder()
    encoder.keyEncodingStrategy = .convertToSnakeCase
    let model = Model(firstName: "Ada")
    let expected: NSDictionary = ["first_name": "Ada"]
    try await document.setData(from: model, encoder: encoder)
    #expect(try await fields() == expected)
    try await document.setData(from: model, merge: true, encoder: encoder)
    #expect(try await fields() == expected)
    try await document.setData(from: model, mergeFields: ["first_name"], encoder: encoder)
    #expect(try await fields() == expected)
    let added = try await document.parent.addDocument(from: model, encoder: encoder)
    #expect(try await added.getDocument().data() as NSDictionary? == expected)
    try await firestore.terminate()
  }

  /// An awaited call throws the error of its write. A call that returns immediately cannot do this.
  @Test func everyAwaitedFormThrowsTheWriteError() async throws {
    let tooLong = [String(repeating: "n", count: 1501): 1]
    let (document, fields) = (document, Array(tooLong.keys))
    try await refused { try await document.setData(from: tooLong) }
    try await refused { try await document.setData(from: tooLong, merge: true) }
    try await refused { try await document.setData(from: tooLong, mergeFields: fields) }
    try await refused { _ = try await document.parent.addDocument(from: tooLong) }
    #expect(try await document.parent.getDocuments().isEmpty)
    try await firestore.terminate()
  }

  private func refused(_ write: () async throws -> Void) async throws {
    do {
      try await write()
      Issue.record("it was written")
    } catch FirestoreErrorCode.invalidArgument {}
  }

  @Test func anEncodingErrorIsThrownAndNothingIsWritten() async throws {
    let (document, collection) = (document, document.parent)
    await #expect(throws: EncodingError.self) { try await document.setData(from: 1) }
    await #expect(throws: EncodingError.self) { try await document.setData(from: 1, merge: true) }
    await #expect(throws: EncodingError.self) { try await document.setData(from: 1, mergeFields: ["a"]) }
    await #expect(throws: EncodingError.self) { try await collection.addDocument(from: 1) }
    #expect(try await collection.getDocuments().isEmpty)
    try await firestore.terminate()
  }

  struct Odd: Codable, Sendable {
    var lists: [[Int]]?
    var names: [String: Int]?
  }

  /// Every form throws, and the batch and the transaction stay usable.
  @Test(arguments: [Odd(lists: [[1]]), Odd(names: ["": 1])])
  func fieldsThatNoDocumentCanHoldThrow(value: Odd) async throws {
    let (document, collection) = (document, document.parent)
    let batch = firestore.batch()
    let calls: [() throws -> Void] = [
      { try document.setData(from: value) },
      { try document.setData(from: value, merge: true) },
      { try document.setData(from: value, mergeFields: ["names"]) },
      { _ = try collection.addDocument(from: value) },
      { try batch.setData(from: value, forDocument: document) },
      { try batch.setData(from: value, forDocument: document, mergeFields: ["lists"]) },
    ]
    for call in calls { try await refused(call) }
    try await refused { try await document.setData(from: value) }
    try await refused { _ = try await collection.addDocument(from: value) }
    _ = try await firestore.runTransaction { transaction, _ in
      #expect(throws: (any Error).self) { try transaction.setData(from: value, forDocument: document) }
      return nil
    }
    try await batch.commit()
    #expect(try await collection.getDocuments().isEmpty)
    try await firestore.terminate()
  }

  /// The forms without a completion and without `await`, as in Firebase.
  @Test func synchronousCodeCallsTheNonAwaitingOverload() async throws {
    func write() throws -> DocumentReference {
      try document.setData(from: City(name: "Bern"))
      try document.setData(from: City(name: "Bern", people: 1), merge: true)
      return try document.parent.addDocument(from: City(name: "Biel"))
    }
    let added = try write()
    #expect(try await fields() == ["name": "Bern", "people": 1])
    #expect(try await added.getDocument(as: City.self).name == "Biel")
    try await firestore.terminate()
  }
}
