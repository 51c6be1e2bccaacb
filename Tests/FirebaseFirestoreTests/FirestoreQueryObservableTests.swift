// Observable queries, the basis of the property wrapper for SwiftUI.

import FirebaseFirestore
import Foundation
import Observation
import Testing

@Suite struct FirestoreQueryObservableTests {
  struct City: Codable, Equatable {
    var name: String
  }

  private let queue = DispatchQueue(label: "dugout.test.callbacks")
  private let firestore = Firestore.memory()

  init() {
    let settings = FirestoreSettings()
    settings.dispatchQueue = queue
    firestore.settings = settings
  }

  private var cities: CollectionReference { firestore.collection("cities") }

  /// Evaluates `look` on the callback queue, and again after each change, until `isEnough` returns true.
  private func wait<Value>(
    for look: () -> Value, until isEnough: (Value) -> Bool
  ) async -> Value {
    while true {
      let (stream, continuation) = AsyncStream<Void>.makeStream()
      let value = queue.sync {
        withObservationTracking(look) { continuation.yield() }
      }
      if isEnough(value) { return value }
      for await _ in stream { break }
    }
  }

  @Test func itemsAreUpdatedWithTheirDocuments() async throws {
    try await cities.document("b").setData(["name": "Bern"])
    let observable = FirestoreQueryObservable<[City]>(
      configuration: FirestoreQueryConfiguration(path: "cities", predicates: [.order(by: "name")]),
      firestore: firestore)
    #expect(await wait(for: { observable.items }) { !$0.isEmpty } == [City(name: "Bern")])
    try await cities.document("a").setData(["name": "Aarau"])
    #expect(await wait(for: { observable.items }) { $0.count == 2 }.map(\.name) == ["Aarau", "Bern"])
    queue.sync {
      observable.configuration.predicates = [.order(by: "name", descending: true), .limit(to: 1)]
    }
    #expect(await wait(for: { observable.items }) { $0.count == 1 }.map(\.name) == ["Bern"])
    #expect(queue.sync { observable.configuration.error == nil })
  }

