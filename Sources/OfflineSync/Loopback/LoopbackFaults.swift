// What may go wrong between a client and its loopback authority.

public struct LoopbackFaults: Sendable {
  /// Of each message, in microseconds.
  public var latency: ClosedRange<Int64> = 0...0
  /// One message in so many is lost, and its connection with it.
  public var lossOneIn: Int?
  /// One message in so many comes twice, where that makes no difference to a correct receiver.
  public var duplicationOneIn: Int?
  /// Documents of one moment come in any order.
  public var reorders = false
  /// One batch in so many is refused for now, with a code that says so.
  public var transientRejectionOneIn: Int?

  public init() {}
}

/// Dice with a seed (SplitMix64).
struct LoopbackDice {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var word = state
    word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
    return word ^ (word >> 31)
  }

  mutating func below(_ bound: UInt64) -> UInt64 { bound == 0 ? 0 : next() % bound }

  mutating func isOne(in count: Int?) -> Bool { count.map { below(UInt64($0)) == 0 } ?? false }
}
