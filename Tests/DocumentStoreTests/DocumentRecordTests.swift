// Encoded records compared with their decoded form.

import ByteStore
import Testing

@testable import DocumentStore

@Suite struct DocumentRecordTests {
  private let place = path("rooms", "eros")

  private func randomRecord(_ rng: inout SeededRNG) -> [UInt8] {
    RecordCodec.encode(
      createTime: rng.pick(Values.timestamps), updateTime: rng.pick(Values.timestamps),
      fields: Values.fields(&rng))
  }

  @Test func aRecordIsAcceptedIfAndOnlyIfItDecodes() throws {
    let seed: UInt64 = 31
    var rng = SeededRNG(seed: seed)
    let records = (0..<400).map { _ in randomRecord(&rng) }.filter { $0.count < 500 }
    var accepted = 0
    for round in 0..<100_000 {
      let bytes =
        round < records.count
        ? records[round] : rng.pick(records).damaged(&rng, splicing: rng.pick(records))
      let decodes = (try? StoredDocument(path: place, record: bytes)) != nil
      let isAccepted = (try? DocumentRecord(path: place, record: bytes, shapes: .empty)) != nil
      try #require(decodes == isAccepted, "seed \(seed), round \(round): \(bytes.hexadecimal)")
      if isAccepted { accepted += 1 }
    }
    #expect(accepted > 1000)
  }

  @Test func lookupsEqualTheDecodedDocument() throws {
    var rng = SeededRNG(seed: 32)
    for _ in 0..<500 {
      let bytes = randomRecord(&rng)
      let record = try DocumentRecord(path: place, record: bytes, shapes: .empty)
      let decoded = try StoredDocument(path: place, record: bytes)
      #expect(record.document == decoded)
      guard case .record(let map) = record.fields else {
        Issue.record("it was decoded")
        continue
      }
      expectSame(map, decoded.fields)
      for (name, value) in decoded.fields.entries {
        #expect(record.value(at: StoredFieldPath(unchecked: [name])) == value)
      }
      #expect(map["no such field"] == nil)
      #expect(record.hasSameFields(as: DocumentRecord(decoded)))
    }
  }

  private func expectSame(_ map: RecordMap, _ fields: StoredMap) {
    #expect(map.count == fields.count)
    for (index, (name, value)) in fields.entries.enumerated() {
      #expect(map.name(at: index).isSameUTF8(as: name))
      #expect(RecordFields(map).position(of: name) == index)
      expectSame(map.value(at: index), value)
    }
    var dictionary: [String: StoredValue] = [:]
    for (name, value) in fields.entries { dictionary[name] = value }
    #expect(map.dictionary { $0.stored } == dictionary)
  }

  private func expectSame(_ found: RecordValue, _ value: StoredValue) {
    #expect(found.stored == value)
    var (string, integer, double): (String?, Int64?, Double?)
    var boolean: Bool?
    var (strings, integers, doubles): ([String]?, [Int64]?, [Double]?)
    switch value {
    case .string(let text): string = text
    case .integer(let number): integer = number
    case .double(let number): double = number
    case .boolean(let flag): boolean = flag
    case .map(let map): if let found = found.map { expectSame(found, map) }
    case .array(let elements):
      #expect(found.elements?.count == elements.count)
      for (found, element) in zip(found.elements ?? [], elements) { expectSame(found, element) }
      strings = all(elements) { if case .string(let text) = $0 { text } else { nil } }
      integers = all(elements) { if case .integer(let number) = $0 { number } else { nil } }
      doubles = all(elements) { if case .double(let number) = $0 { number } else { nil } }
    case .null, .timestamp, .pendingTimestamp, .bytes, .reference, .geoPoint, .vector: break
    }
    #expect(found.string == string && found.integer == integer && found.boolean == boolean)
    #expect(found.double?.bitPattern == double?.bitPattern)
    #expect(found.strings == strings && found.integers == integers)
    #expect(found.doubles?.map(\.bitPattern) == doubles?.map(\.bitPattern))
  }

  private func all<Element>(
    _ values: [StoredValue], _ element: (StoredValue) -> Element?
  ) -> [Element]? {
    let found = values.compactMap(element)
    return found.count == values.count ? found : nil
  }

  @Test func arraysOfOneTypeAreReadFromARecord() throws {
    let lists: [[StoredValue]] = [
      [], [.string(""), .string("two")], [.integer(0), .integer(.min)], [.double(-0.0), .double(.nan)],
      [.integer(1), .double(1)], [.string("a"), .null],
    ]
    for list in lists {
      let fields = StoredMap([("list", .array(list))])
      let record = try CheckedRecord(
        RecordCodec.encode(createTime: .epoch, updateTime: .epoch, fields: fields), .empty)
      expectSame(RecordMap(record, record.fieldsStart..<record.bytes.count), fields)
    }
  }

  @Test func utf8CheckAgreesWithTheStandardLibrary() {
    var rng = SeededRNG(seed: 33)
    let pieces: [[UInt8]] = [
      [0x41], [0xC3, 0xA9], [0xE2, 0x82, 0xAC], [0xF0, 0x9F, 0x98, 0x80], [0xED, 0xA0, 0x80], [0xC0, 0x80],
      [0xF4, 0x90, 0x80, 0x80], [0x80], [0xE0, 0x9F, 0xBF], [0xF8], [0xC3], [0xEE, 0x80, 0x80],
      Array("plain".utf8),
    ]
    for _ in 0..<50_000 {
      let bytes = (0..<rng.roll(9)).flatMap { _ in rng.pick(pieces) }
      #expect(
        UTF8Check.isValid(bytes.rawSpan) == (String(validating: bytes, as: UTF8.self) != nil),
        "\(bytes.hexadecimal)")
    }
  }
}
