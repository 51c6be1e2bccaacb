// The differences from Firestore's emulator that are meant excuse only what they name.

import FirestoreWire
import Testing

@testable import Harness

@Suite struct KnownDifferenceTests {
  private static let documents = "projects/p/databases/(default)/documents"

  private func reply(_ status: Int, _ body: String) -> RESTReply {
    RESTReply(status: status, body: JSONTree(Array(body.utf8)))
  }

  private func error(_ status: Int, _ message: String) -> RESTReply {
    RESTReply(
      status: status, body: .object(["error": .object(["message": .string(message)])]))
  }

  private func step(_ method: String, _ place: String, _ body: String = "") -> RESTStep {
    RESTStep(method, Self.documents + place, body)
  }

  /// The difference that is left of a difference after the parts that are meant.
  private func rest(_ step: RESTStep, _ ours: RESTReply, _ theirs: RESTReply) -> String? {
    let parts = KnownParts(step, ours, theirs)
    var comparison = RESTComparison()
    return comparison.difference(parts.ours, parts.theirs)
  }

  // MARK: Texts

  @Test(arguments: [
    ("No document to update: \(documents)/k/a", true), ("No document to update: \(documents)/k/b", false),
    ("No document to update: k/a", false), ("Something else.", false),
  ])
  func theErrorOfAPreconditionNamesTheSameDocument(ours: String, isMeant: Bool) {
    let theirs =
      "no entity to update: app: \"dev~p\"\npath <\n  Element {\n    type: \"k\"\n    name: \"a\"\n  }\n>\n"
    let write = step("POST", ":commit", #"{"writes":[{"delete":"\#(Self.documents)/k/a"}]}"#)
    #expect((rest(write, error(404, ours), error(404, theirs)) == nil) == isMeant)
  }

  @Test func eachStatusOfABatchIsComparedOnItsOwn() {
    let theirs =
      #"{"status":[{"message":"entity already exists: EntityRef{partitionRef=dev~p, path=/k/a}"},{}]}"#
    let batch = step("POST", ":batchWrite", "{}")
    let text = "Document already exists: \(Self.documents)/k/a"
    let right = reply(200, #"{"status":[{"message":"\#(text)"},{}]}"#)
    let wrong = reply(200, #"{"status":[{"message":"\#(text)"},{"code":5}]}"#)
    #expect(rest(batch, right, reply(200, theirs)) == nil)
    #expect(rest(batch, wrong, reply(200, theirs)) != nil)
  }

  @Test func onlyAnErrorOfTheDecoderStandsForAnUndecodableMessage() {
    let theirs = error(400, "Payload isn't valid for request.")
    let commit = step("POST", ":commit", "[]")
    #expect(rest(commit, error(400, "The body is not a JSON object."), theirs) == nil)
    #expect(rest(commit, error(400, "limit is negative"), theirs) != nil)
    #expect(rest(commit, error(404, "The body is not a JSON object."), theirs) != nil)
  }

  // MARK: Parts

  @Test func onlyTheTimeOfAnEmptyCommitIsRemoved() {
    let empty = step("POST", ":commit", #"{"writes":[]}"#)
    #expect(rest(empty, reply(200, #"{"commitTime":"1"}"#), reply(200, "{}")) == nil)
    #expect(rest(empty, reply(200, #"{"commitTime":"1","writeResults":[{}]}"#), reply(200, "{}")) != nil)
    let full = step("POST", ":commit", #"{"writes":[{"delete":"a"}]}"#)
    #expect(rest(full, reply(200, #"{"commitTime":"1"}"#), reply(200, "{}")) != nil)
  }

  @Test func aListWithMissingDocumentsIsComparedWithItsMaskAndItsSize() {
    var list = step("GET", "/k")
    list.parameters = [("showMissing", "true"), ("mask.fieldPaths", "n"), ("pageSize", "2")]
    let theirs = reply(
      200,
      #"{"documents":[{"name":"a","createTime":"1","fields":{"n":{"integerValue":"1"},"s":{}}},{"name":"b","updateTime":"2"},{"name":"c","createTime":"1"}]}"#
    )
    let right =
      #"{"documents":[{"name":"a","createTime":"1","fields":{"n":{"integerValue":"1"}}},{"name":"b"}],"nextPageToken":"t"}"#
    #expect(rest(list, reply(200, right), theirs) == nil)
    for wrong in [
      right.replacing(#""integerValue":"1""#, with: #""integerValue":"2""#),
      right.replacing(#""b""#, with: #""c""#),
      right.replacing(#","nextPageToken":"t""#, with: ""), #"{"documents":[]}"#,
    ] {
      #expect(rest(list, reply(200, wrong), theirs) != nil, "\(wrong)")
    }
  }

  @Test func aTokenOfAnEmptyPageExcusesNothingElse() {
    let list = step("GET", "/k")
    let theirs = reply(200, #"{"documents":[{"name":"a"}],"nextPageToken":"t"}"#)
    #expect(rest(list, reply(200, #"{"documents":[{"name":"a"}]}"#), theirs) == nil)
    #expect(rest(list, reply(200, #"{"documents":[{"name":"b"}]}"#), theirs) != nil)
  }

  @Test func aVerifiedAbsenceExcusesOnlyItsOwnTime() {
    let commit = step(
      "POST", ":commit",
      #"{"writes":[{"verify":"a","currentDocument":{"exists":false}},{"update":{"name":"b"}}]}"#)
    let theirs = reply(200, #"{"writeResults":[{"updateTime":"1"},{"updateTime":"2"}]}"#)
    #expect(rest(commit, reply(200, #"{"writeResults":[{},{"updateTime":"2"}]}"#), theirs) == nil)
    #expect(rest(commit, reply(200, #"{"writeResults":[{},{}]}"#), theirs) != nil)
    #expect(rest(commit, reply(200, #"{"writeResults":[{}]}"#), theirs) != nil)
  }

  @Test func onlyAggregatesAreExcusedByTheirLimit() {
    let step = step("POST", ":runAggregationQuery", #"{"limit":1,"sum":{}}"#)
    let theirs = reply(200, #"[{"result":{"aggregateFields":{"a":1}},"readTime":"1","done":true}]"#)
    let right = #"[{"result":{"aggregateFields":{"a":2}},"readTime":"1"}]"#
    #expect(rest(step, reply(200, right), theirs) == nil)
    #expect(rest(step, reply(200, right.replacing(#","readTime":"1""#, with: "")), theirs) != nil)
  }

  // MARK: Requests that one side refuses

  @Test func aRequestThatTheEmulatorRefusesMustBeAnswered() {
    let query = step("POST", ":runQuery")
    for text in [
      "'NOT_IN' cannot be used in the same query with 'IN'.", "The aggregation property n is not present.",
      "This query requires an index that has fields [n].",
    ] {
      let kind = KnownDifference.of(query, reply(200, "[]"), error(400, text))
      #expect(kind?.needsEvaluator == true, "\(text)")
      #expect(KnownDifference.of(query, error(400, "Something else."), error(400, text)) == nil)
      #expect(KnownDifference.of(query, reply(500, "[]"), error(400, text)) == nil)
    }
  }

  @Test func aRefusalOfOursMustBeAboutTheRequest() {
    let long = "The key path element name is longer than 1500 bytes."
    let text = "Composite filter must have at least one sub-filter."
    #expect(KnownDifference.of(step("GET", "/k/a"), error(400, long), reply(200, "{}")) == nil)
    #expect(KnownDifference.of(step("POST", ":runQuery", "{}"), error(400, text), reply(200, "[]")) == nil)
    let filter = step("POST", ":runQuery", #"{"filters":[]}"#)
    #expect(KnownDifference.of(filter, error(400, text), reply(200, "[]")) == .emptyFilter)
    let twice = error(400, "A maximum of 1 'ARRAY_CONTAINS' filter is allowed per disjunction.")
    func arrays(_ fields: String...) -> RESTStep {
      let filters = fields.map {
        #"{"fieldFilter":{"field":{"fieldPath":"\#($0)"},"op":"ARRAY_CONTAINS","value":{"nullValue":null}}}"#
      }
      return step("POST", ":runQuery", #"{"filters":[\#(filters.joined(separator: ","))]}"#)
    }
    #expect(KnownDifference.of(arrays("a", "a"), twice, reply(200, "[]")) == .repeatedArrayFilter)
    #expect(KnownDifference.of(arrays("a", "b"), twice, reply(200, "[]")) == nil)
    let commit = step("POST", ":commit", #"{"writes":[{"update":{"fields":{"__a__":{}}}}]}"#)
    let reserved = error(400, "field name __a__ is reserved.")
    #expect(KnownDifference.of(commit, reserved, reply(200, "{}")) == .unstoredField)
    #expect(KnownDifference.of(commit, error(400, "field name __b__ is reserved."), reply(200, "{}")) == nil)
  }

  // MARK: Times

  @Test func timesCorrespondInBothDirections() {
    var comparison = RESTComparison()
    func times(_ first: String, _ second: String) -> RESTReply {
      reply(200, #"{"createTime":"\#(first)","updateTime":"\#(second)"}"#)
    }
    #expect(comparison.difference(times("1", "2"), times("a", "b")) == nil)
    #expect(comparison.difference(times("1", "1"), times("a", "b")) != nil)
    #expect(comparison.difference(times("3", "4"), times("c", "c")) != nil)
  }

  /// The emulator takes the times of values in whole milliseconds.
  @Test func severalTimesOfValuesMayBeOne() {
    var comparison = RESTComparison()
    func values(_ first: String, _ second: String) -> RESTReply {
      reply(200, #"[{"timestampValue":"\#(first)"},{"timestampValue":"\#(second)"}]"#)
    }
    #expect(comparison.difference(values("1", "2"), values("a", "a")) == nil)
    #expect(comparison.difference(values("3", "3"), values("b", "c")) != nil)
    #expect(comparison.difference(values("4", "1"), values("4", "a")) == nil)
    #expect(comparison.difference(values("5", "1"), values("d", "b")) != nil)
  }
}
