// Writes survive the wire, and writes that break a rule are refused with Firestore's sentence.

import DocumentStore
import Harness
import OfflineSync
import Testing

@testable import FirestoreWire

struct WriteTranslationTests {
  private let database = DatabaseName(projectID: "p", databaseID: "(default)")
  private static let name = "projects/p/databases/(default)/documents/c/d"

  // MARK: Round trips

  @Test func mutationsSurviveTheWire() throws {
    let path = try DocumentPath(["c", "d"])
    let (a, b) = (StoredFieldPath(unchecked: ["a"]), StoredFieldPath(unchecked: ["m", "b c"]))
    let time = try #require(StoredTimestamp(microseconds: 1_000_001))
    let fields = StoredMap([("a", .integer(1)), ("m", .map(StoredMap([("b c", .string("x"))])))])
    let transforms = [
      FieldTransform(StoredFieldPath(unchecked: ["t"]), .serverTimestamp),
      FieldTransform(StoredFieldPath(unchecked: ["i"]), .increment(.integer(2))),
      FieldTransform(StoredFieldPath(unchecked: ["x"]), .maximum(.double(2.5))),
      FieldTransform(StoredFieldPath(unchecked: ["n"]), .minimum(.integer(-1))),
      FieldTransform(StoredFieldPath(unchecked: ["u"]), .arrayUnion([.string("x"), .null])),
      FieldTransform(StoredFieldPath(unchecked: ["r"]), .arrayRemove([])),
    ]
    let mutations: [Mutation] = [
      .set(path, fields), .set(path, fields, transforms: transforms, precondition: .exists(false)),
      .patch(path, fields, mask: FieldMask([a, b]), transforms: transforms, precondition: .exists(true)),
      .patch(path, StoredMap(), mask: FieldMask([a]), precondition: .updateTime(time)),
      .patch(path, StoredMap(), mask: FieldMask([]), transforms: transforms), .delete(path),
      .delete(path, precondition: .updateTime(time)), .verify(path, .exists(true)),
    ]
    for mutation in mutations {
      let wire = try database.wire(mutation)
      #expect(try database.mutation(Wire.Write(protobuf: try wire.protobuf())) == mutation)
      #expect(try database.mutation(Wire.Write(json: try wire.json())) == mutation)
    }
  }

  @Test func fieldsOutsideTheMaskAreNotSent() throws {
    let path = try DocumentPath(["c", "d"])
    let fields = StoredMap([("a", .integer(1)), ("b", .integer(2))])
    let wire = try database.wire(.patch(path, fields, mask: FieldMask([StoredFieldPath(unchecked: ["b"])])))
    #expect(wire.operation?.update?.fields == StoredMap([("b", .integer(2))]))
  }

  @Test func aTransformInTheOldFormIsAPatch() throws {
    let json = #"{"transform":{"document":"\#(Self.name)","fieldTransforms":[\#(Self.increment("a"))]}}"#
    let transform = FieldTransform(StoredFieldPath(unchecked: ["a"]), .increment(.integer(1)))
    let expected = Mutation.patch(
      try DocumentPath(["c", "d"]), StoredMap(), mask: FieldMask([]), transforms: [transform])
    #expect(try database.mutation(Wire.Write(json: Array(json.utf8))) == expected)
  }

