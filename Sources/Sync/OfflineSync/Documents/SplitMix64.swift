// A seeded random number generator (SplitMix64), so that runs can be reproduced.

package struct SplitMix64: Sendable {
  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var word = state
    word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
    return word ^ (word >> 31)
  }

  package mutating func below(_ bound: UInt64) -> UInt64 { bound == 0 ? 0 : next() % bound }

  package mutating func isOne(in count: Int?) -> Bool { count.map { below(UInt64($0)) == 0 } ?? false }

  /// A random number in 0 ..< 1.
  package mutating func fraction() -> Double { Double(next() >> 11) / Double(1 << 53) }
}
