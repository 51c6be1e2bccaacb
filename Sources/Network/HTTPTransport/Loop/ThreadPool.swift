// Threads for work that may block: reads of long answers, and the blocks of streams.

internal import ByteStore
internal import CSockets
internal import Libc

/// A pool whose threads start when there is work, and end when they have been idle.
///
/// The threads have a lower priority than those of loops, on which short requests run. They wait while the
/// loops have many bytes that they have not taken: the bytes of long answers would otherwise pile up, and the
/// requests of other clients would wait behind them.
///
/// Few threads at a time run long blocks. A short block would otherwise get a small part of a processor.
package final class ThreadPool: BlockPool {
  fileprivate struct State {
    var blocks = FairLine()
    var threadCount = 0
    var idleCount = 0
    var postedBytes = 0
    var longRunning = 0
    let longRunningMax: Int

    var takesLong: Bool { longRunning < longRunningMax }
    /// Blocks for which a thread may be started.
    var runnableCount: Int { blocks.shortCount + min(blocks.longCount, longRunningMax - longRunning) }
    var mayRun: Bool { runnableCount > 0 && postedBytes < postedBytesMax }

    /// Takes a block, and counts it if it is long.
    mutating func take() -> Block? {
      guard let (block, isLong) = blocks.takeFirst(takesLong: takesLong) else { return nil }
      if isLong { longRunning += 1 }
      return Block(run: block, isLong: isLong)
    }
  }

  fileprivate struct Block {
    let run: @Sendable () -> Void
    let isLong: Bool
  }

  private static let postedBytesMax = 512 * 1024
  private static let idleNanoseconds: UInt64 = 10_000_000_000

  private let threadsMax: Int
  private let state: Locked<State>
  private let added = Signal()

  /// Creates a pool that runs at most `longRunningMax` long blocks at a time. By default, their number
  /// follows that of the processors, and leaves a quarter of the threads to short blocks.
  package init(threadsMax: Int = 16, longRunningMax: Int? = nil) {
    self.threadsMax = threadsMax
    let processors = max(4, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
    state = Locked(
      State(longRunningMax: longRunningMax ?? max(1, min(processors, threadsMax * 3 / 4))))
  }

  package func run(_ block: @escaping @Sendable () -> Void) { run(block, of: 0, isLong: false) }

  package func run(_ block: @escaping @Sendable () -> Void, of owner: UInt64, isLong: Bool) {
    let startsThread: Bool = state.withLock { state in
      state.blocks.add(block, of: owner, isLong: isLong)
      guard state.runnableCount > state.idleCount, state.threadCount < threadsMax else { return false }
      state.threadCount += 1
      return true
    }
    added.wake()
    if startsThread, !Thread.start({ [self] in runBlocks() }) {
      state.withLock { $0.threadCount -= 1 }
    }
  }

  package var hasWaiting: Bool { state.withLock { !$0.blocks.isEmpty } }

  package func posted(_ byteCount: Int) { state.withLock { $0.postedBytes += byteCount } }

  package func arrived(_ byteCount: Int) {
    let mayRun: Bool = state.withLock { state in
      state.postedBytes -= byteCount
      return state.mayRun && state.idleCount > 0
    }
    if mayRun { added.wake() }
  }

  private func runBlocks() {
    dugout_thread_lower_priority()
    var wasLong = false
    while let block = nextBlock(afterLong: wasLong) {
      block.run()
      wasLong = block.isLong
    }
  }

  /// Waits for a block. Returns nil if the thread shall end.
  private func nextBlock(afterLong wasLong: Bool) -> Block? {
    state.withLock { state in
      state.idleCount += 1
      if wasLong { state.longRunning -= 1 }
    }
    let (block, wakesAnother): (Block?, Bool) = state.withLock(
      wokenBy: added, within: Self.idleNanoseconds, when: { $0.mayRun }
    ) { state in
      state.idleCount -= 1
      guard state.mayRun || state.threadCount == 1, let block = state.take() else {
        state.threadCount -= 1
        return (nil, false)
      }
      return (block, state.mayRun && state.idleCount > 0)
    }
    if wakesAnother { added.wake() }
    return block
  }
}

/// A detached thread of the system.
enum Thread {
  private final class Start: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }

  /// Runs `body` on a new thread. Returns false if the system has no more threads.
  static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
    let context = unsafe Unmanaged.passRetained(Start(body))
    let result = unsafe dugout_thread_start(
      { context in
        guard let context = unsafe context else { return }
        unsafe Unmanaged<Start>.fromOpaque(context).takeRetainedValue().body()
      }, context.toOpaque())
    guard result == 0 else {
      unsafe context.release()
      return false
    }
    return true
  }
}