  @Test func anUpdateTimeThatIsNoTimeIsRefused() {
    for (seconds, nanos) in [(5, -1000), (5, 1_000_000_000), (253_402_300_800, 0)] as [(Int64, Int32)] {
      var precondition = Wire.Precondition()
      precondition.conditionType = .updateTime(Wire.Timestamp(seconds: seconds, nanos: nanos))
      #expect(
        throws: RemoteError(.invalidArgument, "The update time is not a time of the years 1 to 9999.")
      ) { try Precondition(precondition) }
    }
  }

  @Test func aPathHasAtMostTwentyNames() throws {
    func mask(_ count: Int) throws -> FieldMask {
      var mask = Wire.DocumentMask()
      mask.fieldPaths = [Array(repeating: "a", count: count).joined(separator: ".")]
      return try FieldMask(mask)
    }
    #expect(try mask(20).paths.first?.names.count == 20)
    for count in [21, 750] {
      #expect(throws: RemoteError(.invalidArgument, "paths must have at most 20 elements")) {
        try mask(count)
      }
    }
  }

  @Test func theNameInAMaskIsIgnored() throws {
    let json = #"{"update":{"name":"\#(Self.name)"},"updateMask":{"fieldPaths":["__name__","`a b`.c"]}}"#
    let mutation = try database.mutation(Wire.Write(json: Array(json.utf8)))
    let mask = FieldMask([StoredFieldPath(unchecked: ["a b", "c"])])
    #expect(mutation == .patch(try DocumentPath(["c", "d"]), StoredMap(), mask: mask))
  }

  // MARK: Rules

  /// A write as JSON, and the sentence that refuses it.
  @Test(arguments: [
    (#"{}"#, "empty write operation"),
    (#"{"delete":""}"#, #"Document name "" lacks "projects" at index 0."#),
    (
      #"{"delete":"projects/q/databases/(default)/documents/c/d"}"#,
      "The request was for database 'projects/p/databases/(default)' but was attempting to access database 'projects/q/databases/(default)'"
    ),
    (#"{"delete":"\#(name)","updateMask":{}}"#, "a delete must not specify a document mask."),
    (
      #"{"delete":"\#(name)","updateTransforms":[\#(increment("a"))]}"#,
      "a delete must not specify a update transform."
    ),
    (#"{"verify":"\#(name)"}"#, "a verify must contain a precondition"),
    (#"{"verify":"\#(name)","updateMask":{}}"#, "a verify must not specify a document mask."),
    (#"{"transform":{"document":"\#(name)"}}"#, "The list of FieldTransform must not be empty."),
    (transform(#"{"fieldPath":"x"}"#), "Operation type must be specified for field transformation."),
    (
      transform(#"{"fieldPath":"x","setToServerValue":"SERVER_VALUE_UNSPECIFIED"}"#),
      "ServerValue type must be specified for set_to_server_value transformation."
    ),
    (transform(#"{"fieldPath":"x","maximum":{"stringValue":"x"}}"#), "Input must be int64 or double."),
    (transform(increment("")), "Invalid empty property path string."),
    (transform(increment("__name__")), "Invalid reserved name in field path __name__"),
    (
      transform(increment("x") + "," + increment("x.y")),
      "Cannot transform property x and its nested property at the same time."
    ),
    (
      #"{"update":{"name":"\#(name)"},"updateMask":{"fieldPaths":["a.__x__"]}}"#,
      "Invalid reserved name in field path __x__"
    ),
    (
      #"{"update":{"name":"\#(name)"},"updateMask":{"fieldPaths":["\#(String(repeating: "a", count: 1501))"]}}"#,
      "property path is longer than 1500 bytes."
    ),
    (
      #"{"delete":"\#(name)","currentDocument":{"updateTime":"2020-01-01T00:00:00.123456789Z"}}"#,
      "timestamp cannot have more than microseconds precision"
    ),
    (
      #"{"delete":"\#(name)","currentDocument":{"updateTime":"0001-01-01T00:00:00Z"}}"#,
      "Only timestamps past epoch are supported."
    ),
  ])
  func aWriteThatBreaksARuleIsRefused(json: String, message: String) throws {
    let write = try Wire.Write(json: Array(json.utf8))
    #expect(throws: RemoteError(.invalidArgument, message)) { try database.mutation(write) }
  }

  @Test func aFieldMayBeTransformedTwice() throws {
    let write = try Wire.Write(
      json: Array(Self.transform(Self.increment("x") + "," + Self.increment("x")).utf8))
    #expect(try database.mutation(write).transforms.count == 2)
  }

  @Test func aPlacedDocumentIsNoWrite() throws {
    let time = try #require(StoredTimestamp(microseconds: 0))
    let document = StoredDocument(
      path: try DocumentPath(["c", "d"]), createTime: time, updateTime: time, fields: StoredMap())
    #expect(throws: RemoteError.self) { try database.wire(.place(document)) }
  }

  private static func increment(_ field: String) -> String {
    #"{"fieldPath":"\#(field)","increment":{"integerValue":"1"}}"#
  }

  private static func transform(_ transforms: String) -> String {
    #"{"update":{"name":"\#(name)"},"updateTransforms":[\#(transforms)]}"#
  }
}
