// The record codec on documents: round trips, in the documented format.

import ByteStore
import Testing

@testable import DocumentStore

@Suite struct RecordCodecTests {
  private let place = path("rooms", "eros")

  /// The record of a document with one field of every type, written by hand from the grammar.
  private let goldenRecord = [UInt8](
    hexadecimal: """
      02 00401e18240a0600 02                       | form 2, made, last changed 1 µs later
      00 0d                                        | a map with names: 13 fields, and where all but "a" begin
        03 06 09 0d 12 1c 22 27 38 4b 52 65
      01 61 00                                     | a: null
      01 62 01                                     | b: false
      01 63 02                                     | c: true
      01 64 03 fe                                  | d: -2
      01 65 04 f83f                                | e: 1.5
      01 66 05 40222018240a06                      | f: the timestamp
      01 67 06 c3a900                              | g: "é\0"
      01 68 07 00ff                                | h: two bytes
      01 69 08 0170 0164 726f6f6d732f65726f73      | i: p, d, rooms/eros
      01 6a 09 000000000000f83f 00000000000000c0   | j: 1.5, -2
      01 6b 0a 08 01 00 02                         | k: two elements, the first of one byte: [null, true]
      01 6c 0b 000000000000f03f 0000000000000080   | l: 1, -0
      01 6d 0c 00 01 00 03 07                      | m: a map with names, one field: {"": 7}
      """.withoutRemarks)

  private var goldenDocument: StoredDocument {
    StoredDocument(
      path: place, createTime: timestamp(1_700_000_000_000_000),
      updateTime: timestamp(1_700_000_000_000_001),
      fields: StoredMap([
        ("a", .null), ("b", .boolean(false)), ("c", .boolean(true)), ("d", .integer(-2)),
        ("e", .double(1.5)), ("f", .timestamp(timestamp(1_700_000_000_123_456))),
        ("g", .string("\u{E9}\0")), ("h", .bytes([0, 255])),
        ("i", .reference(StoredReference(projectID: "p", databaseID: "d", path: place))),
        ("j", Values.place(1.5, -2)), ("k", .array([.null, .boolean(true)])),
        ("l", .vector([1, -0.0])), ("m", .map(StoredMap([("", .integer(7))]))),
      ]))
  }

  @Test func recordWithEveryTypeMatchesTheFormat() throws {
    #expect(goldenDocument.record.hexadecimal == goldenRecord.hexadecimal)
    #expect(try StoredDocument(path: place, record: goldenRecord) == goldenDocument)
  }

  @Test func emptyRecordConsistsOfAHeadAndACount() throws {
    let empty = StoredDocument(
      path: place, createTime: .first, updateTime: .last, fields: StoredMap())
    let record = [UInt8](hexadecimal: "02 0040d400014023ff fefff8b9f98282e108 00 00")
    #expect(empty.record.hexadecimal == record.hexadecimal)
    #expect(try StoredDocument(path: place, record: empty.record) == empty)
  }

  @Test func everyDocumentComesBackFromItsRecord() throws {
    let seed: UInt64 = 11
    var rng = SeededRNG(seed: seed)
    for round in 0..<5000 {
      let document = StoredDocument(
        path: place, createTime: rng.pick(Values.timestamps), updateTime: rng.pick(Values.timestamps),
        fields: Values.fields(&rng))
      let record = document.record
      let read = try StoredDocument(path: place, record: record)
      try #require(read == document, "seed \(seed), round \(round)")
      try #require(read.record == record, "seed \(seed), round \(round)")
    }
  }

  /// The estimate does not include the head of a record, which has up to 19 bytes. Without shapes, the
  /// estimate is close to the actual size.
  @Test func recordSizeDoesNotExceedTheEstimateOfItsFields() throws {
    let seed: UInt64 = 12
    var rng = SeededRNG(seed: seed)
    var fields = (0..<2000).map { _ in Values.fields(&rng) }
    for count in [255, 256, 65_535, 70_000] {
      fields.append(StoredMap([("a", .array([StoredValue](repeating: .null, count: count)))]))
      fields.append(StoredMap([("s", .string(String(repeating: "s", count: count))), ("t", .null)]))
      fields.append(StoredMap((0..<count / 100).map { ("\($0)", .integer(Int64($0))) }))
    }
    for (round, fields) in fields.enumerated() {
      let document = StoredDocument(path: place, createTime: .first, updateTime: .last, fields: fields)
      let (bytes, max) = (document.record.count, fields.recordBytesMax)
      try #require(bytes <= max + 19, "seed \(seed), round \(round)")
      try #require(max <= 3 * bytes + 64, "seed \(seed), round \(round)")
    }
  }

