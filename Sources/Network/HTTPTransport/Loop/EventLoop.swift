// One thread that waits for descriptors, timers and blocks.
//
//   1. Wait until a descriptor is ready, a timer is due, or a block was added.
//   2. Pass each event to its connection, except those of costly connections.
//   3. Run the blocks that were added. Blocks that take long leave the rest to the next turn, so that
//      connections with short requests do not wait for all of them.
//   4. Pass the events of costly connections. They take turns, and share a time slice.
//   5. Run the timers that are due.
//   6. Let the connections that have output send it: all answers of a turn leave in one call of the system.

internal import ByteStore
internal import CSockets
internal import Libc
internal import Synchronization

/// A descriptor's owner on a loop. All calls come from the thread of the loop.
protocol EventReceiver: AnyObject {
  /// The descriptor can be read from or written to, or has failed.
  func ready(canRead: Bool, canWrite: Bool, hasFailed: Bool)
  /// Whether events of the receiver take long. Other receivers then come first.
  var isCostly: Bool { get }
  /// The end of a turn in which the receiver has asked for it.
  func turnEnded()
  /// Called about once a second.
  func tick(now: UInt64)
  /// The loop ends.
  func stop()
}

extension EventReceiver {
  fileprivate func take(_ event: ReadyDescriptor) {
    ready(canRead: event.canRead, canWrite: event.canWrite, hasFailed: event.hasFailed)
  }
}

