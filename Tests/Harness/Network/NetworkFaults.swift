// The faults of a simulated network. Each rate is one in a number of calls, and 0 is never.

package struct NetworkFaults: Sendable {
  /// A transfer, or an accept, finds nothing although the queue has reported something.
  package var empty = 0
  /// A call is interrupted by a signal.
  package var interrupted = 0
  /// A transfer has fewer bytes than it could have.
  package var short = 0
  /// A send takes one byte only.
  package var single = 0
  /// A ready descriptor is not reported in this turn.
  package var late = 0
  /// A descriptor is reported that is not ready.
  package var spurious = 0
  /// A transfer fails for good.
  package var broken = 0
  /// A connection that waits to be accepted is aborted.
  package var aborted = 0
  /// An accept fails with another error, after which the connection can be accepted.
  package var refused = 0
  /// The event queue takes no more descriptors.
  package var queueFull = 0
  /// The bytes of a connection stop for a while.
  package var stalled = 0
  /// The time jumps although there is work.
  package var jumps = 0
  /// The maximum of open descriptors.
  package var descriptorsMax = Int.max
  /// The system has no descriptors in this time.
  package var scarce: Range<UInt64> = 0..<0
  /// Whether a new descriptor has the lowest number that is free, as those of the system.
  package var reusesDescriptors = true
  /// The step of the clock.
  package var clockStep: UInt64 = 1

  /// Whether a client can lose its connection without its own doing.
  package var losesConnections: Bool {
    broken > 0 || aborted > 0 || queueFull > 0 || descriptorsMax != .max || !scarce.isEmpty || jumps > 0
  }

  package init() {}

  /// Faults that each connection survives.
  static func harmless(_ random: inout SeededRandom) -> NetworkFaults {
    var faults = NetworkFaults()
    faults.empty = rate(&random)
    faults.interrupted = rate(&random)
    faults.short = rate(&random)
    faults.single = rate(&random)
    faults.late = rate(&random)
    faults.spurious = rate(&random)
    faults.refused = rate(&random)
    faults.stalled = rate(&random) * 10
    faults.reusesDescriptors = !random.oneIn(3)
    faults.clockStep = random.oneIn(2) ? 1 : 4_000_000
    return faults
  }

  /// Faults that connections do not survive.
  mutating func addLosses(_ random: inout SeededRandom) {
    switch random.below(6) {
    case 0: broken = 20 + random.below(200)
    case 1: aborted = 1 + random.below(4)
    case 2: queueFull = 1 + random.below(4)
    case 3: descriptorsMax = 2 + random.below(5)
    case 4:
      let start = UInt64(random.below(3)) * 1_000_000_000
      scarce = start..<start + UInt64(random.below(5_000)) * 1_000_000
    default: jumps = 20 + random.below(200)
    }
  }

  private static func rate(_ random: inout SeededRandom) -> Int {
    random.oneIn(2) ? 0 : [2, 3, 10, 50][random.below(4)]
  }
}
