// Commits that readers see, in their order, for those who follow all of them.
//
// A commit comes here under the lock of the table: whoever asks for the position at a moment of the store knows
// which commits that moment has. It costs nothing while nobody follows.

import ByteStore
import Synchronization

/// Called after each commit that it may have to follow, by the thread that committed, before that returns.
protocol CommitFollower: AnyObject, Sendable {
  func follow()
}

final class Publications: Sendable {
  private struct State {
    var position: UInt64 = 0
    var queue: [CommitEffects] = []
    weak var follower: (any CommitFollower)?
    /// How often each id of a collection is followed.
    var collectionIDs: [String: Int] = [:]
  }

  private let state = Locked(State())
  private let hasFollower = Atomic(false)

  var isFollowed: Bool { hasFollower.load(ordering: .acquiring) }

  /// Someone wants to know what documents of collections with an id were.
  func isFollowed(_ collectionID: String) -> Bool {
    isFollowed && state.withLock { $0.collectionIDs[collectionID] != nil }
  }

  /// The number of commits since the store was opened. Within a moment of the store: of those it has.
  var position: UInt64 { state.withLock { $0.position } }

  /// Commits after a moment that is taken from now on reach the follower. Of collections with this id, it learns what
  /// documents were. As often as this is called, `unfollow` ends it.
  func follow(_ collectionID: String, _ follower: any CommitFollower) {
    state.withLock { state in
      state.follower = follower
      state.collectionIDs[collectionID, default: 0] += 1
    }
    hasFollower.store(true, ordering: .releasing)
  }

  func unfollow(_ collectionID: String) {
    let isLast = state.withLock { state in
      guard let count = state.collectionIDs[collectionID] else { return false }
      state.collectionIDs[collectionID] = count > 1 ? count - 1 : nil
      return state.collectionIDs.isEmpty
    }
    if isLast { unfollowAll() }
  }

  func unfollowAll() {
    state.withLock { state in
      state.follower = nil
      state.queue = []
      state.collectionIDs = [:]
    }
    hasFollower.store(false, ordering: .releasing)
  }

  func append(_ effects: CommitEffects) {
    state.withLock { state in
      state.position += 1
      if state.follower != nil { state.queue.append(effects) }
    }
  }

  /// All that nobody has taken yet, and the position behind the last of them. Room for what comes next is given for it.
  func take(_ commits: inout [CommitEffects]) -> UInt64 {
    precondition(commits.isEmpty, "what was taken before has been followed")
    return state.withLock { state in
      swap(&state.queue, &commits)
      return state.position
    }
  }

  func notify() {
    guard isFollowed else { return }
    state.withLock { $0.follower }?.follow()
  }
}
