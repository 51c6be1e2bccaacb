// Several live queries of one consumer, delivered together.
//
// Invariants:
// - In each delivery, the states of all queries include the same commits. A query offers its states during a
//   round of `LiveQueries`. They can be delivered when the round ends, and only if no query of the stream
//   that has been shown is loading or includes later commits than the others.
// - News of later rounds replace news that wait for delivery. Apart from the news of a round, a slow consumer
//   keeps the state that it has and the latest one.
// - The handler runs on the consumer's queue and without any lock. Two calls of the handler never overlap.
// - Locks are acquired in this order: that of `LiveQueries`, that of the stream.

import ByteStore
import Libc

/// Live queries of one consumer. Each delivery shows all of them after the same commit. Usable from any
/// thread.
///
/// Listening ends with `close()`, or when the store is closed.
package final class LiveStream: Sendable {
  struct State {
    /// A query of the stream.
    struct Query {
      let target: LiveStreamTarget
      /// Whether a state was offered.
      var hasState = false
    }

    var queries: [Int32: Query] = [:]
    /// News of the round that has not ended.
    var offered: [Int32: LiveStreamNews] = [:]
    var isAdvanceOffered = false
    /// Whether `LiveQueries` will end the round.
    var awaitsEnd = false
    /// News for the next delivery.
    var ready: [Int32: LiveStreamNews] = [:]
    var isAdvanceReady = false
    var mark = CommitMark()
    /// True while a delivery is on the queue and has not begun.
    var isQueued = false
    var isRunning = false
    /// True if another delivery began while one was running. This is possible if the queue is not serial.
    var isRestartNeeded = false
    var isClosed = false
    /// The thread that runs the handler or is about to run it.
    var caller: pthread_t?
  }

  private static let waitsMax = 200

  private let live: WeakLiveQueries
  private let path: String
  /// Puts a delivery on the queue.
  private let enqueue: @Sendable (@escaping @Sendable () -> Void) -> Void
  private let handler: @Sendable (StreamSnapshot) -> Void
  let state = Locked(State())

  /// Creates a stream without queries. `path` is the directory of the store. `enqueue` is called under a
  /// lock, so it must not run the block.
  init(
    of live: LiveQueries, path: String,
    enqueue: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
    handler: @escaping @Sendable (StreamSnapshot) -> Void
  ) {
    self.live = WeakLiveQueries(live)
    self.path = path
    self.enqueue = enqueue
    self.handler = handler
  }

  // MARK: Queries

  /// Adds a query. The first delivery that has `id` has the query's whole state. An error of the query later
  /// on is delivered, and ends this query alone. The id can then be used again.
  ///
  /// Builds missing indexes in this thread. Meanwhile, the stream delivers its other queries. Throws the
  /// errors of the query itself, `invalidArgument` if the stream has a query with this id, and `closed`.
  package func listen(_ id: Int32, to query: StructuredQuery) throws(DocumentStoreError) {
    try query.check()
    guard let live = live.queries else { throw DocumentStoreError(.closed(directory: path)) }
    let target = LiveStreamTarget(id, of: self, queryID: query.canonicalID)
    let refusal = state.withLock { state -> DocumentStoreError? in
      guard !state.isClosed else { return DocumentStoreError(.closed(directory: path)) }
      guard state.queries[id] == nil else {
        return .invalidArgument("The stream already has a query with the id \(id).")
      }
      state.queries[id] = State.Query(target: target)
      return nil
    }
    if let refusal { throw refusal }
    do throws(DocumentStoreError) {
      try live.add(target, to: query)
    } catch {
      state.withLock { Self.remove(target, &$0) }
      throw error
    }
    // Another thread may have removed the query before it was added.
    if !state.withLock({ $0.has(target) }) { live.remove(target, target.queryID) }
  }

  /// Ends listening to a query, as `remove` of several does.
  package func remove(_ id: Int32) { remove([id]) }

  /// Ends listening to queries. After this method returns, no delivery contains one of the ids, unless the
  /// query is added again.
  ///
  /// If another thread runs the handler or is about to run it, this method waits until the handler has ended.
  /// The wait is limited to a few milliseconds, because the handler may itself wait for the caller of this
  /// method. If this method is called from the handler, it does not wait.
  package func remove(_ ids: [Int32]) {
    let targets = state.withLock { state in
      let targets = ids.compactMap { state.queries[$0]?.target }
      for target in targets { Self.remove(target, &state) }
      return targets
    }
    guard !targets.isEmpty else { return }
    for target in targets { live.queries?.remove(target, target.queryID) }
    waitForHandler()
  }

  /// Requests a delivery even if no query changes. Its snapshot includes all commits that are visible to
  /// readers now.
  package func advance() { live.queries?.advance(self) }

  /// Ends listening to all queries. After this method returns, no delivery begins. Waits like `remove`.
  package func close() {
    let targets = state.withLock { state in
      state.isClosed = true
      let targets = state.queries.sorted { $0.key < $1.key }.map(\.value.target)
      for target in targets { Self.remove(target, &state) }
      return targets
    }
    for target in targets { live.queries?.remove(target, target.queryID) }
    waitForHandler()
  }

  static func remove(_ target: LiveStreamTarget, _ state: inout State) {
    guard state.has(target) else { return }
    state.queries[target.id] = nil
    state.offered[target.id] = nil
    state.ready[target.id] = nil
  }

  private func waitForHandler() {
    let current = pthread_self()
    for _ in 0..<Self.waitsMax {
      let isElsewhere = state.withLock { state in
        state.caller.map { pthread_equal($0, current) == 0 } ?? false
      }
      guard isElsewhere else { return }
      usleep(50)
    }
  }

  // MARK: Called by LiveQueries

  /// Ends a round. All commits up to the mark are part of the offered states, and no later ones.
  func endRound(at mark: CommitMark) {
    let isNew = state.withLock { state in
      state.awaitsEnd = false
      guard !state.isClosed, !state.offered.isEmpty || state.isAdvanceOffered else { return false }
      for (id, news) in state.offered {
        if state.ready[id] == nil { state.ready[id] = news } else { state.ready[id]?.add(news) }
      }
      state.offered = [:]
      state.isAdvanceReady = state.isAdvanceReady || state.isAdvanceOffered
      state.isAdvanceOffered = false
      var next = mark
      next.add(state.mark)
      state.mark = next
      defer { state.isQueued = true }
      return !state.isQueued
    }
    if isNew { enqueue { [self] in deliver() } }
  }

  // MARK: On the queue

  private func deliver() {
    let begins = state.withLock { state in
      state.isQueued = false
      if state.isRunning { state.isRestartNeeded = true }
      defer { state.isRunning = true }
      return !state.isRunning
    }
    guard begins else { return }
    repeat {
      if let delivery = state.withLock({ $0.take() }) { call(delivery) }
    } while state.withLock({ $0.shouldContinue() })
  }

  private func call(_ delivery: Delivery) {
    // The work that is proportional to the changes needs no lock.
    var snapshot = StreamSnapshot(time: delivery.mark.time, position: delivery.mark.feed, queries: [:])
    let lastStates = LastStates(delivery.news.values.lazy.map(\.news))
    for (id, news) in delivery.news {
      if let failure = news.news.failure {
        snapshot.queries[id] = .failure(failure)
      } else if let state = news.news.state(lastStates) {
        snapshot.queries[id] = .success(state)
      }
    }
    let begins = state.withLock { state in
      let begins = state.begin(delivery, &snapshot)
      if begins { state.caller = pthread_self() }
      return begins
    }
    guard begins else { return }
    handler(snapshot)
    state.withLock { $0.caller = nil }
  }

  /// The content of one call of the handler.
  struct Delivery {
    var mark: CommitMark
    var news: [Int32: (target: LiveStreamTarget, news: LiveStreamNews)]
    var isAdvance: Bool
  }
}
