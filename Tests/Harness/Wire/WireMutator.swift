// Mutations that know the form of the bytes: fields of protobuf messages, and values of JSON.

/// Changes protobuf at the level of its fields: repeats, removes, reorders, renumbers, retypes and nests
/// them.
struct WireMutator {
  private struct Field {
    var number: UInt64
    var type: UInt64
    /// The bytes after the tag: a number, or a length and as many bytes.
    var body: [UInt8]
    /// The bytes inside, if the field has a length.
    var content: [UInt8]
  }

  private static let depthMax = 6

  static func mutated(_ bytes: [UInt8], other: [UInt8], _ random: inout SeededRandom) -> [UInt8] {
    mutated(bytes, other: other, depth: depthMax, &random)
  }

  private static func mutated(
    _ bytes: [UInt8], other: [UInt8], depth: Int, _ random: inout SeededRandom
  ) -> [UInt8] {
    var fields = fields(bytes)
    guard !fields.isEmpty else { return other.isEmpty ? random.bytes(8) : other }
    let place = random.below(fields.count)
    // Most changes happen deeper, where the message has more fields.
    if depth > 0, fields[place].type == 2, !random.oneIn(3) {
      let content = mutated(fields[place].content, other: other, depth: depth - 1, &random)
      fields[place] = field(fields[place].number, content)
      return fields.flatMap(written)
    }
    switch random.below(9) {
    case 0: fields.append(fields[place])
    case 1: fields.remove(at: place)
    case 2: fields.swapAt(place, random.below(fields.count))
    case 3: fields[place].number = UInt64(random.below(24))
    case 4: fields[place].type = UInt64(random.below(8))
    case 5: fields[place] = field(fields[place].number, written(fields[place]))
    case 6:
      // Wraps the field in itself many times.
      for _ in 0..<random.below(200) { fields[place] = field(fields[place].number, written(fields[place])) }
    case 7:
      let others = self.fields(other)
      if let other = others.randomElement(using: &random) { fields.append(other) }
    default: fields[place].body = varint(random.oneIn(2) ? random.next() : UInt64(random.below(300)))
    }
    return fields.flatMap(written)
  }

  /// Splits bytes into fields, as far as they have the form of a message.
  private static func fields(_ bytes: [UInt8]) -> [Field] {
    var fields: [Field] = []
    var rest = bytes[...]
    while let tag = readVarint(&rest) {
      let start = rest
      let type = tag & 7
      var content: [UInt8] = []
      switch type {
      case 0: guard readVarint(&rest) != nil else { return fields }
      case 1, 5:
        let size = type == 1 ? 8 : 4
        guard rest.count >= size else { return fields }
        rest = rest.dropFirst(size)
      case 2:
        guard let size = readVarint(&rest), size <= UInt64(rest.count) else { return fields }
        content = Array(rest.prefix(Int(size)))
        rest = rest.dropFirst(Int(size))
      default: return fields
      }
      let body = Array(start.prefix(rest.startIndex - start.startIndex))
      fields.append(Field(number: tag >> 3, type: type, body: body, content: content))
    }
    return fields
  }

  private static func readVarint(_ bytes: inout ArraySlice<UInt8>) -> UInt64? {
    var value: UInt64 = 0
    for (place, byte) in bytes.prefix(10).enumerated() {
      value |= UInt64(byte & 0x7F) << UInt64(7 * place)
      guard byte < 0x80 else { continue }
      bytes = bytes.dropFirst(place + 1)
      return value
    }
    return nil
  }

  private static func varint(_ value: UInt64) -> [UInt8] {
    var bytes: [UInt8] = []
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    return bytes + [UInt8(rest)]
  }

  private static func field(_ number: UInt64, _ content: [UInt8]) -> Field {
    Field(number: number, type: 2, body: varint(UInt64(content.count)) + content, content: content)
  }

  private static func written(_ field: Field) -> [UInt8] {
    varint(field.number << 3 | field.type) + field.body
  }
}

/// Changes JSON at the level of its values: exchanges, repeats, removes and nests them.
struct JSONMutator {
  private static let values = [
    "null", "true", "0", "-0", "1e400", "1.5", "9223372036854775808", "\"9223372036854775807\"", "\"\"",
    "\"NaN\"", "\"Infinity\"", "[]", "{}", "\"AA==\"", "\"_-8\"", "\"1970-01-01T00:00:00Z\"", "\"\\ud800\"",
    "\"\\u0000\"", "\"2024-02-30T00:00:00.123456789Z\"", "{\"a\":1,\"a\":2}", "\"ASCENDING\"", "2",
  ]

  static func mutated(_ bytes: [UInt8], other: [UInt8], _ random: inout SeededRandom) -> [UInt8] {
    let ranges = values(in: bytes)
    guard let range = ranges.randomElement(using: &random) else { return other }
    var changed = bytes
    switch random.below(6) {
    case 0: changed.replaceSubrange(range, with: Array(values[random.below(values.count)].utf8))
    case 1:
      let others = values(in: other)
      guard let other = others.randomElement(using: &random).map({ other[$0] }) else { break }
      changed.replaceSubrange(range, with: other)
    case 2:
      let inner = ranges[random.below(ranges.count)]
      changed.replaceSubrange(range, with: bytes[inner])
    case 3:
      let depth = random.below(150)
      let opened = [UInt8](repeating: UInt8(ascii: "["), count: depth)
      let closed = [UInt8](repeating: UInt8(ascii: "]"), count: depth)
      changed.replaceSubrange(range, with: opened + bytes[range] + closed)
    case 4: changed.removeSubrange(range)
    default: changed.insert(contentsOf: Array(bytes[range]) + [UInt8(ascii: ",")], at: range.lowerBound)
    }
    return changed
  }

  /// The ranges of strings, numbers, words, objects and arrays. The text need not be valid.
  private static func values(in bytes: [UInt8]) -> [Range<Int>] {
    var ranges: [Range<Int>] = []
    var open: [Int] = []
    var place = 0
    while place < bytes.count {
      switch bytes[place] {
      case UInt8(ascii: "{"), UInt8(ascii: "["): open.append(place)
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        if let start = open.popLast() { ranges.append(start..<place + 1) }
      case UInt8(ascii: "\""):
        let start = place
        place += 1
        while place < bytes.count, bytes[place] != UInt8(ascii: "\"") {
          place += bytes[place] == UInt8(ascii: "\\") ? 2 : 1
        }
        ranges.append(start..<min(place + 1, bytes.count))
      case UInt8(ascii: ","), UInt8(ascii: ":"), UInt8(ascii: " "), UInt8(ascii: "\n"): break
      default:
        let start = place
        while place + 1 < bytes.count, isPlain(bytes[place + 1]) { place += 1 }
        ranges.append(start..<place + 1)
      }
      place += 1
    }
    return ranges
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "+"):
      true
    default: false
    }
  }
}
