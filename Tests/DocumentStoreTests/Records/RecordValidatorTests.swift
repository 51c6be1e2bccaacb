// The validator accepts exactly the maps that the decoder decodes.

import ByteStore
import Testing

@testable import DocumentStore

@Suite struct RecordValidatorTests {
  /// The head of a record that was created at the epoch.
  private let head: [UInt8] = [1, 0, 0, 0, 0, 0, 0, 0, 0]

  /// Returns a description unless the validator and the decoder agree about a map, and `check` throws the
  /// error that decoding throws.
  private func disagreement(_ map: [UInt8], _ table: ShapeTable) -> String? {
    let (record, shapes) = (head + map, table.bytes)
    let validator = RecordValidator(record.rawSpan, shapes: shapes.rawSpan)
    let isValid = validator.isMap(from: head.count, to: record.count, depth: 0)
    let found = error { () throws(RecordError) in _ = try RecordCodec.decodeFields(record.rawSpan, table) }
    let checked = error { () throws(RecordError) in try RecordCodec.check(record.rawSpan, table) }
    guard isValid != (found == nil) || checked != found else { return nil }
    return "\(isValid), \(String(describing: found)), \(String(describing: checked)): \(map.hexadecimal)"
  }

  private func error(of body: () throws(RecordError) -> Void) -> RecordError? {
    do throws(RecordError) {
      try body()
      return nil
    } catch {
      return error
    }
  }

  /// Maps with names, and maps with shapes.
  private func maps(
    _ rng: inout SeededRNG, _ shapes: ShapeDictionary, count: Int
  ) throws -> [[UInt8]] {
    var maps: [[UInt8]] = []
    for _ in 0..<count {
      let fields = Values.fields(&rng)
      for _ in 0..<3 {
        var encoder = RecordEncoder(shapes: shapes)
        let range = encoder.append(createTime: .first, updateTime: .first, fields: fields)
        maps.append(Array(encoder.bytes[range].dropFirst(9)))
      }
    }
    return maps
  }

  private func dictionary() -> ShapeDictionary {
    let shapes = ShapeDictionary()
    shapes.begin(from: 0)
    return shapes
  }

  // MARK: Random maps

  @Test func validMapsAreValid() throws {
    var rng = SeededRNG(seed: 71)
    let shapes = dictionary()
    let maps = try maps(&rng, shapes, count: 400)
    let table = shapes.table
    #expect(maps.compactMap { disagreement($0, table) } == [])
    let shapeBytes = table.bytes
    let invalid = maps.filter {
      !RecordValidator($0.rawSpan, shapes: shapeBytes.rawSpan).isMap(from: 0, to: $0.count, depth: 0)
    }
    #expect(invalid == [])
    // Some of the maps have shapes, and some have names.
    #expect(maps.contains { ($0.first ?? 0) > 3 } && maps.contains { ($0.first ?? 4) < 4 })
  }

  @Test func damagedMapsHaveTheVerdictOfTheDecoder() throws {
    let seed: UInt64 = 72
    var rng = SeededRNG(seed: seed)
    let shapes = dictionary()
    let maps = try maps(&rng, shapes, count: 200).filter { $0.count < 600 }
    let table = shapes.table
    var wrong: [String] = []
    for round in 0..<60_000 {
      let damaged = rng.pick(maps).damaged(&rng, splicing: rng.pick(maps))
      if let found = disagreement(damaged, table) { wrong.append("round \(round): \(found)") }
    }
    #expect(wrong == [], "seed \(seed)")
  }

  @Test func partsOfMapsHaveTheVerdictOfTheDecoder() throws {
    var rng = SeededRNG(seed: 73)
    let shapes = dictionary()
    let maps = try maps(&rng, shapes, count: 30).filter { $0.count < 400 }
    let table = shapes.table
    var wrong: [String] = []
    for map in maps {
      for count in 0..<map.count {
        wrong += [disagreement(Array(map.prefix(count)), table)].compactMap { $0 }
      }
      wrong += [disagreement(map + [0], table)].compactMap { $0 }
    }
    #expect(wrong == [])
  }

  // MARK: Values and tables

  /// Every tag with payloads of up to 18 bytes; most of the bytes are limits of encodings.
  @Test func payloadsOfEveryTagAndSizeHaveTheVerdictOfTheDecoder() {
    var rng = SeededRNG(seed: 74)
    let limits: [UInt8] = [0, 1, 0x7F, 0x80, 0x81, 0xC3, 0xA9, 0xE2, 0x82, 0xAC, 0xED, 0xF0, 0xF4, 0xFF]
    var wrong: [String] = []
    for tag in UInt8(0)...15 {
      for size in 0...18 {
        for _ in 0..<40 {
          let payload = (0..<size).map { _ in
            rng.oneIn(5) ? UInt8(truncatingIfNeeded: rng.next()) : rng.pick(limits)
          }
          // One field with the name "f".
          let map: [UInt8] = [0, 1, 1, 0x66, tag] + payload
          if let found = disagreement(map, .empty) { wrong.append(found) }
        }
      }
    }
    #expect(wrong == [])
  }

  /// Tables of two and four bytes, in arrays, maps with names and maps with shapes; also tables that are
  /// wider than they need be.
  @Test func wideTablesHaveTheVerdictOfTheDecoder() throws {
    let shapes = dictionary()
    var wrong: [String] = []
    for size in [1, 254, 255, 256, 257, 65_534, 65_535, 65_536, 70_000] {
      let long = StoredValue.string(String(repeating: "x", count: size))
      for fields in [
        StoredMap([("a", long), ("b", .null)]), StoredMap([("a", .null), ("b", long)]),
        StoredMap([("list", .array([long, .null])), ("z", .null)]),
        StoredMap([("list", .array([.null, long])), ("z", .map(StoredMap([("p", long), ("q", long)])))]),
      ] {
        for _ in 0..<3 {
          var encoder = RecordEncoder(shapes: shapes)
          let range = encoder.append(createTime: .first, updateTime: .first, fields: fields)
          let map = Array(encoder.bytes[range].dropFirst(9))
          let table = shapes.table
          // Every head with other widths, and numbers of the table with other bytes.
          for index in 0..<min(20, map.count) {
            for change in [UInt8(0), 1, 2, 3, 0x80, 0xFF] {
              var changed = map
              changed[index] ^= change
              if let found = disagreement(changed, table) { wrong.append(String(found.prefix(200))) }
            }
          }
        }
      }
    }
    let elements: [UInt8] = [0, 1, 0]
    for (head, table) in [(12, [1, 1]), (13, [1, 0, 1, 0]), (14, [1, 0, 0, 0, 1, 0, 0, 0]), (15, [])]
      as [(UInt8, [UInt8])]
    {
      let map: [UInt8] = [0, 1, 1, 0x66, 10, head] + table + elements
      if let found = disagreement(map, .empty) { wrong.append(found) }
    }
    #expect(wrong == [])
  }

  @Test func depthsAroundTheLimitHaveTheVerdictOfTheDecoder() {
    var wrong: [String] = []
    for depth in 17...23 {
      let arrays: [UInt8] = (0..<depth).flatMap { [10, $0 == depth - 1 ? 0 : 4] as [UInt8] }
      let maps: [UInt8] = (0..<depth).flatMap { _ in [12, 0, 1, 1, 0x66] as [UInt8] } + [0]
      for value in [arrays, maps, [13, 0, 0, 0, 0, 0, 0, 0, 0] + arrays] {
        if let found = disagreement([0, 1, 1, 0x66] + value, .empty) { wrong.append(found) }
      }
    }
    #expect(wrong == [])
  }
}
