// Mutations that know the values of JSON.

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
    switch random.below(8) {
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
    case 5:
      let element = Array(bytes[range]) + [UInt8(ascii: ",")]
      let count = Growth.count(of: element, in: bytes, &random)
      changed.insert(contentsOf: repeatElement(element, count: count).joined(), at: range.lowerBound)
    case 6:
      let quote = [UInt8(ascii: "\"")]
      changed.replaceSubrange(range, with: quote + Growth.text(&random) + quote)
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
