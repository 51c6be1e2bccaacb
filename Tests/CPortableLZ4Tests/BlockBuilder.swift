// Blocks written by hand, valid or not, and inputs of several kinds.

import Harness

struct BlockBuilder {
  private(set) var bytes: [UInt8] = []

  /// Appends a sequence that is not the last. A match has at least four bytes.
  mutating func append(_ literals: [UInt8], offset: Int, match: Int) {
    bytes.append(UInt8(min(15, literals.count) << 4 | min(15, match - 4)))
    appendLength(literals.count)
    bytes += literals + [UInt8(offset & 255), UInt8(offset >> 8)]
    appendLength(match - 4)
  }

  mutating func append(last literals: [UInt8]) {
    bytes.append(UInt8(min(15, literals.count) << 4))
    appendLength(literals.count)
    bytes += literals
  }

  private mutating func appendLength(_ length: Int) {
    guard length >= 15 else { return }
    bytes += [UInt8](repeating: 255, count: (length - 15) / 255) + [UInt8((length - 15) % 255)]
  }

  /// Returns the block of one sequence, followed by last literals.
  static func block(_ literals: [UInt8], offset: Int, match: Int, last: [UInt8]) -> [UInt8] {
    var builder = BlockBuilder()
    builder.append(literals, offset: offset, match: match)
    builder.append(last: last)
    return builder.bytes
  }
}

/// Bytes that all differ from their neighbours.
func counted(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) } }

enum Content: CaseIterable, Sendable {
  case noise, oneByte, shortPeriod, text, records, noiseAndRuns

  func bytes(_ count: Int, seed: UInt64) -> [UInt8] {
    var random = SeededRandom(seed: seed)
    switch self {
    case .noise: return random.bytes(count)
    case .oneByte: return [UInt8](repeating: 65, count: count)
    case .shortPeriod:
      let period = random.bytes(1 + random.below(20))
      return (0..<count).map { period[$0 % period.count] }
    case .text:
      let words = ["light ", "river ", "stone ", "harbour ", "window ", "summer ", "station "]
      return Self.repeated(count) { Array(words[random.below(words.count)].utf8) }
    case .records:
      return Self.repeated(count) {
        Array("{\"id\": \(random.below(1_000_000)), \"name\": \"".utf8) + random.bytes(6)
          + Array("\"}\n".utf8)
      }
    case .noiseAndRuns:
      return Self.repeated(count) {
        random.oneIn(2)
          ? random.bytes(random.below(400))
          : [UInt8](repeating: UInt8(random.below(256)), count: 1 + random.below(400))
      }
    }
  }

  private static func repeated(_ count: Int, _ piece: () -> [UInt8]) -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count { bytes += piece() }
    return Array(bytes.prefix(count))
  }
}
