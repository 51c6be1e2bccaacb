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
    var wrong: [String] = []
    for _ in 0..<500 {
      let bytes = randomRecord(&rng)
      let record = try DocumentRecord(path: place, record: bytes, shapes: .empty)
      let decoded = try StoredDocument(path: place, record: bytes)
      guard case .record(let map) = record.fields else {
        wrong.append("the record is decoded: \(bytes.hexadecimal)")
        continue
      }
      var faults = differences(map, decoded.fields)
      if record.document != decoded { faults.append("the document is \(record.document)") }
      for (name, value) in decoded.fields.entries {
        let found = record.value(at: StoredFieldPath(unchecked: [name]))
        if found != value { faults.append("the value at \(name.debugDescription) is another") }
      }
      if map["no such field"] != nil { faults.append("a missing field has a value") }
      if !record.hasSameFields(as: DocumentRecord(decoded)) { faults.append("the fields are others") }
      wrong += faults.map { "\($0): \(bytes.hexadecimal)" }
    }
    #expect(wrong == [])
  }

  /// How a map of a record differs from its decoded form.
  private func differences(_ map: RecordMap, _ fields: StoredMap) -> [String] {
    guard map.count == fields.count else { return ["\(map.count) fields instead of \(fields.count)"] }
    var wrong: [String] = []
    var dictionary: [String: StoredValue] = [:]
    for (index, (name, value)) in fields.entries.enumerated() {
      let found = map.name(at: index)
      if !found.isSameUTF8(as: name) {
        wrong.append("the name \(found.debugDescription) instead of \(name.debugDescription)")
      }
      if RecordFields(map).position(of: name) != index {
        wrong.append("\(name.debugDescription) is not at position \(index)")
      }
      wrong += differences(map.value(at: index), value)
      dictionary[name] = value
    }
    if map.dictionary({ $0.stored }) != dictionary { wrong.append("another dictionary than \(dictionary)") }
    return wrong
  }

  private func differences(_ found: RecordValue, _ value: StoredValue) -> [String] {
    var wrong: [String] = []
    if found.stored != value { wrong.append("\(found.stored) instead of \(value)") }
    var (string, integer, double): (String?, Int64?, Double?)
    var boolean: Bool?
    var (strings, integers, doubles): ([String]?, [Int64]?, [Double]?)
    switch value {
    case .string(let text): string = text
    case .integer(let number): integer = number
    case .double(let number): double = number
    case .boolean(let flag): boolean = flag
    case .map(let map): if let found = found.map { wrong += differences(found, map) }
    case .array(let elements):
      if found.elements?.count != elements.count { wrong.append("another number of elements: \(value)") }
      for (found, element) in zip(found.elements ?? [], elements) { wrong += differences(found, element) }
      strings = all(elements) { if case .string(let text) = $0 { text } else { nil } }
      integers = all(elements) { if case .integer(let number) = $0 { number } else { nil } }
      doubles = all(elements) { if case .double(let number) = $0 { number } else { nil } }
    case .null, .timestamp, .pendingTimestamp, .bytes, .reference, .geoPoint, .vector: break
    }
    if found.string != string { wrong.append("another string: \(value)") }
    if found.integer != integer { wrong.append("another integer: \(value)") }
    if found.boolean != boolean { wrong.append("another boolean: \(value)") }
    if found.double?.bitPattern != double?.bitPattern { wrong.append("another double: \(value)") }
    if found.strings != strings { wrong.append("other strings: \(value)") }
    if found.integers != integers { wrong.append("other integers: \(value)") }
    if found.doubles?.map(\.bitPattern) != doubles?.map(\.bitPattern) {
      wrong.append("other doubles: \(value)")
    }
    return wrong
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
    var wrong: [String] = []
    for list in lists {
      let fields = StoredMap([("list", .array(list))])
      let record = try CheckedRecord(
        RecordCodec.encode(createTime: .epoch, updateTime: .epoch, fields: fields), .empty)
      wrong += differences(RecordMap(record, record.fieldsStart..<record.bytes.count), fields)
    }
    #expect(wrong == [])
  }

  @Test func utf8CheckAgreesWithTheStandardLibrary() {
    var rng = SeededRNG(seed: 33)
    let pieces: [[UInt8]] = [
      [0x41], [0xC3, 0xA9], [0xE2, 0x82, 0xAC], [0xF0, 0x9F, 0x98, 0x80], [0xED, 0xA0, 0x80], [0xC0, 0x80],
      [0xF4, 0x90, 0x80, 0x80], [0x80], [0xE0, 0x9F, 0xBF], [0xF8], [0xC3], [0xEE, 0x80, 0x80],
      Array("plain".utf8),
    ]
    var wrong: [String] = []
    for _ in 0..<50_000 {
      let bytes = (0..<rng.roll(9)).flatMap { _ in rng.pick(pieces) }
      let isValid = String(validating: bytes, as: UTF8.self) != nil
      if UTF8Check.isValid(bytes.rawSpan) != isValid { wrong.append(bytes.hexadecimal) }
    }
    #expect(wrong == [])
  }
}
