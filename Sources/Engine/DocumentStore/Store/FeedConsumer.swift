// A consumer of the change feed.

import ByteStore
public import Dispatch

/// A named consumer that receives all commits since its registration, even after the store was reopened.
/// Usable from any thread.
///
/// ```swift
/// let store = try DocumentStore.open("shop-data")
/// let mirror = try store.feedConsumer("mirror")
/// for commit in try mirror.read() {
///   for change in commit.changes { print(commit.time.seconds, change.path) }
///   try mirror.acknowledge(commit.position)
/// }
/// ```
public final class FeedConsumer: Sendable {
  /// The name under which the store keeps this consumer's position.
  public let name: String
  private let store: DocumentStore
  private let cursor: Locked<UInt64>

  init(_ name: String, of store: DocumentStore, from position: UInt64) {
    self.name = name
    self.store = store
    cursor = Locked(position)
  }

  /// The position of the last commit that was read or, after opening, of the last acknowledged commit.
  public var position: FeedPosition { FeedPosition(cursor.withLock { $0 }) }

  /// The next commits in order; empty if there are none yet. Throws `feedTruncated` if some of these commits
  /// are no longer kept. `skipToStart` then continues with the oldest commit that is kept.
  public func read(max: Int = 100) throws(DocumentStoreError) -> [FeedCommit] {
    try cursor.withLock { cursor throws(DocumentStoreError) in
      let (commits, end) = try store.changes(after: cursor, max: max)
      cursor = end
      return commits
    }
  }

  /// Marks all commits up to a position as processed. They are not delivered again, even after the store is
  /// reopened.
  public func acknowledge(_ position: FeedPosition) throws(DocumentStoreError) {
    try store.acknowledge(position.value, by: name)
    cursor.withLock { $0 = max($0, position.value) }
  }

  /// Continues with the oldest commit that is kept.
  public func skipToStart() {
    let first = store.pipeline.feed.first
    cursor.withLock { $0 = max($0, first - 1) }
  }

  /// Removes the consumer. The feed then keeps no more entries for it.
  public func unregister() throws(DocumentStoreError) { try store.unregister(name) }

  /// Calls `body` on `queue` when commits may be available: once now, and later after one or several commits.
  /// The calls end when the last reference to the returned object is released.
  public func onCommit(
    _ queue: DispatchQueue, _ body: @escaping @Sendable () -> Void
  ) -> FeedWaker {
    store.onFeedCommit(queue, body)
  }
}

/// Keeps the calls of `onCommit` active while it is referenced.
public final class FeedWaker: Sendable {
  private let queue: DispatchQueue
  private let body: @Sendable () -> Void
  private let isQueued = Locked(false)

  init(_ queue: DispatchQueue, _ body: @escaping @Sendable () -> Void) {
    self.queue = queue
    self.body = body
  }

  func wake() {
    let isNew = isQueued.withLock { isQueued in
      defer { isQueued = true }
      return !isQueued
    }
    guard isNew else { return }
    queue.async { [weak self] in
      guard let self else { return }
      isQueued.withLock { $0 = false }
      body()
    }
  }
}

struct WeakWaker: @unchecked Sendable {
  // Never written after initialization.
  weak var waker: FeedWaker?
}
