// Reads that wait for the remote's confirmation, and the rule that decides when they time out.
//
// Time is counted in ticks, which follow one another while a read waits. There is no clock here. A read is
// overdue after:
//
//   - two whole ticks without any message from the remote, or
//   - twelve ticks in total

struct WaitingReads {
  private struct Wait {
    /// Starts at -1, because the tick during which the wait began does not count.
    var ticks = -1
    var silentTicks = -1
  }

  private static let silentTicksMax = 2
  private static let ticksMax = 12

  private var waits: [ListenerID: Wait] = [:]
  private var hasReceivedMessage = false

  var isEmpty: Bool { waits.isEmpty }
  var all: [ListenerID] { waits.keys.sorted() }

  func contains(_ id: ListenerID) -> Bool { waits[id] != nil }

  mutating func add(_ id: ListenerID) { waits[id] = Wait() }

  mutating func remove(_ id: ListenerID) { waits[id] = nil }

  /// Records that the remote has sent something.
  mutating func noteMessage() { hasReceivedMessage = true }

  /// Ends a tick and returns the reads that have timed out.
  mutating func overdue() -> [ListenerID] {
    for id in waits.keys {
      waits[id]?.ticks += 1
      if hasReceivedMessage { waits[id]?.silentTicks = 0 } else { waits[id]?.silentTicks += 1 }
    }
    hasReceivedMessage = false
    return waits.filter { $0.value.silentTicks >= Self.silentTicksMax || $0.value.ticks >= Self.ticksMax }
      .keys.sorted()
  }
}
