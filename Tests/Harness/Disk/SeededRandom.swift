// A reproducible random number generator: xoshiro256**, seeded by SplitMix64.

package struct SeededRandom: RandomNumberGenerator, Sendable {
  private var state: (UInt64, UInt64, UInt64, UInt64)

  package init(seed: UInt64) {
    var mixer = seed
    func next() -> UInt64 {
      mixer &+= 0x9E37_79B9_7F4A_7C15
      return Self.mixed(mixer)
    }
    state = (next(), next(), next(), next())
  }

  /// Derives the seed of one part of a run, so that this part can be reproduced alone.
  package static func seed(_ seed: UInt64, _ parts: UInt64...) -> UInt64 {
    parts.reduce(mixed(seed)) { mixed($0 ^ mixed($1 &+ 0x9E37_79B9_7F4A_7C15)) }
  }

  package mutating func next() -> UInt64 {
    func rotated(_ word: UInt64, _ count: UInt64) -> UInt64 { word << count | word >> (64 - count) }
    let result = rotated(state.1 &* 5, 7) &* 9
    let shifted = state.1 << 17
    state.2 ^= state.0
    state.3 ^= state.1
    state.1 ^= state.2
    state.0 ^= state.3
    state.2 ^= shifted
    state.3 = rotated(state.3, 45)
    return result
  }

  /// Returns a number from 0 to `bound` - 1.
  package mutating func below(_ bound: Int) -> Int {
    precondition(bound > 0, "there is no number below \(bound)")
    return Int(next().multipliedFullWidth(by: UInt64(bound)).high)
  }

  /// Returns true once in `count` times, on average.
  package mutating func oneIn(_ count: Int) -> Bool { below(count) == 0 }

  package mutating func bytes(_ count: Int) -> [UInt8] {
    // Empty arrays share storage across the process, and initializing it would count as a data race.
    guard count > 0 else { return [] }
    return [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      while filled < count {
        var word = next()
        for _ in 0..<min(8, count - filled) {
          buffer.initializeElement(at: filled, to: UInt8(truncatingIfNeeded: word))
          word >>= 8
          filled += 1
        }
      }
    }
  }

  private static func mixed(_ word: UInt64) -> UInt64 {
    var z = word
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
