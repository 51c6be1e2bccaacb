// Writing, reading and removing documents through references and batches.

import FirebaseFirestore
import Foundation
import Testing

@Suite struct DocumentTests {
  @Test func aDocumentSurvivesARestartUnchanged() async throws {
    let database = try TestDatabase()
    let data: [String: Any] = [
      "name": "Ada", "age": 36, "score": 1.5, "active": true, "nothing": NSNull(),
      "born": Timestamp(seconds: -4_862_505_600, nanoseconds: 5000),
      "place": GeoPoint(latitude: 51.5, longitude: -0.1), "raw": Data([0, 255]),
      "tags": ["a", ["b": 1]], "address": ["city": "London"],
      "vector": VectorValue([1, 2.5]), "friend": database.firestore.document("users/babbage"),
    ]
    try await database.firestore.document("users/ada").setData(data)
    var reads: [[String: Any]] = []
    for _ in 0..<2 {
      let snapshot = try await database.firestore.document("users/ada").getDocument()
      reads.append(try #require(snapshot.data()))
      await database.restart()
    }
    let born = Timestamp(seconds: -4_862_505_600, nanoseconds: 5000)
    let place = GeoPoint(latitude: 51.5, longitude: -0.1)
    let vector = VectorValue([1, 2.5])
    #expect(reads.map { $0.count } == [data.count, data.count])
    #expect(reads.map { $0["name"] as? String } == ["Ada", "Ada"])
    #expect(reads.map { $0["age"] as? Int } == [36, 36])
    #expect(reads.map { $0["score"] as? Double } == [1.5, 1.5])
    #expect(reads.map { $0["active"] as? Bool } == [true, true])
    #expect(reads.map { $0["nothing"] is NSNull } == [true, true])
    #expect(reads.map { $0["born"] as? Timestamp } == [born, born])
    #expect(reads.map { $0["place"] as? GeoPoint } == [place, place])
    #expect(reads.map { $0["raw"] as? Data } == [Data([0, 255]), Data([0, 255])])
    #expect(reads.map { ($0["tags"] as? [Any])?.count } == [2, 2])
    #expect(reads.map { ($0["address"] as? [String: Any])?["city"] as? String } == ["London", "London"])
    #expect(reads.map { $0["vector"] as? VectorValue } == [vector, vector])
    let friends = reads.map { ($0["friend"] as? DocumentReference)?.path }
    #expect(friends == ["users/babbage", "users/babbage"])
    await database.close()
  }

  @Test func anAbsentDocumentIsReportedFromEverySource() async throws {
    let database = try TestDatabase()
    var wrong: [String] = []
    for source in [FirestoreSource.default, .server, .cache] {
      let snapshot = try await database.firestore.document("users/nobody").getDocument(source: source)
      let metadata = snapshot.metadata
      if snapshot.exists || snapshot.data() != nil || metadata.isFromCache != (source == .cache)
        || metadata.hasPendingWrites
      {
        wrong.append("\(source): exists \(snapshot.exists), \(metadata)")
      }
    }
    #expect(wrong == [])
    await database.close()
  }

  @Test func aReadSeesTheWritesThatWereIssuedBeforeIt() async throws {
    let database = try TestDatabase()
    let document = database.firestore.document("counters/one")
    var wrong: [String] = []
    for number in 0..<50 {
      // A closure that is not async selects the overload without a completion.
      let issue = { document.setData(["number": number]) }
      issue()
      let read = try await document.getDocument().data()?["number"] as? Int
      if read != number { wrong.append("\(number): \(String(describing: read))") }
    }
    #expect(wrong == [])
    await database.close()
  }

  @Test func completionsRunInOrderOnTheQueueOfTheSettings() async throws {
    let database = try TestDatabase()
    let queue = DispatchQueue(label: "dugout.test.order")
    let settings = FirestoreSettings()
    settings.dispatchQueue = queue
    database.firestore.settings = settings
    let order = await withCheckedContinuation { (done: CheckedContinuation<[Int], Never>) in
      nonisolated(unsafe) var order: [Int] = []
      for number in 0..<20 {
        database.firestore.document("a/\(number)").setData(["n": number]) { error in
          dispatchPrecondition(condition: .onQueue(queue))
          order.append(error == nil ? number : -1)
          if order.count == 20 { done.resume(returning: order) }
        }
      }
    }
    #expect(order == Array(0..<20))
    await database.close()
  }

  @Test func aBatchIsAtomic() async throws {
    let database = try TestDatabase()
    let firestore = database.firestore
    let batch = firestore.batch()
    batch.setData(["n": 1], forDocument: firestore.document("a/one"))
    batch.setData(["n": 2], forDocument: firestore.document("a/__two__"))
    await #expect { try await batch.commit() } throws: { error in
      (error as NSError).domain == FirestoreErrorDomain
        && (error as NSError).code == FirestoreErrorCode.Code.invalidArgument.rawValue
    }
    #expect(try await !firestore.document("a/one").getDocument().exists)

    let good = firestore.batch()
    good.setData(["n": 1], forDocument: firestore.document("a/one"))
      .setData(["t": FieldValue.serverTimestamp()], forDocument: firestore.document("a/two"))
      .deleteDocument(firestore.document("a/three"))
    try await good.commit()
    #expect(try await firestore.document("a/two").getDocument().data()?["t"] is Timestamp)
    await database.close()
  }

