// Patches of records give the bytes that an encoding of the patched fields gives.

import Testing

@testable import DocumentStore

@Suite struct RecordPatchTests {
  private let shapes = ShapedRecords()
  private let time = timestamp(1_000_000)
  private let place = path("a", "b")

  private func document(_ fields: StoredMap) -> StoredDocument {
    StoredDocument(path: place, createTime: timestamp(1), updateTime: timestamp(2), fields: fields)
  }

  private func record(_ fields: StoredMap) -> StoredDocument {
    // Names get a shape when they occur again.
    _ = shapes.encode(document(fields))
    return shapes.encode(document(fields)).document
  }

  private let fields = StoredMap([
    ("city", .string("London")), ("long", .string(String(repeating: "l", count: 250))),
    ("map", .map(StoredMap([("inner", .integer(1)), ("outer", .integer(2))]))), ("score", .integer(7)),
  ])

  /// Applies the mutation to the entries and to the record, and compares both.
  private func outcome(of mutation: Mutation, on fields: StoredMap? = nil) throws -> StoredDocument {
    let base = record(fields ?? self.fields)
    let expected = try mutation.outcome(on: base.decoded, at: time)
    // The first call admits the shapes of the result, so all encoders find the same ones.
    for _ in 0..<3 { _ = try shapes.outcome(of: mutation, on: base, at: time) }
    let found = try shapes.outcome(of: mutation, on: base, at: time)
    #expect(found == expected)
    let document = try #require(found.document)
    let bytes = try #require(ShapedRecords.bytes(of: document))
    // Decoding checks that the bytes are a valid record.
    #expect(try shapes.decode(bytes, at: place).fields == document.fields)
    let encoded = shapes.encode(try #require(expected.document)).document
    #expect(ShapedRecords.fieldBytes(of: document) == ShapedRecords.fieldBytes(of: encoded))
    return document
  }

  private func patch(
    _ paths: [[String]], _ fields: StoredMap, _ transforms: [FieldTransform] = []
  ) -> Mutation {
    let mask = FieldMask(paths.map(StoredFieldPath.init(unchecked:)))
    return .patch(place, fields, mask: mask, transforms: transforms)
  }

  @Test(arguments: [
    StoredValue.integer(8), .integer(1 << 40), .double(0.1), .null, .boolean(true), .string("seven"),
    .timestamp(timestamp(77)), .bytes([1, 2]), .vector([1]), .array([.integer(1)]),
    .map(StoredMap([("inner", .null), ("outer", .null)])), .string(String(repeating: "x", count: 300)),
    .string(String(repeating: "x", count: 70_000)),
  ])
  func oneFieldIsReplaced(value: StoredValue) throws {
    for name in ["city", "long", "score"] {
      let after = try outcome(of: patch([[name]], StoredMap([(name, value)])))
      #expect(after.fields[name] == value)
      #expect(after.updateTime == time)
      #expect(after.createTime == timestamp(1))
    }
  }

  @Test func fieldsAreAddedAndRemoved() throws {
    let after = try outcome(
      of: patch([["a"], ["city"], ["long"], ["zip"]], StoredMap([("a", .null), ("zip", .integer(1))])))
    #expect(after.fields.entries.map(\.name) == ["a", "map", "score", "zip"])
  }

  @Test func allFieldsAreRemoved() throws {
    let after = try outcome(of: patch([["city"], ["long"], ["map"], ["score"]], StoredMap()))
    #expect(after.fields.isEmpty)
    #expect(try outcome(of: patch([["a"]], StoredMap([("a", .null)])), on: StoredMap()).fields.count == 1)
  }

  @Test func nestedFieldsAreReplaced() throws {
    let after = try outcome(
      of: patch(
        [["map", "inner"], ["map", "new"], ["score", "x"]],
        StoredMap([("map", .map(StoredMap([("new", .null)]))), ("score", .map(StoredMap([("x", .null)])))])))
    #expect(after.fields["map"] == .map(StoredMap([("new", .null), ("outer", .integer(2))])))
    #expect(after.fields["score"] == .map(StoredMap([("x", .null)])))
  }

  @Test func transformsFollowTheMask() throws {
    func field(_ name: String, _ operation: FieldTransform.Operation) -> FieldTransform {
      FieldTransform(StoredFieldPath(unchecked: [name]), operation)
    }
    let transforms = [
      field("score", .increment(.integer(2))), field("score", .maximum(.double(0.5))),
      field("city", .minimum(.integer(1))), field("list", .arrayUnion([.integer(1)])),
      field("time", .serverTimestamp),
      FieldTransform(StoredFieldPath(unchecked: ["map", "outer"]), .increment(.double(1))),
    ]
    let after = try outcome(of: patch([["score"]], StoredMap([("score", .integer(40))]), transforms))
    #expect(after.fields["score"] == .integer(42))
    #expect(after.fields["time"] == .timestamp(time))
    #expect(after.fields["list"] == .array([.integer(1)]))
  }

  @Test func oneTransformReplacesAScalar() throws {
    let score = StoredFieldPath(unchecked: ["score"])
    let increment = FieldTransform(score, .increment(.integer(300)))
    #expect(try outcome(of: patch([], StoredMap(), [increment])).fields["score"] == .integer(307))
    let union = FieldTransform(score, .arrayUnion([.null]))
    #expect(try outcome(of: patch([], StoredMap(), [union])).fields["score"] == .array([.null]))
    let missing = FieldTransform(StoredFieldPath(unchecked: ["x"]), .serverTimestamp)
    #expect(try outcome(of: patch([], StoredMap(), [missing])).fields["x"] == .timestamp(time))
  }

  @Test func aReplacementWithTransformsKeepsTheRecord() throws {
    let new = record(fields).fields
    let increment = FieldTransform(StoredFieldPath(unchecked: ["score"]), .increment(.integer(1)))
    let after = try outcome(of: .set(place, new, transforms: [increment]))
    #expect(after.fields["score"] == .integer(8))
  }

  @Test func equalFieldsKeepTheUpdateTime() throws {
    #expect(
      try outcome(of: patch([["score"]], StoredMap([("score", .integer(7))]))).updateTime == timestamp(2))
    #expect(try outcome(of: patch([["absent"]], StoredMap())).updateTime == timestamp(2))
    let nan = StoredMap([("n", .double(.nan))])
    #expect(
      try outcome(of: patch([["n"]], StoredMap([("n", .double(-.nan))])), on: nan).updateTime == timestamp(2))
  }

  @Test func newFieldsCanBeARecord() throws {
    let new = record(StoredMap([("map", .map(StoredMap([("b", .null)]))), ("score", .integer(9))])).fields
    let after = try outcome(of: patch([["long"], ["map"], ["score"]], new))
    #expect(after.fields["score"] == .integer(9))
    #expect(after.fields["long"] == nil)
  }

  @Test func recordsOfAnotherDatabaseAreDecoded() throws {
    let foreign = ShapedRecords()
    for _ in 0..<2 { _ = foreign.encode(document(fields)) }
    let base = foreign.encode(document(fields)).document
    let mutation = patch([["score"]], StoredMap([("score", .integer(8))]))
    let found = try shapes.outcome(of: mutation, on: base, at: time)
    #expect(try found == mutation.outcome(on: base.decoded, at: time))
    #expect(ShapedRecords.bytes(of: try #require(found.document)) == nil)
  }
}