  @Test func everyBitOfADoubleComesBack() throws {
    var wrong: [String] = []
    for double in Values.doubles + [Double(bitPattern: 0x7FF8_0000_DEAD_BEEF)] {
      let bits = double.bitPattern
      let read = try roundTrip(
        StoredMap([("d", .double(double)), ("g", Values.place(-0.0, 0)), ("v", .vector([double]))]))
      guard case .double(let scalar) = read["d"], case .vector(let elements) = read["v"],
        case .geoPoint(let point) = read["g"]
      else {
        wrong.append("the types have changed: \(read)")
        continue
      }
      let isSame = scalar.isNaN ? double.isNaN : scalar.bitPattern == bits
      let hasSameElement =
        elements.count == 1 && (elements[0].isNaN ? double.isNaN : elements[0].bitPattern == bits)
      let isSamePoint = point.latitude.bitPattern == (-0.0).bitPattern && point.longitude.bitPattern == 0
      if !isSame || !hasSameElement || !isSamePoint { wrong.append("\(double): \(read)") }
    }
    #expect(wrong == [])
  }

  @Test func referencesWithAnyNamesRoundTrip() throws {
    var wrong: [[String]] = []
    for name in Names.odd + Names.numeric {
      for segments in [["a", name], [name, "a"], [name, name, "a", "b"]] {
        let target = try DocumentPath(segments)
        let fields = StoredMap([
          ("r", .reference(StoredReference(projectID: "", databaseID: "(default)", path: target)))
        ])
        if (try? roundTrip(fields)) != fields { wrong.append(target.segments) }
      }
    }
    #expect(wrong == [])
  }

  /// In a Swift string, a slash and a following combining mark form one character. If slashes were counted as
  /// characters, the path would appear to have one slash too few.
  @Test func aReferenceToANameWithALeadingCombiningMarkRoundTrips() {
    let targets = [path("rooms", "\u{301}eros"), path("rooms\u{600}", "eros"), path("a", "\u{200D}")]
    let wrong = targets.filter { target in
      let fields = StoredMap([
        ("r", .reference(StoredReference(projectID: "p", databaseID: "d", path: target)))
      ])
      return (try? roundTrip(fields)) != fields
    }
    #expect(wrong == [])
  }

  @Test(arguments: [.null, .array([]), .map(StoredMap()), .string("roof")] as [StoredValue])
  func twentyLevelsRoundTripAndTwentyOneAreRefused(value: StoredValue) throws {
    let floors: Int =
      switch value {
      case .array, .map: 19
      default: 20
      }
    let deep = [floors - 1, floors].map { depth in
      StoredMap([("a", .null), ("t", Values.tower(depth, around: value))])
    }
    #expect(try deep.map { try roundTrip($0) } == deep)
    let tooDeep = StoredMap([("t", Values.tower(floors + 1, around: value))])
    #expect(throws: RecordError.self) { try roundTrip(tooDeep) }
  }

  @Test func theLargestDocumentsComeBack() throws {
    let bytes = [UInt8](repeating: 0xA5, count: DocumentLimits.fieldValueBytesMax)
    let nulls = [StoredValue](repeating: .null, count: DocumentLimits.fieldValueBytesMax)
    let largest = [
      StoredMap([("b", .bytes(bytes))]), StoredMap([("a", .array(nulls))]),
      StoredMap([(String(repeating: "n", count: 1500), .string(String(repeating: "é", count: 1 << 19)))]),
    ]
    #expect(try largest.map { try roundTrip($0) } == largest)
  }

  @Test func eachTableOffsetLeadsToItsField() {
    var rng = SeededRNG(seed: 12)
    var wrong: [String] = []
    for round in 0..<500 {
      let fields = Values.fields(&rng)
      let record = RecordCodec.encode(createTime: .first, updateTime: .first, fields: fields)
      let bytes = record.rawSpan
      let noShapes = ShapeTable.empty.bytes
      guard let layout = RecordLayout(mapIn: bytes, from: 9, to: record.count, shapes: noShapes.rawSpan)
      else {
        wrong.append("round \(round): it has no layout")
        continue
      }
      if layout.count != fields.count { wrong.append("round \(round): \(layout.count) fields") }
      for (index, entry) in fields.entries.enumerated() {
        let range = layout.range(ofEntry: index, in: bytes) ?? 0..<0
        let name = RecordLayout.parts(ofEntry: range, in: bytes)?.name ?? 0..<0
        let found = Array(record[name])
        if found != Array(entry.name.utf8) { wrong.append("round \(round): \(entry.name) is \(found)") }
      }
    }
    #expect(wrong == [])
  }

