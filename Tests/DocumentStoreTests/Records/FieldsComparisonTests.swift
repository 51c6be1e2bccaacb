// Records are compared, and their fields are found, without decoding the other fields.

import Testing

@testable import DocumentStore

@Suite struct FieldsComparisonTests {
  private let shapes = ShapedRecords()
  private let others = ShapedRecords()

  private func record(_ fields: StoredMap, _ shapes: ShapedRecords) -> StoredMap {
    let document = StoredDocument(
      path: path("a", "b"), createTime: timestamp(1), updateTime: timestamp(1), fields: fields)
    return shapes.encode(document).document.fields
  }

  private let fields = StoredMap([
    ("array", .array([.integer(1), .map(StoredMap([("x", .double(.nan))]))])), ("double", .double(.nan)),
    ("map", .map(StoredMap([("inner", .string("text")), ("outer", .map(StoredMap()))]))),
    ("pending", .pendingTimestamp(timestamp(5), previous: .double(.nan))), ("score", .integer(3)),
    ("vector", .vector([1, .nan])),
  ])

  @Test func namesAndShapesMakeNoDifference() throws {
    let named = record(fields, shapes)
    let shaped = record(fields, shapes)
    _ = record(StoredMap([("other", .null)]), others)
    _ = record(StoredMap([("other", .null)]), others)
    _ = record(fields, others)
    let foreign = record(fields, others)
    let bytes = try [named, shaped, foreign].map { try #require($0.record).bytes }
    #expect(Set(bytes).count == 3, "the three records have different bytes")
    for left in [named, shaped, foreign] {
      for right in [named, shaped, foreign] { #expect(left == right) }
      #expect(left == fields)
      #expect(fields == left)
    }
  }

  @Test(
    arguments: [
      ("array", .array([.integer(1), .map(StoredMap([("x", .double(-.nan))]))])), ("double", .double(-.nan)),
      ("pending", .pendingTimestamp(timestamp(5), previous: .double(-.nan))),
      ("vector", .vector([1, -.nan])),
    ] as [(String, StoredValue)])
  func allNaNsAreEqual(name: String, value: StoredValue) throws {
    _ = record(fields, shapes)
    let left = record(fields, shapes)
    var changed = fields
    changed[name] = value
    let right = record(changed, shapes)
    #expect(try #require(left.record).bytes != #require(right.record).bytes)
    #expect(left == right)
  }

  @Test(
    arguments: [
      ("array", .array([.integer(1), .map(StoredMap([("x", .double(0))]))])),
      ("array", .array([.integer(1)])),
      ("double", .double(0)), ("double", .null), ("map", .map(StoredMap([("inner", .string("texts"))]))),
      ("map", .map(StoredMap([("inner", .string("text")), ("outer!", .map(StoredMap()))]))),
      ("pending", .pendingTimestamp(timestamp(6), previous: .double(.nan))),
      ("pending", .pendingTimestamp(timestamp(5), previous: nil)), ("score", .integer(4)),
      ("score", .integer(400)), ("score", nil), ("vector", .vector([1, 2])), ("vector", .vector([1])),
      ("zip", .null),
    ] as [(String, StoredValue?)])
  func oneDifferentFieldIsFound(name: String, value: StoredValue?) {
    var changed = fields
    changed[name] = value
    for _ in 0..<2 { _ = (record(fields, shapes), record(changed, shapes), record(changed, others)) }
    let left = record(fields, shapes)
    for right in [record(changed, shapes), record(changed, others)] {
      #expect(left != right)
      #expect(right != left)
    }
  }

  @Test func fieldsAreFoundByNameAndByPath() {
    for _ in 0..<2 {
      let record = record(fields, shapes)
      #expect(record.count == 6)
      for (name, value) in fields.entries { #expect(record[name] == value) }
      #expect(record["absent"] == nil)
      #expect(record[StoredFieldPath(unchecked: ["map", "inner"])] == .string("text"))
      #expect(record[StoredFieldPath(unchecked: ["map", "absent"])] == nil)
      #expect(record[StoredFieldPath(unchecked: ["score", "inner"])] == nil)
    }
  }
}
