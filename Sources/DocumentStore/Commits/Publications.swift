// Commits that readers see, in their order, for those who wait for something of them.
//
// A commit comes here under the lock of the table: whoever asks for the position at a moment of the store knows
// which commits that moment has. It costs nothing while nobody follows. Before it is logged, it is asked whom it may
// concern: of one that concerns nobody, only its number and its time are kept.
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
    var position: UInt64 = 0
    /// Of the last commit while someone follows.
    var time: StoredTimestamp?
    var queue: [Publication] = []
    weak var follower: (any CommitFollower)?
    /// Of the sieve, once what it waits for counts.
    var epoch: UInt64 = 0
    /// How often each id of a collection is followed.
    var collectionIDs: [String: Int] = [:]

    /// Nil if that is not known any more.
    func places(_ audience: CommitAudience?) -> [Int]? { audience?.epoch == epoch ? audience?.places : nil }
  }

  private let state = Locked(State())
  private let sieve = Locked(LiveSieve())
  private let hasFollower = Atomic(false)

  var isFollowed: Bool { hasFollower.load(ordering: .acquiring) }

  /// Someone wants to know what documents of collections with an id were.
  func isFollowed(_ collectionID: String) -> Bool {
    isFollowed && state.withLock { $0.collectionIDs[collectionID] != nil }
  }

  /// The number of commits since the store was opened. Within a moment of the store: of those it has.
  var position: UInt64 { state.withLock { $0.position } }

  /// When the last commit was; nil if one that may concern someone has not been taken yet, or none has happened since
  /// someone follows.
  var timeIfAllIsTaken: StoredTimestamp? { state.withLock { $0.queue.isEmpty ? $0.time : nil } }

  // MARK: Followers

  /// Commits after a moment that is taken from now on reach the follower, if they may concern the interest. Of
  /// collections with its id, it learns what documents were. `unfollow` with the same number ends it.
  func follow(_ interest: LiveInterest, number: Int, _ follower: any CommitFollower) {
    let epoch = sieve.withLock { sieve in
      sieve.insert(interest, number: number)
      return sieve.epoch
    }
    state.withLock { state in
      state.follower = follower
      state.collectionIDs[interest.collectionID, default: 0] += 1
      // What was asked before is asked in vain now, and what is asked since was not known to count until now.
      state.epoch = epoch
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
      state.time = nil
      state.collectionIDs = [:]
      hasFollower.store(false, ordering: .releasing)
    }
  }

  // MARK: Commits

  /// To be asked before the commit happens, and told when it has. Nil if that is not known: then it may concern everyone.
  /// `room` is for the bytes of values.
  func audience(of changes: [IndexChanges.Change], _ room: inout [UInt8]) -> CommitAudience? {
    guard isFollowed else { return nil }
    return sieve.withLock { sieve in
      var audience = CommitAudience(epoch: sieve.epoch)
      for place in changes.indices where sieve.letsThrough(changes[place], &room) {
        audience.places.append(place)
      }
      return audience
    }
  }

  func append(_ effects: CommitEffects) {
    state.withLock { state in
      state.position += 1
      guard state.follower != nil else { return }
      state.time = effects.time
      let places = state.places(effects.audience) ?? Array(effects.changes.indices)
      guard !places.isEmpty else { return }
      state.queue.append(Publication(effects: effects, number: state.position, places: places))
    }
  }

  /// All that nobody has taken yet; their room is for what comes next. The answer is the time of the last commit,
  /// which may concern nobody.
  func take(_ commits: inout [Publication]) -> StoredTimestamp? {
    precondition(commits.isEmpty, "what was taken before has been followed")
    return state.withLock { state in
      swap(&state.queue, &commits)
      return state.time
    }
  }

  /// The commit that may concern them has happened.
  func notify(_ audience: CommitAudience? = nil) {
    guard isFollowed else { return }
    let follower = state.withLock { state in state.places(audience)?.isEmpty == true ? nil : state.follower }
    follower?.follow()
  }
}
