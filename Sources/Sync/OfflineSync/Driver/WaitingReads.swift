// Reads that wait for what a remote confirms, and when they have waited long enough.
//
// Nothing here knows a clock: time goes by in ticks, one after the other as long as anybody waits.
//
//   overdue  =  two whole ticks in which the remote has said nothing at all,
//               or twelve, however much it says about other things

struct WaitingReads {
  private struct Wait {
    /// The tick during which it began counts as none.
    var ticks = -1
    var silentTicks = -1
  }

  private static let silentTicksMax = 2
  private static let ticksMax = 12

  private var waits: [ListenerID: Wait] = [:]
  private var hasHeard = false

  var isEmpty: Bool { waits.isEmpty }
  var all: [ListenerID] { waits.keys.sorted() }

  func contains(_ id: ListenerID) -> Bool { waits[id] != nil }

  mutating func add(_ id: ListenerID) { waits[id] = Wait() }

  mutating func remove(_ id: ListenerID) { waits[id] = nil }

  /// The remote has said something.
  mutating func hear() { hasHeard = true }

  /// A tick is over: who has waited long enough.
  mutating func overdue() -> [ListenerID] {
    for id in waits.keys {
      waits[id]?.ticks += 1
      if hasHeard { waits[id]?.silentTicks = 0 } else { waits[id]?.silentTicks += 1 }
    }
    hasHeard = false
    return waits.filter { $0.value.silentTicks >= Self.silentTicksMax || $0.value.ticks >= Self.ticksMax }
      .keys.sorted()
  }
}
