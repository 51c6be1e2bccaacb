import DocumentStore
import Testing

@testable import FirestoreWire

@Suite struct JSONMessageDecoderTests {
  @Test func bothNamesOfAFieldAreRead() throws {
    for name in ["updateMask", "update_mask"] {
      for paths in ["fieldPaths", "field_paths"] {
        let write: Wire.Write = try read(#"{"\#(name)": {"\#(paths)": ["a", "b"]}}"#)
        #expect(write.updateMask?.fieldPaths == ["a", "b"])
      }
    }
    #expect(try read(#"{"update_Mask": {}, "UpdateMask": {}, "updatemask": {}}"#) == Wire.Write())
  }

  @Test func nullMeansAbsent() throws {
    let names = [
      "database", "documents", "mask", "transaction", "newTransaction", "readTime", "requestOptions",
    ]
    let text = "{" + names.map { "\"\($0)\": null" }.joined(separator: ",") + "}"
    #expect(try read(text) == Wire.BatchGetDocumentsRequest())
    #expect(try read(#"{"limit": null, "where": null, "offset": null}"#) == Wire.StructuredQuery())
    #expect(throws: WireError.self) { try read(#"{"documents": [null]}"#) as Wire.BatchGetDocumentsRequest }
  }

  @Test func unknownFieldsAreSkipped() throws {
    let text =
      #"{"pipeline": {"stages": [{"name": "x"}]}, "code": 3, "details": [{"@type": "t"}], "message": "m"}"#
    let status: Wire.Status = try read(text)
    #expect(status.code == 3)
    #expect(status.message == "m")
  }

  @Test(arguments: [
    #"{"code": 1, "code": 2}"#, #"{"message": "a", "code": 1, "message": "a"}"#,
    #"{"code": null, "code": 2}"#,
  ])
  func aFieldThatOccursTwiceIsRefused(text: String) {
    #expect(throws: WireError.self) { try read(text) as Wire.Status }
  }

  @Test func fieldsWithLargeNumbersOccurOnce() throws {
    let response: Wire.IdentifiedWriteResponse = try read(#"{"dugoutOvertaken": true, "streamId": "a"}"#)
    #expect(response.isOvertaken)
    #expect(throws: WireError("The field dugout_overtaken occurs twice in an object.")) {
      try read(#"{"dugoutOvertaken": true, "dugout_overtaken": true}"#) as Wire.IdentifiedWriteResponse
    }
  }

  /// A client of another server reads an answer with more fields than it knows.
  @Test func fieldsOfDugoutAreUnknownToOthers() throws {
    var response = Wire.IdentifiedWriteResponse()
    response.streamId = "a"
    response.isOvertaken = true
    var known = Wire.WriteResponse()
    known.streamId = "a"
    #expect(try Wire.WriteResponse(protobuf: response.protobuf()) == known)
    #expect(try Wire.WriteResponse(json: response.json()) == known)
  }

  @Test func twoNamesOfAFieldAreTheSameField() {
    #expect(throws: WireError("The field update_mask occurs twice in an object.")) {
      try read(#"{"updateMask": {}, "update_mask": {}}"#) as Wire.Write
    }
  }

  @Test func aFieldMayOccurInManyObjects() throws {
    let request: Wire.CommitRequest = try read(
      #"{"writes": [{"delete": "a"}, {"delete": "b"}], "database": "d"}"#)
    #expect(request.writes.map(\.operation) == [.delete("a"), .delete("b")])
  }

  @Test(arguments: [#"{"delete": "a", "verify": "b"}"#, #"{"verify": "b", "update": {}}"#])
  func twoMembersOfAOneofAreRefused(text: String) {
    #expect(throws: WireError.self) { try read(text) as Wire.Write }
  }

  @Test func casesAreNamesOrNumbers() throws {
    for text in [#""DESCENDING""#, "2", "2.0"] {
      let order: Wire.StructuredQuery.Order = try read(#"{"direction": \#(text)}"#)
      #expect(order.direction == .descending)
    }
    let unknown: Wire.StructuredQuery.Order = try read(#"{"direction": 77}"#)
    #expect(unknown.direction == .unrecognized)
    #expect(try read(#"{"op": 77}"#) == Wire.StructuredQuery.FieldFilter())
    for text in [#""descending""#, #""""#, #""2""#, "true", "2147483648"] {
      #expect(throws: WireError.self) { try read(#"{"direction": \#(text)}"#) as Wire.StructuredQuery.Order }
    }
  }

  @Test func wrappersAreNumbers() throws {
    let query: Wire.StructuredQuery = try read(#"{"limit": 0, "offset": "3"}"#)
    #expect(query.limit == 0)
    #expect(query.offset == 3)
    let count: Wire.StructuredAggregationQuery.Aggregation.Count = try read(#"{"upTo": "9007199254740993"}"#)
    #expect(count.upTo == 9_007_199_254_740_993)
    #expect(String(decoding: try count.json(), as: UTF8.self) == #"{"upTo":"9007199254740993"}"#)
    let nearest: Wire.StructuredQuery.FindNearest = try read(
      #"{"distanceThreshold": "-Infinity", "limit": 5}"#)
    #expect(nearest.distanceThreshold == -.infinity)
    #expect(
      String(decoding: try nearest.json(), as: UTF8.self) == #"{"limit":5,"distanceThreshold":"-Infinity"}"#)
  }

  @Test func wrongTypesAreRefused() {
    for text in [
      #"{"database": 1}"#, #"{"database": {}}"#, #"{"writes": {}}"#, #"{"writes": [1]}"#,
      #"{"transaction": "*"}"#,
      #"{"transaction": 1}"#, #"{"requestOptions": []}"#, #"{"requestOptions": "x"}"#,
    ] {
      #expect(throws: WireError.self) { try read(text) as Wire.CommitRequest }
    }
    #expect(throws: WireError("The field read_time is not a timestamp of RFC 3339.")) {
      try read(#"{"readTime": "yesterday"}"#) as Wire.GetDocumentRequest
    }
  }

  @Test func theLastEntryOfANameWins() throws {
    let document: Wire.Document = try read(
      #"{"fields": {"a": {"integerValue": "1"}, "b": {"nullValue": null}, "a": {"integerValue": "2"}}}"#)
    #expect(document.fields == StoredMap([("a", .integer(2)), ("b", .null)]))
    let request: Wire.ListenRequest = try read(#"{"labels": {"a": "1", "a": "2"}}"#)
    #expect(request.labels == ["a": "2"])
  }

  @Test func textsAreWrittenWithTheNecessaryEscapes() throws {
    var status = Wire.Status()
    status.message = "\"\\/\u{8}\u{C}\n\r\t\0\u{1F}\u{7F}\u{E9}\u{2028}\u{1F600}"
    let json = String(decoding: try status.json(), as: UTF8.self)
    #expect(json == #"{"message":"\"\\/\b\f\n\r\t\u0000\u001f"# + "\u{7F}\u{E9}\u{2028}\u{1F600}\"}")
  }

  @Test func aTimeOutsideTheCalendarIsNotWritten() {
    var request = Wire.GetDocumentRequest()
    request.consistencySelector = .readTime(Wire.Timestamp(seconds: .max, nanos: 0))
    #expect(throws: WireError("The field read_time is not a time of the years 1 to 9999.")) {
      try request.json()
    }
  }

  private func read<Message: WireMessage>(_ text: String) throws -> Message {
    try Message(json: Array(text.utf8))
  }
}
