// One listener: the state it received last, the state to deliver next, and the delivery.
//
// Invariants:
// - The handler runs on the listener's queue and without any lock. Two calls of the handler never overlap.
// - `difference` holds the changes from `delivered` to `next`. A new state replaces a state that is still
//   waiting for delivery. So a slow listener keeps at most two states and always receives the latest state.
// - Whenever a state arrives, a delivery that has not begun is on the queue. On a serial queue, a block that
//   is enqueued after the commit therefore runs after the commit's state was delivered.

import ByteStore
import Dispatch
import Libc

/// Called with each state of a query, or with the error that ended the query.
public typealias LiveHandler = @Sendable (Result<LiveSnapshot, DocumentStoreError>) -> Void

final class LiveListener: LiveAudience {
  private struct State {
    /// The state that was delivered last; nil before the first delivery.
    var delivered: LiveResults?
    var next: LiveResults?
    var time: StoredTimestamp?
    var difference = LiveDifference.of([:])
    var failure: DocumentStoreError?
    /// True while a delivery is on the queue and has not begun.
    var isQueued = false
    var isRunning = false
    /// True if another delivery began while one was running. This is possible if the queue is not serial.
    var isRestartNeeded = false
    var isRemoved = false
    /// The thread that runs the handler or is about to run it.
    var caller: pthread_t?
  }

  private static let waitsMax = 200

  /// Puts a delivery on the queue.
  private let enqueue: @Sendable (@escaping @Sendable () -> Void) -> Void
  private let handler: LiveHandler
  private let state = Locked(State())

  init(
    enqueue: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void, _ handler: @escaping LiveHandler
  ) {
    self.enqueue = enqueue
    self.handler = handler
  }

  convenience init(_ queue: DispatchQueue, _ handler: @escaping LiveHandler) {
    self.init(enqueue: { body in queue.async { body() } }, handler)
  }

  // MARK: Called by the view

  var stream: LiveStream? { nil }
  var showingStream: LiveStream? { nil }

  /// Schedules the delivery of a new state.
  func offer(
    _ results: LiveResults, _ changes: [LiveDifference.Change], time: StoredTimestamp?
  ) -> LiveStream? {
    schedule { state in
      // Before the first state, there is nothing to compare with.
      if let delivered = state.delivered {
        state.difference.add(changes, documents: delivered.count + results.count)
      }
      state.next = results
      state.time = time
    }
  }

  /// Reports that the query has ended with an error.
  func fail(_ error: DocumentStoreError) -> LiveStream? { schedule { $0.failure = error } }

  private func schedule(_ change: (inout State) -> Void) -> LiveStream? {
    let isNew = state.withLock { state in
      guard !state.isRemoved else { return false }
      change(&state)
      defer { state.isQueued = true }
      return !state.isQueued
    }
    if isNew { enqueue { [self] in deliver() } }
    return nil
  }

  /// Ends the deliveries. From now on, no delivery begins.
  func remove() {
    state.withLock { state in
      state.isRemoved = true
      state.delivered = nil
      state.next = nil
      state.difference = .of([:])
    }
  }

  /// Waits for a limited time until a handler that runs in another thread has ended. The caller cannot
  /// observe whether that handler has begun, only whether it has ended.
  func waitForHandler() {
    let current = pthread_self()
    for _ in 0..<Self.waitsMax {
      let isElsewhere = state.withLock { state in
        state.caller.map { pthread_equal($0, current) == 0 } ?? false
      }
      guard isElsewhere else { return }
      usleep(50)
    }
  }

  // MARK: On the queue

  private struct Delivery {
    var old: LiveResults?
    var new: LiveResults?
    var time: StoredTimestamp?
    var difference: LiveDifference
    var failure: DocumentStoreError?
  }

  private func deliver() {
    let begins = state.withLock { state in
      state.isQueued = false
      if state.isRunning { state.isRestartNeeded = true }
      defer { state.isRunning = true }
      return !state.isRunning
    }
    guard begins else { return }
    repeat {
      if let delivery = state.withLock(Self.take) { deliver(over: delivery) }
    } while state.withLock(Self.shouldContinue)
  }

  private static func take(_ state: inout State) -> Delivery? {
    guard !state.isRemoved, state.next != nil || state.failure != nil else { return nil }
    let delivery = Delivery(
      old: state.delivered, new: state.next, time: state.time, difference: state.difference,
      failure: state.failure
    )
    if let next = state.next { state.delivered = next }
    state.next = nil
    state.difference = .of([:])
    state.failure = nil
    return delivery
  }

  private static func shouldContinue(_ state: inout State) -> Bool {
    defer { state.isRestartNeeded = false }
    if !state.isRestartNeeded { state.isRunning = false }
    return state.isRestartNeeded
  }

  private func deliver(over delivery: Delivery) {
    if let new = delivery.new {
      let isFirst = delivery.old == nil
      let difference = isFirst ? .everything : delivery.difference
      let changes = difference.changes(from: delivery.old ?? LiveResults(), to: new)
      if isFirst || !changes.isEmpty {
        call(.success(LiveSnapshot(documents: new, changes: changes, isFirst: isFirst, time: delivery.time)))
      }
    }
    if let failure = delivery.failure { call(.failure(failure)) }
  }

  private func call(_ result: Result<LiveSnapshot, DocumentStoreError>) {
    let begins = state.withLock { state in
      if !state.isRemoved { state.caller = pthread_self() }
      return !state.isRemoved
    }
    guard begins else { return }
    handler(result)
    state.withLock { $0.caller = nil }
  }
}
