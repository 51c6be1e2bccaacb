// Threads for work that may block: reads of long answers, and the blocks of streams.

internal import ByteStore
internal import CSockets

/// A pool whose threads start when there is work, and end when they have been idle.
package final class ThreadPool: BlockPool {
  fileprivate struct State {
    var blocks = BlockLine()
    var threadCount = 0
    var idleCount = 0
  }

  private static let idleNanoseconds: UInt64 = 10_000_000_000

  private let threadsMax: Int
  private let state = Locked(State())
  private let added = Signal()

  package init(threadsMax: Int = 16) { self.threadsMax = threadsMax }

  package func run(_ block: @escaping @Sendable () -> Void) {
    let startsThread: Bool = state.withLock { state in
      state.blocks.add(block)
      guard state.blocks.count > state.idleCount, state.threadCount < threadsMax else {
        return false
      }
      state.threadCount += 1
      return true
    }
    added.wake()
    if startsThread, !Thread.start({ [self] in runBlocks() }) {
      state.withLock { $0.threadCount -= 1 }
    }
  }

  private func runBlocks() {
    while let block = nextBlock() { block() }
  }

  /// Waits for a block. Returns nil if the thread shall end.
  private func nextBlock() -> (@Sendable () -> Void)? {
    state.withLock { $0.idleCount += 1 }
    return state.withLock(
      wokenBy: added, within: Self.idleNanoseconds, when: { !$0.blocks.isEmpty }
    ) { state in
      state.idleCount -= 1
      guard let block = state.blocks.takeFirst() else {
        state.threadCount -= 1
        return nil
      }
      return block
    }
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
