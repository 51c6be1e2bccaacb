// Which maps get a shape, and records with and without shapes.

import ByteStore
import Testing

@testable import DocumentStore

@Suite struct ShapeDictionaryTests {
  private let place = path("rooms", "eros")

  private func empty() -> ShapeDictionary {
    let shapes = ShapeDictionary()
    shapes.begin(from: 0)
    return shapes
  }

  private func map(_ names: String...) -> StoredMap { StoredMap(names.map { (name: $0, value: .null) }) }

  // MARK: Admission

  @Test func aShapeIsAdmittedWhenItIsMetForTheSecondTime() {
    let shapes = empty()
    #expect(shapes.id(of: map("a", "b")) == nil)
    #expect(shapes.id(of: map("a", "c")) == nil)
    #expect(shapes.id(of: map("a", "b")) == 0)
    #expect(shapes.id(of: map("a", "b")) == 0)
    #expect(shapes.id(of: map("a", "c")) == 1)
    #expect(shapes.table.shapes.map { $0?.names } == [["a", "b"], ["a", "c"]])
  }

  @Test func canonicallyEquivalentNamesAreDistinctShapes() {
    let shapes = empty()
    for _ in 0..<2 {
      _ = shapes.id(of: map("\u{E9}"))
      _ = shapes.id(of: map("e\u{301}"))
      _ = shapes.id(of: map("e\u{301}\0"))
    }
    #expect(shapes.id(of: map("\u{E9}")) == 0)
    #expect(shapes.id(of: map("e\u{301}")) == 1)
    #expect(shapes.id(of: map("e\u{301}\0")) == 2)
  }

  @Test func mapsWithNoFieldsOrTooManyFieldsHaveNoShape() {
    let shapes = empty()
    let many = StoredMap((0...Shape.namesMax).map { (name: "\($0)", value: .null) })
    let long = StoredMap((0..<12).map { (name: "\($0)" + String(repeating: "n", count: 1400), value: .null) })
    let ids = (0..<3).flatMap { _ in [StoredMap(), many, long].compactMap { shapes.id(of: $0) } }
    #expect(ids == [])
    let most = StoredMap(many.entries.dropLast())
    _ = shapes.id(of: most)
    #expect(shapes.id(of: most) == 0)
  }

  @Test func manyDifferentMapsCreateNoShapes() {
    let shapes = empty()
    let ids = (0..<100_000).compactMap { shapes.id(of: map("a", "field \($0)")) }
    #expect(ids == [])
    #expect(shapes.table.shapes.isEmpty)
  }

  @Test func numberOfShapesIsLimited() {
    let shapes = empty()
    var (ids, expected): ([Int?], [Int?]) = ([], [])
    for number in 0..<ShapeDictionary.shapesMax + 50 {
      _ = shapes.id(of: map("field \(number)"))
      ids.append(shapes.id(of: map("field \(number)")))
      expected.append(number < ShapeDictionary.shapesMax ? number : nil)
    }
    #expect(ids == expected)
    #expect(shapes.id(of: map("field 7")) == 7)
  }

  @Test func totalBytesOfShapeNamesAreLimited() {
    let shapes = empty()
    var admitted = 0
    for number in 0..<200 {
      let names = (0..<10).map { "\(number) \($0) " + String(repeating: "n", count: 1000) }
      let map = StoredMap(names.map { (name: $0, value: .null) })
      _ = shapes.id(of: map)
      if shapes.id(of: map) != nil { admitted += 1 }
    }
    #expect((95...105).contains(admitted))
    #expect(shapes.table.bytes.count < ShapeDictionary.nameBytesMax + 100_000)
  }

  @Test func noShapeIsCreatedUntilTheUsedShapeIDsAreKnown() {
    let shapes = ShapeDictionary()
    shapes.add(Shape(id: 3, names: ["a"]))
    let ids = (0..<3).compactMap { _ in shapes.id(of: map("b")) }
    #expect(ids == [])
    #expect(shapes.id(of: map("a")) == 3)
    shapes.begin(from: 2)
    _ = shapes.id(of: map("b"))
    #expect(shapes.id(of: map("b")) == 4)
    shapes.begin(from: 9)
    _ = shapes.id(of: map("c"))
    #expect(shapes.id(of: map("c")) == 9)
  }

