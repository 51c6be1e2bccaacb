// Mutations that know the fields of protobuf messages.

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
    switch random.below(11) {
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
    case 8:
      let count = Growth.count(of: written(fields[place]), in: bytes, &random)
      fields.insert(contentsOf: repeatElement(fields[place], count: count), at: place)
    case 9: fields[place] = field(fields[place].number, Growth.text(&random))
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
