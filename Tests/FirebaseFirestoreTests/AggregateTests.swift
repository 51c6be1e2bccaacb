// Tests of counts, sums and averages.

import FirebaseFirestore
import Foundation
import Testing

@Suite struct AggregateTests {
  private static func numbers() async throws -> TestDatabase {
    let database = try TestDatabase()
    let batch = database.firestore.batch()
    for n in 1...4 {
      let data: [String: Any] = ["n": n, "half": Double(n) / 2, "text": "x"]
      batch.setData(data, forDocument: database.firestore.document("a/\(n)"))
    }
    batch.setData(["other": 1], forDocument: database.firestore.document("a/z"))
    try await batch.commit()
    return database
  }

  @Test func aggregatesCoverOnlyTheQueryResults() async throws {
    let database = try await Self.numbers()
    let all = database.firestore.collection("a")
    #expect(try await all.count.getAggregation(source: .server).count == 5)
    #expect(try await all.limit(to: 2).count.getAggregation(source: .server).count == 2)
    let query = all.order(by: "n").limit(toLast: 3)
    let sums = try await query.aggregate([
      .count(), .sum("n"), .average(FieldPath(["half"])), .sum(FieldPath(["n"])), .average("text"),
    ]).getAggregation(source: .server)
    #expect(sums.count == 3)
    #expect(sums.get(.sum("n")) as? Int == 9)
    #expect(sums.get(.average("half")) as? Double == 1.5)
    #expect(sums.get(.average("text")) is NSNull)
    #expect(sums.query.query == query)
    await database.close()
  }

  @Test func documentsWithoutTheFieldAreNotCounted() async throws {
    let database = try await Self.numbers()
    let numbers = try await database.firestore.collection("a").aggregate([.count(), .sum("n")])
      .getAggregation(source: .server)
    #expect(numbers.count == 4)
    #expect(numbers.get(.sum("n")) as? Int64 == 10)
    let none = try await database.firestore.collection("none").aggregate([.sum("n"), .average("n")])
      .getAggregation(source: .server)
    #expect(none.get(.sum("n")) as? Int == 0)
    #expect(none.get(.average("n")) is NSNull)
    await database.close()
  }

  @Test func callbackAggregationReturnsNumbers() async throws {
    let database = try await Self.numbers()
    let count = await withCheckedContinuation { (done: CheckedContinuation<Int, Never>) in
      database.firestore.collection("a").count.getAggregation(source: .server) { snapshot, _ in
        done.resume(returning: snapshot?.count.intValue ?? -1)
      }
    }
    #expect(count == 5)
    await database.close()
  }

  @Test func aggregatesAreEqualByQueryAndFields() async throws {
    let database = try await Self.numbers()
    let all = database.firestore.collection("a")
    #expect(AggregateField.sum("a.b") == .sum(FieldPath(["a", "b"])))
    #expect(AggregateField.sum("a") != .average("a"))
    #expect(all.count == all.aggregate([.count()]))
    #expect(all.count != all.limit(to: 1).count)
    let (first, second) = (
      try await all.count.getAggregation(source: .server), try await all.count.getAggregation(source: .server)
    )
    #expect(first == second)
    await database.close()
  }
}