package final class EventLoop: LoopExecutor, @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: `receivers`, `timers`, `turnReceivers`, `blocks` and the events of
  // costly receivers are only used on the thread of the loop. Everything else protects itself.
  private struct Mailbox {
    var blocks: [@Sendable () -> Void] = []
    var isStopping = false
    /// Whether no block will run any more. A block that was kept could keep the loop alive.
    var hasEnded = false
  }

  private static let tickNanoseconds: UInt64 = 1_000_000_000
  /// The time for the blocks of one turn. At least one runs.
  private static let blockNanoseconds: UInt64 = 500_000
  /// The time for the costly connections of one turn. At least one is served.
  private static let costlyNanoseconds: UInt64 = 500_000

  let sockets: any SocketSystem
  let clock: MonotonicClock
  private let queue: any EventQueue
  private let mailbox = Locked(Mailbox())
  private let thread = Atomic<UInt64>(0)
  private let ended = Locked(false)

  private var receivers: [UInt64: any EventReceiver] = [:]
  private var turnReceivers: [any EventReceiver] = []
  /// Events of this turn for costly receivers.
  private var costlyEvents: [ReadyDescriptor] = []
  /// The costly receiver that was served last.
  private var lastCostly: UInt64 = 0
  /// Blocks that were taken from the mailbox, from `nextBlock` on still to be run.
  private var blocks: [@Sendable () -> Void] = []
  private var nextBlock = 0
  private var timers = TimerHeap()
  /// The time of the next tick. Nil before the first turn.
  private var nextTick: UInt64?

  /// Bytes that were read last. A connection uses them before it returns to the loop.
  let readBuffer = ReadBuffer()

  package init(_ sockets: any SocketSystem) throws(TransportError) {
    self.sockets = sockets
    clock = sockets.clock
    queue = try sockets.makeEventQueue()
  }

  package var isCurrent: Bool { thread.load(ordering: .relaxed) == dugout_thread_number() }

  package func execute(_ block: @escaping @Sendable () -> Void) {
    let wasEmpty = mailbox.withLock { mailbox in
      guard !mailbox.hasEnded else { return false }
      mailbox.blocks.append(block)
      return mailbox.blocks.count == 1
    }
    if wasEmpty, !isCurrent { queue.wake() }
  }

  package func after(_ nanoseconds: UInt64, _ block: @escaping @Sendable () -> Void) -> any LoopTimer {
    let (sum, overflow) = clock.now().addingReportingOverflow(nanoseconds)
    let timer = TimerHeap.Timer(overflow ? .max : sum, block)
    timers.add(timer)
    return HeapTimer(self, timer)
  }

  fileprivate func cancel(_ timer: TimerHeap.Timer) { timers.cancel(timer) }

  /// Starts the thread.
  package func start() throws(TransportError) {
    guard Thread.start({ [self] in run() }) else { throw .system(call: "pthread_create", error: EAGAIN) }
  }

  /// Ends the thread after it has stopped its receivers, and waits until it has ended. Not called on the
  /// loop.
  package func stop() {
    mailbox.withLock { $0.isStopping = true }
    queue.wake()
    ended.withLock(when: { $0 }) { _ in }
  }

  // MARK: - On the loop

  /// Registers a descriptor. Returns false if the system has no room for it.
  func add(
    _ receiver: any EventReceiver, _ descriptor: Int32, number: UInt64, reads: Bool, writes: Bool
  ) -> Bool {
    guard queue.add(descriptor, number, reads: reads, writes: writes) else { return false }
    receivers[number] = receiver
    return true
  }

  func change(_ descriptor: Int32, number: UInt64, reads: Bool, writes: Bool) {
    queue.change(descriptor, number, reads: reads, writes: writes)
  }

  /// Forgets a descriptor, which the caller then closes.
  func remove(number: UInt64) { receivers[number] = nil }

  /// Has the receiver called at the end of this turn.
  func callAtEndOfTurn(_ receiver: any EventReceiver) { turnReceivers.append(receiver) }

  private func run() {
    enter()
    while turn() {}
    finishTurns()
    leave()
    ended.withLock { $0 = true }
    ended.wakeAll()
  }

  /// Runs one turn of a loop that was not started, as its thread. Returns false if the loop is stopping.
  package func runTurn() -> Bool {
    enter()
    defer { leave() }
    return turn()
  }

  /// Stops the receivers of a loop that was not started.
  package func runEnd() {
    enter()
    finishTurns()
    leave()
  }

  private func enter() { thread.store(dugout_thread_number(), ordering: .relaxed) }

  private func leave() { thread.store(0, ordering: .relaxed) }

  /// Runs one turn. Returns false if the loop is stopping.
  private func turn() -> Bool {
    queue.wait(milliseconds: waitMilliseconds) { event in
      guard let receiver = receivers[event.number] else { return }
      if receiver.isCostly { costlyEvents.append(event) } else { receiver.take(event) }
    }
    let isStopping = runBlocks()
    serveCostly()
    let now = clock.now()
    while let due = timers.removeFirst(before: now) { due?() }
    if now >= nextTick ?? 0 { tick(now) }
    endTurn()
    return !isStopping
  }

  /// Passes events until the time slice is over. The queue reports the others again.
  private func serveCostly() {
    guard !costlyEvents.isEmpty else { return }
    costlyEvents.sort { $0.number < $1.number }
    let first = costlyEvents.firstIndex { $0.number > lastCostly } ?? 0
    let end = clock.exact() + Self.costlyNanoseconds
    for event in costlyEvents[first...] + costlyEvents[..<first] {
      lastCostly = event.number
      receivers[event.number]?.take(event)
      guard clock.exact() < end else { break }
    }
    costlyEvents.removeAll(keepingCapacity: true)
  }

  private func tick(_ now: UInt64) {
    nextTick = now + Self.tickNanoseconds
    // In order, so that the same events always have the same effects.
    for number in receivers.keys.sorted() { receivers[number]?.tick(now: now) }
  }

  private func finishTurns() {
    for number in receivers.keys.sorted() { receivers[number]?.stop() }
    // The rest of the last turn, then the blocks that were added before the end. Those that blocks add now do
    // not run, because there may be no end of them.
    while nextBlock < blocks.count { _ = runBlocks() }
    repeat { _ = runBlocks() } while nextBlock < blocks.count
    let dropped = mailbox.withLock { mailbox in
      mailbox.hasEnded = true
      defer { mailbox.blocks = [] }
      return mailbox.blocks
    }
    let lateTimers = timers
    timers = TimerHeap()
    withExtendedLifetime((dropped, lateTimers)) {}
  }

  /// Runs blocks in the order in which they were added, and returns whether the loop is stopping.
  private func runBlocks() -> Bool {
    let isStopping = mailbox.withLock { mailbox in
      if nextBlock == blocks.count, !mailbox.blocks.isEmpty {
        (blocks, nextBlock) = (mailbox.blocks, 0)
        mailbox.blocks = []
      }
      return mailbox.isStopping
    }
    guard nextBlock < blocks.count else { return isStopping }
    let end = clock.exact() + Self.blockNanoseconds
    repeat {
      let block = blocks[nextBlock]
      nextBlock += 1
      block()
    } while nextBlock < blocks.count && clock.exact() < end
    // Releases the objects that the blocks refer to.
    if nextBlock == blocks.count { (blocks, nextBlock) = ([], 0) }
    return isStopping
  }

  private func endTurn() {
    while !turnReceivers.isEmpty {
      let receivers = turnReceivers
      turnReceivers.removeAll(keepingCapacity: true)
      for receiver in receivers { receiver.turnEnded() }
    }
  }

  /// The time that the next turn waits for events.
  package var waitMilliseconds: Int32 {
    guard nextBlock == blocks.count, mailbox.withLock({ $0.blocks.isEmpty && !$0.isStopping }) else {
      return 0
    }
    let now = clock.now()
    let time = min(nextTick ?? 0, timers.earliest ?? .max)
    guard time > now else { return 0 }
    return Int32(clamping: (time - now + 999_999) / 1_000_000)
  }
}

private final class HeapTimer: LoopTimer, @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: `cancel` is only called on the loop, and touches nothing else.
  private weak var loop: EventLoop?
  private let timer: TimerHeap.Timer

  init(_ loop: EventLoop, _ timer: TimerHeap.Timer) {
    self.loop = loop
    self.timer = timer
  }

  func cancel() { loop?.cancel(timer) }
}

/// Memory for the bytes that a loop reads from its sockets.
@safe
final class ReadBuffer {
  static let byteCount = 16 * 1024

  let bytes: UnsafeMutableRawBufferPointer

  init() { unsafe bytes = .allocate(byteCount: Self.byteCount, alignment: 16) }

  deinit { unsafe bytes.deallocate() }
}