  @Test func commitDefinesShapesUntilEnoughDefinitionsAreStored() {
    let shapes = empty()
    for name in ["a", "b", "a", "b"] { _ = shapes.id(of: map(name)) }
    #expect(shapes.definitionsDue(for: [0, 1]).map(\.id) == [0, 1])
    #expect(shapes.definitionsDue(for: [1]).map(\.id) == [1])
    var due: [[Int]] = []
    for _ in 0..<ShapeDictionary.definitionsMin {
      due.append(shapes.definitionsDue(for: [0, 1]).map(\.id))
      shapes.noteStored([0])
    }
    #expect(due == Array(repeating: [0, 1], count: ShapeDictionary.definitionsMin))
    #expect(shapes.definitionsDue(for: [0, 1]).map(\.id) == [1])
    // No commit has defined shape 1, so the next process may give its id to another shape.
    #expect(shapes.stored?.nextID == 1)
    #expect(shapes.stored?.shapes.map(\.id) == [0])
  }

  // MARK: Tables

  @Test func tablesThatGrowHaveTheShapesOfTablesMadeAtOnce() {
    let shapes = empty()
    var early: ShapeTable?
    for number in 0..<200 {
      for _ in 0..<2 { _ = shapes.id(of: map("a", "field \(number)", "z")) }
      if number % 3 == 0 { _ = shapes.snapshot }
      if number == 99 { early = shapes.table }
    }
    let grown = shapes.table
    let whole = ShapeTable(grown.shapes, origin: nil)
    #expect(grown.shapes.count == 200)
    #expect(names(in: grown, ids: 0..<300) == names(in: whole, ids: 0..<300))
    #expect(names(in: grown, ids: 0..<201).last == .some(nil))
    #expect(
      early.map { names(in: $0, ids: 0..<200) } == names(in: whole, ids: 0..<100)
        + Array(repeating: nil, count: 100))
    let lost = (0..<200).filter { number in
      let names = ["a", "field \(number)", "z"]
      let hash = names.reduce(0) { $0 &+ FieldNameKey($1).hash }
      return shapes.snapshot.candidate(count: 3, hash: hash)?.id != number
    }
    #expect(lost == [])
  }

  /// The names of each shape, read from the table's bytes; nil without a shape.
  private func names(in table: ShapeTable, ids: Range<Int>) -> [[String]?] {
    let bytes = ShapeBytes(table.bytes.rawSpan)
    return ids.map { id in
      let place = bytes.place(of: id)
      guard place > 0 else { return nil }
      let count = bytes.count(place)
      return (0..<count).map { bytes.name($0, place, count: count).string ?? "" }
    }
  }

  // MARK: Definitions

  private func shape(_ definition: [UInt8]) -> Shape? { Shape(id: 513, definition: definition.rawSpan) }

  private func id(of key: [UInt8]) -> Int? { Shape.id(of: key.rawSpan) }

  @Test func aDefinitionComesBack() {
    let lists = [
      ["a"], ["", "\0", "a", "a\0", "e\u{301}", "\u{E9}"], [String(repeating: "n", count: 1500)],
    ]
    let wrong = lists.filter { names in
      let read = shape(Shape(id: 513, names: names).definition)
      return read?.names.areSameUTF8(as: names) != true
    }
    #expect(wrong == [])
    #expect(id(of: Shape.key(513)) == 513)
  }

  @Test func invalidShapeDefinitionsAreRefused() {
    let invalid: [[UInt8]] = [
      [], [0], [1], [1, 1], [1, 2, 0x61], [1, 1, 0x61, 0], [2, 1, 0x61, 1, 0x61], [2, 1, 0x62, 1, 0x61],
      [1, 1, 0xFF], [0x81, 0, 1, 0x61], [1, 0x81, 0, 0x61], [0x81, 2],
    ]
    #expect(invalid.filter { shape($0) != nil } == [])
    #expect(shape([1, 1, 0x61])?.names == ["a"])
  }

  @Test func noDocumentHasTheKeyOfAShape() {
    var rng = SeededRNG(seed: 41)
    let paths = (0..<1000).map { _ in DocumentPath.any(&rng) }
    #expect(paths.filter { id(of: DocumentKey.encode($0)) != nil } == [])
    #expect([0, 1, 255, 256, Shape.idMax].filter { DocumentKey.decode(Shape.key($0)) != nil } == [])
  }

  // MARK: Records

  /// Records of random documents. Their maps have occurred before, so the records use shapes.
  private func shaped(_ rng: inout SeededRNG, _ count: Int) -> (
    records: [[UInt8]], documents: [StoredDocument], ShapeTable
  ) {
    let shapes = empty()
    var encoder = RecordEncoder(shapes: shapes)
    let documents = (0..<count).map { _ in
      StoredDocument(
        path: place, createTime: rng.pick(Values.timestamps), updateTime: rng.pick(Values.timestamps),
        fields: Values.fields(&rng))
    }
    for document in documents { _ = encoder.encode(document) }
    return (documents.map { encoder.encode($0) }, documents, shapes.table)
  }

  private func decode(_ record: [UInt8], _ table: ShapeTable) throws -> StoredDocument {
    try StoredDocument(path: place, record: record.rawSpan, shapes: table)
  }

  private func value(_ name: String, _ record: [UInt8], _ table: ShapeTable) throws -> StoredValue? {
    try RecordCodec.value(at: StoredFieldPath(unchecked: [name]), in: record.rawSpan, shapes: table)
  }

  private func nextShape(_ record: [UInt8], _ table: ShapeTable) -> Int {
    RecordCodec.nextShape(after: record.rawSpan, table)
  }

  @Test func everyDocumentComesBackFromARecordWithShapes() throws {
    let seed: UInt64 = 42
    var rng = SeededRNG(seed: seed)
    let (records, documents, table) = shaped(&rng, 2000)
    #expect(table.shapes.count > 200)
    var saved = 0
    var wrong: [String] = []
    for (record, document) in zip(records, documents) {
      let read = try decode(record, table)
      try #require(read == document, "seed \(seed): \(record.hexadecimal)")
      let known = try DocumentRecord(path: place, record: record, shapes: table)
      if case .record(let map) = known.fields, !hasSameDictionary(map, document.fields) {
        wrong.append("the dictionary of \(record.hexadecimal)")
      }
      let next = nextShape(record, table)
      if next > table.shapes.count { wrong.append("the next shape \(next) of \(record.hexadecimal)") }
      saved += document.record.count - record.count
      for (name, value) in document.fields.entries {
        let found = try self.value(name, record, table)
        if found != value { wrong.append("\(name) of \(record.hexadecimal)") }
      }
    }
    #expect(wrong == [], "seed \(seed)")
    #expect(saved > 0)
  }

  /// Compares a map's dictionary with its fields, recursively, with or without a shape.
  private func hasSameDictionary(_ map: RecordMap, _ fields: StoredMap) -> Bool {
    for (name, value) in fields.entries {
      guard case .map(let inner) = value else { continue }
      guard let found = map[name]?.map, hasSameDictionary(found, inner) else { return false }
    }
    return isConverted(map.dictionary { $0 }, .map(fields))
  }

  /// Swift treats both names as equal. The dictionary must stay the same when the map gets a shape.
  @Test func lastOfCanonicallyEquivalentNamesWinsInADictionary() throws {
    let fields = StoredMap([("e\u{301}", .integer(1)), ("\u{E9}", .integer(2)), ("a", .integer(3))])
    #expect(fields.count == 3)
    let shapes = empty()
    var encoder = RecordEncoder(shapes: shapes)
    var areShaped: [Bool] = []
    var dictionaries: [[String: Int64?]] = []
    for _ in 0..<2 {
      let document = StoredDocument(path: place, createTime: .epoch, updateTime: .epoch, fields: fields)
      let record = encoder.encode(document)
      let table = shapes.table
      areShaped.append(nextShape(record, table) > 0)
      let known = try DocumentRecord(path: place, record: record, shapes: table)
      if case .record(let map) = known.fields { dictionaries.append(integers(map.dictionary { $0 })) }
    }
    #expect(areShaped == [false, true])
    let expected: [String: Int64?] = ["a": 3, "\u{E9}": 2]
    #expect(dictionaries == [expected, expected])
  }

  private func integers(_ dictionary: [String: Any]) -> [String: Int64?] {
    dictionary.mapValues { value in
      if case .integer(let integer)? = value as? StoredValue { integer } else { nil }
    }
  }

  @Test func aDamagedRecordWithShapesIsRefusedOrDecodes() throws {
    let seed: UInt64 = 43
    var rng = SeededRNG(seed: seed)
    let (all, _, table) = shaped(&rng, 600)
    let records = all.filter { $0.count < 500 }
    var accepted = 0
    var wrong: [String] = []
    for round in 0..<100_000 {
      let bytes = rng.pick(records).damaged(&rng, splicing: rng.pick(records))
      let decodes = (try? decode(bytes, table)) != nil
      let isAccepted = (try? DocumentRecord(path: place, record: bytes, shapes: table)) != nil
      try #require(decodes == isAccepted, "seed \(seed), round \(round): \(bytes.hexadecimal)")
      if isAccepted { accepted += 1 }
      // A view may return invalid values, but it must not read beyond the end of the bytes.
      let isWhole = walk(bytes, table)
      if isAccepted, !isWhole { wrong.append("round \(round): \(bytes.hexadecimal)") }
      _ = nextShape(bytes, table)
    }
    #expect(wrong == [], "seed \(seed)")
    #expect(accepted > 1000)
  }

  private func walk(_ record: [UInt8], _ table: ShapeTable) -> Bool {
    let (key, shapes): ([UInt8], [UInt8]) = ([], table.bytes)
    let view = DocumentView(key: key.rawSpan, record: record.rawSpan, shapes: shapes.rawSpan)
    return view.forEachField { _, value in walk(value) }
  }

  private func walk(_ value: borrowing ValueView) {
    _ = (value.integer, value.double, value.boolean, value.timestamp, value.isNull)
    _ = value.withText { $0.string }
    _ = value.withMap { $0.forEachField { _, value in walk(value) } }
    _ = value.forEachElement { walk($0) }
  }

  @Test func aViewEqualsTheDecodedDocument() throws {
    var rng = SeededRNG(seed: 44)
    let (records, documents, table) = shaped(&rng, 500)
    let (key, shapeBytes): ([UInt8], [UInt8]) = ([], table.bytes)
    var wrong: [String] = []
    for (record, document) in zip(records, documents) {
      let view = DocumentView(key: key.rawSpan, record: record.rawSpan, shapes: shapeBytes.rawSpan)
      var index = 0
      var areSame = true
      let isWhole = view.forEachField { name, value in
        let entry = document.fields.entries[index]
        areSame = areSame && name.string?.isSameUTF8(as: entry.name) == true && isSame(value, entry.value)
        index += 1
      }
      for (name, value) in document.fields.entries {
        let path = StoredFieldPath(unchecked: [name])
        areSame = areSame && view.withValue(at: path) { isSame($0, value) } == true
        guard case .map(let inner) = value else { continue }
        for (innerName, value) in inner.entries {
          let path = StoredFieldPath(unchecked: [name, innerName])
          areSame = areSame && view.withValue(at: path) { isSame($0, value) } == true
        }
      }
      let absent: Bool? = view.withValue(at: StoredFieldPath(unchecked: ["no such field"])) { _ in true }
      if !isWhole || !areSame || index != document.fields.count || absent != nil {
        wrong.append(record.hexadecimal)
      }
    }
    #expect(wrong == [])
  }

  private func isSame(_ view: borrowing ValueView, _ value: StoredValue) -> Bool {
    var areSame = true
    var index = 0
    switch value {
    case .null, .pendingTimestamp: return view.isNull && view.kind == .null
    case .boolean(let flag): return view.boolean == flag && view.kind == .boolean
    case .integer(let number): return view.integer == number && view.kind == .integer
    case .double(let number): return view.double?.bitPattern == number.bitPattern && view.kind == .double
    case .timestamp(let time): return view.timestamp == time && view.kind == .timestamp
    case .string(let text): return view.withText { $0.string?.isSameUTF8(as: text) == true } == true
    case .bytes(let bytes): return view.withBytes { [UInt8](copying: $0) } == bytes
    case .reference: return view.kind == .reference
    case .geoPoint: return view.kind == .geoPoint
    case .vector: return view.kind == .vector
    case .array(let elements):
      let isWhole = view.forEachElement { element in
        areSame = areSame && isSame(element, elements[index])
        index += 1
      }
      return isWhole && areSame && index == elements.count
    case .map(let map):
      let isWhole = view.withMap { inner in
        inner.forEachField { _, value in
          areSame = areSame && isSame(value, map.entries[index].value)
          index += 1
        }
      }
      return isWhole == true && areSame && index == map.count
    }
  }
}
