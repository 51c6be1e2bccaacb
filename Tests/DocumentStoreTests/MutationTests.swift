// What a mutation makes of a document.

import Testing

@testable import DocumentStore

@Suite struct MutationTests {
  private let place = path("rooms", "eros")
  private let now = moment(1_700_000_000_000_000)
  private let past = moment(1_600_000_000_000_000)

  private func existing(_ fields: StoredMap) -> StoredDocument {
    StoredDocument(path: place, createTime: past, updateTime: past, fields: fields)
  }

  private func afterTransforms(_ fields: StoredMap, _ names: [[String]]) -> StoredMap? {
    let transforms = names.map { FieldTransform(field: $0, .serverTimestamp) }
    return Mutation.set(place, fields, transforms: transforms).apply(to: nil, at: now)?.fields
  }

  @Test func setMakesADocument() {
    let fields = StoredMap([("a", .integer(1))])
    let after = Mutation.set(place, fields).apply(to: nil, at: now)
    #expect(after == StoredDocument(path: place, createTime: now, updateTime: now, fields: fields))
  }

  @Test func setReplacesAllFieldsAndKeepsTheTimeOfCreation() {
    let fields = StoredMap([("b", .integer(2))])
    let before = existing(StoredMap([("a", .integer(1)), ("b", .integer(1))]))
    let after = Mutation.set(place, fields).apply(to: before, at: now)
    #expect(after == StoredDocument(path: place, createTime: past, updateTime: now, fields: fields))
  }

  @Test func setWithNoFieldsLeavesAnEmptyDocument() {
    let after = Mutation.set(place, StoredMap()).apply(to: existing(StoredMap([("a", .null)])), at: now)
    #expect(after?.fields.isEmpty == true)
    #expect(after?.createTime == past)
  }

  @Test func deleteLeavesNothingWhetherThereWasADocumentOrNot() {
    #expect(Mutation.delete(place).apply(to: existing(StoredMap()), at: now) == nil)
    #expect(Mutation.delete(place).apply(to: nil, at: now) == nil)
  }

  @Test func aServerTimestampIsTheTimeOfTheCommitAndComesAfterTheFields() {
    #expect(afterTransforms(StoredMap(), [["at"]]) == StoredMap([("at", .timestamp(now))]))
    #expect(
      afterTransforms(StoredMap([("at", .string("before")), ("z", .null)]), [["at"]])
        == StoredMap([("at", .timestamp(now)), ("z", .null)]))
  }

  @Test func aNestedTransformMakesTheMapsOnItsWay() {
    let expected = StoredMap([
      ("a", .map(StoredMap([("b", .map(StoredMap([("c", .timestamp(now))])))])))
    ])
    #expect(afterTransforms(StoredMap(), [["a", "b", "c"]]) == expected)
  }

  @Test func aNestedTransformLeavesItsNeighboursAlone() {
    let fields = StoredMap([("a", .map(StoredMap([("b", .integer(1)), ("d", .integer(2))]))), ("e", .null)])
    #expect(
      afterTransforms(fields, [["a", "b"], ["a", "c"]])
        == StoredMap([
          ("a", .map(StoredMap([("b", .timestamp(now)), ("c", .timestamp(now)), ("d", .integer(2))]))),
          ("e", .null),
        ]))
  }

  @Test(
    arguments: [
      .null, .integer(1), .string("a"), .array([.map(StoredMap())]), .vector([1]), .timestamp(.first),
    ] as [StoredValue])
  func whatIsInTheWayOfATransformAndNoMapIsReplacedByOne(obstacle: StoredValue) {
    #expect(
      afterTransforms(StoredMap([("a", obstacle)]), [["a", "b"]])
        == StoredMap([("a", .map(StoredMap([("b", .timestamp(now))])))]))
  }

  @Test func transformsApplyInTheirOrder() {
    let nested = StoredMap([("a", .map(StoredMap([("b", .timestamp(now))])))])
    #expect(afterTransforms(StoredMap(), [["a"], ["a", "b"]]) == nested)
    #expect(afterTransforms(StoredMap(), [["a", "b"], ["a"]]) == StoredMap([("a", .timestamp(now))]))
  }

  @Test func theNamesOfATransformAreLiteral() {
    let fields = StoredMap([("\u{E9}", .null), ("a", .map(StoredMap([("b", .null)])))])
    let after = afterTransforms(fields, [["e\u{301}"], ["a.b"], [""], ["", ""]])
    #expect(after?["\u{E9}"] == .null)
    #expect(after?["e\u{301}"] == .timestamp(now))
    #expect(after?["a.b"] == .timestamp(now))
    #expect(after?["a"] == fields["a"])
    #expect(after?[""] == .map(StoredMap([("", .timestamp(now))])))
  }

  @Test func aTransformWithoutANameIsAMistakeOfTheCaller() async {
    await #expect(processExitsWith: .failure) { _ = FieldTransform(field: [], .serverTimestamp) }
  }
}
