// Commits that readers see, in their order, for those who wait for something of them.
//
// A commit comes here under the lock of the table: whoever asks for the position at a moment of the store knows
// which commits that moment has. It costs nothing while nobody follows. Before it is logged, it is asked whom it may
// concern: of one that concerns nobody, only its number and its time are kept, without the lock of the queue.
//
// The sieve has a lock of its own: to mark thousands of interests anew, or to look through large documents, takes
// long, and readers wait for whoever holds the other one.

import ByteStore
import Synchronization

/// Called after each commit that may concern it, by the thread that committed, before that returns.
protocol CommitFollower: AnyObject, Sendable {
  func follow()
}

/// Whom a commit may concern.
struct CommitAudience: Sendable {
  /// Changes that someone may wait for.
  fileprivate var places: [Int] = []
  /// As long as nobody waits for more than at that time.
  fileprivate let epoch: UInt64
}

/// A commit that may concern someone.
struct Publication: Sendable {
  let effects: CommitEffects
  /// It was so many commits since the store was opened, with itself.
  let number: UInt64
  /// Of the changes that may.
  let places: [Int]
}

final class Publications: Sendable {
  private struct State {
    var queue: [Publication] = []
    weak var follower: (any CommitFollower)?
    /// How often each id of a collection is followed.
    var collectionIDs: [String: Int] = [:]
  }

  /// Of no commit.
  private static let noTime = Int64.min

  private let state = Locked(State())
  private let sieve = PassingLock(LiveSieve())
  // Those below are read without a lock. The first is written with that of the state, the second with that of the sieve; the
  // others by commits, one after the other, and the time also when the first one follows.
  private let hasFollower = Atomic(false)
  /// Of the sieve.
  private let epoch = Atomic<UInt64>(0)
  private let commitsSoFar = Atomic<UInt64>(0)
  /// Of the last commit while someone follows.
  private let time = Atomic(Publications.noTime)

  var isFollowed: Bool { hasFollower.load(ordering: .acquiring) }

  /// Someone wants to know what documents of collections with an id were.
  func isFollowed(_ collectionID: String) -> Bool {
    isFollowed && state.withLock { $0.collectionIDs[collectionID] != nil }
  }

  /// The number of commits since the store was opened. Within a moment of the store: of those it has.
  var position: UInt64 { commitsSoFar.load(ordering: .acquiring) }

  /// When the last commit was; nil if one that may concern someone has not been taken yet, or none has happened since
  /// someone follows.
  var timeIfAllIsTaken: StoredTimestamp? {
    state.withLock { isFollowed && $0.queue.isEmpty ? lastTime : nil }
  }

  private var lastTime: StoredTimestamp? {
    StoredTimestamp(microseconds: time.load(ordering: .acquiring))
  }

  // MARK: Followers

  /// Commits after a moment that is taken from now on reach the follower, if they may concern the interest. Of
  /// collections with its id, it learns what documents were. `unfollow` with the same number ends it.
  func follow(_ interest: LiveInterest, number: Int, _ follower: any CommitFollower) {
    sieve.withLock { sieve in
      sieve.insert(interest, number: number)
      // What was asked before is asked in vain now. Told in here, so that no answer is ahead of it.
      epoch.store(sieve.epoch, ordering: .releasing)
    }
    state.withLock { state in
      state.follower = follower
      state.collectionIDs[interest.collectionID, default: 0] += 1
      if !isFollowed { time.store(Self.noTime, ordering: .releasing) }
      hasFollower.store(true, ordering: .releasing)
    }
  }

  func unfollow(number: Int) {
    guard let interest = sieve.withLock({ $0.remove(number: number) }) else { return }
    let isLast = state.withLock { state in
      let count = state.collectionIDs[interest.collectionID] ?? 0
      state.collectionIDs[interest.collectionID] = count > 1 ? count - 1 : nil
      return state.collectionIDs.isEmpty
    }
    if isLast { unfollowAll() }
  }

  func unfollowAll() {
    sieve.withLock { $0.removeAll() }
    state.withLock { state in
      state.follower = nil
      state.queue = []
      state.collectionIDs = [:]
      hasFollower.store(false, ordering: .releasing)
    }
  }

  // MARK: Commits

  /// To be asked before the commit happens, and told when it has. Nil if that is not known: then it may concern everyone.
  /// `room` is for the bytes of values.
  func audience(of changes: [IndexChanges.Change], _ room: inout [UInt8]) -> CommitAudience? {
    guard isFollowed else { return nil }
    return sieve.withLockIfFree { sieve in
      var audience = CommitAudience(epoch: sieve.epoch)
      unsafe changes.withUnsafeBufferPointer { changes in
        guard let first = changes.baseAddress else { return }
        for place in changes.indices where unsafe sieve.letsThrough(first + place, &room) {
          audience.places.append(place)
        }
      }
      return audience
    }
  }

  func append(_ effects: CommitEffects) {
    let number = commitsSoFar.wrappingAdd(1, ordering: .acquiringAndReleasing).newValue
    guard isFollowed else { return }
    if isForNobody(effects.audience) { return time.store(effects.time.microseconds, ordering: .releasing) }
    let places = places(effects.audience) ?? Array(effects.changes.indices)
    state.withLock { state in
      time.store(effects.time.microseconds, ordering: .releasing)
      // The last of them may be gone since.
      guard isFollowed, state.follower != nil, !places.isEmpty else { return }
      state.queue.append(Publication(effects: effects, number: number, places: places))
    }
  }

  /// All that nobody has taken yet; their room is for what comes next. The answer is the time of the last commit,
  /// which may concern nobody.
  func take(_ commits: inout [Publication]) -> StoredTimestamp? {
    precondition(commits.isEmpty, "what was taken before has been followed")
    return state.withLock { state in
      swap(&state.queue, &commits)
      return lastTime
    }
  }

  /// The commit that may concern them has happened.
  func notify(_ audience: CommitAudience? = nil) {
    // The epoch only grows: a commit that was queued because of it is not taken for nobody's here.
    guard isFollowed, !isForNobody(audience) else { return }
    state.withLock { $0.follower }?.follow()
  }

  private func isForNobody(_ audience: CommitAudience?) -> Bool { places(audience)?.isEmpty == true }

  /// Nil if that is not known any more.
  private func places(_ audience: CommitAudience?) -> [Int]? {
    guard let audience, audience.epoch == epoch.load(ordering: .acquiring) else { return nil }
    return audience.places
  }
}
