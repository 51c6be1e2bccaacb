// Counts, sums and averages.

import DocumentStore
import Harness
import Testing

@Suite struct AggregationTests {
  private func results(_ aggregates: [Aggregate], _ values: [StoredValue]) -> [StoredValue] {
    var aggregation = Aggregation(aggregates)
    for value in values { aggregation.add(document("x", ("a", value))) }
    return aggregation.results
  }

  private func sum(_ values: StoredValue...) -> StoredValue { results([.sum("a")], values)[0] }

  private func average(_ values: StoredValue...) -> StoredValue { results([.average("a")], values)[0] }

  @Test func emptyInputHasZeroCountZeroSumAndNoAverage() {
    #expect(results([.count, .sum("a"), .average("a")], []) == [0, 0, .null])
    #expect(results([.count, .sum("a"), .average("a")], ["1", .null, [1]]) == [3, 0, .null])
  }

  @Test func onlyNumbersAreAdded() {
    #expect(sum(1, "9", 2, .null, .boolean(true)) == 3)
    #expect(average(1, "9", 2) == 1.5)
  }

  @Test func integerSumIsExactWhileTheTotalFits() {
    #expect(sum(.integer(.max), 1, -1) == .integer(.max))
    #expect(sum(.integer(.max), .integer(.max), .integer(.min), .integer(.min), 5) == 3)
    #expect(sum(.integer(.max), 1) == .double(0x1p63))
    #expect(sum(.integer(.min), -1) == .double(-0x1p63))
    #expect(average(.integer(.max), .integer(.max)) == .double(0x1p63))
  }

  @Test func sumWithAnyDoubleIsADouble() {
    #expect(sum(1, 2.0) == 3.0)
    #expect(sum(1, -0.0) == 1.0)
    #expect(sum(-0.0) == 0.0)
    #expect(sum(9_007_199_254_740_993, 1.0) == .double(9_007_199_254_740_994))
    #expect(sum(.integer(.max), 0.5, .integer(.min)) == -0.5)
  }

  @Test func nanPropagatesAndSumsOverflowToInfinity() {
    #expect(sum(1, .double(.nan)) == .double(.nan))
    #expect(average(1, .double(.nan)) == .double(.nan))
    #expect(sum(1, .double(.infinity)) == .double(.infinity))
    #expect(sum(.double(.infinity), .double(-.infinity)) == .double(.nan))
    let greatest = StoredValue.double(.greatestFiniteMagnitude)
    #expect(sum(greatest, greatest) == .double(.infinity))
    #expect(
      sum(.double(-.greatestFiniteMagnitude), .double(-.greatestFiniteMagnitude)) == .double(-.infinity))
  }

  @Test func theOrderOfTheDocumentsMakesNoDifference() {
    let greatest = StoredValue.double(.greatestFiniteMagnitude)
    let values: [StoredValue] = [
      greatest, greatest, .double(-.greatestFiniteMagnitude), .double(-.greatestFiniteMagnitude), 0.1, 1e16,
      1,
      .double(.leastNonzeroMagnitude), -1e16, .integer(.max), 0.2,
    ]
    var rng = SeededRNG(seed: 3)
    let expected = results([.sum("a"), .average("a")], values)
    let sums = (0..<50).map { _ in results([.sum("a"), .average("a")], values.shuffled(using: &rng)) }
    #expect(sums.filter { $0 != expected } == [])
    #expect(sum(0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1) == 1.0)
    #expect(sum(1e16, 1.0, -1e16) == 1.0)
    #expect(sum(.double(.leastNonzeroMagnitude), .double(.leastNonzeroMagnitude)) == .double(0x1p-1073))
    #expect(
      sum(.double(.leastNormalMagnitude), .double(-.leastNonzeroMagnitude)) != .double(.leastNormalMagnitude))
  }

  @Test func aSumIsRoundedOnceAndToTheNearest() {
    let (half, least) = (StoredValue.double(0x1p-53), StoredValue.double(.leastNonzeroMagnitude))
    let next = 1.0.nextUp
    #expect(sum(1.0, half) == 1.0)
    #expect(sum(1.0, half, least) == .double(next))
    #expect(sum(1.0, half, .double(-.leastNonzeroMagnitude)) == 1.0)
    #expect(sum(.double(next), half) == .double(next.nextUp))
    #expect(sum(-1.0, .double(-0x1p-53), .double(-.leastNonzeroMagnitude)) == .double(-next))
    var rng = SeededRNG(seed: 13)
    var wrong: [String] = []
    for _ in 0..<500 {
      // The numbers have all magnitudes, and some are close to each other, so that rounding is critical.
      let numbers: [StoredValue] = (0..<(1 + rng.roll(6))).map { _ in
        let exponent = rng.oneIn(2) ? rng.roll(120) - 60 : rng.roll(2040) - 1060
        return .double(
          Double(
            sign: rng.oneIn(2) ? .plus : .minus, exponent: exponent,
            significand: 1 + Double(rng.roll(9)) / 8))
      }
      let documents = numbers.enumerated().map { document("\($0.offset)", ("a", $0.element)) }
      let expected = NaiveEvaluator(.ofC).results(of: [.sum("a"), .average("a")], over: documents)
      let found = results([.sum("a"), .average("a")], numbers)
      if found != expected { wrong.append("\(numbers): \(found) instead of \(expected)") }
    }
    #expect(wrong == [])
  }

  @Test func documentsWithoutAllSummedFieldsAreIgnored() {
    var aggregation = Aggregation([.count, .sum("a"), .average("b")])
    aggregation.add(document("1", ("a", 1), ("b", 1)))
    aggregation.add(document("2", ("a", 2)))
    aggregation.add(document("3", ("b", 3)))
    aggregation.add(document("4", ("a", .null), ("b", 5)))
    #expect(aggregation.results == [2, 1, 3.0])
    var count = Aggregation([.count])
    count.add(document("2", ("a", 2)))
    #expect(count.results == [1])
  }

  @Test func repeatedAggregatesShareAResult() {
    #expect(results([.sum("a"), .count, .sum("a")], [1, 2]) == [3, 2, 3])
  }

  @Test func aggregatesHaveDefaultAliases() {
    #expect(Aggregate.count.alias == "count")
    #expect(Aggregate.sum(field("a", "b")).alias == "sum_a.b")
    #expect(Aggregate.average("é").alias == "avg_`é`")
  }
}
