// Readers of the change feed that exist only while the store is open.

import ByteStore
package import Dispatch

/// A reader of the change feed without a name. It is not stored.
///
/// The feed is active while it has a follower. The commits after the follower's position are kept, within the
/// limits of the feed, until the follower ends or its last reference is released. Usable from any thread.
package final class FeedFollower: Sendable {
  private let store: DocumentStore
  private let id: UInt64

  fileprivate init(of store: DocumentStore, id: UInt64) {
    self.store = store
    self.id = id
  }

  deinit { end() }

  /// Marks all commits up to a position as read. They are then kept only for other readers.
  package func advance(to position: FeedPosition) {
    store.pipeline.withFeed { feed in
      guard let known = feed.followers[id] else { return }
      feed.followers[id] = max(known, min(position.value, feed.next - 1))
    }
  }

  /// Ends this reader. If it was the last one, the entries of the feed are removed.
  package func end() {
    let isLast = store.pipeline.withFeed { feed in
      feed.followers.removeValue(forKey: id) != nil && !feed.isActive && feed.first < feed.next
    }
    if isLast { store.trimFeedInBackground() }
  }
}

extension DocumentStore {
  /// Adds a follower that needs every commit that is kept, and the commits from now on. If the feed is
  /// inactive, this waits for a commit that activates it.
  package func followFeed() throws(DocumentStoreError) -> FeedFollower {
    let id = followerIDs.withLock { last in
      last += 1
      return last
    }
    let isActive = pipeline.withFeed { feed in
      guard feed.isActive else { return false }
      feed.followers[id] = 0
      return true
    }
    if !isActive {
      do throws(DocumentStoreError) {
        try consumerChanges.withLock { _ throws(DocumentStoreError) in
          try addReader { feed in feed.followers[id] = 0 }
        }
      } catch {
        pipeline.withFeed { $0.followers[id] = nil }
        throw error
      }
    }
    return FeedFollower(of: self, id: id)
  }

  /// Calls `body` on `queue` when commits may be available, as `FeedConsumer.onCommit` does.
  package func onFeedCommit(
    _ queue: DispatchQueue, _ body: @escaping @Sendable () -> Void
  ) -> FeedWaker {
    let waker = FeedWaker(queue, body)
    feedWakers.withLock { wakers in
      wakers.removeAll { $0.waker == nil }
      wakers.append(WeakWaker(waker: waker))
    }
    waker.wake()
    return waker
  }

  /// Removes the entries that no reader needs, on a background thread if the store has maintenance there. If
  /// this fails, the entries stay until the feed gets its next reader or the store is opened again.
  func trimFeedInBackground() {
    guard case .inBackground = options.maintenance else {
      try? trimFeed()
      return
    }
    Self.backgroundQueue.async { [weak self] in try? self?.trimFeed() }
  }

  /// Removes entries that a crash has left in a feed without readers.
  func removeFeedLeftovers() {
    guard case .inBackground = options.maintenance else { return }
    let feed = pipeline.feed
    if !feed.isActive, feed.first < feed.next { trimFeedInBackground() }
  }
}