  @Test func tableWidthFitsTheLargestOffset() throws {
    var wrong: [String] = []
    for (bytes, width) in [(0, 1), (255 - 3, 1), (256 - 3, 2), (65_535 - 3, 2), (65_536 - 3, 4)] {
      let fields = StoredMap([("a", .bytes([UInt8](repeating: 1, count: bytes))), ("b", .null)])
      let record = RecordCodec.encode(createTime: .first, updateTime: .first, fields: fields)
      let expected: Int = 9 + 2 + width + (3 + bytes) + 3
      if record.count != expected { wrong.append("\(bytes) bytes: a record of \(record.count)") }
      if try roundTrip(fields) != fields { wrong.append("\(bytes) bytes: the map differs") }
      let array = StoredMap([("a", .array([.bytes([UInt8](repeating: 1, count: bytes)), .null, .null]))])
      if try roundTrip(array) != array { wrong.append("\(bytes) bytes: the array differs") }
    }
    #expect(wrong == [])
  }

  @Test func numbersTakeAsFewBytesAsTheyNeed() throws {
    let integers: [(number: Int64, bytes: Int)] = [
      (0, 0), (1, 1), (-1, 1), (127, 1), (-128, 1), (128, 2), (-129, 2), (32_767, 2), (32_768, 3),
      (1 << 23 - 1, 3), (1 << 23, 4), (1_700_000_000, 4), (1 << 31, 5), (1 << 55 - 1, 7), (.max, 8),
      (.min, 8),
    ]
    let wrong = integers.filter { $0.number.recordBytes != $0.bytes }
    #expect(wrong.map { "\($0.number) takes \($0.number.recordBytes) bytes" } == [])
    let maps = integers.map { StoredMap([("n", .integer($0.number))]) }
    #expect(try maps.map { try roundTrip($0) } == maps)
    let doubles: [(number: Double, bytes: Int)] = [
      (0.0, 0), (-0.0, 1), (1, 2), (1.5, 2), (0.1, 8), (.infinity, 2), (1e6, 4),
    ]
    let wrongDoubles = doubles.filter { $0.number.recordBytes != $0.bytes }
    #expect(wrongDoubles.map { "\($0.number) takes \($0.number.recordBytes) bytes" } == [])
  }

  @Test func namesAreStoredInByteOrder() {
    let names = ["", "\0", "a", "a\0", "aa", "b", "e\u{301}", "\u{E9}", "\u{FFFF}", "\u{1F600}"]
    let expected = RecordCodec.encode(
      createTime: .first, updateTime: .first, fields: StoredMap(sorted: names.map { ($0, .null) }))
    var rng = SeededRNG(seed: 13)
    let records = (0..<100).map { _ in
      let fields = StoredMap(names.shuffled(using: &rng).map { (name: $0, value: StoredValue.null) })
      return RecordCodec.encode(createTime: .first, updateTime: .first, fields: fields)
    }
    #expect(records.filter { $0 != expected } == [])
  }

  private func roundTrip(_ fields: StoredMap) throws -> StoredMap {
    let record = RecordCodec.encode(createTime: .first, updateTime: .last, fields: fields)
    return try StoredDocument(path: place, record: record).fields
  }
}

extension Values {
  /// A geo point at the given coordinates, which must be valid.
  fileprivate static func place(_ latitude: Double, _ longitude: Double) -> StoredValue {
    guard let point = StoredGeoPoint(latitude: latitude, longitude: longitude) else {
      preconditionFailure("\(latitude), \(longitude) is no place")
    }
    return .geoPoint(point)
  }
}

extension [UInt8] {
  fileprivate func integer(at offset: Int, bytes: Int) -> Int {
    (0..<bytes).reduce(0) { $0 | Int(self[offset + $1]) << (8 * $1) }
  }
}

extension String {
  /// Removes the remark after the bar on each line.
  fileprivate var withoutRemarks: String {
    split(separator: "\n").map { $0.prefix { $0 != "|" } }.joined()
  }
}
