// Queries over all collections.

import Authority
import DocumentStore
import FirestoreWire
import OfflineSync
import Testing

@testable import FirestoreService

@Suite struct NameQueryTests {
  // MARK: Requests

  private func request(
    _ query: String, below parent: String = "", _ selector: Wire.RunQueryRequest.ConsistencySelector? = nil
  ) throws -> Wire.RunQueryRequest {
    var request = Wire.RunQueryRequest()
    request.parent = NameQueries.parent(parent)
    request.structuredQuery = try Wire.StructuredQuery(json: Array(query.utf8))
    request.consistencySelector = selector
    return request
  }

  private func run(
    _ service: TestService, _ query: String, below parent: String = "",
    by selector: Wire.RunQueryRequest.ConsistencySelector? = nil
  ) throws -> [String] {
    try service.answers(
      "RunQuery", request(query, below: parent, selector), as: Wire.RunQueryResponse.self
    ).compactMap { $0.document.map { NameQueries.path($0.name) } }
  }

  private func aggregation(
    _ query: String, _ aggregations: String, below parent: String = ""
  ) throws -> Wire.RunAggregationQueryRequest {
    let json = #"{"structuredQuery":\#(query),"aggregations":[\#(aggregations)]}"#
    var request = Wire.RunAggregationQueryRequest()
    request.parent = NameQueries.parent(parent)
    request.structuredAggregationQuery = try Wire.StructuredAggregationQuery(json: Array(json.utf8))
    return request
  }

  private func values(
    _ service: TestService, _ query: String, _ aggregations: String, below parent: String = ""
  ) throws -> [String: StoredValue] {
    let answer = try service.answer(
      "RunAggregationQuery", aggregation(query, aggregations, below: parent),
      as: Wire.RunAggregationQueryResponse.self)
    let entries = try #require(answer.result).aggregateFields.entries
    return Dictionary(entries.map { ($0.name, $0.value) }) { first, _ in first }
  }

  private static let all = #"{"from":[{"allDescendants":true}]}"#
  private static let count = #"{"alias":"c","count":{}}"#

  private func filled(_ paths: [String] = NameQueries.paths) throws -> TestService {
    let service = try TestService()
    try service.commit(paths.map { TestService.set($0, 1) })
    return service
  }

  // MARK: Results

  @Test func documentsComeInTheOrderOfTheirNames() throws {
    let service = try filled()
    #expect(try run(service, Self.all) == NameQueries.paths)
    #expect(try run(service, "{}") == NameQueries.paths.filter { $0.split(separator: "/").count == 2 })
    #expect(try run(service, Self.all, below: "a/1") == ["a/1/b/x", "a/1/b/x/q/w", "a/1/b/y"])
    #expect(try run(service, #"{"from":[{}]}"#, below: "a/1") == ["a/1/b/x", "a/1/b/y"])
    #expect(try run(service, Self.all, below: "b/z") == ["b/z/c/d/e/f"])
    #expect(try run(service, Self.all, below: "no/where") == [])
  }

