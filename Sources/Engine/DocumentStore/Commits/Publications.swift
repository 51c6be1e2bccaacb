// Queue of published commits, in commit order, for the live queries.
//
// `append` runs under the lock of the key directory, so a reader that takes the position together with a
// snapshot knows which commits the snapshot has. While no observer is registered, a commit only increments a
// counter here. The interest filter is probed before the commit is logged. A commit that concerns no listener
// is not queued. It only updates the commit count and the time of the last commit, without the lock of the
// queue.
//
// The interest filter has its own lock, because rebuilding the filter for thousands of interests and probing
// it with large documents take long. Readers would have to wait if this work were done under the lock of the
// key directory.

import ByteStore
import Synchronization

/// Called by the committing thread after each commit that may concern the observer, before the commit
/// returns.
protocol CommitObserver: AnyObject, Sendable {
  func observe()
}

/// The set of changes in one commit that may concern a listener.
struct CommitAudience: Sendable {
  /// Indexes of the changes that may concern a listener.
  fileprivate var places: [Int] = []
  /// The filter's epoch; the audience is valid until an interest is added.
  fileprivate let epoch: UInt64
}

/// A commit that may concern a listener.
struct Publication: Sendable {
  let effects: CommitEffects
  /// Number of commits since the store was opened, including this one.
  let number: UInt64
  /// Indexes of the changes that may concern a listener.
  let places: [Int]
}

final class Publications: Sendable {
  private struct State {
    var queue: [Publication] = []
    weak var observer: (any CommitObserver)?
    /// Number of interests per collection id.
    var collectionIDs: [String: Int] = [:]
  }

  /// The value of `time` if there was no commit.
  private static let noTime = Int64.min

  private let state = Locked(State())
  private let filter = TryLock(InterestFilter())
  // The atomics below are read without a lock. `hasObserver` is written under the lock of `state`, and
  // `epoch` under the lock of the filter. `commitCount` and `time` are written by one commit at a time, and
  // `observe` also resets `time`.
  private let hasObserver = Atomic(false)
  /// The interest filter's epoch.
  private let epoch = Atomic<UInt64>(0)
  private let commitCount = Atomic<UInt64>(0)
  /// Time of the last commit while an observer is registered.
  private let time = Atomic(Publications.noTime)

  var isObserved: Bool { hasObserver.load(ordering: .acquiring) }

  /// True if a listener needs the previous states of documents in collections with this id.
  func isObserved(_ collectionID: String) -> Bool {
    isObserved && state.withLock { $0.collectionIDs[collectionID] != nil }
  }

  /// Number of commits since the store was opened. If the position is read together with a snapshot, it is
  /// the number of commits in the snapshot.
  var position: UInt64 { commitCount.load(ordering: .acquiring) }

  /// Time of the last commit. Nil if a commit that may concern a listener is still queued, or if nothing was
  /// committed since the first observer was registered.
  var timeIfQueueIsEmpty: StoredTimestamp? {
    state.withLock { isObserved && $0.queue.isEmpty ? lastTime : nil }
  }

  private var lastTime: StoredTimestamp? {
    StoredTimestamp(microseconds: time.load(ordering: .acquiring))
  }

  // MARK: Followers

  /// Registers an observer for the commits that may concern the interest, starting with the first commit
  /// after any snapshot that is taken from now on. From now on, commits also record the previous states of
  /// documents in collections with the interest's id. The registration ends with a call to `stopObserving`
  /// with this number.
  func observe(_ interest: LiveInterest, number: Int, observer: any CommitObserver) {
    filter.withLock { filter in
      filter.insert(interest, number: number)
      // Invalidates audiences that were computed earlier. The epoch is stored under the filter's lock, so
      // that no audience can have a newer epoch than the stored one.
      epoch.store(filter.epoch, ordering: .releasing)
    }
    state.withLock { state in
      state.observer = observer
      state.collectionIDs[interest.collectionID, default: 0] += 1
      if !isObserved { time.store(Self.noTime, ordering: .releasing) }
      hasObserver.store(true, ordering: .releasing)
    }
  }

  func stopObserving(number: Int) {
    guard let interest = filter.withLock({ $0.remove(number: number) }) else { return }
    let isLast = state.withLock { state in
      let count = state.collectionIDs[interest.collectionID] ?? 0
      state.collectionIDs[interest.collectionID] = count > 1 ? count - 1 : nil
      return state.collectionIDs.isEmpty
    }
    if isLast { stopObservingAll() }
  }

  func stopObservingAll() {
    filter.withLock { $0.removeAll() }
    state.withLock { state in
      state.observer = nil
      state.queue = []
      state.collectionIDs = [:]
      hasObserver.store(false, ordering: .releasing)
    }
  }

  // MARK: Commits

  /// Probes the interest filter for the changes that may concern a listener. Call this before the commit is
  /// logged. Returns nil if the filter's lock is held by another thread; the commit may then concern every
  /// listener. `scratch` is scratch space for the bytes of values.
  func audience(of changes: [IndexChanges.Change], _ scratch: inout [UInt8]) -> CommitAudience? {
    guard isObserved else { return nil }
    return filter.withLockIfAvailable { filter in
      var audience = CommitAudience(epoch: filter.epoch)
      unsafe changes.withUnsafeBufferPointer { changes in
        guard let first = changes.baseAddress else { return }
        for place in changes.indices where unsafe filter.mayMatch(first + place, &scratch) {
          audience.places.append(place)
        }
      }
      return audience
    }
  }

  func append(_ effects: CommitEffects) {
    let number = commitCount.wrappingAdd(1, ordering: .acquiringAndReleasing).newValue
    guard isObserved else { return }
    if concernsNoListener(effects.audience) {
      return time.store(effects.time.microseconds, ordering: .releasing)
    }
    let places = places(effects.audience) ?? Array(effects.changes.indices)
    state.withLock { state in
      time.store(effects.time.microseconds, ordering: .releasing)
      // The last observer may have been removed since the check above.
      guard isObserved, state.observer != nil, !places.isEmpty else { return }
      state.queue.append(Publication(effects: effects, number: number, places: places))
    }
  }

  /// Moves all queued commits to `commits`. The queue keeps the storage of the passed array for later
  /// commits. Returns the time of the last commit, including commits that concern no listener.
  func take(_ commits: inout [Publication]) -> StoredTimestamp? {
    precondition(commits.isEmpty, "the earlier publications were processed")
    return state.withLock { state in
      swap(&state.queue, &commits)
      return lastTime
    }
  }

  /// Notifies the observer after a commit that may concern it.
  func notify(_ audience: CommitAudience? = nil) {
    // The epoch only grows, so an audience that was outdated in `append` is still outdated here. The commit
    // that was queued then is not skipped.
    guard isObserved, !concernsNoListener(audience) else { return }
    state.withLock { $0.observer }?.observe()
  }

  private func concernsNoListener(_ audience: CommitAudience?) -> Bool { places(audience)?.isEmpty == true }

  /// Returns the indexes of the changes that may concern a listener. Returns nil if there is no audience, or
  /// if an interest was added since the audience was computed.
  private func places(_ audience: CommitAudience?) -> [Int]? {
    guard let audience, audience.epoch == epoch.load(ordering: .acquiring) else { return nil }
    return audience.places
  }
}
