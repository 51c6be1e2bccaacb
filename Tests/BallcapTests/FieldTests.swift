// Tests of fields whose values the commit computes.

import Ballcap
import FirebaseFirestore
import LayerHarness
import Testing

extension BallcapTests {
  @Suite final class Fields {
    private let app = TestApp()

    @Test func operatorsCompareWithoutReadingTheirValue() {
      #expect(IncrementableInt.increment(1) != .value(1))
      #expect(IncrementableDouble.increment(1) == .increment(1))
      #expect(OperableArray<Int>.arrayUnion([1]) != .arrayRemove([1]))
      #expect(OperableArray<Int>.arrayUnion([1]) == .arrayUnion([1]))
      #expect(Set<IncrementableInt>([.increment(1), .increment(1), 1]).count == 2)
      #expect(Set<IncrementableDouble>([.increment(0.5), 0.5, 0.5]).count == 2)
      #expect(Set<OperableArray<Int>>([[1], .arrayUnion([1]), .arrayRemove([1]), [1]]).count == 3)
      #expect(Counter() == Counter())
    }

    @Test func genericCodeCanCompareFieldOperators() {
      func same<Value: Equatable>(_ left: Value, _ right: Value) -> Bool { !(left != right) }
      #expect(same(IncrementableInt.increment(2), .increment(2)))
      #expect(!same(ServerTimestamp.pending, .resolved(Timestamp())))
    }

    @Test func literalsCreatePlainValues() {
      #expect(IncrementableInt(3) == .value(3))
      let number: IncrementableDouble = 0.5
      #expect(number.rawValue == 0.5)
      let array: OperableArray<Int> = [1, 2]
      #expect(Array(array) == [1, 2])
      #expect(array.rawValue == [1, 2] && array.count == 2 && array.first == 1 && array.last == 2)
    }

    @Test func commitsComputeFieldOperators() async throws {
      let counter = Document<Counter>(id: "c")
      try await counter.save()
      counter.data?.hits = .increment(4)
      counter.data?.weight = .increment(0.5)
      counter.data?.names = .arrayUnion(["a", "b"])
      try await counter.update()
      let found = try #require(try await Document<Counter>.get(id: "c")?.data)
      #expect(found.hits == 4)
      #expect(found.weight == 0.5)
      #expect(found.names == ["a", "b"])
      guard case .resolved = found.seen else { return #expect(Bool(false), "the time was not set") }
      counter.data?.names = .arrayRemove(["a"])
      try await counter.update()
      #expect(try await Document<Counter>.get(id: "c")?.data?.names == ["b"])
    }

    @Test func invalidArrayElementIsAnEncodingError() async {
      struct Table: Codable, Modelable { var rows: OperableArray<[Int]> = [] }
      var wrong: [String] = []
      for rows in [OperableArray<[Int]>.arrayUnion([[1]]), .arrayRemove([[1]]), .value([[1]])] {
        let table = Document<Table>(id: "t", from: Table(rows: rows))
        let error = await outcome { table.save(completion: $0) }
        if !(error is EncodingError) { wrong.append("\(rows): \(String(describing: error))") }
      }
      #expect(wrong == [])
    }

    @Test func arrayOperatorsAcceptNonScalarElements() async throws {
      struct Point: Codable, Hashable { var x = 0, y = 0 }
      struct Path: Codable, Modelable { var points: OperableArray<Point> = [] }
      let path = Document<Path>(id: "p")
      try await path.save()
      path.data?.points = .arrayUnion([Point(x: 1, y: 2)])
      try await path.update()
      path.data?.points = .arrayUnion([Point(x: 1, y: 2), Point(x: 3, y: 4)])
      try await path.update()
      #expect(try await Document<Path>.get(id: "p")?.data?.points == [Point(x: 1, y: 2), Point(x: 3, y: 4)])
    }

    @Test func refreshOfAModelWithAnOperatorDoesNotCrash() async throws {
      let counter = Document<Counter>(id: "c")
      try await counter.save()
      counter.data?.hits = .increment(1)
      try await counter.get()
      #expect(counter.data?.hits == 0)
    }

    @Test func serverTimestampInsideObjectsMeansThisType() async throws {
      final class Visit: Object, DataRepresentable {
        struct Model: Codable, Modelable { var at: ServerTimestamp = .pending }
        var data: Visit.Model?
      }
      try await Visit(id: "v").save()
      let found = try #require(try await Visit.get(id: "v")?.data)
      #expect(found.at != .pending)
    }
  }
}
