// One query of a stream, as its view sees it.

import ByteStore

final class LiveStreamTarget: LiveAudience {
  let id: Int32
  let queryID: String
  private let owner: LiveStream

  init(_ id: Int32, of stream: LiveStream, queryID: String) {
    self.id = id
    self.queryID = queryID
    owner = stream
  }

  var stream: LiveStream? { owner }

  var showingStream: LiveStream? { owner.state.withLock { $0.isShowing(self) } ? owner : nil }

  func offer(
    _ results: LiveResults, _ changes: [LiveDifference.Change], time: StoredTimestamp?
  ) -> LiveStream? {
    take { $0.add(results, changes) }
  }

  func fail(_ error: DocumentStoreError) -> LiveStream? { take { $0.failure = error } }

  /// Adds news of the current round. Returns the stream if it does not wait for the end of a round yet.
  private func take(_ change: (inout LiveStreamNews) -> Void) -> LiveStream? {
    owner.state.withLock { state in state.offer(change, of: self) } ? owner : nil
  }

  func remove() { owner.state.withLock { LiveStream.remove(self, &$0) } }
}

extension LiveStream.State {
  func has(_ target: LiveStreamTarget) -> Bool { queries[target.id]?.target === target }

  /// Whether a state of the query was offered.
  func isShowing(_ target: LiveStreamTarget) -> Bool { has(target) && queries[target.id]?.hasState == true }

  /// Adds news of the current round. Returns true if `LiveQueries` does not know yet that the stream waits
  /// for the end of a round.
  mutating func offer(_ change: (inout LiveStreamNews) -> Void, of target: LiveStreamTarget) -> Bool {
    guard has(target) else { return false }
    let isFirst = !isShowing(target)
    change(&offered[target.id, default: LiveStreamNews(isFirst: isFirst)])
    queries[target.id]?.hasState = true
    defer { awaitsEnd = true }
    return !awaitsEnd
  }

  /// Takes the content of the next call of the handler; nil if there is nothing to deliver.
  mutating func take() -> LiveStream.Delivery? {
    guard !isClosed, !ready.isEmpty || isAdvanceReady else { return nil }
    var news: [Int32: (target: LiveStreamTarget, news: LiveStreamNews)] = [:]
    for (id, some) in ready {
      guard let target = queries[id]?.target else { continue }
      news[id] = (target, some)
    }
    defer {
      ready = [:]
      isAdvanceReady = false
    }
    return LiveStream.Delivery(mark: mark, news: news, isAdvance: isAdvanceReady)
  }

  /// Removes what must not be delivered any more from a snapshot, and returns whether to deliver it.
  mutating func begin(_ delivery: LiveStream.Delivery, _ snapshot: inout StreamSnapshot) -> Bool {
    for (id, news) in delivery.news {
      if !has(news.target) {
        snapshot.queries[id] = nil
      } else if news.news.failure != nil {
        // The query has ended, so its id can be used again.
        queries[id] = nil
      }
    }
    return !isClosed && (!snapshot.queries.isEmpty || delivery.isAdvance)
  }

  mutating func shouldContinue() -> Bool {
    defer { isRestartNeeded = false }
    if !isRestartNeeded { isRunning = false }
    return isRestartNeeded
  }
}
