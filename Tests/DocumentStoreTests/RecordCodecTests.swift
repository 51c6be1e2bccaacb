// The record codec on documents: what is written comes back, in the bytes that the format says.

import ByteStore
import Testing

@testable import DocumentStore

@Suite struct RecordCodecTests {
  private let place = path("rooms", "eros")

  /// The record of a document with one field of every type, put together by hand from the grammar.
  private let goldenRecord = [UInt8](
    hexadecimal: """
      00 00000000000000                            | form 0, reserved
      00401e18240a0600 01401e18240a0600            | made, last changed
      0d000000                                     | 13 fields, and where each begins
        38000000 3c000000 40000000 44000000 50000000 5c000000 68000000
        73000000 7d000000 99000000 ad000000 bb000000 d3000000
      0100 61 00                                   | a: null
      0100 62 01                                   | b: false
      0100 63 02                                   | c: true
      0100 64 03 feffffffffffffff                  | d: -2
      0100 65 04 000000000000f83f                  | e: 1.5
      0100 66 05 40222018240a0600                  | f: the timestamp
      0100 67 06 03000000 c3a900                   | g: "é\\0"
      0100 68 07 02000000 00ff                     | h: two bytes
      0100 69 08 01000000 70 01000000 64 0a000000 726f6f6d732f65726f73 | i: p, d, rooms/eros
      0100 6a 09 000000000000f83f 00000000000000c0 | j: 1.5, -2
      0100 6b 0a 06000000 02000000 00 02           | k: [null, true]
      0100 6c 0b 02000000 000000000000f03f 0000000000000080 | l: 1, -0
      0100 6d 0c 13000000 01000000 08000000 0000 03 0700000000000000 | m: {"": 7}
      """.withoutRemarks)

  private var goldenDocument: StoredDocument {
    StoredDocument(
      path: place, createTime: moment(1_700_000_000_000_000),
      updateTime: moment(1_700_000_000_000_001),
      fields: StoredMap([
        ("a", .null), ("b", .boolean(false)), ("c", .boolean(true)), ("d", .integer(-2)),
        ("e", .double(1.5)), ("f", .timestamp(moment(1_700_000_000_123_456))),
        ("g", .string("\u{E9}\0")), ("h", .bytes([0, 255])),
        ("i", .reference(StoredReference(projectID: "p", databaseID: "d", path: place))),
        ("j", Values.place(1.5, -2)), ("k", .array([.null, .boolean(true)])),
        ("l", .vector([1, -0.0])), ("m", .map(StoredMap([("", .integer(7))]))),
      ]))
  }

  @Test func aDocumentWithEveryTypeHasTheRecordThatTheFormatSays() throws {
    #expect(goldenDocument.record.hexadecimal == goldenRecord.hexadecimal)
    #expect(try StoredDocument(path: place, record: goldenRecord) == goldenDocument)
  }

  @Test func anEmptyDocumentIsAHeadAndACount() throws {
    let empty = StoredDocument(
      path: place, createTime: .first, updateTime: .last, fields: StoredMap())
    let record = [UInt8](hexadecimal: "00 00000000000000 0040d400014023ff ff5f73cc0c448403 00000000")
    #expect(empty.record.hexadecimal == record.hexadecimal)
    #expect(try StoredDocument(path: place, record: empty.record) == empty)
  }

  @Test func everyDocumentComesBackFromItsRecord() throws {
    let seed: UInt64 = 11
    var dice = Dice(seed: seed)
    for round in 0..<5000 {
      let document = StoredDocument(
        path: place, createTime: dice.pick(Values.timestamps), updateTime: dice.pick(Values.timestamps),
        fields: Values.fields(&dice))
      let record = document.record
      let read = try StoredDocument(path: place, record: record)
      try #require(read == document, "seed \(seed), round \(round)")
      try #require(read.record == record, "seed \(seed), round \(round)")
    }
  }

  @Test func everyBitOfADoubleComesBack() throws {
    for double in Values.doubles + [Double(bitPattern: 0x7FF8_0000_DEAD_BEEF)] {
      let bits = double.bitPattern
      let read = try roundTrip(
        StoredMap([("d", .double(double)), ("g", Values.place(-0.0, 0)), ("v", .vector([double]))]))
      guard case .double(let scalar) = read["d"], case .vector(let elements) = read["v"],
        case .geoPoint(let point) = read["g"]
      else {
        Issue.record("the types have changed: \(read)")
        continue
      }
      #expect(scalar.isNaN ? double.isNaN : scalar.bitPattern == bits)
      #expect(elements.count == 1 && (elements[0].isNaN ? double.isNaN : elements[0].bitPattern == bits))
      #expect(point.latitude.bitPattern == (-0.0).bitPattern && point.longitude.bitPattern == 0)
    }
  }