  /// Both spellings of a predicate produce the same query step.
  @Test func allPredicateSpellingsBuildTheSameQuery() {
    let forms: [(QueryPredicate, QueryPredicate, Query)] = [
      (.whereField("n", isEqualTo: 1), .where("n", isEqualTo: 1), cities.whereField("n", isEqualTo: 1)),
      (.whereField("n", isNotEqualTo: 1), .isNotEqualTo("n", 1), cities.whereField("n", isNotEqualTo: 1)),
      (.whereField("n", in: [1]), .isIn("n", [1]), cities.whereField("n", in: [1])),
      (.whereField("n", notIn: [1]), .isNotIn("n", [1]), cities.whereField("n", notIn: [1])),
      (.whereField("n", isIn: [1]), .where("n", isIn: [1]), cities.whereField("n", in: [1])),
      (.whereField("n", isNotIn: [1]), .where("n", isNotIn: [1]), cities.whereField("n", notIn: [1])),
      (
        .whereField("n", arrayContains: 1), .where(field: "n", arrayContains: 1),
        cities.whereField("n", arrayContains: 1)
      ),
      (
        .whereField("n", arrayContainsAny: [1]), .where("n", arrayContainsAny: [1]),
        cities.whereField("n", arrayContainsAny: [1])
      ),
      (.whereField("n", isLessThan: 1), .where("n", isLessThan: 1), cities.whereField("n", isLessThan: 1)),
      (
        .whereField("n", isGreaterThan: 1), .where("n", isGreaterThan: 1),
        cities.whereField("n", isGreaterThan: 1)
      ),
      (
        .whereField("n", isLessThanOrEqualTo: 1), .where("n", isLessThanOrEqualTo: 1),
        cities.whereField("n", isLessThanOrEqualTo: 1)
      ),
      (
        .whereField("n", isGreaterThanOrEqualTo: 1), .where("n", isGreaterThanOrEqualTo: 1),
        cities.whereField("n", isGreaterThanOrEqualTo: 1)
      ),
    ]
    var wrong: [String] = []
    for (long, short, query) in forms {
      if cities.refined(by: long) != query || cities.refined(by: short) != query {
        wrong.append("\(long), \(short)")
      }
    }
    #expect(wrong == [])
    #expect(
      cities.refined(by: .where("n", arrayContains: 1)) == cities.whereField("n", arrayContains: 1))
  }

  @Test func undecodableItemsAreOmittedOrFailTheResult() async throws {
    try await cities.document("a").setData(["name": "Aarau"])
    try await cities.document("b").setData(["name": 7])
    func observable(_ strategy: DecodingFailureStrategy) -> FirestoreQueryObservable<[City]> {
      FirestoreQueryObservable(
        configuration: FirestoreQueryConfiguration(path: "cities", decodingFailureStrategy: strategy),
        firestore: firestore)
    }
    let (ignoring, raising) = (observable(.ignore), observable(.raise))
    #expect(await wait(for: { ignoring.items }) { !$0.isEmpty } == [City(name: "Aarau")])
    let failed = await wait(
      for: { (raising.items, raising.configuration.error) }, until: { $0.1 != nil })
    #expect(failed.0.isEmpty && failed.1 is DecodingError)
    // The ignored decoding failure is still available in the configuration.
    #expect(queue.sync { ignoring.configuration.error is DecodingError })
    try await cities.document("b").setData(["name": "Bern"])
    #expect(await wait(for: { raising.items }) { $0.count == 2 }.map(\.name) == ["Aarau", "Bern"])
    #expect(queue.sync { raising.configuration.error == nil })
  }

  @Test func aResultContainsTheItemsOrTheError() async throws {
    try await cities.document("a").setData(["name": "Aarau"])
    func observable(
      _ path: String, _ strategy: DecodingFailureStrategy = .raise
    ) -> FirestoreQueryObservable<Result<[City], any Error>> {
      FirestoreQueryObservable(
        configuration: FirestoreQueryConfiguration(path: path, decodingFailureStrategy: strategy),
        firestore: firestore)
    }
    let cities = observable("cities")
    let found = await wait(for: { cities.items }, until: { (try? $0.get())?.isEmpty == false })
    #expect(try found.get() == [City(name: "Aarau")])
    // A database error is reported with either strategy.
    let wrong = observable("__reserved__", .ignore)
    let failed = await wait(for: { wrong.items }, until: { (try? $0.get()) == nil })
    #expect(throws: FirestoreErrorCode.self) { try failed.get() }
  }

  @Test func everyPredicateEqualsItsQueryMethod() {
    func query(_ predicates: [QueryPredicate]) -> Query {
      predicates.reduce(cities as Query) { $0.refined(by: $1) }
    }
    #expect(query([.where("a", isEqualTo: 1)]) == cities.whereField("a", isEqualTo: 1))
    #expect(query([.where("a", isIn: [1])]) == cities.whereField("a", in: [1]))
    #expect(query([.where("a", isNotIn: [1])]) == cities.whereField("a", notIn: [1]))
    #expect(query([.where("a", arrayContains: 1)]) == cities.whereField("a", arrayContains: 1))
    #expect(query([.where("a", arrayContainsAny: [1])]) == cities.whereField("a", arrayContainsAny: [1]))
    #expect(query([.where("a", isLessThan: 1)]) == cities.whereField("a", isLessThan: 1))
    #expect(
      query([.where("a", isLessThanOrEqualTo: 1)]) == cities.whereField("a", isLessThanOrEqualTo: 1))
    #expect(query([.where("a", isGreaterThan: 1)]) == cities.whereField("a", isGreaterThan: 1))
    #expect(
      query([.where("a", isGreaterThanOrEqualTo: 1)])
        == cities.whereField("a", isGreaterThanOrEqualTo: 1))
    #expect(
      query([.order(by: "a"), .order(by: "b", descending: true), .limit(to: 3)])
        == cities.order(by: "a").order(by: "b", descending: true).limit(to: 3))
    #expect(query([.order(by: "a"), .limit(toLast: 3)]) == cities.order(by: "a").limit(toLast: 3))
  }
}
