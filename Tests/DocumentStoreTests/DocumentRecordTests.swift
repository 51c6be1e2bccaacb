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

  @Test func aDocumentWithEncodedFieldsIsReadAsARecord() throws {
    var rng = SeededRNG(seed: 35)
    var wrong: [String] = []
    for _ in 0..<200 {
      let bytes = randomRecord(&rng)
      let record = DocumentRecord(try StoredDocument(path: place, encoded: bytes, shapes: .empty))
      let decoded = try StoredDocument(path: place, record: bytes)
      guard case .record(let map) = record.fields else {
        wrong.append("the fields are decoded: \(bytes.hexadecimal)")
        continue
      }
      var faults = differences(map, decoded.fields)
      if record.document != decoded { faults.append("the document is \(record.document)") }
      wrong += faults.map { "\($0): \(bytes.hexadecimal)" }
    }
    #expect(wrong == [])
  }

  /// How a map of a record differs from its decoded form.
  private func differences(_ map: RecordMap, _ fields: StoredMap) -> [String] {
    let found = RecordFields(map)
    guard map.count == fields.count, found.count == fields.count else {
      return ["\(map.count) fields instead of \(fields.count)"]
    }
    var wrong: [String] = []
    for (index, (name, value)) in fields.entries.enumerated() {
      if !found.name(at: index).isSameUTF8(as: name) {
        wrong.append("the name \(found.name(at: index).debugDescription) instead of \(name.debugDescription)")
      }
      if RecordFields(map).position(of: name) != index {
        wrong.append("\(name.debugDescription) is not at position \(index)")
      }
      wrong += differences(found.value(at: index), value)
      if let location = found.find(name) {
        wrong += differences(found, location, value)
      } else {
        wrong.append("\(name.debugDescription) is not found")
      }
    }
    if !isConverted(map.dictionary { $0 }, .map(fields)) {
      wrong.append("another dictionary than \(fields)")
    }
    return wrong
  }

  private func differences(
    _ fields: RecordFields, _ location: ValueLocation, _ value: StoredValue
  ) -> [String] {
    var wrong: [String] = []
    var (string, integer, double): (String?, Int64?, Double?)
    var (boolean, timestamp): (Bool?, StoredTimestamp?)
    switch value {
    case .string(let text): string = text
    case .integer(let number): integer = number
    case .double(let number): double = number
    case .boolean(let flag): boolean = flag
    case .timestamp(let time): timestamp = time
    case .null, .pendingTimestamp, .bytes, .reference, .geoPoint, .vector, .array, .map: break
    }
    if fields.string(at: location) != string { wrong.append("another string: \(value)") }
    if fields.integer(at: location) != integer { wrong.append("another integer: \(value)") }
    if location.boolean != boolean { wrong.append("another boolean: \(value)") }
    if fields.double(at: location)?.bitPattern != double?.bitPattern {
      wrong.append("another double: \(value)")
    }
    if fields.timestamp(at: location) != timestamp { wrong.append("another timestamp: \(value)") }
    let isNull = if case .pendingTimestamp = value { true } else { value == .null }
    if location.isNull != isNull { wrong.append("is null: \(location.isNull), \(value)") }
    if fields.value(at: location).stored != value { wrong.append("another value at its location: \(value)") }
    return wrong
  }

  private func differences(_ found: RecordValue, _ value: StoredValue) -> [String] {
    var wrong: [String] = []
    if found.stored != value { wrong.append("\(found.stored) instead of \(value)") }
    var (strings, integers, doubles): ([String]?, [Int64]?, [Double]?)
    switch value {
    case .map(let map):
      if let found = found.map { wrong += differences(found, map) } else { wrong.append("no map: \(value)") }
    case .array(let elements):
      if !found.isArray || found.elements?.count != elements.count {
        wrong.append("another number of elements: \(value)")
      }
      for (found, element) in zip(found.elements ?? [], elements) { wrong += differences(found, element) }
      strings = all(elements) { if case .string(let text) = $0 { text } else { nil } }
      integers = all(elements) { if case .integer(let number) = $0 { number } else { nil } }
      doubles = all(elements) { if case .double(let number) = $0 { number } else { nil } }
    case .null, .boolean, .integer, .double, .timestamp, .pendingTimestamp, .string, .bytes, .reference,
      .geoPoint, .vector:
      break
    }
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

/// Whether `any` is `value` as `RecordMap.dictionary` converts it, if that call keeps the values for which it
/// asks for objects. Of names that a dictionary treats as equal, the last one counts.
func isConverted(_ any: Any, _ value: StoredValue) -> Bool {
  switch value {
  case .string(let text): return (any as? String)?.isSameUTF8(as: text) ?? false
  case .boolean(let flag): return any as? Bool == flag
  case .array(let elements):
    guard let array = any as? [Any], array.count == elements.count else { return false }
    return zip(array, elements).allSatisfy { isConverted($0, $1) }
  case .map(let map):
    var last: [String: StoredValue] = [:]
    for (name, value) in map.entries { last[name] = value }
    guard let dictionary = any as? [String: Any], dictionary.count == last.count else { return false }
    return last.allSatisfy { name, value in dictionary[name].map { isConverted($0, value) } ?? false }
  case .null, .integer, .double, .timestamp, .pendingTimestamp, .bytes, .reference, .geoPoint, .vector:
    return any as? StoredValue == value
  }
}
