// Queries of collections: filters, orders, limits and cursors.

import FirebaseFirestore
import Foundation
import Testing

@Suite struct QueryTests {
  /// Reserved names are forbidden in documents but allowed in an operand, because an operand is never
  /// written.
  @Test func mapOperandsMayContainReservedNames() async throws {
    let query = Firestore.memory().collection("a")
      .whereField("m", isEqualTo: ["__x__": 1]).whereField("l", in: [["__y__": ["__z__": 2]]])
    #expect(try await query.getDocuments().isEmpty)
  }

  /// Creates five cities, and a collection group of landmarks.
  private static func cities() async throws -> TestDatabase {
    let database = try TestDatabase()
    let cities: [(id: String, data: [String: Any])] = [
      ("BJ", ["name": "Beijing", "population": 21_500_000, "capital": true, "regions": ["hebei"]]),
      ("DC", ["name": "Washington", "population": 680_000, "capital": true, "regions": ["east"]]),
      ("LA", ["name": "Los Angeles", "population": 3_900_000, "regions": ["west", "socal"]]),
      ("SF", ["name": "San Francisco", "population": 860_000.0, "regions": ["west", "norcal"]]),
      ("XX", ["name": NSNull(), "capital": false]),
    ]
    let batch = database.firestore.batch()
    for (id, data) in cities {
      let city = database.firestore.collection("cities").document(id)
      batch.setData(data, forDocument: city)
      if id != "XX" {
        batch.setData(["kind": "park", "of": city], forDocument: city.collection("landmarks").document("p"))
      }
    }
    try await batch.commit()
    return database
  }

  private static func ids(_ query: Query) async throws -> String {
    try await query.getDocuments().documents.map(\.documentID).joined(separator: " ")
  }

  @Test func everyOperatorMatchesItsDocuments() async throws {
    let database = try await Self.cities()
    let cities = database.firestore.collection("cities")
    let path = FieldPath(["population"])
    let expected: [(Query, String)] = [
      (cities, "BJ DC LA SF XX"),
      (cities.whereField("name", isEqualTo: "Beijing"), "BJ"),
      (cities.whereField("population", isEqualTo: 860_000), "SF"),
      (cities.whereField("name", isEqualTo: NSNull()), "XX"),
      (cities.whereField("capital", isNotEqualTo: true), "XX"),
      (cities.whereField("population", isLessThan: 860_000), "DC"),
      (cities.whereField(path, isLessThanOrEqualTo: 860_000), "DC SF"),
      (cities.whereField("population", isGreaterThan: 860_000), "LA BJ"),
      (cities.whereField(path, isGreaterThanOrEqualTo: 860_000), "SF LA BJ"),
      (cities.whereField("regions", arrayContains: "west"), "LA SF"),
      (cities.whereField("regions", arrayContainsAny: ["east", "socal"]), "DC LA"),
      (cities.whereField("name", in: ["Beijing", "Washington"]), "BJ DC"),
      (cities.whereField("name", notIn: ["Beijing", "Washington"]), "LA SF"),
      (cities.whereField("regions", in: [["hebei"], ["west", "socal"]]), "BJ LA"),
      (cities.whereField(FieldPath.documentID(), isGreaterThan: "LA"), "SF XX"),
      (cities.whereField(FieldPath.documentID(), in: ["SF", cities.document("BJ")]), "BJ SF"),
      (cities.whereField("capital", isEqualTo: true).whereField("population", isLessThan: 1_000_000), "DC"),
      (cities.whereFilter(.andFilter([])), "BJ DC LA SF XX"),
      (
        cities.whereFilter(
          .orFilter([
            .whereField("capital", isEqualTo: false),
            .andFilter([
              .whereField(path, isGreaterOrEqualTo: 1_000_000),
              .whereField("regions", arrayContains: "west"),
            ]),
          ])), "LA"
      ),
    ]
    var wrong: [String] = []
    for (query, ids) in expected {
      let found = try await Self.ids(query)
      if found != ids { wrong.append("\(query.structured): \(found), not \(ids)") }
    }
    #expect(wrong == [])
    await database.close()
  }

