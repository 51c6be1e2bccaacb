// Field cursors find the fields that the decoder finds, and stop at damage.

import ByteStore
import Testing

@testable import DocumentStore

@Suite struct FieldCursorTests {
  private struct Step: Equatable {
    var name: String?
    var kind: ValueView.Kind
  }

  @Test func theCursorPassesTheFieldsInTheOrderOfTheirNames() throws {
    var rng = SeededRNG(seed: 61)
    let shapes = ShapeDictionary()
    shapes.begin(from: 0)
    var different: [String] = []
    for round in 0..<500 {
      let fields = Values.fields(&rng)
      // The first record contains its names; the third uses a shape, if the map can have one.
      for _ in 0..<3 {
        let record = try Self.record(fields, shapes)
        let walk = Self.walk(record, shapes.table)
        let names = fields.entries.map { Optional($0.name) }
        if !walk.isWhole || walk.steps.map(\.name) != names { different.append("round \(round): \(record)") }
      }
    }
    #expect(different == [])
  }

  @Test func cursorStopsAtDamageAndReportsIt() throws {
    let shapes = ShapeDictionary()
    shapes.begin(from: 0)
    let fields = StoredMap([("a", .integer(1)), ("b", .string("two")), ("c", .boolean(true))])
    for _ in 0..<2 { _ = try Self.record(fields, shapes) }
    let record = try Self.record(fields, shapes)
    let whole = Self.walk(record, shapes.table)
    #expect(whole.isWhole && whole.steps.count == 3)
    // The tag of each field in turn is replaced by an invalid tag. The fields before that field are still
    // found.
    var found: [Int] = []
    var tooLong: [Int] = []
    for index in record.indices {
      var damaged = record
      damaged[index] = 0x7F
      let walk = Self.walk(damaged, shapes.table)
      if !walk.isWhole { found.append(walk.steps.count) }
      if walk.steps.count > 3 { tooLong.append(index) }
    }
    #expect(tooLong == [])
    #expect(Set(found).isSuperset(of: [0, 1, 2]))
  }

  @Test func cursorOverAnEmptyRecordHasNoStepsAndIsComplete() throws {
    let shapes = ShapeDictionary()
    let walk = Self.walk(try Self.record(StoredMap([]), shapes), shapes.table)
    #expect(walk.isWhole && walk.steps == [])
  }

  @Test func cursorOverAnInvalidRecordHasNoStepsAndIsIncomplete() {
    let walk = Self.walk([], ShapeDictionary().table)
    #expect(!walk.isWhole && walk.steps == [])
  }

  /// Records with names and with shapes, with tables of one, two and four bytes, and damaged ones.
  @Test func forEachFieldVisitsTheFieldsOfTheCursor() throws {
    var rng = SeededRNG(seed: 62)
    let shapes = ShapeDictionary()
    shapes.begin(from: 0)
    var records: [[UInt8]] = []
    for round in 0..<60 {
      var fields = Values.fields(&rng)
      if round < 20 {
        let size = rng.pick([200, 255, 256, 300, 65_535, 65_536])
        fields = StoredMap(
          [
            ("a", .string(String(repeating: "x", count: size))), ("b", .integer(7)), ("c", .null),
            ("d", .array([.null, .string(String(repeating: "y", count: size)), .boolean(true)])),
          ].dropFirst(rng.roll(3)))
      }
      for _ in 0..<3 { records.append(try Self.record(fields, shapes)) }
    }
    let table = shapes.table
    var different: [String] = []
    for round in 0..<20_000 {
      let isDamaged = round >= records.count
      let record = isDamaged ? rng.pick(records).damaged(&rng, splicing: rng.pick(records)) : records[round]
      if isDamaged, record.count > 1000, !rng.oneIn(50) { continue }
      let (walk, visit) = (Self.walk(record, table), Self.visit(record, table))
      if walk.steps != visit.steps || walk.isWhole != visit.isWhole || !isDamaged && !walk.isWhole {
        different.append("round \(round): \(record.prefix(300))")
      }
    }
    #expect(different == [])
  }

  private static func record(_ fields: StoredMap, _ shapes: ShapeDictionary) throws -> [UInt8] {
    var encoder = RecordEncoder(shapes: shapes)
    let path = try DocumentPath(["c", "d"])
    return encoder.encode(
      StoredDocument(path: path, createTime: .first, updateTime: .first, fields: fields))
  }

  private static func walk(_ record: [UInt8], _ table: ShapeTable) -> (steps: [Step], isWhole: Bool) {
    let (key, shapes): ([UInt8], [UInt8]) = ([], table.bytes)
    let view = DocumentView(key: key.rawSpan, record: record.rawSpan, shapes: shapes.rawSpan)
    var steps: [Step] = []
    var fields = view.fields
    while let value = fields.next() { steps.append(Step(name: fields.name.string, kind: value.kind)) }
    return (steps, fields.isWhole)
  }

  private static func visit(_ record: [UInt8], _ table: ShapeTable) -> (steps: [Step], isWhole: Bool) {
    let (key, shapes): ([UInt8], [UInt8]) = ([], table.bytes)
    let view = DocumentView(key: key.rawSpan, record: record.rawSpan, shapes: shapes.rawSpan)
    var steps: [Step] = []
    let isWhole = view.forEachField { name, value in steps.append(Step(name: name.string, kind: value.kind)) }
    return (steps, isWhole)
  }
}