  @Test func referencesComeBackWhateverTheirNames() throws {
    for name in Names.odd + Names.numeric {
      for segments in [["a", name], [name, "a"], [name, name, "a", "b"]] {
        let target = try DocumentPath(segments)
        let fields = StoredMap([
          ("r", .reference(StoredReference(projectID: "", databaseID: "(default)", path: target)))
        ])
        #expect((try? roundTrip(fields)) == fields, "\(target.segments)")
      }
    }
  }

  /// An accent after a slash makes one character of both, and the text of the path has one slash less.
  @Test func aReferenceToANameThatBeginsWithACombiningMarkComesBack() {
    for target in [path("rooms", "\u{301}eros"), path("rooms\u{600}", "eros"), path("a", "\u{200D}")] {
      let fields = StoredMap([
        ("r", .reference(StoredReference(projectID: "p", databaseID: "d", path: target)))
      ])
      #expect((try? roundTrip(fields)) == fields)
    }
  }

  @Test func twentyFloorsComeBackAndTwentyOneAreRefused() throws {
    for value: StoredValue in [.null, .array([]), .map(StoredMap()), .string("roof")] {
      let floors: Int =
        switch value {
        case .array, .map: 19
        default: 20
        }
      for depth in [floors - 1, floors] {
        let fields = StoredMap([("a", .null), ("t", Values.tower(depth, around: value))])
        #expect(try roundTrip(fields) == fields)
      }
      let tooDeep = StoredMap([("t", Values.tower(floors + 1, around: value))])
      #expect(throws: RecordError.self) { try roundTrip(tooDeep) }
    }
  }

  @Test func theLargestDocumentsComeBack() throws {
    let bytes = [UInt8](repeating: 0xA5, count: DocumentLimits.fieldValueBytesMax)
    let nulls = [StoredValue](repeating: .null, count: DocumentLimits.fieldValueBytesMax)
    for fields in [
      StoredMap([("b", .bytes(bytes))]), StoredMap([("a", .array(nulls))]),
      StoredMap([(String(repeating: "n", count: 1500), .string(String(repeating: "é", count: 1 << 19)))]),
    ] {
      #expect(try roundTrip(fields) == fields)
    }
  }

  @Test func eachOffsetLeadsToItsField() throws {
    var dice = Dice(seed: 12)
    for _ in 0..<500 {
      let fields = Values.fields(&dice)
      let record = RecordCodec.encode(createTime: .first, updateTime: .last, fields: fields)
      let map = Array(record.dropFirst(24))
      #expect(map.integer(at: 0, bytes: 4) == fields.count)
      for (index, entry) in fields.entries.enumerated() {
        let offset = map.integer(at: 4 + 4 * index, bytes: 4)
        #expect(map.integer(at: offset, bytes: 2) == entry.name.utf8.count)
        #expect(map[(offset + 2)...].starts(with: entry.name.utf8))
      }
    }
  }

  @Test func namesStandInTheOrderOfTheirBytes() {
    let names = ["", "\0", "a", "a\0", "aa", "b", "e\u{301}", "\u{E9}", "\u{FFFF}", "\u{1F600}"]
    let expected = RecordCodec.encode(
      createTime: .first, updateTime: .first, fields: StoredMap(sorted: names.map { ($0, .null) }))
    var dice = Dice(seed: 13)
    for _ in 0..<100 {
      let fields = StoredMap(names.shuffled(using: &dice).map { (name: $0, value: StoredValue.null) })
      let record = RecordCodec.encode(createTime: .first, updateTime: .first, fields: fields)
      #expect(record == expected)
    }
  }

  private func roundTrip(_ fields: StoredMap) throws -> StoredMap {
    let record = RecordCodec.encode(createTime: .first, updateTime: .last, fields: fields)
    return try StoredDocument(path: place, record: record).fields
  }
}

extension Values {
  /// A point that is known to be on Earth.
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
  /// Each line up to its bar: there the remark begins.
  fileprivate var withoutRemarks: String {
    split(separator: "\n").map { $0.prefix { $0 != "|" } }.joined()
  }
}
