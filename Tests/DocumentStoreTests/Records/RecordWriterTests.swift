// Records that are written from events, compared with the grammar of records and with the limits of trees.

import ByteStore
import Testing

@testable import DocumentStore

@Suite struct RecordWriterTests {
  private let place = path("rooms", "eros")

  private func empty() -> ShapeDictionary {
    let shapes = ShapeDictionary()
    shapes.begin(from: 0)
    return shapes
  }

  private func body(_ record: CheckedRecord) -> [UInt8] { Array(record.bytes[record.fieldsStart...]) }

  private func record(_ fields: StoredMap, _ shapes: ShapeDictionary) -> CheckedRecord {
    FieldsEncoder.record(of: fields, shapes: shapes)
  }

  /// Gives all maps a shape that may have one, so that all encoders find the same shapes.
  private func admitShapes(of value: StoredValue, to shapes: ShapeDictionary) {
    switch value {
    case .map(let map):
      for _ in 0..<2 { _ = shapes.id(of: map) }
      for entry in map.entries { admitShapes(of: entry.value, to: shapes) }
    case .array(let elements): for element in elements { admitShapes(of: element, to: shapes) }
    case .pendingTimestamp(_, let previous?): admitShapes(of: previous, to: shapes)
    default: break
    }
  }

  /// Writes the fields of each map in random order.
  private struct Shuffler {
    var rng: SeededRNG

    mutating func write(_ fields: StoredMap, _ map: RecordWriter.OpenMap, _ writer: inout RecordWriter) {
      for (name, value) in fields.entries.shuffled(using: &rng) {
        writer.field(name, in: map)
        write(value, &writer)
      }
    }

    private mutating func write(_ value: StoredValue, _ writer: inout RecordWriter) {
      switch value {
      case .map(let fields):
        let map = writer.beginMap()
        write(fields, map, &writer)
        writer.end(map)
      case .array(let elements):
        let array = writer.beginArray()
        for element in elements {
          writer.element(in: array)
          if case .array = element { writer.noteViolation() }
          write(element, &writer)
        }
        writer.end(array)
      default: writer.value(value)
      }
    }
  }

  // MARK: Bytes

  @Test(arguments: [0xFE, 0xFF, 0xFFFE, 0xFFFF])
  func tablesOfTreesAreAsWideAsTheirLongestNumberNeeds(length: Int) throws {
    let shapes = empty()
    for place in [0, 1, 2, 0, 1, 2] {
      var values = [StoredValue](repeating: .string("short"), count: 3)
      values[place] = .string(String(repeating: "x", count: length))
      let inner = StoredMap(zip(["a", "b", "c"], values).map { ($0, $1) })
      let fields = StoredMap([("array", .array(values)), ("map", .map(inner)), ("z", .integer(7))])
      let record = record(fields, shapes)
      // A reader refuses numbers that are wider than necessary.
      let checked = try CheckedRecord(record.bytes, record.shapes)
      #expect(StoredMap(checked) == fields)
    }
  }

  @Test func recordsFollowTheGrammarInWhicheverOrderFieldsAreWritten() throws {
    let seed: UInt64 = 4711
    var rng = SeededRNG(seed: seed)
    let shapes = empty()
    let reference = ReferenceEncoder(shapes: shapes)
    let kinds = (0..<60).map { _ in Values.fields(&rng) }
    var shuffler = Shuffler(rng: rng)
    for round in 0..<600 {
      let fields = round % 3 > 0 ? rng.pick(kinds) : Values.fields(&rng)
      admitShapes(of: .map(fields), to: shapes)
      let expected = reference.fields(fields)
      try #require(body(record(fields, shapes)) == expected, "round \(round), seed \(seed): \(fields)")
      let encoder = FieldsEncoder(shapes)
      let shuffled = encoder.encode { writer, map in shuffler.write(fields, map, &writer) }
      guard let written = shuffled?.record else { continue }
      try #require(body(written) == expected, "round \(round), seed \(seed): \(fields)")
    }
    #expect(shapes.table.shapes.count > 100)
  }

  @Test func recordsWithoutShapesFollowTheGrammar() throws {
    var rng = SeededRNG(seed: 99)
    let reference = ReferenceEncoder(shapes: nil)
    for _ in 0..<300 {
      let fields = Values.fields(&rng)
      let document = StoredDocument(path: place, createTime: .epoch, updateTime: .epoch, fields: fields)
      let expected = reference.fields(fields)
      try #require(Array(document.record.dropFirst(9)) == expected, "\(fields)")
    }
  }

