// Reading the change feed.

import ByteStore
public import Dispatch

/// Someone who follows the commits of a store, from its registration on and across openings. Usable from any thread.
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
  /// Under which the store keeps its place.
  public let name: String
  private let store: DocumentStore
  private let cursor: Locked<UInt64>

  init(_ name: String, of store: DocumentStore, from position: UInt64) {
    self.name = name
    self.store = store
    cursor = Locked(position)
  }

  /// The last commit that was read, and after opening the last one that was acknowledged.
  public var position: FeedPosition { FeedPosition(cursor.withLock { $0 }) }

  /// The next commits, in their order; none if there are no more yet. Throws `feedTruncated` if some of them are
  /// not kept any more; `skipToStart` goes on with what there is.
  public func read(max: Int = 100) throws(DocumentStoreError) -> [FeedCommit] {
    try cursor.withLock { cursor throws(DocumentStoreError) in
      let (commits, end) = try store.changes(after: cursor, max: max)
      cursor = end
      return commits
    }
  }

  /// What comes up to a position will not be needed again, not even after the next opening.
  public func acknowledge(_ position: FeedPosition) throws(DocumentStoreError) {
    try store.acknowledge(position.value, by: name)
    cursor.withLock { $0 = max($0, position.value) }
  }

  /// Goes on with the oldest commit that is kept.
  public func skipToStart() {
    let first = store.pipeline.feed.first
    cursor.withLock { $0 = max($0, first - 1) }
  }

  /// Ends it: nothing is kept for this consumer any more.
  public func unregister() throws(DocumentStoreError) { try store.unregister(name) }

  /// Calls `body` on `queue` when there may be commits to read: once now, and then after each that comes, or once
  /// for several. Ends with the last reference to what it returns.
  public func onCommit(
    _ queue: DispatchQueue, _ body: @escaping @Sendable () -> Void
  ) -> FeedWaker {
    let waker = FeedWaker(queue, body)
    store.feedWakers.withLock { wakers in
      wakers.removeAll { $0.waker == nil }
      wakers.append(WeakWaker(waker: waker))
    }
    waker.wake()
    return waker
  }
}

/// Calls as long as it is held.
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
  // Only read after it was made.
  weak var waker: FeedWaker?
}
