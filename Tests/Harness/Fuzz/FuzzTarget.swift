// The interface of a fuzz target: its seeds, and the property that holds for any input.

package protocol FuzzTarget: SendableMetatype {
  static var name: String { get }
  init(seed: UInt64)
  /// Valid inputs for the mutator to start from.
  var seeds: [[UInt8]] { get }
  ///  Passes an input to the decoder and checks the property. Returns a description of the outcome; the
  ///  description contains no numbers. Inputs with a new outcome are kept and mutated further.
  mutating func run(_ input: [UInt8]) throws(FuzzFinding) -> String
  /// Mutates an input in a way that knows its form; `other` is another input. Returns nil to mutate bytes.
  mutating func variant(of input: [UInt8], other: [UInt8], _ random: inout SeededRandom) -> [UInt8]?
}

extension FuzzTarget {
  package mutating func variant(
    of input: [UInt8], other: [UInt8], _ random: inout SeededRandom
  ) -> [UInt8]? { nil }
}

package struct FuzzFinding: Error, CustomStringConvertible {
  package var description: String

  package init(_ description: String) { self.description = description }
}

/// Mutates inputs, both at random, as decay of the medium would, and with values that an attacker would
/// choose.
struct ByteMutator {
  var random: SeededRandom

  private static let interesting: [UInt64] = [
    0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF,
    0x7FFF_FFFF_FFFF_FFFF, 0x8000_0000_0000_0000, .max,
  ]

  mutating func mutated(_ input: [UInt8], other: [UInt8]) -> [UInt8] {
    var bytes = input
    for _ in 0..<1 + random.below(4) { change(&bytes, other) }
    return bytes
  }

  private mutating func change(_ bytes: inout [UInt8], _ other: [UInt8]) {
    guard !bytes.isEmpty else {
      bytes = random.bytes(random.below(64))
      return
    }
    let at = random.below(bytes.count)
    switch random.below(9) {
    case 0, 1: bytes[at] ^= 1 << UInt8(random.below(8))
    case 2: bytes[at] = UInt8(random.below(256))
    case 3, 4: overwrite(&bytes, at)
    case 5: bytes.removeSubrange(at..<min(bytes.count, at + 1 + random.below(16)))
    case 6: bytes.insert(contentsOf: random.bytes(1 + random.below(16)), at: at)
    case 7: bytes.removeLast(bytes.count - at)
    default: splice(&bytes, at, other)
    }
  }

  /// Overwrites a few bytes with an extreme value of a length or a count.
  private mutating func overwrite(_ bytes: inout [UInt8], _ at: Int) {
    let word = Self.interesting[random.below(Self.interesting.count)]
    for index in 0..<[1, 2, 4, 8][random.below(4)] where at + index < bytes.count {
      bytes[at + index] = UInt8(truncatingIfNeeded: word >> (8 * UInt64(index)))
    }
  }

  private mutating func splice(_ bytes: inout [UInt8], _ at: Int, _ other: [UInt8]) {
    guard !other.isEmpty else { return }
    let start = random.below(other.count)
    let piece = other[start..<min(other.count, start + 1 + random.below(64))]
    bytes.replaceSubrange(at..<min(bytes.count, at + piece.count), with: piece)
  }
}