  @Test(arguments: [254, 255, 256, 257, 65_534, 65_535, 65_536, 70_000])
  func tablesAreAsWideAsTheirLargestNumber(length: Int) {
    let shapes = empty()
    let reference = ReferenceEncoder(shapes: shapes)
    let text = StoredValue.string(String(repeating: "t", count: length - 1))
    let values: [StoredValue] = [text, .null, .array([text, .null, text]), .array([.null, text])]
    for (first, last) in zip(values, values.reversed()) {
      let fields = StoredMap([
        ("a", first), ("b", .map(StoredMap([("x", last), ("y", first)]))), ("c", last),
      ])
      admitShapes(of: .map(fields), to: shapes)
      let expected = reference.fields(fields)
      for _ in 0..<2 { #expect(body(record(fields, shapes)) == expected) }
    }
  }

  @Test func theLastValueOfAFieldIsKept() throws {
    let shapes = empty()
    for round in 0..<4 {
      let fields = FieldsEncoder(shapes).encode { writer, map in
        for (name, value) in [("b", 1), ("a", 2), ("b", 3), ("c", 4), ("a", 5)] as [(String, Int64)] {
          writer.field(name, in: map)
          writer.integer(value)
        }
      }
      let expected = StoredMap([("a", .integer(5)), ("b", .integer(3)), ("c", .integer(4))])
      let record = try #require(fields?.record)
      #expect(fields == expected, "round \(round)")
      #expect(record.checkedSize == nil)
      #expect(body(record) == ReferenceEncoder(shapes: shapes).fields(expected) || round == 0)
    }
  }

  @Test func aDroppedFieldLeavesNoTrace() throws {
    let shapes = empty()
    for _ in 0..<3 {
      let fields = FieldsEncoder(shapes).encode { writer, map in
        writer.field("a", in: map)
        writer.dropField(in: map)
        writer.field("b", in: map)
        writer.boolean(true)
        writer.field("c", in: map)
        let inner = writer.beginMap()
        writer.field("d", in: inner)
        writer.dropField(in: inner)
        let isEmpty = writer.isEmpty(inner)
        #expect(isEmpty)
        writer.cancel(inner)
        writer.dropField(in: map)
      }
      #expect(fields == StoredMap([("b", .boolean(true))]))
      #expect(fields?.record?.checkedSize == 3)
    }
  }

  @Test func abandonedFieldsDoNotDisturbTheNextRecord() throws {
    let shapes = empty()
    struct Abandoned: Error {}
    #expect(throws: Abandoned.self) {
      _ = try FieldsEncoder(shapes).encode { writer, map throws(Abandoned) in
        writer.field("a", in: map)
        let inner = writer.beginMap()
        writer.field("b", in: inner)
        throw Abandoned()
      }
    }
    let fields = StoredMap([("x", .map(StoredMap([("y", .integer(1))])))])
    let written = record(fields, shapes)
    #expect(StoredMap(written) == fields)
    #expect(written.checkedSize == 2 + 32 + 2 + 8)
  }

  @Test func concurrentEncodersShareTheShapes() async {
    let shapes = empty()
    let kinds = (0..<20).map { kind in
      StoredMap((0...kind).map { (name: "field \($0)", value: .integer(Int64($0))) })
    }
    await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<4 {
        group.addTask {
          (0..<400).allSatisfy { round in
            let fields = kinds[round % kinds.count]
            return StoredMap(FieldsEncoder.record(of: fields, shapes: shapes)).entries.elementsEqual(
              fields.entries
            ) {
              $0.name == $1.name && $0.value == $1.value
            }
          }
        }
      }
      for await isSame in group { #expect(isSame) }
    }
    #expect(shapes.table.shapes.count == kinds.count)
  }

  // MARK: Limits

  private func size(_ fields: StoredMap, at path: DocumentPath) -> Result<Int, DocumentStoreError> {
    Result { () throws(DocumentStoreError) in try DocumentLimits.check(.set(path, fields)) }
  }

  @Test func sizesAndErrorsAreThoseOfTheTree() throws {
    var rng = SeededRNG(seed: 5)
    let shapes = empty()
    var checked = 0
    for _ in 0..<600 {
      let fields = rng.oneIn(2) ? Values.fields(&rng).storable : Values.fields(&rng)
      let written = record(fields, shapes)
      let expected = size(fields, at: place)
      if written.checkedSize == nil {
        guard case .failure = expected else {
          Issue.record("no error for \(fields)")
          return
        }
        continue
      }
      checked += 1
      #expect(size(StoredMap(written), at: place) == expected)
    }
    #expect(checked > 200)
  }

  @Test(arguments: [-100, -90, -60, -1, 0, 1, 100])
  func largeDocumentsAreJudgedLikeTrees(difference: Int) {
    let shapes = empty()
    for parts in 1...2 {
      let total = DocumentLimits.documentBytesMax + difference - 56
      let fields = StoredMap(
        (0..<parts).map { (name: "\($0)", value: .bytes([UInt8](repeating: 0, count: total / parts))) })
      let written = record(fields, shapes)
      let judged = written.checkedSize == nil ? fields : StoredMap(written)
      #expect(size(judged, at: place) == size(fields, at: place))
    }
  }

  @Test func depthIsJudgedLikeTrees() {
    let shapes = empty()
    for depth in 15...25 {
      for offset in 0...1 {
        let value = Values.tower(depth + offset, around: .integer(1))
        let fields = StoredMap([("t", value)])
        let isRefused = (try? size(fields, at: place).get()) == nil
        #expect((record(fields, shapes).checkedSize == nil) == isRefused, "depth \(depth + offset)")
      }
    }
  }

  @Test func namesOfPlacedDocumentsAreEncodedButNotWithinTheLimits() {
    let shapes = empty()
    for name in ["", "__x__", String(repeating: "n", count: 1501)] {
      for _ in 0..<3 {
        let fields = StoredMap([("a", .null), (name, .integer(1))])
        let written = record(fields, shapes)
        #expect(written.checkedSize == nil)
        if name.utf8.count <= 1500 { #expect(StoredMap(written) == fields) }
      }
    }
  }
}