  @Test func excessiveNestingFailsTheCommitAndNotTheProcess() async throws {
    let database = try TestDatabase()
    let document = database.firestore.document("a/b")
    var wrong: [String] = []
    for (depth, isFine) in [(20, true), (21, false), (99, false), (2000, false)] {
      let nest = (0..<depth).reduce([:] as [String: Any]) { inner, _ in ["m": inner] }
      do {
        try await document.setData(nest)
        if !isFine { wrong.append("depth \(depth) was written") }
      } catch {
        if isFine || (error as NSError).code != FirestoreErrorCode.Code.invalidArgument.rawValue {
          wrong.append("depth \(depth): \(error)")
        }
      }
    }
    #expect(wrong == [])
    await database.close()
  }

  @Test func anIDThatStartsWithACombiningCharacterIsValid() async throws {
    let database = try TestDatabase()
    let odd = database.firestore.document("users/\u{301}eve")
    #expect(odd.documentID.unicodeScalars.first == "\u{301}")
    try await odd.setData(["friend": odd])
    await database.restart()
    let snapshot = try await database.firestore.document("users/\u{301}eve").getDocument()
    #expect((snapshot.data()?["friend"] as? DocumentReference)?.path == "users/\u{301}eve")
    await database.close()
  }

  @Test func aRecreatedAppHasANewFirestoreInstance() async throws {
    let database = try TestDatabase()
    let (oldApp, old) = (database.app, database.firestore)
    await database.restart()
    #expect(database.firestore !== old)
    #expect(Firestore.firestore(app: oldApp) !== database.firestore)
    await database.close()
  }

  @Test func aDeletedDocumentDoesNotExist() async throws {
    let database = try TestDatabase()
    let document = database.firestore.document("a/b")
    try await document.setData(["n": 1])
    try await document.delete()
    #expect(try await !document.getDocument().exists)
    await database.restart()
    #expect(try await !database.firestore.document("a/b").getDocument().exists)
    await database.close()
  }

  @Test func typedValuesRoundTripThroughFields() async throws {
    struct User: Codable, Equatable {
      var name: String
      var age: Int
      var born: Date
      var friend: String?
    }
    let database = try TestDatabase()
    let ada = User(name: "Ada", age: 36, born: Date(timeIntervalSince1970: -4_862_505_600), friend: nil)
    let document = database.firestore.collection("users").document("ada")
    try await document.setData(from: ada)
    let snapshot = try await document.getDocument()
    #expect(try snapshot.data(as: User.self) == ada)
    #expect(snapshot.data()?["born"] is Timestamp)
    #expect(snapshot.data()?["friend"] == nil)
    await database.close()
  }

  @Test func newDocumentsGetTwentyRandomCharacters() throws {
    let database = try TestDatabase()
    let ids = Set((0..<100).map { _ in database.firestore.collection("a").document().documentID })
    #expect(ids.count == 100)
    #expect(
      ids.allSatisfy { $0.utf8.count == 20 && $0.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) } })
  }

  @Test func referencesAreEqualByDatabaseAndPath() throws {
    let database = try TestDatabase()
    let firestore = database.firestore
    #expect(firestore.document("/a/b/") == firestore.collection("a").document("b"))
    #expect(firestore.document("a/b").hash == firestore.collection("a").document("b").hash)
    #expect(firestore.document("a/b") != firestore.document("a/c"))
    #expect(firestore.document("a/b").parent == firestore.collection("a"))
    #expect(firestore.collection("a").parent == nil)
    #expect(firestore.collection("a/b/c").parent == firestore.document("a/b"))
    let other = try TestDatabase()
    #expect(firestore.document("a/b") != other.firestore.document("a/b"))
  }
}
