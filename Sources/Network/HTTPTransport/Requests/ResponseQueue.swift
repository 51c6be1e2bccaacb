// Backpressure: work for a response waits while its client reads slowly.

internal import ByteStore

/// Runs blocks one at a time, in order, on the threads of a pool. Blocks wait while the response has more
/// unsent bytes than it may have. Usable from any thread.
package final class ResponseQueue: Sendable {
  /// Bytes on their way to the loop with which blocks wait.
  fileprivate static let postedBytesMax = 64 * 1024

  fileprivate struct State {
    var blocks = BlockLine()
    var isRunning = false
    var isPaused = false
    /// Bytes that were sent by other threads, and have not reached the loop.
    var postedBytes = 0
    var isClosed = false
    /// Whether blocks have run before. The first one of a response is short: it begins a call or ends it.
    var isLong = false
    var areAllShort = false
  }

  private let state = Locked(State())
  private let pool: any BlockPool
  private let owner: UInt64

  /// Creates a queue of a connection, whose number is `owner`.
  package init(on pool: any BlockPool, of owner: UInt64 = 0) {
    self.pool = pool
    self.owner = owner
  }

  /// Bytes that the loop did not take were dropped.
  deinit {
    let rest = state.withLock { $0.postedBytes }
    if rest != 0 { pool.arrived(rest) }
  }

  /// Creates a queue on the same pool, for work that outlives the response.
  package func makeSibling() -> ResponseQueue { ResponseQueue(on: pool, of: owner) }

  /// Adds a block. It never runs within this call.
  package func add(_ block: @escaping @Sendable () -> Void) {
    let starts: Bool = state.withLock { state in
      guard !state.isClosed else { return false }
      state.blocks.add(block)
      return state.startsRunning()
    }
    if starts { start() }
  }

  /// Runs a block beside the others, even if they wait or the queue is closed.
  package func runAside(_ block: @escaping @Sendable () -> Void) { pool.run(block, of: owner, isLong: true) }

  /// Has the pool take all blocks for short ones, such as those that wait for a commit.
  package func setAllShort() { state.withLock { $0.areAllShort = true } }

  /// Lets blocks wait, or run again.
  package func setPaused(_ isPaused: Bool) {
    let starts: Bool = state.withLock { state in
      state.isPaused = isPaused
      return state.startsRunning()
    }
    if starts { start() }
  }

  /// Bytes leave for the loop. Blocks wait if there are too many of them.
  package func post(_ byteCount: Int) {
    state.withLock { $0.postedBytes += byteCount }
    pool.posted(byteCount)
  }

  /// Bytes have reached the loop, which pauses the queue if the response has too many.
  package func arrived(_ byteCount: Int) {
    pool.arrived(byteCount)
    let starts: Bool = state.withLock { state in
      state.postedBytes -= byteCount
      return state.startsRunning()
    }
    if starts { start() }
  }

  /// Drops the blocks that wait. Called when the response is over.
  package func close() {
    // The blocks are released without the lock, because what they hold may add blocks at its end.
    let dropped = state.withLock { state in
      state.isClosed = true
      defer { state.blocks = BlockLine() }
      return state.blocks
    }
    withExtendedLifetime(dropped) {}
  }

  private func start() {
    pool.run({ [self] in runBlocks() }, of: owner, isLong: state.withLock { $0.isLong })
  }

  /// Runs blocks, until others wait for the thread.
  private func runBlocks() {
    while let block = state.withLock({ $0.next() }) {
      block()
      if pool.hasWaiting { return start() }
    }
  }
}

extension ResponseQueue.State {
  private var mayRun: Bool { !isPaused && postedBytes <= ResponseQueue.postedBytesMax }

  /// Whether the caller has to start a run of blocks.
  fileprivate mutating func startsRunning() -> Bool {
    guard !isRunning, mayRun, !blocks.isEmpty else { return false }
    isRunning = true
    return true
  }

  /// The next block of a run; nil ends the run.
  fileprivate mutating func next() -> (@Sendable () -> Void)? {
    guard mayRun, let block = blocks.takeFirst() else {
      isRunning = false
      return nil
    }
    defer { isLong = !areAllShort }
    return block
  }
}