  @Test func ordersLimitsAndCursorsSelectResults() async throws {
    let database = try await Self.cities()
    let cities = database.firestore.collection("cities")
    let byPopulation = cities.order(by: "population")
    let middle = try await cities.document("SF").getDocument()
    let expected: [(Query, String)] = [
      (byPopulation, "DC SF LA BJ"),
      (cities.order(by: FieldPath(["population"]), descending: true), "BJ LA SF DC"),
      (byPopulation.limit(to: 2), "DC SF"),
      (byPopulation.limit(toLast: 2), "LA BJ"),
      (byPopulation.limit(to: 2).limit(toLast: 3), "SF LA BJ"),
      (byPopulation.start(at: [860_000]), "SF LA BJ"),
      (byPopulation.start(after: [860_000]), "LA BJ"),
      (byPopulation.end(at: [860_000]), "DC SF"),
      (byPopulation.end(before: [860_000]), "DC"),
      (byPopulation.start(atDocument: middle), "SF LA BJ"),
      (byPopulation.start(afterDocument: middle), "LA BJ"),
      (byPopulation.end(atDocument: middle), "DC SF"),
      (byPopulation.end(beforeDocument: middle), "DC"),
      (byPopulation.start(after: [860_000]).start(at: [0]).end(before: [21_500_000]), "DC SF LA"),
      (byPopulation.start(atDocument: middle).limit(toLast: 1), "BJ"),
      (cities.order(by: FieldPath.documentID()).start(after: ["LA"]), "SF XX"),
      (cities.start(afterDocument: middle), "XX"),
    ]
    var wrong: [String] = []
    for (query, ids) in expected {
      let found = try await Self.ids(query)
      if found != ids { wrong.append("\(query.structured): \(found), not \(ids)") }
    }
    #expect(wrong == [])
    await database.close()
  }

  @Test func aCollectionGroupFindsDocumentsAtEveryDepth() async throws {
    let database = try await Self.cities()
    let group = database.firestore.collectionGroup("landmarks")
    let found = try await group.getDocuments().documents
    #expect(found.map(\.reference.path) == ["BJ", "DC", "LA", "SF"].map { "cities/\($0)/landmarks/p" })
    #expect(found[0].reference.parent.parent == found[0].get("of") as? DocumentReference)
    let later = group.whereField(FieldPath.documentID(), isGreaterThan: "cities/DC/landmarks/p")
    #expect(try await later.getDocuments().count == 2)
    await database.close()
  }

  @Test func theFirstSnapshotReportsItsSourceAndOnlyAdditions() async throws {
    let database = try await Self.cities()
    let query = database.firestore.collection("cities").order(by: "population").limit(to: 2)
    var snapshots: [QuerySnapshot] = []
    var repeated: [QuerySnapshot] = []
    for source in [FirestoreSource.default, .server, .cache] {
      snapshots.append(try await query.getDocuments(source: source))
      repeated.append(try await query.getDocuments(source: source))
    }
    #expect(snapshots.map { $0.query } == [query, query, query])
    #expect(snapshots.map { $0.count } == [2, 2, 2])
    #expect(snapshots.map { $0.isEmpty } == [false, false, false])
    #expect(snapshots.map { $0.metadata.isFromCache } == [false, false, true])
    #expect(snapshots.map { $0.metadata.hasPendingWrites } == [false, false, false])
    let areAlike = snapshots.map { snapshot in
      snapshot.documents.allSatisfy { $0.exists && $0.metadata == snapshot.metadata }
    }
    #expect(areAlike == [true, true, true])
    let first: [[String: Any]] = snapshots.map { $0.documents[0].data() }
    #expect(first.map { $0["name"] as? String } == ["Washington", "Washington", "Washington"])
    let changes = snapshots.map { $0.documentChanges }
    #expect(changes.map { $0.map(\.newIndex) } == [[0, 1], [0, 1], [0, 1]])
    let all = changes.flatMap { $0 }
    #expect(all.map(\.type) == Array(repeating: .added, count: 6))
    #expect(all.map(\.oldIndex) == Array(repeating: UInt(NSNotFound), count: 6))
    #expect(changes.map { $0.map(\.document) } == snapshots.map { $0.documents })
    #expect(snapshots == repeated)
    #expect(try await query.getDocuments() != query.getDocuments(source: .cache))
    await database.close()
  }

