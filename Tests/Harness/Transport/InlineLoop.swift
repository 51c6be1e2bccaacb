// An event loop without a thread. A test runs its blocks, and moves its time.

import ByteStore
package import HTTPTransport

/// A loop that runs its blocks when a test says so. The test is on the loop, except within `elsewhere`.
package final class InlineLoop: LoopExecutor {
  private struct State {
    var blocks: [@Sendable () -> Void] = []
    var executeCount = 0
    var timers: [InlineTimer] = []
    var now: UInt64 = 1_000_000_000
    var isElsewhere = false
  }

  private let state = Locked(State())

  package init() {}

  package var isCurrent: Bool { state.withLock { !$0.isElsewhere } }

  package func execute(_ block: @escaping @Sendable () -> Void) {
    state.withLock { state in
      state.blocks.append(block)
      state.executeCount += 1
    }
  }

  package func after(_ nanoseconds: UInt64, _ block: @escaping @Sendable () -> Void) -> any LoopTimer {
    state.withLock { state in
      let (end, overflows) = state.now.addingReportingOverflow(nanoseconds)
      let timer = InlineTimer(overflows ? .max : end, block)
      state.timers.append(timer)
      return timer
    }
  }

  /// The clock of the loop.
  package var clock: MonotonicClock { MonotonicClock { [self] in now } }

  /// The time of the clock.
  package var now: UInt64 { state.withLock { $0.now } }

  /// The number of blocks that were added so far.
  package var executeCount: Int { state.withLock { $0.executeCount } }

  /// The number of timers that have neither run nor been cancelled.
  package var timerCount: Int { state.withLock { $0.timers.count { !$0.isOver } } }

  /// Runs all blocks, with those that they add. Also within `elsewhere`, as a loop on its own thread would.
  package func run() {
    let wasElsewhere = setElsewhere(false)
    while let block = state.withLock({ $0.blocks.isEmpty ? nil : $0.blocks.removeFirst() }) { block() }
    setElsewhere(wasElsewhere)
  }

  /// Moves the time, and runs the timers that are due.
  package func advance(seconds: Int) {
    let due = state.withLock { state in
      state.now += UInt64(seconds) * 1_000_000_000
      let due = state.timers.filter { $0.end <= state.now }
      state.timers.removeAll { $0.end <= state.now || $0.isOver }
      return due
    }
    for timer in due { timer.run() }
    run()
  }

  /// Runs `body` as if another thread did.
  package func elsewhere(_ body: () -> Void) {
    let wasElsewhere = setElsewhere(true)
    body()
    setElsewhere(wasElsewhere)
  }

  @discardableResult
  private func setElsewhere(_ isElsewhere: Bool) -> Bool {
    state.withLock { state in
      defer { state.isElsewhere = isElsewhere }
      return state.isElsewhere
    }
  }
}

private final class InlineTimer: LoopTimer {
  let end: UInt64
  private let block: Locked<(@Sendable () -> Void)?>

  init(_ end: UInt64, _ block: @escaping @Sendable () -> Void) {
    self.end = end
    self.block = Locked(block)
  }

  var isOver: Bool { block.withLock { $0 == nil } }

  func cancel() {
    let block = block.withLock { $0.take() }
    withExtendedLifetime(block) {}
  }

  func run() { block.withLock { $0.take() }?() }
}

/// A pool without threads.
package final class InlinePool: BlockPool {
  private let blocks = Locked<[@Sendable () -> Void]>([])

  package init() {}

  package func run(_ block: @escaping @Sendable () -> Void) { blocks.withLock { $0.append(block) } }

  /// Runs all blocks that wait, as a thread of the pool would.
  package func runBlocks(beside loop: InlineLoop) {
    while let block = blocks.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { loop.elsewhere(block) }
  }
}
