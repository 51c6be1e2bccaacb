// Queue of published commits, in commit order, for the live queries.
//
// `append` runs under the lock of the key directory, so a reader that takes the position together with a
// snapshot knows which commits the snapshot contains. While there is no observer, a commit only increments a
// counter here.

import ByteStore
import Synchronization

/// Called by the committing thread after each commit, before the commit returns.
protocol CommitObserver: AnyObject, Sendable {
  func observe()
}

/// A commit that may concern a listener.
struct Publication: Sendable {
  let effects: CommitEffects
  /// Number of commits since the store was opened, including this one.
  let number: UInt64
}

final class Publications: Sendable {
  private struct State {
    var queue: [Publication] = []
    /// The last commit that is in the queue or was in it. The time and the feed's position are those of
    /// commits since the first observer.
    var last = CommitMark()
    /// True from a change to the whole store until the observer takes it over.
    var isReloadDue = false
    weak var observer: (any CommitObserver)?
    /// The collection id of each observed view, by the number of the view.
    var views: [Int: String] = [:]
    /// Number of observed views per collection id.
    var collectionIDs: [String: Int] = [:]
  }

  private let state = Locked(State())
  // Both are read without the lock. `hasObserver` is written under the lock, and `commitCount` by one commit
  // at a time.
  private let hasObserver = Atomic(false)
  private let commitCount = Atomic<UInt64>(0)

  var isObserved: Bool { hasObserver.load(ordering: .acquiring) }

  /// True if a listener needs the previous states of documents in collections with this id.
  func isObserved(_ collectionID: String) -> Bool {
    isObserved && state.withLock { $0.collectionIDs[collectionID] != nil }
  }

  /// Number of commits since the store was opened. Read together with a snapshot, it counts the commits in
  /// the snapshot.
  var position: UInt64 { commitCount.load(ordering: .acquiring) }

  /// The last commit; nil if the observer has not taken over all commits. The time is nil if no commit was
  /// made since the first observer.
  var markIfQueueIsEmpty: CommitMark? {
    state.withLock { isObserved && $0.queue.isEmpty && !$0.isReloadDue ? $0.last : nil }
  }

  // MARK: Observers

  /// Queues the commits for the observer, starting with the first commit after any snapshot taken from now
  /// on. The previous states of documents in collections with this id are recorded. Ends with `stopObserving`
  /// of the same number.
  func observe(_ collectionID: String, number: Int, observer: any CommitObserver) {
    state.withLock { state in
      if !isObserved { state.last = CommitMark(number: position) }
      state.observer = observer
      state.views[number] = collectionID
      state.collectionIDs[collectionID, default: 0] += 1
      hasObserver.store(true, ordering: .releasing)
    }
  }

  func stopObserving(number: Int) {
    state.withLock { state in
      guard let collectionID = state.views.removeValue(forKey: number) else { return }
      let count = state.collectionIDs[collectionID] ?? 0
      state.collectionIDs[collectionID] = count > 1 ? count - 1 : nil
      if state.views.isEmpty { stopObserving(&state) }
    }
  }

  func stopObservingAll() { state.withLock { stopObserving(&$0) } }

  private func stopObserving(_ state: inout State) {
    state.observer = nil
    state.queue = []
    state.views = [:]
    state.collectionIDs = [:]
    hasObserver.store(false, ordering: .releasing)
  }

  /// Notes a snapshot that includes the commits up to `number`. All of them that were to be queued have been
  /// queued by now. The last one may not have been: the first observer may have come while it was published.
  func noteSnapshot(through number: UInt64) {
    state.withLock { $0.last.number = max($0.last.number, number) }
  }

  // MARK: Commits

  func append(_ effects: CommitEffects) {
    let number = commitCount.wrappingAdd(1, ordering: .acquiringAndReleasing).newValue
    guard isObserved else { return }
    state.withLock { state in
      // The last observer may have left since the check above.
      guard isObserved, state.observer != nil else { return }
      state.last = CommitMark(number: number, time: effects.time, feed: effects.feed ?? state.last.feed)
      // A commit that changes only the store's own keys changes no document.
      guard !effects.changes.isEmpty else { return }
      state.queue.append(Publication(effects: effects, number: number))
    }
  }

  /// Counts a change to the whole store as a commit, and drops the queued commits, which it includes. `time`
  /// is the time of the last commit in the store, and `feed` its position in the change feed. The observer
  /// must call `takeReload`.
  func appendReload(at time: StoredTimestamp?, feed: FeedPosition? = nil) {
    let number = commitCount.wrappingAdd(1, ordering: .acquiringAndReleasing).newValue
    state.withLock { state in
      state.queue = []
      state.last = CommitMark(number: number, time: time, feed: feed)
      state.isReloadDue = true
    }
  }

  /// Takes over a change to the whole store. Returns the last commit.
  func takeReload() -> CommitMark {
    state.withLock { state in
      state.isReloadDue = false
      return state.last
    }
  }

  /// Moves all queued commits to `commits`, and keeps the storage of `commits` for later ones. Returns the
  /// last commit; nil if a change to the whole store has not been taken over.
  func take(_ commits: inout [Publication]) -> CommitMark? {
    precondition(commits.isEmpty, "the commits that were taken before have been applied")
    return state.withLock { state in
      swap(&state.queue, &commits)
      return state.isReloadDue ? nil : state.last
    }
  }

  /// Notifies the observer after a commit.
  func notify() {
    guard isObserved else { return }
    state.withLock { $0.observer }?.observe()
  }
}
