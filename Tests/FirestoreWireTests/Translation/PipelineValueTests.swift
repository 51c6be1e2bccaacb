// Values that only pipelines have: skipped where nothing depends on them, refused by name elsewhere.

import DocumentStore
import OfflineSync
import Testing

@testable import FirestoreWire

@Suite struct PipelineValueTests {
  private typealias P = PlainProtobuf

  private let database = DatabaseName(projectID: "p", databaseID: "(default)")
  private static let name = "projects/p/databases/(default)/documents/c/d"
  private static let reference = #"{"fieldReferenceValue":"x"}"#

  private static func sentence(_ type: String, _ field: String) -> String {
    "Value type is not supported: \(type), in the field \"\(field)\""
  }

  // MARK: Refused

  /// A member of a write of fields, and the field that the refusal names.
  @Test(arguments: [
    (#""fields":{"a":\#(reference)}"#, #""updateMask":null"#, "a"),
    (#""fields":{"m":{"mapValue":{"fields":{"b c":\#(reference)}}}}"#, #""updateMask":null"#, "m.`b c`"),
    (#""fields":{"l":{"arrayValue":{"values":[\#(reference)]}}}"#, #""updateMask":null"#, "l"),
    (
      #""fields":{"m":{"mapValue":{"fields":{"b":\#(reference)}}}}"#, #""updateMask":{"fieldPaths":["m"]}"#,
      "m.b"
    ),
    (#""fields":{}"#, #""updateTransforms":[{"fieldPath":"t","increment":\#(reference)}]"#, "t"),
    (
      #""fields":{}"#,
      #""updateTransforms":[{"fieldPath":"t","appendMissingElements":{"values":[\#(reference)]}}]"#, "t"
    ),
  ])
  func aValueThatWouldBeStoredIsRefusedWithItsField(_ fields: String, _ rest: String, _ field: String) throws
  {
    let json = #"{"update":{"name":"\#(Self.name)",\#(fields)},\#(rest)}"#
    let write = try Wire.Write(json: Array(json.utf8))
    let expected = RemoteError(.invalidArgument, Self.sentence("FIELD_REFERENCE_VALUE", field))
    #expect(throws: expected) { try database.mutation(write) }
    #expect(throws: WireError.self) { try write.protobuf() }
    #expect(throws: WireError.self) { try write.json() }
  }

  /// The number of a value in protobuf, and its name in the refusal.
  @Test(arguments: [
    (19, "FIELD_REFERENCE_VALUE"), (20, "FUNCTION_VALUE"), (21, "PIPELINE_VALUE"),
    (22, "VARIABLE_REFERENCE_VALUE"),
  ])
  func eachKindIsRefusedInProtobuf(_ number: UInt64, _ type: String) throws {
    let fields = P.entry("a", P.field(number, Array("x".utf8)))
    let write = try Wire.Write(protobuf: P.field(1, P.field(1, Array(Self.name.utf8)) + fields))
    #expect(throws: RemoteError(.invalidArgument, Self.sentence(type, "a"))) { try database.mutation(write) }
  }

  @Test func aValueThatWouldBeComparedIsRefusedWithItsField() throws {
    let from = #""from":[{"collectionId":"c"}]"#
    let filter = #""where":{"fieldFilter":{"field":{"fieldPath":"n"},"op":"IN","value":\#(Self.list)}}"#
    let cursor = #""orderBy":[{"field":{"fieldPath":"n"}}],"startAt":{"values":[\#(Self.reference)]}"#
    for part in [filter, cursor] {
      let query = try Wire.StructuredQuery(json: Array("{\(from),\(part)}".utf8))
      #expect(throws: RemoteError(.invalidArgument, Self.sentence("FIELD_REFERENCE_VALUE", "n"))) {
        try database.query(query, parent: database.documentsName)
      }
    }
  }

  private static let list = #"{"arrayValue":{"values":[\#(reference)]}}"#

  @Test func aMessageThatTakesNoNoteIsRefusedAsAWhole() {
    let result = #"{"transformResults":[\#(Self.reference)]}"#
    #expect(throws: WireError("Value type is not supported: FIELD_REFERENCE_VALUE")) {
      try Wire.WriteResult(json: Array(result.utf8))
    }
  }

  @Test func manyValuesAreRefusedAtOnce() {
    let fields = (0..<200).flatMap { P.entry("f\($0)", P.field(19, Array("x".utf8))) }
    #expect(throws: WireError("Value type is not supported: FIELD_REFERENCE_VALUE")) {
      try Wire.Document(protobuf: fields)
    }
  }

  @Test func manyValuesInPartsOfTheFieldsAreRefusedAtOnce() {
    let name = P.field(1, Array(Self.name.utf8))
    let fields = (0..<200).flatMap { P.entry("f\($0)", P.field(19, Array("x".utf8))) + name }
    #expect(throws: WireError("Value type is not supported: FIELD_REFERENCE_VALUE")) {
      try Wire.Document(protobuf: fields)
    }
  }

  // MARK: Skipped

  @Test func aFieldOutsideTheMaskIsNotPartOfTheWrite() throws {
    let map = #"{"mapValue":{"fields":{"b":{"integerValue":"1"},"c":\#(Self.reference)}}}"#
    let json = """
      {"update":{"name":"\(Self.name)","fields":{"a":\(Self.reference),"m":\(map)}},
      "updateMask":{"fieldPaths":["m.b"]}}
      """
    let mutation = try database.mutation(Wire.Write(json: Array(json.utf8)))
    let expected = Wire.Document(
      name: Self.name, fields: StoredMap([("m", .map(StoredMap([("b", .integer(1))])))]))
    #expect(try database.wire(mutation).operation?.update == expected)
  }

  @Test func aLaterContentOfTheSameValueReplacesIt() throws {
    let (text, one) = (P.field(19, Array("x".utf8)), P.value(.integer(1)))
    let document = try Wire.Document(protobuf: P.entry("a", text + one))
    #expect(document.fields == StoredMap([("a", .integer(1))]))
    #expect(document.pipelineValues.isEmpty)
    #expect(!(try Wire.Document(protobuf: P.entry("a", one + text)).pipelineValues.isEmpty))
  }

  @Test func aDocumentWithOneCannotBeReceived() throws {
    let json = #"{"name":"\#(Self.name)","fields":{"a":\#(Self.reference)}}"#
    let document = try Wire.Document(json: Array(json.utf8))
    #expect(throws: RemoteError.self) { try database.document(document) }
  }
}
