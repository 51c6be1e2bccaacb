// The timers of a loop, the earliest first.

/// A binary heap of timers. A cancelled timer stays in the heap until its time, or until half of the heap is
/// cancelled.
struct TimerHeap {
  private var timers: [Timer] = []
  private var cancelledCount = 0

  /// A block with its time.
  final class Timer {
    let time: UInt64
    fileprivate(set) var block: (() -> Void)?

    init(_ time: UInt64, _ block: @escaping () -> Void) {
      self.time = time
      self.block = block
    }
  }

  var earliest: UInt64? { timers.first?.time }

  mutating func add(_ timer: Timer) {
    timers.append(timer)
    var child = timers.count - 1
    while child > 0, timers[child].time < timers[(child - 1) / 2].time {
      timers.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  mutating func cancel(_ timer: Timer) {
    guard timer.block != nil else { return }
    timer.block = nil
    cancelledCount += 1
    guard cancelledCount > 64, cancelledCount > timers.count / 2 else { return }
    let live = timers.filter { $0.block != nil }
    timers = []
    cancelledCount = 0
    for timer in live { add(timer) }
  }

  /// Removes the earliest timer if its time has come, and returns its block, which is nil if it was
  /// cancelled.
  mutating func removeFirst(before now: UInt64) -> (() -> Void)?? {
    guard let first = timers.first, first.time <= now else { return .none }
    let last = timers.removeLast()
    if !timers.isEmpty {
      timers[0] = last
      sink()
    }
    defer { first.block = nil }
    if first.block == nil { cancelledCount -= 1 }
    return .some(first.block)
  }

  private mutating func sink() {
    var parent = 0
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2]
      where child < timers.count && timers[child].time < timers[least].time {
        least = child
      }
      guard least != parent else { return }
      timers.swapAt(parent, least)
      parent = least
    }
  }
}