  @Test(arguments: WireFormat.allCases)
  func aMaskSelectsFieldsAndNamesKeepTheirTimes(_ format: WireFormat) throws {
    var service = try filled()
    service.format = format
    for (fields, names) in [(#"{"fieldPath":"__name__"}"#, []), (#"{"fieldPath":"n"}"#, ["n"]), ("", ["n"])] {
      let select = fields.isEmpty ? "" : #","select":{"fields":[\#(fields)]}"#
      let answers = try service.answers(
        "RunQuery", request(#"{"from":[{"allDescendants":true}],"limit":2\#(select)}"#),
        as: Wire.RunQueryResponse.self)
      #expect(answers.count == 2 && answers.last?.done == true && answers.first?.done == nil)
      for document in answers.compactMap(\.document) {
        #expect(document.fields.entries.map(\.name) == names)
        #expect(document.createTime != nil && document.updateTime != nil)
      }
    }
  }

  /// Random documents, parents, ranges, offsets and limits, now and in the past, compared with a sorted list
  /// of all paths.
  @Test(arguments: 0..<UInt64(8)) func resultsAreThoseOfASortedList(seed: UInt64) throws {
    var random = NameQueries(seed: seed)
    let service = try TestService()
    var present: Set<[String]> = []
    var history: [(time: Wire.Timestamp, paths: [[String]])] = []
    for _ in 0..<4 {
      let changed = Dictionary((0..<80).map { _ in (random.path(), !random.oneIn(3)) }) { first, _ in first }
      let writes = changed.map { path, isSet in
        let text = path.joined(separator: "/")
        return isSet ? TestService.set(text, 1) : TestService.delete(text)
      }
      let time = try #require(try service.commit(writes).commitTime)
      present = present.filter { changed[$0] != false }.union(changed.filter(\.value).keys)
      history.append((time, present.sorted(by: NameQueries.precedes)))
      for round in 0..<60 {
        let query = random.query()
        let state = round % 2 == 0 ? history.count - 1 : random.below(history.count)
        let expected = query.results(history[state].paths)
        let comment: Comment = "\(query.json) below '\(query.parent)' at \(state), seed \(seed)"
        let selector: Wire.RunQueryRequest.ConsistencySelector? =
          round % 2 == 0 ? nil : .readTime(history[state].time)
        let found = try run(service, query.json, below: query.parent, by: selector)
        #expect(found == expected.map { $0.joined(separator: "/") }, comment)
        guard selector == nil else { continue }
        let values = try values(service, query.json, Self.count, below: query.parent)
        #expect(values == ["c": .integer(Int64(expected.count))], comment)
      }
    }
  }

  @Test func pagesByCursorsAreTheWholeResult() throws {
    let service = try filled()
    var found: [String] = []
    while true {
      let start = found.last.map {
        #","startAt":{"values":[{"referenceValue":"\#(TestService.name($0))"}]}"#
      }
      let page = try run(
        service,
        #"{"from":[{"allDescendants":true}],"orderBy":[{"field":{"fieldPath":"__name__"}}],"limit":4\#(start ?? "")}"#
      )
      found += page
      if page.count < 4 { break }
    }
    #expect(found == NameQueries.paths)
  }

  @Test func skippedResultsAreCounted() throws {
    let service = try filled()
    for (offset, expected) in [(3, Int32(3)), (40, Int32(NameQueries.paths.count)), (0, 0)] {
      let answers = try service.answers(
        "RunQuery", request(#"{"from":[{"allDescendants":true}],"offset":\#(offset)}"#),
        as: Wire.RunQueryResponse.self)
      #expect(answers.first?.skippedResults == expected)
    }
  }

  // MARK: Steps

  /// Each block of the queue reads one page, from one snapshot.
  @Test func aResultIsSentInBlocksOfTheQueue() throws {
    let service = try TestService()
    let paths = (0..<1200).map { "rooms/\(10_000 + $0)" }
    for start in stride(from: 0, to: paths.count, by: 400) {
      try service.commit(paths[start..<start + 400].map { TestService.set($0, 1) })
    }
    let (queue, events) = (ManualQueue(), ServiceEvents())
    let call = service.begin("RunQuery", on: queue.service, events)
    call.send(try service.format.encode(request(Self.all)))
    call.finish()
    while events.all.isEmpty, !queue.isEmpty { queue.runOne() }
    #expect((1...500).contains(events.all.count))
    try service.commit(paths.suffix(300).map { TestService.delete($0) })
    while !queue.isEmpty {
      let before = events.all.count
      queue.runOne()
      #expect(events.all.count - before <= 502)
    }
    let answers = try events.answers(in: service.format, as: Wire.RunQueryResponse.self)
    #expect(answers.compactMap { $0.document.map { NameQueries.path($0.name) } } == paths)
    #expect(Set(answers.map(\.readTime)).count == 1)
  }

  /// A query as a client sends it to delete everything below `a/1/b`, or below `a/1`.
  private func descendants(_ form: DeletionForm, after last: String?) -> (parent: String, query: String) {
    let first = TestService.name("a/1/b/__id-9223372036854775808__")
    let end = TestService.name(#"a/1/b\u0000/__id-9223372036854775808__"#)
    let order = #""orderBy":[{"field":{"fieldPath":"__name__"},"direction":"ASCENDING"}]"#
    func bound(_ op: String, _ name: String) -> String {
      #"{"fieldFilter":{"field":{"fieldPath":"__name__"},"op":"\#(op)","value":{"referenceValue":"\#(name)"}}}"#
    }
    func cursor(_ name: String, isBefore: Bool) -> String {
      #"{"values":[{"referenceValue":"\#(name)"}],"before":\#(isBefore)}"#
    }
    let start = last.map { #""startAt":\#(cursor(TestService.name($0), isBefore: false))"# }
    let parts: [String]
    switch form {
    case .cursors:
      parts = [
        order, start ?? #""startAt":\#(cursor(first, isBefore: true))"#,
        #""endAt":\#(cursor(end, isBefore: false))"#,
      ]
    case .filters:
      let filters = [bound("GREATER_THAN_OR_EQUAL", first), bound("LESS_THAN", end)].joined(separator: ",")
      parts =
        [#""where":{"compositeFilter":{"op":"AND","filters":[\#(filters)]}}"#, order]
        + (start.map { [$0] } ?? [])
    case .parent: parts = start.map { [order, $0] } ?? []
    }
    let select = #""select":{"fields":[{"fieldPath":"__name__"}]}"#
    let all = ([#""from":[{"allDescendants":true}]"#, select, #""limit":100"#] + parts).joined(separator: ",")
    return (form == .parent ? "a/1" : form == .filters ? "a/1" : "", "{\(all)}")
  }

  enum DeletionForm: CaseIterable {
    case cursors, filters, parent
  }

  /// Clients follow a page by the next one without waiting for its deletions, or read the first page again.
  @Test(arguments: DeletionForm.allCases, [false, true])
  func everythingBelowIsDeletedAsClientsDo(_ form: DeletionForm, continues: Bool) throws {
    let service = try TestService()
    var random = NameQueries(seed: 7)
    var below = Set((0..<700).map { _ in "a/1/b/x/" + random.path().joined(separator: "/") })
    below.formUnion(["a/1/b/__id-9223372036854775808__", "a/1/b/__id3__", "a/1/b/\u{10FFFF}/q/1"])
    let others = ["a/1", "a/0/b/x", "a/1!/b/x", "a/1/a/x", "a/1/b!/x", "b/1"].filter {
      form != .parent || !$0.hasPrefix("a/1/")
    }
    for path in below.sorted() + others { try service.commit([TestService.set(path, 1)]) }
    var (last, deletedCount): (String?, Int) = (nil, 0)
    while true {
      let (parent, query) = descendants(form, after: continues ? last : nil)
      let page = try run(service, query, below: parent)
      guard !page.isEmpty else { break }
      var batch = Wire.BatchWriteRequest()
      batch.database = TestService.database
      batch.writes = page.map { TestService.delete($0) }
      let answer = try service.answer("BatchWrite", batch, as: Wire.BatchWriteResponse.self)
      #expect(answer.status.allSatisfy { $0.code == 0 })
      last = page.last
      deletedCount += page.count
      try #require(deletedCount <= below.count)
    }
    #expect(deletedCount == below.count)
    #expect(try run(service, Self.all) == NameQueries.sorted(others))
  }

  // MARK: Aggregates

  @Test func aggregatesAreThoseOfTheResult() throws {
    let service = try TestService()
    try service.commit([
      TestService.set("a/1", 1), TestService.set("a/1/b/x", 4), TestService.set("a/2/b/x", 7),
      TestService.set("c/x", [("m", .integer(50))]),
    ])
    let sum = #"{"alias":"s","sum":{"field":{"fieldPath":"n"}}}"#
    let average = #"{"alias":"v","avg":{"field":{"fieldPath":"n"}}}"#
    #expect(try values(service, Self.all, Self.count) == ["c": .integer(4)])
    // A document without the field counts for no aggregate, as in other queries.
    #expect(
      try values(service, Self.all, "\(sum),\(average),\(Self.count)")
        == ["s": .integer(12), "v": .double(4), "c": .integer(3)])
    #expect(try values(service, Self.all, sum, below: "a/1") == ["s": .integer(4)])
    #expect(
      try values(service, Self.all, #"{"alias":"c","count":{"upTo":"2"}},{"alias":"d","count":{}}"#)
        == ["c": .integer(2), "d": .integer(4)])
    for (countMax, expected) in [("0", Int64(0)), ("3", 3), ("9", 4)] {
      #expect(
        try values(service, Self.all, #"{"alias":"c","count":{"upTo":"\#(countMax)"}}"#)
          == ["c": .integer(expected)])
    }
    #expect(
      try values(service, #"{"from":[{"allDescendants":true}],"offset":1,"limit":2}"#, sum)
        == ["s": .integer(11)])
  }

  // MARK: Refusals

  private static let kind = "kind is required for "
  private static func filter(_ op: String, _ field: String, _ value: String) -> String {
    #""where":{"fieldFilter":{"field":{"fieldPath":"\#(field)"},"op":"\#(op)","value":\#(value)}}"#
  }

  /// The sentences are those of Google's emulator.
  @Test(arguments: [
    (filter("EQUAL", "n", #"{"integerValue":"1"}"#), "", kind + "filter: n"),
    (filter("LESS_THAN", "`a b`.c", #"{"integerValue":"1"}"#), "", kind + "filter: a b.c"),
    (filter("ARRAY_CONTAINS", "n.x", #"{"integerValue":"1"}"#), "", kind + "filter: n.x[*]"),
    (filter("IN", "n", #"{"arrayValue":{"values":[{"integerValue":"1"}]}}"#), "", kind + "filter: n"),
    (#""where":{"unaryFilter":{"op":"IS_NULL","field":{"fieldPath":"n"}}}"#, "", kind + "filter: n"),
    (filter("EQUAL", "__name__", #"{"stringValue":"x"}"#), "", "__key__ filter value must be a Key"),
    (#""orderBy":[{"field":{"fieldPath":"n"}}]"#, "", kind + "all orders except __key__ ascending"),
    (
      #""orderBy":[{"field":{"fieldPath":"__name__"},"direction":"DESCENDING"}]"#, "a/1",
      kind + "all orders except __key__ ascending"
    ),
    (
      #""orderBy":[{"field":{"fieldPath":"n"}}],"# + filter("EQUAL", "n", #"{"integerValue":"1"}"#), "",
      kind + "all orders except __key__ ascending"
    ),
    (
      filter("EQUAL", "n", #"{"integerValue":"1"}"#), "a/1",
      "collection group queries are only allowed at the root parent"
    ),
    (
      #""orderBy":[{"field":{"fieldPath":"n"}}]"#, "a/1",
      "collection group queries are only allowed at the root parent"
    ),
    (#""limit":-1,"# + filter("EQUAL", "n", #"{"integerValue":"1"}"#), "", "limit is negative"),
    (#""offset":-1"#, "", "offset is negative"),
    (
      #""startAt":{"values":[{"referenceValue":"\#(TestService.name("a/1"))"}]}"#, "",
      "Cursor has too many values."
    ),
    (
      #""orderBy":[{"field":{"fieldPath":"__name__"}}],"startAt":{"values":[{"stringValue":"a"}]}"#, "",
      "Cursor __key__ value is not a document reference."
    ),
  ])
  func aQueryByOtherThanNamesIsRefused(parts: String, parent: String, message: String) throws {
    let service = try TestService()
    let query = #"{"from":[{"allDescendants":true}],\#(parts)}"#
    let error = RemoteError(.invalidArgument, message)
    #expect(try service.error("RunQuery", request(query, below: parent)) == error)
    #expect(
      try service.error("RunAggregationQuery", aggregation(query, Self.count, below: parent)) == error)
  }

  @Test func aQueryBelowADocumentRefusesFieldsOfItsCollections() throws {
    let service = try TestService()
    let query = #"{"from":[{}],\#(Self.filter("EQUAL", "n", #"{"integerValue":"1"}"#))}"#
    #expect(
      try service.error("RunQuery", request(query, below: "a/1"))
        == RemoteError(.invalidArgument, Self.kind + "filter: n"))
  }

  @Test(arguments: [
    ("", "Aggregations can not be empty."),
    (
      #"{"sum":{"field":{"fieldPath":"__name__"}}}"#,
      "Aggregations are not supported for the property: __key__"
    ),
  ])
  func aggregatesAreChecked(aggregations: String, message: String) throws {
    let service = try TestService()
    let error = try service.error("RunAggregationQuery", aggregation(Self.all, aggregations))
    #expect(error == RemoteError(.invalidArgument, message))
  }

  @Test func aggregatesOverNamesAloneAreCounts() throws {
    let service = try filled()
    let keys = #"{"from":[{"allDescendants":true}],"select":{"fields":[{"fieldPath":"__name__"}]}}"#
    #expect(try values(service, keys, Self.count) == ["c": .integer(Int64(NameQueries.paths.count))])
    #expect(
      try service.error(
        "RunAggregationQuery", aggregation(keys, #"{"sum":{"field":{"fieldPath":"n"}}}"#))
        == RemoteError(
          .invalidArgument,
          "Aggregation over non-key properties is not supported for base query that only returns keys."))
  }

  /// Rules for reads are about documents of known collections.
  @Test func theResultNeedsTheRightToReadEverything() throws {
    let service = try filled()
    var rules = service.authority.rules
    rules.mayRead = { _, _ in nil }
    service.authority.setRules(rules)
    let error = RemoteError(.permissionDenied, "Metadata operations require admin authentication.")
    #expect(try service.error("RunQuery", request(Self.all)) == error)
    #expect(try service.error("RunAggregationQuery", aggregation(Self.all, Self.count)) == error)
  }

  @Test func aTargetOfAllCollectionsIsRemovedAndTheStreamStays() throws {
    let service = try TestService(.json)
    let (queue, events) = (ManualQueue(), ServiceEvents())
    let call = service.begin("Listen", on: queue.service, events)
    for (id, selector) in [(2, #"{"allDescendants":true}"#), (4, #"{"collectionId":"rooms"}"#)] {
      let query = #"{"parent":"\#(TestService.documents)","structuredQuery":{"from":[\#(selector)]}}"#
      let target = #"{"targetId":\#(id),"query":\#(query)}"#
      call.send(Array(#"{"database":"\#(TestService.database)","addTarget":\#(target)}"#.utf8))
    }
    queue.run()
    var removed: [Int32: Int32] = [:]
    var current: [Int32] = []
    for event in events.all {
      let response = try event.message(in: .json, as: Wire.ListenResponse.self)
      guard case .targetChange(let change) = response.responseType, let id = change.targetIds.first else {
        continue
      }
      if change.targetChangeType == .remove { removed[id] = change.cause?.code }
      if change.targetChangeType == .current { current.append(id) }
    }
    #expect(removed == [2: Int32(RemoteError.Code.unimplemented.rawValue)])
    #expect(current == [4])
  }

  // MARK: Transactions

  @Test(arguments: [
    // In the range that was read: a change, a deletion, and another document.
    ("a/1/b/x", true, true), ("a/1/b/x", false, true), ("a/1/new/x", true, true),
    // Behind the last document that was read, and outside the parent.
    ("a/1/z/z", true, false), ("a/2", true, false),
  ])
  func aTransactionValidatesTheRangeThatItReads(path: String, isSet: Bool, isAborted: Bool) throws {
    let service = try filled(["a/1", "a/1/b/x", "a/1/o/y", "a/1/p/y", "a/2"])
    let transaction = try service.begin()
    let query = #"{"from":[{"allDescendants":true}],"limit":2}"#
    #expect(try run(service, query, below: "a/1", by: .transaction(transaction)) == ["a/1/b/x", "a/1/o/y"])
    try service.commit([isSet ? TestService.set(path, 2) : TestService.delete(path)])
    let commit = TestService.commitRequest([TestService.set("c/c", 1)], in: transaction)
    #expect(try service.error("Commit", commit)?.code == (isAborted ? .aborted : nil))
  }

  /// Documents of the store itself change with each commit of a client.
  @Test func anUndisturbedTransactionCommits() throws {
    let service = try filled()
    let answers = try service.answers(
      "RunQuery", request(Self.all, .newTransaction(Wire.TransactionOptions())),
      as: Wire.RunQueryResponse.self)
    let id = try #require(answers.first?.transaction)
    #expect(!id.isEmpty && answers.count == NameQueries.paths.count + 1)
    try service.commit([TestService.set("a/1", 5)], in: id)
  }

  @Test func aCountInATransactionIsValidated() throws {
    let service = try filled()
    let transaction = try service.begin()
    var request = try aggregation(Self.all, Self.count)
    request.consistencySelector = .transaction(transaction)
    _ = try service.answer("RunAggregationQuery", request, as: Wire.RunAggregationQueryResponse.self)
    try service.commit([TestService.set("a/new", 1)])
    let commit = TestService.commitRequest([TestService.set("c/c", 1)], in: transaction)
    #expect(try service.error("Commit", commit)?.code == .aborted)
  }
}
