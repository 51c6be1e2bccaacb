// Commits that readers see, in their order, for those who follow all of them.
//
// A commit comes here under the lock of the table: whoever asks for the position at a moment of the store knows
// which commits that moment has. It costs nothing while nobody follows. Before it is logged, it is asked whom it may
// concern: of one that concerns nobody, only its number and its time are kept.

import ByteStore
import Synchronization

/// Called after each commit that it may have to follow, by the thread that committed, before that returns.
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
    var sieve = LiveSieve()
    /// How often each id of a collection is followed.
    var collectionIDs: [String: Int] = [:]

    /// Nil if that is not known any more.
    func places(_ audience: CommitAudience?) -> [Int]? {
      audience?.epoch == sieve.epoch ? audience?.places : nil
    }
  }

  private let state = Locked(State())
  private let hasFollower = Atomic(false)

  /// So many changes are looked at before others have their turn.
  private static let turn = 16

  var isFollowed: Bool { hasFollower.load(ordering: .acquiring) }

  /// Someone wants to know what documents of collections with an id were.
  func isFollowed(_ collectionID: String) -> Bool {
    isFollowed && state.withLock { $0.collectionIDs[collectionID] != nil }
  }

  /// The number of commits since the store was opened. Within a moment of the store: of those it has.
  var position: UInt64 { state.withLock { $0.position } }

  /// When the last commit was; nil if one has not been taken yet that may concern someone.
  var timeOfNothingMore: StoredTimestamp? { state.withLock { $0.queue.isEmpty ? $0.time : nil } }

  // MARK: Followers

  /// Commits after a moment that is taken from now on reach the follower, if they may concern what it waits for. Of
  /// collections with that id, it learns what documents were. `unfollow` with the same number ends it.
  func follow(_ interest: LiveInterest, number: Int, _ follower: any CommitFollower) {
    state.withLock { state in
      state.follower = follower
      state.collectionIDs[interest.collectionID, default: 0] += 1
      state.sieve.insert(interest, number: number)
    }
    hasFollower.store(true, ordering: .releasing)
  }

  func unfollow(number: Int) {
    let isLast = state.withLock { state in
      guard let id = state.sieve.remove(number: number)?.collectionID, let count = state.collectionIDs[id]
      else { return false }
      state.collectionIDs[id] = count > 1 ? count - 1 : nil
      return state.collectionIDs.isEmpty
    }
    if isLast { unfollowAll() }
  }

  func unfollowAll() {
    state.withLock { state in
      state.follower = nil
      state.queue = []
      state.time = nil
      state.sieve.removeAll()
      state.collectionIDs = [:]
    }
    hasFollower.store(false, ordering: .releasing)
  }

  // MARK: Commits

  /// To be asked before the commit happens, and told when it has. Nil if that is not known: then it may concern everyone.
  /// `room` is for the bytes of values.
  func audience(of changes: [IndexChanges.Change], _ room: inout [UInt8]) -> CommitAudience? {
    guard isFollowed else { return nil }
    var audience: CommitAudience?
    for start in stride(from: 0, to: changes.count, by: Self.turn) {
      let isKnown = state.withLock { state in
        if audience == nil { audience = CommitAudience(epoch: state.sieve.epoch) }
        guard audience?.epoch == state.sieve.epoch else { return false }
        for place in start..<min(start + Self.turn, changes.count)
        where state.sieve.letsThrough(changes[place], &room) { audience?.places.append(place) }
        return true
      }
      guard isKnown else { return nil }
    }
    return audience
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
