// Dugout beside each peer.

import Testing

@Suite struct ComparisonTests {
  @Test func eachPeerTakesPartWithItsBestForm() throws {
    let get = try comparison("get, every field visited")
    #expect(get.sides.map(\.row.engine) == ["lmdb", "sqlite"])
    #expect(get.sides.map(\.factor) == [2, 3])
    #expect(get.sides.map(get.words) == ["2.0 × faster", "3.0 × faster"])
  }

  @Test func aRateOfThePeerThatIsHigherMakesDugoutSlower() throws {
    let load = try comparison("bulk load")
    #expect(load.best.outcome == .worse)
    #expect(load.words(load.best) == "38 × slower")
  }

  @Test func overlappingRangesAreEven() throws {
    let commit = try comparison("commits of one document")
    #expect(commit.best.outcome == .even)
    #expect(commit.words(commit.best) == "1.02 × faster")
    #expect(commit.sides[1].outcome == .better)
  }

  @Test func oneRoundHasNoRange() throws {
    let commit = try comparison("commits of one document", of: SampleRun.results(rounds: 1))
    #expect(commit.best.range == nil)
    #expect(commit.best.outcome == .better)
  }

  @Test func sizesAreSmallerOrLarger() throws {
    let rows = [row("dugout", 300), row("rocksdb", 200), row("lmdb", 600), row("sqlite", 300)]
    let verdict = try #require(Verdict("W12", Goal.ratio("bytes on disk", "bytes", 0.75), rows))
    let comparison = try #require(Comparison(verdict, rows))
    #expect(comparison.sides.map(comparison.words) == ["1.50 × larger", "same size", "2.0 × smaller"])
  }

  @Test func objectsAreComparedWithObjectsAndShowTheWalkAsTheLimit() throws {
    let objects = try comparison("get as a struct")
    #expect(objects.sides.map(\.row.engine) == ["lmdb-json, JSONDecoder", "sqlite-json, JSONDecoder"])
    #expect(objects.sides.map(\.factor) == [4, 5])
    #expect(objects.limit?.engine == "lmdb")
    #expect(objects.limit?.median == 2000)
  }

  @Test func goalsWithoutEqualWorkOrWithoutAPeerAreLeftOut() {
    let titles = SampleRun.results().comparisons.map(\.title)
    #expect(
      titles == ["commits of one document", "bulk load", "get, every field visited", "get as a struct"])
  }

  @Test func aSmallerStoreOfTheSameRunIsLeftOut() {
    var results = SampleRun.results()
    let small = SampleRun.results(documents: 1000)
    results.facts.documents = [1000, 1_000_000]
    results.add(small.rows, small.verdicts)
    #expect(results.comparisons.count == 4)
    #expect(results.comparisons.allSatisfy { $0.ours.documents == 1_000_000 })
  }

  private func comparison(_ title: String, of results: RunResults = SampleRun.results()) throws -> Comparison
  {
    try #require(results.comparisons.first { $0.title == title })
  }

  private func row(_ engine: String, _ value: Double) -> ResultRow {
    ResultRow(workload: "W12", engine: engine, metric: "bytes", values: [value], documents: 1)
  }
}