  @Test func aFieldIsReadByNameByPathAndByKey() async throws {
    let database = try TestDatabase()
    let document = database.firestore.document("a/b")
    try await document.setData(["m": ["n": 1], "x.y": 2, "z": NSNull()])
    let snapshot = try await document.getDocument()
    #expect(snapshot.get("m.n") as? Int == 1)
    #expect(snapshot[FieldPath(["m", "n"])] as? Int == 1)
    #expect(snapshot["m.o"] == nil)
    #expect(snapshot["x.y"] == nil)
    #expect(snapshot[FieldPath(["x.y"])] as? Double == 2)
    #expect(snapshot["z"] is NSNull)
    #expect(snapshot.get(FieldPath.documentID()) as? DocumentReference == document)
    #expect((snapshot["m"] as? [String: Any])?["n"] as? Int == 1)
    let absent = try await database.firestore.document("a/c").getDocument()
    #expect(absent["m.n"] == nil && absent.get(FieldPath.documentID()) == nil)
    await database.close()
  }

  @Test func queriesBuiltTheSameWayAreEqual() throws {
    let database = try TestDatabase()
    let cities = database.firestore.collection("cities")
    func build(_ limit: Int) -> Query {
      cities.whereField("a.b", isEqualTo: ["x": 1]).order(by: "c", descending: true).limit(to: limit)
        .start(at: ["z"])
    }
    #expect(build(1) == build(1))
    #expect(build(1).hash == build(1).hash)
    #expect(build(1) != build(2))
    #expect(cities.limit(to: 3) != cities)
    #expect(cities.order(by: "a") == cities.order(by: FieldPath(["a"])))
    #expect(cities.whereFilter(.orFilter([])) === cities)
    #expect(cities.whereFilter(.whereField("a", isEqualTo: 1)) == cities.whereField("a", isEqualTo: 1))
    #expect(cities.whereField("a", isEqualTo: AnyHashable("x")) == cities.whereField("a", isEqualTo: "x"))
    // A collection does not equal a plain query with an equal structure, in either direction.
    let plain = Query(database.firestore, cities.structured)
    #expect(plain != cities && cities != plain)
    #expect(plain == Query(database.firestore, cities.structured))
    let other = try TestDatabase()
    #expect(other.firestore.collection("cities").limit(to: 1) != cities.limit(to: 1))
  }

  @Test func callbacksGetSnapshotsOnTheQueueOfTheSettings() async throws {
    let database = try await Self.cities()
    let queue = database.firestore.settings.dispatchQueue
    let count = try await withCheckedThrowingContinuation { (done: CheckedContinuation<Int, any Error>) in
      database.firestore.collection("cities").getDocuments { snapshot, error in
        dispatchPrecondition(condition: .onQueue(queue))
        done.resume(with: Result { try snapshot?.count ?? { throw error ?? CancellationError() }() })
      }
    }
    #expect(count == 5)
    await database.close()
  }

  @Test func aQuerySeesTheWritesThatWereIssuedBeforeIt() async throws {
    let database = try TestDatabase()
    let numbers = database.firestore.collection("numbers")
    var wrong: [String] = []
    for number in 1...20 {
      numbers.document("\(number)").setData(["n": number], completion: nil)
      let count = try await numbers.whereField("n", isGreaterThan: 0).getDocuments().count
      if count != number { wrong.append("\(number): \(count)") }
    }
    #expect(wrong == [])
    await database.close()
  }
}
