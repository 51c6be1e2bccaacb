// The matches of each operator.

import ByteStore
import Testing

@testable import DocumentStore

@Suite struct FieldFilterTests {
  /// One document for each value, with the value's text as its id, and one document without the field.
  private static let values: [(id: String, value: StoredValue)] = [
    ("null", .null), ("true", .boolean(true)), ("nan", .double(.nan)), ("-inf", .double(-.infinity)),
    ("-0.0", -0.0), ("0", 0), ("1", 1), ("1.0", 1.0), ("1.5", 1.5), ("2", 2),
    ("time", .timestamp(timestamp(1))),
    ("a", "a"), ("b", "b"), ("bytes", .bytes([1])), ("[]", []), ("[1]", [1]), ("[1.0]", [1.0]),
    ("[null]", [.null]), ("[nan]", [.double(.nan)]), ("<1>", .vector([1])), ("{}", .map(StoredMap())),
    ("{a:1}", .map(StoredMap([(name: "a", value: 1)]))),
  ]

  private static let documents = values.map { document($0.id, ("f", $0.value)) } + [document("missing")]

  private static let all = Set(values.map(\.id))

  private func found(_ operator: FieldFilter.Operator, _ operand: StoredValue) -> Set<String> {
    let filter = FieldFilter("f", `operator`, operand)
    return Set(Self.documents.filter(filter.matches).map(\.path.id))
  }

  @Test func equalComparesAsTheOrderDoes() {
    #expect(found(.equal, 1) == ["1", "1.0"])
    #expect(found(.equal, 1.0) == ["1", "1.0"])
    #expect(found(.equal, 0) == ["-0.0", "0"])
    #expect(found(.equal, [1]) == ["[1]", "[1.0]"])
    #expect(found(.equal, .map(StoredMap([(name: "a", value: 1.0)]))) == ["{a:1}"])
    #expect(found(.equal, "") == [])
  }

  @Test func nullAndNaNAreOrdinaryOperandsOfEqual() {
    #expect(found(.equal, .null) == ["null"])
    #expect(found(.equal, .double(.nan)) == ["nan"])
  }

  @Test func rangesStayWithinOneKindOfValue() {
    #expect(found(.lessThan, 1) == ["nan", "-inf", "-0.0", "0"])
    #expect(found(.lessThanOrEqual, 1) == ["nan", "-inf", "-0.0", "0", "1", "1.0"])
    #expect(found(.greaterThan, 1.0) == ["1.5", "2"])
    #expect(found(.greaterThanOrEqual, 1) == ["1", "1.0", "1.5", "2"])
    #expect(found(.greaterThan, "") == ["a", "b"])
    #expect(found(.greaterThanOrEqual, .boolean(false)) == ["true"])
    #expect(found(.greaterThan, .timestamp(timestamp(0))) == ["time"])
    #expect(found(.greaterThanOrEqual, .vector([])) == ["<1>"])
    #expect(found(.greaterThanOrEqual, .map(StoredMap())) == ["{}", "{a:1}"])
    #expect(found(.lessThan, [2]) == ["[]", "[1]", "[1.0]", "[null]", "[nan]"])
  }

  @Test func rangesFromNullFindNullOnlyWhereItIsIncluded() {
    #expect(found(.lessThanOrEqual, .null) == ["null"])
    #expect(found(.greaterThanOrEqual, .null) == ["null"])
    #expect(found(.lessThan, .null) == [])
    #expect(found(.greaterThan, .null) == [])
  }

  @Test func rangeFiltersTreatNaNAsTheSmallestNumber() {
    let numbers: Set = ["nan", "-inf", "-0.0", "0", "1", "1.0", "1.5", "2"]
    #expect(found(.greaterThanOrEqual, .double(.nan)) == numbers)
    #expect(found(.greaterThan, .double(.nan)) == numbers.subtracting(["nan"]))
    #expect(found(.lessThanOrEqual, .double(.nan)) == ["nan"])
    #expect(found(.lessThan, .double(.nan)) == [])
  }

  @Test func notEqualFindsOtherKindsButNeitherNullNorMissing() {
    #expect(found(.notEqual, 1) == Self.all.subtracting(["null", "1", "1.0"]))
    #expect(found(.notEqual, .null) == Self.all.subtracting(["null"]))
    #expect(found(.notEqual, .double(.nan)) == Self.all.subtracting(["null", "nan"]))
  }

  @Test func inFindsEqualValuesButNeverNullOrNaN() {
    #expect(found(.isIn, [1, "a"]) == ["1", "1.0", "a"])
    #expect(found(.isIn, [.null, .double(.nan), 2]) == ["2"])
    #expect(found(.isIn, [[1], [.null], [.double(.nan)]]) == ["[1]", "[1.0]", "[null]", "[nan]"])
  }

  @Test func notInFindsUnlistedValuesButNeverNull() {
    #expect(found(.notIn, [1, "a"]) == Self.all.subtracting(["null", "1", "1.0", "a"]))
    #expect(found(.notIn, [.double(.nan)]) == Self.all.subtracting(["null", "nan"]))
    #expect(found(.notIn, [1, .null]) == [])
  }

  @Test func arrayContainsLooksAtElementsOfArraysOnly() {
    #expect(found(.arrayContains, 1) == ["[1]", "[1.0]"])
    #expect(found(.arrayContains, .null) == ["[null]"])
    #expect(found(.arrayContains, .double(.nan)) == ["[nan]"])
    #expect(found(.arrayContainsAny, [1, 2]) == ["[1]", "[1.0]"])
    #expect(found(.arrayContainsAny, [.null, .double(.nan)]) == [])
  }

  ///  A filter gives encoded values the same verdict as decoded values, or no verdict. It gives none if the
  ///  value or one of its elements is a map or an array, because the document must then be decoded.
  @Test(arguments: FieldFilter.Operator.allCases)
  func encodedValuesGetTheSameVerdict(`operator`: FieldFilter.Operator) throws {
    let values = Self.values.map(\.value)
    let operands =
      `operator`.takesList ? values.map { .array([$0]) } + [.array(values), []] : values
    var decided = 0
    var wrong: [String] = []
    for operand in operands {
      let filter = FieldFilter("f", `operator`, operand)
      var query = StructuredQuery.ofC
      query.filters = [.field(filter)]
      let matcher = EntryMatcher(query)
      for document in Self.documents {
        let (key, record) = (DocumentKey.encode(document.path), document.record)
        let verdict = try matcher.verdict(QueryRun.Entry(key.rawSpan, record.rawSpan), .empty)
        let matches = filter.matches(document)
        let isSame = verdict == (matches ? .yes : .no)
        if !isSame && verdict != .undecided { wrong.append("\(operand), \(document.path.id): \(verdict)") }
        decided += isSame ? 1 : 0
      }
    }
    #expect(wrong == [])
    #expect(decided > operands.count * Self.documents.count * 9 / 10)
  }

  @Test func fieldsOfMapsAreFoundByPath() {
    let inner = StoredMap([(name: "b", value: .map(StoredMap([(name: "c.d", value: 1)])))])
    let nested = document("x", ("a", .map(inner)), ("a.b", 2), ("é", 3))
    #expect(nested.value(of: field("a", "b", "c.d")) == 1)
    #expect(nested.value(of: "a.b") == 2)
    #expect(nested.value(of: field("a", "b", "c.d", "e")) == nil)
    #expect(nested.value(of: field("a", "c")) == nil)
    #expect(nested.value(of: field("a.b", "c")) == nil)
    #expect(nested.value(of: "e\u{301}") == nil)
    #expect(nested.value(of: .documentID) == .documentName(path("c", "x")))
  }
}
